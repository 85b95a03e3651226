"use strict";
/* The Gantt chart. Draws only the rows and times in view; ops narrower than a pixel become shaded columns. */
Sked.Gantt = class extends Sked.Chart {
    constructor(model, timeline, state) {
        super(timeline, "Gantt chart of the schedule");
        this.model = model;
        this.state = state;
        this.axis = 26;
        this.gap = model.data.groups.length > 1 && model.data.groups.length < 200 ? 8 : 0;
        this.scroll = 0;
        this.hover = null;
        this.labelWidth = new Map();
        this.listeners = { hover: () => {}, select: () => {} };
        this.fitRows();
        this.box.setAttribute("tabindex", "0");
        this.box.setAttribute("role", "application");
        this.box.classList.add("grab");
        this.listen();
        Sked.onTheme(() => { this.palette = null; this.timeline.redraw(); });
    }

    /* ---------------------------------------------------------------- geometry */

    get gaps() { return Math.max(0, this.model.data.groups.length - 1) * this.gap; }
    get content() { return this.model.data.rows.length * this.rowHeight + this.gaps; }
    get viewport() { return this.height - this.axis; }

    /* All rows at once where they fit a screen at three pixels or more. */
    fitRows() {
        const rows = Math.max(1, this.model.data.rows.length), most = Math.max(220, Math.min(620, innerHeight * 0.62));
        const fit = (most - this.gaps) / rows;
        this.rowHeight = fit >= 26 ? 26 : fit >= 8 ? Math.floor(fit) : Math.max(3, fit);
        this.resize();
    }
    resize() {
        const most = Math.max(220, Math.min(620, innerHeight * 0.62));
        this.height = this.axis + Math.ceil(Math.min(this.content, most)) + 2;
        this.scrollTo(this.scroll);
    }
    scrollTo(y) {
        this.scroll = Math.max(0, Math.min(y, this.content - this.viewport + 2));
        this.timeline.redraw();
    }
    setRowHeight(height) {
        const middle = (this.scroll + this.viewport / 2) / this.content;
        this.rowHeight = Math.max(2, Math.min(60, height));
        this.resize();
        this.scrollTo(middle * this.content - this.viewport / 2);
    }
    y(row) { return this.axis + row * this.rowHeight + this.model.rowGroup[row] * this.gap - this.scroll; }
    rowAt(y) {
        const rows = this.model.data.rows.length, row = Sked.first(0, rows, (k) => this.y(k) + this.rowHeight > y);
        return row < rows && this.y(row) <= y && y >= this.axis ? row : -1;
    }
    visibleRows() {
        const rows = this.model.data.rows.length, first = Sked.first(0, rows, (k) => this.y(k) + this.rowHeight > this.axis);
        return [first, Sked.first(first, rows, (k) => this.y(k) >= this.height)];
    }
    layers() { return this.state.folded ? [this.model.folded] : this.model.layers; }

    /* ---------------------------------------------------------------- drawing */

    draw() {
        const context = this.prepare(), timeline = this.timeline;
        this.palette = this.palette || this.readPalette(context);
        const [first, end] = this.visibleRows();
        this.drawAxis(context);
        context.save();
        context.beginPath();
        context.rect(timeline.gutter, this.axis, timeline.width + 1, this.height - this.axis);
        context.clip();
        this.drawIdle(context, first, end);
        this.drawGrid(context);
        const layers = this.layers();
        for (let k = layers.length - 1; k >= 0; k--)
            for (let row = first; row < end; row++) this.drawRow(context, layers[k], row, k === 0);
        if (this.state.critical && !this.state.folded) this.drawChain(context, first, end);
        if (this.state.matches) this.drawMatches(context);
        if (this.state.selected >= 0) this.drawSelection(context);
        for (let row = first; row < end; row++) this.drawLabels(context, layers[0], row);
        context.restore();
        this.drawNames(context, first, end);
        this.drawScrollbar(context);
        this.drawOver();
    }

    readPalette(context) {
        const palette = {};
        for (const name of ["text", "muted", "line", "grid", "idle", "hatch", "critical", "accent", "bar-text", "card"])
            palette[name] = Sked.cssColor(name);
        const tile = document.createElement("canvas");
        tile.width = tile.height = 8;
        const pen = tile.getContext("2d");
        pen.fillStyle = palette.idle;
        pen.fillRect(0, 0, 8, 8);
        pen.strokeStyle = palette.hatch;
        pen.lineWidth = 1.2;
        for (const k of [-8, 0, 8]) { pen.beginPath(); pen.moveTo(k - 1, 9); pen.lineTo(k + 9, -1); pen.stroke(); }
        palette.pattern = context.createPattern(tile, "repeat");
        return palette;
    }

    drawAxis(context) {
        context.fillStyle = this.palette.muted;
        context.textAlign = "center";
        context.textBaseline = "alphabetic";
        for (const tick of this.ticks()) context.fillText(tick.text, this.timeline.x(tick.value), this.axis - 10);
    }
    ticks() {
        const { from, to, width } = this.timeline;
        return Sked.ticks(from, to, Math.max(2, width / 84), this.model.data.integral);
    }
    drawGrid(context) {
        context.fillStyle = this.palette.grid;
        for (const tick of this.ticks()) context.fillRect(Math.round(this.timeline.x(tick.value)), this.axis, 1, this.height);
        const { ii, copies } = this.model.data;
        if (!(ii > 0) || this.state.folded) return;
        context.strokeStyle = this.palette.muted;
        context.setLineDash([4, 3]);
        for (let k = 1; k <= copies; k++) {
            const x = Math.round(this.timeline.x(k * ii)) + 0.5;
            context.beginPath();
            context.moveTo(x, this.axis);
            context.lineTo(x, this.height);
            context.stroke();
        }
        context.setLineDash([]);
    }
    drawIdle(context, first, end) {
        const { ii, makespan, groups } = this.model.data, ramp = ii > 0 && !this.state.folded;
        const x = this.timeline.x(0), width = this.timeline.x(ii > 0 ? this.timeline.end : makespan) - x;
        context.fillStyle = ramp ? this.palette.idle : this.palette.pattern;
        const pad = this.pad;
        for (let row = first; row < end; row++)
            if (groups[this.model.rowGroup[row]].limited) context.fillRect(x, this.y(row) + pad, width, this.rowHeight - 2 * pad);
    }
    get pad() { return this.rowHeight >= 9 ? 1 : 0; }

    style(color, alpha) { return this.model.data.palette[color] + Math.round(alpha * 255).toString(16).padStart(2, "0"); }
    alpha(op, base) {
        if (this.state.hidden[this.model.color[op]]) return base * 0.1;
        return this.state.matches && !this.state.matched[op] ? base * 0.22 : base;
    }

    /*
     * Bars of one row and layer. Edges are whole pixels and neighbours touch: what looks idle is idle. A run of ops inside one
     * column costs four binary searches, however many.
     */
    drawRow(context, layer, row, front) {
        const { timeline, model } = this, lo = layer.ptr[row], hi = layer.ptr[row + 1];
        const from = timeline.from - layer.shift, to = timeline.to - layer.shift, scale = timeline.scale;
        const top = this.y(row) + this.pad, height = this.rowHeight - 2 * this.pad, base = front ? 1 : 0.3;
        const column = this.rowHeight < 5 ? 2 : 1, origin = timeline.gutter - from * scale;
        const edge = (time) => Math.round(origin + time * scale);
        for (let i = Sked.after(layer.end, lo, hi, from, true); i < hi && layer.start[i] <= to;) {
            const x = edge(layer.start[i]), width = edge(layer.end[i]) - x, op = layer.op[i];
            if (width >= column) {
                context.fillStyle = this.style(model.color[op], this.alpha(op, base));
                context.fillRect(x, top, width, height);
                if (width > 4) this.separate(context, x + width - 1, top, height, base);
                if (front && this.state.critical && model.critical[op]) this.outline(context, x, top, width, height);
                i++;
                continue;
            }
            const left = Math.floor((origin + layer.start[i] * scale) / column) * column, right = (left + column - origin) / scale;
            let next = Math.max(i + 1, Sked.after(layer.start, i, hi, right, true));
            if (next > i + 1 && edge(layer.end[next - 1]) - edge(layer.start[next - 1]) >= column) next--; /* a wide one begins here */
            const middle = layer.op[(i + next - 1) >> 1];
            const busy = layer.busyUntil(lo, hi, right) - layer.busyUntil(lo, hi, (left - origin) / scale);
            context.fillStyle = this.style(model.color[middle], this.alpha(middle, base) * Math.min(1, 0.25 + 0.75 * busy * scale / column));
            context.fillRect(left, top, column, height);
            if (front && this.state.critical && model.critical[middle]) this.outline(context, left, top, column, height);
            i = next;
        }
    }
    /* A darker line at the end of a bar, where the next one may begin. */
    separate(context, x, y, height, base) {
        context.fillStyle = `rgba(0, 0, 0, ${0.22 * base})`;
        context.fillRect(x, y, 1, height);
    }
    outline(context, x, y, width, height) {
        if (width >= 7 && height >= 7) {
            context.strokeStyle = this.palette.critical;
            context.lineWidth = 2;
            context.strokeRect(x + 1, y + 1, width - 3, height - 2);
        } else {
            context.fillStyle = this.palette.critical;
            context.fillRect(x, y + height - 2, Math.max(1, width), 2);
        }
    }

    /* Lines between the ops of the chain; ones within a pixel of the last are left out. */
    drawChain(context) {
        const { chain, waits } = this.model.data, { timeline, model } = this;
        let lastX = -1e9, lastY = 0;
        context.strokeStyle = this.palette.critical;
        context.lineWidth = 1.5;
        context.beginPath();
        for (let k = 1; k < chain.length; k++) {
            const a = chain[k - 1], b = chain[k], rowA = model.opRow[a], rowB = model.opRow[b];
            const x0 = timeline.x(waits[k]), x1 = timeline.x(model.start[b]);
            if (x1 < timeline.gutter || x0 > timeline.gutter + timeline.width) continue;
            const y0 = this.y(rowA) + this.rowHeight / 2, y1 = this.y(rowB) + this.rowHeight / 2;
            if (rowA === rowB && Math.abs(x1 - x0) < 2) continue;
            if (Math.abs(x1 - lastX) < 1 && Math.abs(y1 - lastY) < 1) continue;
            context.moveTo(x0, y0);
            context.lineTo(x1, y1);
            lastX = x1;
            lastY = y1;
        }
        context.stroke();
    }

    /* Where an op stands now: [row, start, end]. */
    place(op) {
        const start = this.state.folded ? this.model.start[op] % this.model.data.ii : this.model.start[op];
        return [this.model.opRow[op], start, start + this.model.duration[op]];
    }
    frame(context, op, color, least) {
        const [row, start, end] = this.place(op), x = this.timeline.x(start), y = this.y(row);
        const width = Math.max(least, this.timeline.x(end) - x - 1);
        if (x > this.timeline.gutter + this.timeline.width || x + width < this.timeline.gutter || y > this.height) return;
        context.strokeStyle = color;
        context.lineWidth = 2;
        context.strokeRect(x, y + 1, width, this.rowHeight - 2);
    }
    drawMatches(context) {
        const shown = new Set();
        for (const op of this.state.matches) {
            const [row, start] = this.place(op), key = row * 65536 + Math.round(this.timeline.x(start) / 2);
            if (shown.has(key)) continue;
            shown.add(key);
            this.frame(context, op, this.palette.accent, 2);
            if (shown.size > 4000) break;
        }
    }
    drawSelection(context) {
        const op = this.state.selected, [row, start, end] = this.place(op);
        const middle = this.y(row) + this.rowHeight / 2;
        context.strokeStyle = this.palette.text;
        context.lineWidth = 1.2;
        context.globalAlpha = 0.6;
        const link = (x0, y0, x1, y1) => {
            const bend = Math.max(18, Math.abs(x1 - x0) / 2);
            context.beginPath();
            context.moveTo(x0, y0);
            context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
            context.stroke();
        };
        for (const [from] of this.model.predecessors(op).slice(0, 200)) {
            const [r, , e] = this.place(from);
            link(this.timeline.x(e), this.y(r) + this.rowHeight / 2, this.timeline.x(start), middle);
        }
        for (const [to] of this.model.successors(op).slice(0, 200)) {
            const [r, s] = this.place(to);
            link(this.timeline.x(end), middle, this.timeline.x(s), this.y(r) + this.rowHeight / 2);
        }
        context.globalAlpha = 1;
        this.frame(context, op, this.palette.text, 3);
    }

    drawLabels(context, layer, row) {
        if (this.rowHeight < 13) return;
        const { timeline, model } = this, from = timeline.from - layer.shift, to = timeline.to - layer.shift, scale = timeline.scale;
        const lo = layer.ptr[row], hi = layer.ptr[row + 1], y = this.y(row) + this.rowHeight / 2 + 4;
        context.font = Sked.smallFont;
        context.textAlign = "center";
        context.fillStyle = this.palette["bar-text"];
        for (let i = Sked.after(layer.end, lo, hi, from, true); i < hi && layer.start[i] <= to;) {
            if ((layer.end[i] - layer.start[i]) * scale < 14) {
                /* nothing fits here: on to the first op that starts 14 pixels on */
                const ahead = Sked.after(layer.start, i, hi, layer.start[i] + 3 / scale, true);
                i = Math.max(i + 1, Math.min(ahead, i + 64));
                continue;
            }
            const x0 = Math.max(timeline.x(layer.start[i] + layer.shift), timeline.gutter);
            const x1 = Math.min(timeline.x(layer.end[i] + layer.shift), timeline.gutter + timeline.width);
            const op = layer.op[i], text = this.label(context, layer, i, x1 - x0 - 8);
            if (text && this.alpha(op, 1) > 0.5) context.fillText(text, (x0 + x1) / 2, y);
            i++;
        }
        context.font = Sked.font;
    }
    label(context, layer, i, room) {
        const name = this.model.name(layer.op[i]);
        const extra = (layer.demand[i] !== 1 ? " ×" + Sked.number(layer.demand[i]) : "") + (this.state.folded && layer.stage[i] ? " ·s" + layer.stage[i] : "");
        for (const text of [name + extra, name, name.slice(name.lastIndexOf("/") + 1)]) {
            if (text.length > 200) continue;
            if (!this.labelWidth.has(text)) {
                if (this.labelWidth.size > 20000) this.labelWidth.clear();
                this.labelWidth.set(text, context.measureText(text).width);
            }
            if (this.labelWidth.get(text) <= room) return text;
        }
        return "";
    }

    drawNames(context, first, end) {
        const { groups, rows } = this.model.data;
        let free = this.axis;
        context.textAlign = "right";
        context.fillStyle = this.palette.muted;
        for (let row = first; row < end; row++) {
            const group = groups[this.model.rowGroup[row]], single = this.rowHeight >= 13 || group.devices;
            const last = single ? row : Math.min(end, group.first + group.rows) - 1;
            const middle = (this.y(row) + this.y(last) + this.rowHeight) / 2 + 4;
            if (middle - 11 >= free - 1 && middle <= this.height + 3) {
                context.fillText(Sked.clip(context, single ? rows[row] : group.name, this.timeline.gutter - 16), this.timeline.gutter - 10, middle);
                free = middle + 2;
            }
            row = last;
        }
    }
    drawScrollbar(context) {
        if (this.content <= this.viewport) return;
        const x = this.timeline.gutter + this.timeline.width + 6, track = this.viewport;
        context.fillStyle = this.palette.grid;
        context.fillRect(x, this.axis, 5, track);
        context.fillStyle = this.palette.muted;
        context.fillRect(x, this.axis + (this.scroll / this.content) * track, 5, Math.max(16, (this.viewport / this.content) * track));
    }
    drawOver() {
        const context = this.context(this.over);
        if (!this.palette || !this.hover) return;
        context.strokeStyle = this.palette.text;
        context.lineWidth = 2;
        const { layer, index, row } = this.hover, x = this.timeline.x(layer.start[index] + layer.shift);
        const width = Math.max(2, (layer.end[index] - layer.start[index]) * this.timeline.scale - 1);
        context.beginPath();
        context.rect(this.timeline.gutter, this.axis, this.timeline.width, this.height);
        context.clip();
        context.strokeRect(x, this.y(row) + 1, width, this.rowHeight - 2);
    }

    /* ---------------------------------------------------------------- pointer and keys */

    /* The piece under a point, or within three pixels of it. */
    hit(x, y) {
        const row = this.rowAt(y);
        if (row < 0 || x < this.timeline.gutter) return null;
        const near = 3 / this.timeline.scale;
        let best = null, least = near;
        for (const layer of this.layers()) {
            const time = this.timeline.time(x) - layer.shift, lo = layer.ptr[row], hi = layer.ptr[row + 1];
            const at = Sked.after(layer.start, lo, hi, time);
            for (let index = Math.max(lo, at - 2); index < Math.min(hi, at + 1); index++) {
                const away = Math.max(layer.start[index] - time, time - layer.end[index], 0);
                if (away < least || (away === 0 && !best)) { best = { layer, index, row, op: layer.op[index] }; least = away; }
            }
            if (best && least === 0) break;
        }
        return best;
    }

    listen() {
        let drag = null;
        const point = (event) => {
            const box = this.box.getBoundingClientRect();
            return [event.clientX - box.left, event.clientY - box.top];
        };
        this.box.addEventListener("pointerdown", (event) => {
            const [x, y] = point(event);
            drag = { x, y, from: this.timeline.from, to: this.timeline.to, scroll: this.scroll, moved: false };
            this.box.setPointerCapture(event.pointerId);
        });
        this.box.addEventListener("pointermove", (event) => {
            const [x, y] = point(event);
            if (drag && Math.hypot(x - drag.x, y - drag.y) > 4) drag.moved = true;
            if (drag && drag.moved) {
                const time = (drag.x - x) / this.timeline.scale;
                this.box.classList.add("grabbing");
                this.setHover(null, event);
                this.timeline.show(drag.from + time, drag.to + time);
                this.scrollTo(drag.scroll + drag.y - y);
            } else {
                this.setHover(this.hit(x, y), event);
            }
        });
        const release = (event) => {
            if (drag && !drag.moved && event.type === "pointerup") {
                const found = this.hit(...point(event));
                this.listeners.select(found ? found.op : -1);
            }
            drag = null;
            this.box.classList.remove("grabbing");
        };
        this.box.addEventListener("pointerup", release);
        this.box.addEventListener("pointercancel", release);
        this.box.addEventListener("pointerleave", (event) => this.setHover(null, event));
        this.box.addEventListener("wheel", (event) => {
            if (!event.altKey) return;
            this.scrollTo(this.scroll + event.deltaY);
            event.preventDefault();
            event.stopImmediatePropagation();
        }, { passive: false, capture: true });
        this.box.addEventListener("keydown", (event) => this.onKey(event));
    }
    setHover(found, event) {
        this.hover = found;
        this.box.style.cursor = found ? "pointer" : "";
        this.drawOver();
        this.listeners.hover(found, event);
    }

    onKey(event) {
        if (this.timeline.onKey(event)) return;
        const actions = {
            ArrowUp: () => this.scrollTo(this.scroll - this.rowHeight * 2), ArrowDown: () => this.scrollTo(this.scroll + this.rowHeight * 2),
            PageUp: () => this.scrollTo(this.scroll - this.viewport), PageDown: () => this.scrollTo(this.scroll + this.viewport),
            "[": () => this.setRowHeight(this.rowHeight / 1.3), "]": () => this.setRowHeight(this.rowHeight * 1.3),
            ".": () => this.step(1), ",": () => this.step(-1), Escape: () => this.listeners.select(-1),
        };
        if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
        actions[event.key]();
        event.preventDefault();
    }
    /* Selects the next op of the row, or the first in view. */
    step(direction) {
        const layer = this.layers()[0], op = this.state.selected, row = op >= 0 ? this.model.opRow[op] : this.visibleRows()[0];
        const lo = layer.ptr[row], hi = layer.ptr[row + 1];
        let index = lo;
        if (op >= 0) {
            while (index < hi && layer.op[index] !== op) index++;
            index += direction;
        } else {
            index = Sked.after(layer.end, lo, hi, this.timeline.from);
        }
        if (index >= lo && index < hi) this.jump(layer.op[index]);
    }
    /* Brings an op into view, wide enough to be seen, and selects it. */
    jump(op) {
        const [row, start, end] = this.place(op), { timeline } = this;
        const span = Math.min(timeline.to - timeline.from, Math.max((end - start) * 14, timeline.end * 1e-6));
        if (start < timeline.from || end > timeline.to || (end - start) * timeline.scale < 24) {
            const middle = (start + end) / 2;
            timeline.show(middle - span / 2, middle + span / 2);
        }
        const top = row * this.rowHeight + this.model.rowGroup[row] * this.gap;
        if (top < this.scroll || top + this.rowHeight > this.scroll + this.viewport) this.scrollTo(top - this.viewport / 2);
        this.listeners.select(op);
    }
};
