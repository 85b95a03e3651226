"use strict";
/* The section of kind "robust": candidates of several methods on proxy and target, the table, the winner. */
Sked.section("robust", (section, data) => {
    const { h, svg, number } = Sked;
    const width = 760, height = 420, left = 58, right = 16, top = 14, bottom = 46;

    /* Marks differ in form as well as in colour. */
    const forms = [
        (x, y, r) => `M${x} ${y - 1.4 * r}l${1.4 * r} ${1.4 * r}l${-1.4 * r} ${1.4 * r}l${-1.4 * r} ${-1.4 * r}z`,
        (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
        (x, y, r) => `M${x - 0.9 * r} ${y - 0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}z`,
        (x, y, r) => `M${x} ${y - 1.15 * r}l${1.1 * r} ${2 * r}h${-2.2 * r}z`,
        (x, y, r) => `M${x} ${y + 1.15 * r}l${1.1 * r} ${-2 * r}h${-2.2 * r}z`,
    ];
    const sign = (method) => svg("svg", { width: 14, height: 14, "aria-hidden": "true" },
        svg("path", { d: forms[method.form](7, 7, 4.6), fill: method.color }));

    /* ---------------------------------------------------------------- axes */

    const points = data.methods.flatMap((method, m) => method.proxy.map((proxy, k) => ({ m, k, proxy, target: method.target[k] })))
        .filter((point) => point.target !== null);
    function axis(values, low, high) {
        let from = Math.min(...values), to = Math.max(...values);
        if (values.length === 0) [from, to] = [0, 1];
        const room = Math.max(0.06 * (to - from), 0.005 * Math.abs(to), 1e-9);
        from -= room;
        to += room;
        const place = (x) => low + (high - low) * (x - from) / (to - from);
        place.ticks = Sked.ticks(from, to, 8, false);
        return place;
    }
    const x = axis(points.map((point) => point.proxy), left, width - right);
    const y = axis(points.map((point) => point.target), height - bottom, top);

    /* ---------------------------------------------------------------- the plot */

    const plot = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "scatter", role: "img",
        "aria-label": `Speedup of ${points.length} candidates on the proxy and on ${data.target}` });
    for (const tick of x.ticks) plot.append(svg("path", { class: "grid", d: `M${x(tick.value)} ${top}V${height - bottom}` }),
        svg("text", { x: x(tick.value), y: height - bottom + 18, class: "middle" }, tick.text));
    for (const tick of y.ticks) plot.append(svg("path", { class: "grid", d: `M${left} ${y(tick.value)}H${width - right}` }),
        svg("text", { x: left - 8, y: y(tick.value) + 4, class: "end" }, tick.text));
    plot.append(svg("text", { x: (left + width - right) / 2, y: height - 8, class: "middle" }, "speedup on the proxy"),
        svg("text", { x: 14, y: (top + height - bottom) / 2, class: "middle", transform: `rotate(-90 14 ${(top + height - bottom) / 2})` },
            `speedup on ${data.target.slice(0, 60)}`));
    const layers = data.methods.map((method) => svg("g", { class: "marks", fill: method.color }));
    for (const point of points) {
        const method = data.methods[point.m];
        point.node = svg("path", { d: forms[method.form](x(point.proxy), y(point.target), method.count === 1 ? 5 : 3.6) });
        layers[point.m].append(point.node);
    }
    plot.append(...layers);
    const winner = data.methods[data.winner];
    if (winner && winner.best >= 0) {
        const [px, py] = [x(winner.bestProxy), y(winner.targetSpeedup)], before = px > 0.6 * width;
        plot.append(svg("path", { d: forms[winner.form](px, py, 4.6), fill: winner.color, class: "through" }),
            svg("circle", { cx: px, cy: py, r: 9, class: "winner" }),
            svg("text", { x: px + (before ? -14 : 14), y: py + 4, class: before ? "strong end" : "strong" }, "winner"));
    }
    const ring = svg("circle", { r: 7, class: "ring", visibility: "hidden" });
    plot.append(ring);

    /* ---------------------------------------------------------------- hover: the nearest mark */

    const tip = h("div", { class: "tip", id: "robust-tip", role: "tooltip", hidden: true });
    document.body.append(tip);
    const hidden = data.methods.map(() => false);
    function nearest(event) {
        const box = plot.getBoundingClientRect(), scale = width / box.width;
        const px = (event.clientX - box.left) * scale, py = (event.clientY - box.top) * scale;
        let best = null, least = 14 * 14;
        for (const point of points) {
            const d = (x(point.proxy) - px) ** 2 + (y(point.target) - py) ** 2;
            if (!hidden[point.m] && d <= least) [best, least] = [point, d];
        }
        return best;
    }
    plot.addEventListener("pointermove", (event) => {
        const point = nearest(event);
        tip.hidden = !point;
        ring.setAttribute("visibility", point ? "visible" : "hidden");
        if (!point) return;
        const method = data.methods[point.m];
        ring.setAttribute("cx", x(point.proxy));
        ring.setAttribute("cy", y(point.target));
        tip.replaceChildren(h("b", {}, method.name), h("table", { class: "facts" },
            [["Candidate", `${point.k * method.stride + 1} of ${method.count} by proxy`], ["Speedup on the proxy", number(point.proxy)],
                ["Speedup on the target", number(point.target)]].map(([key, value]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, value)))));
        const box = tip.getBoundingClientRect();
        tip.style.left = Math.max(4, Math.min(event.clientX + 16, innerWidth - box.width - 8)) + "px";
        tip.style.top = Math.max(4, Math.min(event.clientY + 18, innerHeight - box.height - 8)) + "px";
    });
    plot.addEventListener("pointerleave", () => { tip.hidden = true; ring.setAttribute("visibility", "hidden"); });

    /* ---------------------------------------------------------------- legend and table */

    const legend = h("div", { class: "legend", role: "group", "aria-label": "Methods" }, data.methods.map((method, m) => {
        const button = h("button", { type: "button", "aria-pressed": "true", onclick: () => {
            hidden[m] = !hidden[m];
            button.setAttribute("aria-pressed", String(!hidden[m]));
            layers[m].setAttribute("visibility", hidden[m] ? "hidden" : "visible");
        } }, sign(method), method.name);
        return button;
    }));
    const fixed = (value, digits) => value === null ? "–" : value.toFixed(digits);
    const head = ["Method", "Tried", "Proxy", "Target", "GED [%]", "d_inv", "d_sen", "Seconds"];
    const failed = data.methods.some((method) => method.failed > 0);
    const rows = data.methods.map((method, m) => h("tr", m === data.winner ? { class: "won" } : {},
        h("th", { scope: "row" }, sign(method), method.name, m === data.winner ? h("span", { class: "note" }, "winner") : null),
        [method.count, fixed(method.proxySpeedup, 3), fixed(method.targetSpeedup, 3), fixed(method.ged, 1), number(Number(method.dInv.toPrecision(4))),
            number(Number(method.dSen.toPrecision(4))), fixed(method.seconds, 2), failed ? method.failed : null]
            .filter((value) => value !== null).map((value) => h("td", {}, String(value)))));
    const table = h("table", { class: "compare", id: "robust-table" },
        h("thead", {}, h("tr", {}, (failed ? [...head, "Failed"] : head).map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, rows));
    section.append(h("div", { class: "card" }, h("h2", {}, "Candidates on proxy and target"),
        h("div", { class: "robust" }, h("div", { class: "plot" }, legend, plot),
            h("div", { class: "side" }, h("div", { class: "scroll" }, table),
                h("p", { class: "help" }, "Proxy: speedup of a method's best candidate there. Target: of its best one measured. GED, d_inv, d_sen: ",
                    "mean distance of two candidates. ", failed ? "Failed: the target could not measure them. " : null, "The Gantt below shows the winner as the proxy sees it.")))));
    section.sked = { points, hidden };
});
