"use strict";
/* What each method reached. */
Sked.methodTable = (data) => {
    const { h, number, sign } = Sked;
    const fixed = (value, digits) => value === null ? "–" : value.toFixed(digits);
    const short = (value) => value === null ? "–" : number(Number(value.toPrecision(4)));
    const head = ["Method", "Tried", "Proxy", "Target", "GED [%]", "d_inv", "d_sen", "Seconds"];
    const failed = data.methods.some((method) => method.failed > 0);
    const rows = data.methods.map((method, m) => h("tr", m === data.winner ? { class: "won" } : {},
        h("th", { scope: "row" }, sign(method), method.name, m === data.winner ? h("span", { class: "note" }, "winner") : null),
        [method.count, fixed(method.proxySpeedup, 3), fixed(method.targetSpeedup, 3), fixed(method.ged, 1), short(method.dInv), short(method.dSen),
            fixed(method.seconds, 2), failed ? method.failed : null].filter((value) => value !== null).map((value) => h("td", {}, String(value)))));
    return h("table", { class: "compare", id: "robust-table" },
        h("thead", {}, h("tr", {}, (failed ? [...head, "Failed"] : head).map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, rows));
};

/* The section of kind "robust": candidates of several methods on proxy and target, the table, the winner. */
Sked.section("robust", (section, data) => {
    const { h, svg, number, forms, sign, axis } = Sked;
    const width = 760, height = 420, left = 58, right = 16, top = 14, bottom = 46;

    /* ---------------------------------------------------------------- the plot */

    const points = data.methods.flatMap((method, m) => method.proxy.map((proxy, k) => ({ m, k, proxy, target: method.target[k] })))
        .filter((point) => point.target !== null);
    const x = axis(points.map((point) => point.proxy), left, width - right);
    const y = axis(points.map((point) => point.target), height - bottom, top);

    const plot = Sked.picture(width, height, `Speedup of ${points.length} candidates on the proxy and on ${data.target}`);
    Sked.grid(plot, x, y, { left, right: width - right, top, bottom: height - bottom }, "speedup on the proxy",
        `speedup on ${data.target.slice(0, 60)}`);
    const layers = data.methods.map((method) => svg("g", { class: "marks", fill: method.color }));
    for (const point of points) {
        const method = data.methods[point.m];
        [point.px, point.py] = [x(point.proxy), y(point.target)];
        layers[point.m].append(svg("path", { d: forms[method.form](point.px, point.py, method.count === 1 ? 5 : 3.6) }));
    }
    plot.append(...layers);
    const winner = data.methods[data.winner];
    if (winner && winner.best >= 0) {
        const [px, py] = [x(winner.bestProxy), y(winner.targetSpeedup)], before = px > 0.6 * width;
        plot.append(svg("path", { d: forms[winner.form](px, py, 4.6), fill: winner.color, class: "through" }),
            svg("circle", { cx: px, cy: py, r: 9, class: "winner" }),
            svg("text", { x: px + (before ? -14 : 14), y: py + 4, class: before ? "strong end" : "strong" }, "winner"));
    }
    const hidden = data.methods.map(() => false);
    Sked.hover(Sked.tipBox("robust-tip"), plot, width, points, (point) => {
        const method = data.methods[point.m];
        return [method.name, [["Candidate", `${point.k * method.stride + 1} of ${method.count} by proxy`],
            ["Speedup on the proxy", number(point.proxy)], ["Speedup on the target", number(point.target)]]];
    }, (point) => !hidden[point.m]);

    /* ---------------------------------------------------------------- legend and table */

    const legend = h("div", { class: "legend", role: "group", "aria-label": "Methods" }, data.methods.map((method, m) => {
        const button = h("button", { type: "button", "aria-pressed": "true", onclick: () => {
            hidden[m] = !hidden[m];
            button.setAttribute("aria-pressed", String(!hidden[m]));
            layers[m].setAttribute("visibility", hidden[m] ? "hidden" : "visible");
        } }, sign(method), method.name);
        return button;
    }));
    const failed = data.methods.some((method) => method.failed > 0);
    const table = Sked.methodTable(data);
    section.append(h("div", { class: "card" }, h("h2", {}, "Candidates on proxy and target"),
        h("div", { class: "robust" }, h("div", { class: "plot" }, legend, plot),
            h("div", { class: "side" }, h("div", { class: "scroll" }, table),
                h("p", { class: "help" }, "Proxy: speedup of a method's best candidate there. Target: of its best one measured. GED, d_inv, d_sen: ",
                    "mean distance of two candidates. ", failed ? "Failed: the target could not measure them. " : null, "The Gantt below shows the winner as the proxy sees it.")))));
    section.sked = { points, hidden };
});
