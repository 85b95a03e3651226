"use strict";
/* The section of kind "schedule": figures, tools, legend, Gantt, curves, details of one op. */
Sked.section("schedule", (section, data) => {
    const { h, number } = Sked;
    const model = new Sked.Model(data);
    const state = {
        hidden: new Uint8Array(data.palette.length), critical: true, folded: false, selected: -1,
        matches: null, matched: null, time: null, cursor: () => {},
    };
    const timeline = new Sked.Timeline(data.end);

    /* ---------------------------------------------------------------- heading and figures */

    Sked.lead.append(h("h1", {}, data.title), h("div", { class: "muted" }, data.subtitle));
    section.append(h("div", { class: "card" },
        h("dl", { class: "figures" }, data.figures.map(([label, value, note]) =>
            h("div", {}, h("dt", {}, label), h("dd", {}, value, note ? h("div", { class: "note" }, note) : null))))));

    /* ---------------------------------------------------------------- charts */

    const gantt = new Sked.Gantt(model, timeline, state);
    gantt.box.id = "gantt";
    const curves = data.curves.map((curve) => new Sked.Curve(curve, model, timeline, state));
    state.cursor = (time) => {
        state.time = time;
        for (const curve of curves) curve.drawOver();
    };
    const first = 6; /* more curves than this wait behind a button */
    const curveBox = h("div", { class: "curves", id: "curves" },
        h("h3", {}, "Load over time ", data.ii > 0 ? h("span", {}, "in steady state, repeating every interval") : null),
        curves.slice(0, first).map((curve) => curve.box));
    if (curves.length > first) {
        timeline.views = timeline.views.filter((view) => !curves.includes(view) || curves.indexOf(view) < first);
        const more = h("button", { type: "button", onclick: () => {
            for (const curve of curves.slice(first)) { curveBox.append(curve.box); timeline.views.push(curve); }
            more.remove();
            timeline.redraw();
        } }, `Show ${curves.length - first} more`);
        curveBox.append(more);
    }

    const arenas = data.arenas.map((arena) => new Sked.Arena(arena, model, timeline, state));
    const arenaBox = arenas.length === 0 ? null : h("div", { class: "curves", id: "arenas" },
        h("h3", {}, "Addresses ", h("span", {}, "of the values that are held")), arenas.map((arena) => arena.box));

    /* ---------------------------------------------------------------- facts about an op */

    function facts(op, piece) {
        const list = [], shift = piece && !state.folded ? piece.layer.shift : 0;
        if (model.type(op) !== null) list.push(["Type", model.type(op)]);
        list.push(["Start", number(model.start[op] + shift)], ["Finish", number(model.finish(op) + shift)], ["Duration", number(model.duration[op])]);
        if (data.device) list.push(["Device", data.deviceNames ? data.deviceNames[data.device[op]].slice(0, 200) : String(data.device[op])]);
        else if (piece) list.push(["Row", data.rows[piece.row]]);
        if (piece && piece.layer.demand[piece.index] !== 1) list.push(["Demand", number(piece.layer.demand[piece.index])]);
        if (data.ii > 0) list.push(["Stage", String(Math.floor(model.start[op] / data.ii + 1e-9))]);
        if (data.ii > 0 && piece && piece.layer.iteration > 0) list.push(["Iteration", String(piece.layer.iteration)]);
        list.push(["Slack", number(data.slack[op]) + (model.critical[op] ? " (critical)" : "")]);
        if (data.memory) list.push(["Memory", number(data.memory[op])]);
        return list;
    }

    const tip = Sked.tipBox("tip");
    const few = (list) => list.length === 0 ? "none" : list.slice(0, 4).map(([op]) => model.name(op).slice(0, 40)).join(", ") + (list.length > 4 ? ` and ${list.length - 4} more` : "");
    let tipOp = -1, tipPiece = null;
    gantt.listeners.hover = (found, event) => {
        tip.hidden = !found;
        state.cursor(found || gantt.hover ? timeline.time(event.clientX - gantt.box.getBoundingClientRect().left) : null);
        if (!found) { tipOp = -1; return; }
        if (found.op !== tipOp || !tipPiece || found.row !== tipPiece.row || found.layer !== tipPiece.layer) {
            tipOp = found.op;
            tipPiece = found;
            const list = facts(found.op, found);
            if (data.edgesKept) list.push(["Predecessors", few(model.predecessors(found.op))], ["Successors", few(model.successors(found.op))]);
            tip.replaceChildren(h("b", {}, model.name(found.op).slice(0, 200)), Sked.factTable(list));
        }
        place(event);
    };
    function place(event) {
        const box = tip.getBoundingClientRect();
        tip.style.left = Math.max(4, Math.min(event.clientX + 16, innerWidth - box.width - 8)) + "px";
        tip.style.top = (event.clientY + 18 + box.height > innerHeight ? Math.max(4, event.clientY - box.height - 12) : event.clientY + 18) + "px";
    }
    for (const arena of arenas)
        arena.hover = (k, event) => {
            tip.hidden = k < 0;
            tipOp = -1;
            if (k < 0) return;
            tip.replaceChildren(h("b", {}, model.name(arena.arena.op[k]).slice(0, 200)), Sked.factTable(arena.facts(k)));
            place(event);
        };

    const details = h("div", { class: "card", id: "details", hidden: true });
    const spoken = h("div", { class: "sr", "aria-live": "polite", style: "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)" });
    function opButtons(list) {
        if (list.length === 0) return h("span", { class: "muted" }, "none");
        const shown = list.slice(0, 40).map(([op, distance]) =>
            h("button", { type: "button", onclick: () => gantt.jump(op) }, model.name(op).slice(0, 80) + (distance ? ` (${distance} iteration${distance > 1 ? "s" : ""} apart)` : "")));
        return h("div", { class: "ops" }, shown, list.length > 40 ? h("span", { class: "muted" }, `and ${list.length - 40} more`) : null);
    }
    function select(op) {
        state.selected = op;
        details.hidden = op < 0;
        if (op >= 0) {
            const before = model.predecessors(op), after = model.successors(op);
            const links = data.edgesKept
                ? [h("div", {}, h("h3", {}, `Predecessors (${before.length})`), opButtons(before)), h("div", {}, h("h3", {}, `Successors (${after.length})`), opButtons(after))]
                : [h("div", { class: "muted" }, "This graph has too many edges to keep in the page.")];
            details.replaceChildren(h("div", { class: "details" }, h("div", {}, h("h3", {}, model.name(op).slice(0, 300)), Sked.factTable(facts(op, null))), links));
            spoken.textContent = `${model.name(op)}: ` + facts(op, null).map(([key, value]) => `${key} ${value}`).join(", ");
        }
        timeline.redraw();
    }
    gantt.listeners.select = select;

    /* ---------------------------------------------------------------- search */

    const count = h("span", { class: "count", id: "count", "aria-live": "polite" });
    const input = h("input", { id: "search", type: "search", placeholder: "Search ops by name or type", "aria-label": "Search ops by name or type" });
    let current = -1;
    function find() {
        state.matches = model.search(input.value);
        state.matched = null;
        current = -1;
        if (state.matches) {
            state.matched = new Uint8Array(model.count);
            for (const op of state.matches) state.matched[op] = 1;
        }
        count.textContent = state.matches ? (state.matches.length === 0 ? "nothing found" : `${number(state.matches.length)} found`) : "";
        previous.disabled = next.disabled = !state.matches || state.matches.length === 0;
        timeline.redraw();
    }
    function go(direction) {
        const n = state.matches ? state.matches.length : 0;
        if (n === 0) return;
        current = current < 0 ? (direction > 0 ? 0 : n - 1) : (current + direction + n) % n;
        count.textContent = `${current + 1} of ${n}`;
        gantt.jump(state.matches[current]);
    }
    const previous = h("button", { type: "button", "aria-label": "Previous match", disabled: true, onclick: () => go(-1) }, "↑");
    const next = h("button", { type: "button", "aria-label": "Next match", disabled: true, onclick: () => go(1) }, "↓");
    let typing = 0;
    input.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(find, model.count > 20000 ? 150 : 0); });
    input.addEventListener("keydown", (event) => {
        if (event.key === "Enter") { clearTimeout(typing); if (current < 0) find(); go(event.shiftKey ? -1 : 1); event.preventDefault(); }
        if (event.key === "Escape") { input.value = ""; find(); }
    });
    document.addEventListener("keydown", (event) => {
        if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { input.focus(); event.preventDefault(); }
    });

    /* ---------------------------------------------------------------- tools and legend */

    const toggle = (attributes, change, ...content) => {
        const button = h("button", { ...attributes, type: "button", "aria-pressed": "true", onclick: () => {
            const on = button.getAttribute("aria-pressed") !== "true";
            button.setAttribute("aria-pressed", String(on));
            change(on);
            timeline.redraw();
        } }, content);
        return button;
    };
    const tools = [
        h("span", { class: "set" }, input, previous, next, count),
        h("span", { class: "set joined" },
            h("button", { id: "zoom-in", type: "button", "aria-label": "Zoom in", onclick: () => timeline.zoom(0.6) }, "+"),
            h("button", { id: "zoom-out", type: "button", "aria-label": "Zoom out", onclick: () => timeline.zoom(1 / 0.6) }, "−"),
            h("button", { id: "fit", type: "button", onclick: () => { timeline.fit(); gantt.fitRows(); } }, "Fit")),
        toggle({ id: "critical" }, (on) => { state.critical = on; }, "Critical chain"),
    ];
    if (data.copies > 0) {
        const modes = [["iterations", "Iterations"], ["folded", "Steady state"]].map(([id, text]) =>
            h("button", { id, type: "button", "aria-pressed": String(id === "iterations"), onclick: () => mode(id === "folded") }, text));
        function mode(folded) {
            state.folded = folded;
            modes[0].setAttribute("aria-pressed", String(!folded));
            modes[1].setAttribute("aria-pressed", String(folded));
            timeline.setEnd(folded ? data.ii : data.end);
        }
        tools.push(h("span", { class: "set joined" }, modes));
    }
    const legend = h("div", { class: "legend", role: "group", "aria-label": "Op types" }, data.legend.map((entry) =>
        toggle({}, (on) => { state.hidden[entry.color] = on ? 0 : 1; },
            h("i", { style: `background:${data.palette[entry.color]}` }), `${entry.name} (${number(entry.ops)})`)),
    h("span", { class: "key" }, h("i", { class: "critical" }), "critical chain"),
    data.groups.some((group) => group.limited) ? h("span", { class: "key" }, h("i", { class: "idle" }), "idle") : null,
    data.copies > 0 ? h("span", { class: "key" }, "next iterations are faint, dashed lines mark their starts") : null);

    const key = (name) => h("kbd", {}, name);
    section.append(h("div", { class: "card" }, h("div", { class: "toolbar" }, tools), legend, gantt.box, curveBox, arenaBox,
        h("p", { class: "help" }, "Wheel: zoom. Drag: move. Click: details. With the chart focused: ",
            key("+"), " ", key("−"), " zoom, ", key("←"), " ", key("→"), " ", key("↑"), " ", key("↓"), " move, ", key("0"), " all, ",
            key(","), " ", key("."), " previous and next op, ", key("["), " ", key("]"), " row height, ", key("/"), " search.")),
        details, spoken);

    /* ---------------------------------------------------------------- size */

    const pen = document.createElement("canvas").getContext("2d");
    pen.font = Sked.font;
    const names = data.groups.flatMap((group) => [data.rows[group.first + group.rows - 1], group.name])
        .concat(data.curves.flatMap((curve) => [curve.name, curve.capacity === null ? "" : Sked.Curve.peak(curve)]), data.arenas.map((arena) => arena.name), data.deviceNames ? data.rows : []);
    const widest = Math.max(...names.slice(0, 2000).map((name) => pen.measureText(name.slice(0, 60)).width), 84);
    timeline.gutter = Math.round(Math.min(widest, 190) + 20);
    new ResizeObserver(() => { gantt.resize(); timeline.redraw(); }).observe(gantt.box);
    section.sked = { timeline, gantt, model, state };
});
