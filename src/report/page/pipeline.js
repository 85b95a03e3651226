"use strict";
/* The section of kind "pipeline": stages from left to right, filled to their longest delay, and the registers between them. */
Sked.section("pipeline", (section, data) => {
    const { h, svg, number } = Sked;
    const stages = Math.max(data.ops.length, data.registers.length + 1);
    const at = (list, k) => k < list.length ? list[k] : 0;
    const dense = stages > 20, step = dense ? Math.max(6, 980 / stages) : Math.min(120, 980 / stages), gap = dense ? 0.5 * step : 22;
    const top = 34, tall = 150, bottom = top + tall, width = stages * step + gap + 20, height = bottom + 52;
    const most = Math.max(1, ...data.registers), every = Math.max(1, Math.ceil(44 / step));
    const total = data.registers.reduce((sum, bits) => sum + bits, 0);

    /* ---------------------------------------------------------------- the picture */

    const plot = Sked.picture(width, height, `${stages} stages, ${number(total)} register bits between them`);
    plot.classList.add("pipeline");
    plot.setAttribute("width", width);
    plot.setAttribute("height", height);
    for (let k = 0; k < stages; k++) {
        const left = 10 + k * step, wide = step - gap, full = Math.min(1, at(data.delay, k) / data.clock) * tall;
        const fact = `stage ${k}: ${number(at(data.ops, k))} ops, longest delay ${number(at(data.delay, k))} of ${number(data.clock)}`;
        plot.append(svg("g", {}, svg("title", {}, fact),
            svg("rect", { class: "stage", x: left, y: top, width: wide, height: tall }),
            svg("rect", { class: "delay", x: left, y: bottom - full, width: wide, height: full })));
        if (k % every === 0)
            plot.append(svg("text", { x: left + wide / 2, y: bottom + 17, class: "middle strong" }, String(k)),
                svg("text", { x: left + wide / 2, y: bottom + 33, class: "middle" }, number(at(data.ops, k))));
        if (k >= data.registers.length) continue;
        const bits = data.registers[k], long = bits / most * tall, thick = Math.max(2, 0.55 * gap), x = left + wide + (gap - thick) / 2;
        plot.append(svg("g", {}, svg("title", {}, `${number(bits)} bits from stage ${k} to ${k + 1}`),
            svg("rect", { class: "register", x, y: top + (tall - long) / 2, width: thick, height: long })));
        if (k % every === 0)
            plot.append(svg("text", { x: x + thick / 2, y: top - 9, class: "middle register" }, number(bits)));
    }
    section.append(h("div", { class: "card", id: "pipeline" }, h("h2", {}, "Pipeline"),
        h("p", { class: "muted" }, `${stages} ${stages === 1 ? "stage" : "stages"}, clock period ${number(data.clock)}, ${number(total)} register bits, ` +
            `at most ${number(data.registers.length ? most : 0)} between two stages. A stage is filled to its longest delay; a bar between two stages is as long as their registers have bits. Below a stage: its number, and how many ops start in it.`),
        h("div", { class: "scroll wide" }, plot)));
});
