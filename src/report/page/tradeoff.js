"use strict";
/* The section of kind "tradeoff": schedules of a sweep by the two sides they trade, and the one shown below. */
Sked.section("tradeoff", (section, data) => {
    const { h, svg, number } = Sked;
    const width = 760, height = 360, left = 70, right = 18, top = 16, bottom = 46;
    const points = data.points.map((point, index) => ({ ...point, index }));
    const found = points.filter((point) => point.found);
    const front = found.filter((point) => point.pareto).sort((a, b) => a.x - b.x);

    /* ---------------------------------------------------------------- axes */

    const axis = (values, low, high) => Sked.axis(values, low, high, { floor: true });
    /* a value without a schedule has a place where the parameter itself is the axis */
    const refused = data.x === data.parameter ? points.filter((point) => !point.found) : [];
    const x = axis([...found.map((point) => point.x), ...refused.map((point) => point.at)], left, width - right);
    const y = axis(found.map((point) => point.y), height - bottom, top);

    /* ---------------------------------------------------------------- the plot */

    const plot = Sked.picture(width, height, `${data.y} against ${data.x} of ${found.length} schedules, ${front.length} worth choosing`);
    plot.classList.add("tradeoff");
    Sked.grid(plot, x, y, { left, right: width - right, top, bottom: height - bottom }, data.x, data.y);
    if (front.length > 1)
        plot.append(svg("path", { class: "front", d: front.map((point, k) => k === 0 ? `M${x(point.x)} ${y(point.y)}` : `H${x(point.x)}V${y(point.y)}`).join("") }));
    const rows = [];
    for (const point of [...found].sort((a, b) => a.pareto - b.pareto)) {
        const text = `${data.parameter} ${number(point.at)}: ${data.x} ${number(point.x)}, ${data.y} ${number(point.y)}`;
        const kind = point.index === data.shown ? "shown" : point.pareto ? "pareto" : "other";
        point.node = svg("circle", { class: kind, cx: x(point.x), cy: y(point.y), r: kind === "shown" ? 7 : 4.5 }, svg("title", {}, text));
        point.node.addEventListener("pointerenter", () => mark(point, true));
        point.node.addEventListener("pointerleave", () => mark(point, false));
        plot.append(point.node);
    }
    for (const point of refused)
        plot.append(svg("path", { class: "refused", d: `M${x(point.at) - 4} ${height - bottom - 4}l8 8m0 -8l-8 8` },
            svg("title", {}, `${data.parameter} ${number(point.at)}: no schedule`)));
    function mark(point, on) {
        point.node.classList.toggle("marked", on);
        rows[point.index].classList.toggle("marked", on);
    }

    /* ---------------------------------------------------------------- the table */

    const cells = (point) => point.found
        ? [h("td", {}, number(point.x)), h("td", {}, number(point.y)), h("td", {}, point.index === data.shown ? "shown below" : point.pareto ? "worth choosing" : "")]
        : [h("td", { colspan: 3 }, "no schedule")];
    const table = h("table", { class: "tradeoff" },
        h("tr", {}, [data.parameter, data.x, data.y, ""].map((name) => h("th", { scope: "col" }, name))),
        points.map((point) => {
            rows[point.index] = h("tr", point.index === data.shown ? { class: "shown" } : {}, h("td", {}, number(point.at)), cells(point));
            if (point.found) {
                rows[point.index].addEventListener("pointerenter", () => mark(point, true));
                rows[point.index].addEventListener("pointerleave", () => mark(point, false));
            }
            return rows[point.index];
        }));
    section.append(h("div", { class: "card", id: "tradeoff" }, h("h2", {}, `Trade-off over ${data.parameter}`),
        h("p", { class: "muted" }, "Each point is one schedule. The line joins those that no other beats on both sides; the large one is shown below."),
        h("div", { class: "tradeoff" }, plot, h("div", { class: "scroll" }, table))));
});
