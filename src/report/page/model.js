"use strict";
/* The schedule as typed columns with what drawing and searching need: rows, edges both ways, layers. */
Sked.Model = class {
    constructor(data) {
        this.data = data;
        this.count = data.start.length;
        this.start = Float64Array.from(data.start);
        this.duration = Float64Array.from(data.duration);
        this.color = Uint8Array.from(data.color);
        this.critical = new Uint8Array(this.count);
        for (const op of data.chain) this.critical[op] = 1;
        this.rowGroup = new Int32Array(data.rows.length);
        data.groups.forEach((group, index) => this.rowGroup.fill(index, group.first, group.first + group.rows));
        this.indexEdges();
        this.layers = this.iterationLayers();
        this.folded = data.copies > 0 ? this.foldedLayer() : null;
        this.opRow = new Int32Array(this.count).fill(-1);
        for (let b = data.bars.op.length - 1; b >= 0; b--) this.opRow[data.bars.op[b]] = data.bars.row[b];
    }

    name(op) { return this.data.names ? this.data.names[op] : String(op); }
    type(op) { return this.data.type ? this.data.types[this.data.type[op]] ?? null : null; }
    finish(op) { return this.start[op] + this.duration[op]; }

    /* Compressed rows of successors (edges come sorted by from) and predecessors. */
    indexEdges() {
        const { from, to } = this.data.edges, n = this.count, m = from.length;
        this.succPtr = new Int32Array(n + 1);
        this.predPtr = new Int32Array(n + 1);
        for (let e = 0; e < m; e++) { this.succPtr[from[e] + 1]++; this.predPtr[to[e] + 1]++; }
        for (let i = 0; i < n; i++) { this.succPtr[i + 1] += this.succPtr[i]; this.predPtr[i + 1] += this.predPtr[i]; }
        this.predEdge = new Int32Array(m);
        const fill = this.predPtr.slice();
        for (let e = 0; e < m; e++) this.predEdge[fill[to[e]]++] = e;
    }

    /* [[op, distance], ...] */
    successors(op) {
        const { to, distance } = this.data.edges, list = [];
        for (let e = this.succPtr[op]; e < this.succPtr[op + 1]; e++) list.push([to[e], distance ? distance[e] : 0]);
        return list;
    }
    predecessors(op) {
        const { from, distance } = this.data.edges, list = [];
        for (let k = this.predPtr[op]; k < this.predPtr[op + 1]; k++) {
            const e = this.predEdge[k];
            list.push([from[e], distance ? distance[e] : 0]);
        }
        return list;
    }

    /*
     * A layer: pieces of bars by row, then start. busy is a running sum of lengths, so that the load of a
     * pixel with a thousand ops in it costs two look-ups: busyUntil, of the pieces lo to hi of one row.
     */
    makeLayer(pieces, shift, iteration) {
        const rows = this.data.rows.length, n = pieces.length;
        pieces.sort((a, b) => a.row - b.row || a.start - b.start || a.end - b.end);
        const layer = {
            shift, iteration, ptr: new Int32Array(rows + 1), start: new Float64Array(n), end: new Float64Array(n),
            op: new Int32Array(n), stage: new Int32Array(n), demand: new Float64Array(n), busy: new Float64Array(n + 1),
        };
        pieces.forEach((piece, i) => {
            layer.ptr[piece.row + 1]++;
            layer.start[i] = piece.start;
            layer.end[i] = piece.end;
            layer.op[i] = piece.op;
            layer.stage[i] = piece.stage || 0;
            layer.demand[i] = piece.demand;
            layer.busy[i + 1] = layer.busy[i] + (piece.end - piece.start);
        });
        for (let r = 0; r < rows; r++) layer.ptr[r + 1] += layer.ptr[r];
        layer.busyUntil = (lo, hi, time) => {
            const k = Sked.after(layer.start, lo, hi, time, true);
            return k === lo ? layer.busy[lo] : layer.busy[k - 1] + Math.min(time, layer.end[k - 1]) - layer.start[k - 1];
        };
        return layer;
    }

    iterationLayers() {
        const { bars, copies, ii } = this.data, layers = [];
        for (let k = 0; k <= copies; k++) {
            if (k > 0 && !bars.lanes) {
                layers.push({ ...layers[0], shift: k * ii, iteration: k });
                continue;
            }
            const pieces = bars.op.map((op, b) => ({
                op, start: this.start[op], end: this.finish(op), demand: bars.demand ? bars.demand[b] : 1,
                row: bars.row[b] + (bars.lanes ? k % bars.lanes[b] : 0),
            }));
            layers.push(this.makeLayer(pieces, k * ii, k));
        }
        return layers;
    }

    /* Every op where it stands in the interval of the steady state; two pieces across its end. */
    foldedLayer() {
        const { bars, ii } = this.data, pieces = [], tiny = 1e-9 * ii;
        bars.op.forEach((op, b) => {
            const lanes = bars.lanes ? bars.lanes[b] : 1, length = this.duration[op];
            const phase = this.start[op] % ii, stage = Math.floor(this.start[op] / ii + 1e-9);
            const demand = bars.demand ? bars.demand[b] : 1, row = bars.row[b];
            const full = lanes - 1 + (length >= ii - tiny && length % ii <= tiny ? 1 : 0);
            for (let k = 0; k < full; k++) pieces.push({ op, start: 0, end: ii, row: row + k, stage, demand });
            if (full === lanes) return;
            const end = phase + (length % ii), last = row + lanes - 1;
            pieces.push({ op, start: phase, end: Math.min(end, ii), row: last, stage, demand });
            if (end > ii + tiny) pieces.push({ op, start: 0, end: end - ii, row: last, stage, demand });
        });
        return this.makeLayer(pieces, 0, 0);
    }

    /* Ops whose name or type contains the text, in order of start. */
    search(text) {
        const wanted = text.trim().toLowerCase();
        if (!wanted) return null;
        const types = new Set();
        this.data.types.forEach((type, index) => { if (type.toLowerCase().includes(wanted)) types.add(index); });
        const found = [];
        for (let op = 0; op < this.count; op++) {
            const typed = this.data.type && types.has(this.data.type[op]);
            if (typed || this.name(op).toLowerCase().includes(wanted)) found.push(op);
        }
        found.sort((a, b) => this.start[a] - this.start[b] || a - b);
        return Int32Array.from(found);
    }
};

/* First index in lo..hi where a test holds that holds from there on. */
Sked.first = (lo, hi, test) => {
    while (lo < hi) {
        const middle = (lo + hi) >> 1;
        if (test(middle)) hi = middle;
        else lo = middle + 1;
    }
    return lo;
};

/* First index in lo..hi with column[index] > value (or >= with `equal`). */
Sked.after = (column, lo, hi, value, equal) =>
    Sked.first(lo, hi, equal ? (k) => column[k] >= value : (k) => column[k] > value);
