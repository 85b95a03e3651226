"use strict";
/* The section of kind "progress": incumbent and lower bound over the time of the run, on a logarithmic axis. */
Sked.section("progress", (section, data) => {
    const { h, svg, number, key } = Sked;
    const width = 760, height = 360, box = { left: 78, right: 744, top: 14, bottom: 314 };
    const short = (seconds) => `${Number(seconds.toPrecision(3))} s`;

    /* Powers of ten, and 2 and 5 of each where there are few. */
    function timeAxis(from, to) {
        const room = (to / from) ** 0.03 * 1.05, low = Math.log10(from / room), high = Math.log10(to * room);
        const place = (x) => box.left + (box.right - box.left) * (Math.log10(x) - low) / (high - low);
        const first = Math.floor(low), last = Math.floor(high), every = 1 + Math.floor((last - first) / 10);
        place.ticks = [];
        for (let k = first; k <= last; k += every)
            for (const mantissa of last - first < 2 ? [1, 2, 5] : [1]) {
                const value = mantissa * 10 ** k;
                if (Math.log10(value) >= low && Math.log10(value) <= high) place.ticks.push({ value, text: String(Number(value.toPrecision(1))) });
            }
        return place;
    }

    const known = data.points.filter((point) => point.value !== null);
    const x = timeAxis(data.points[0].seconds, data.seconds);
    const y = Sked.axis(data.points.flatMap((point) => [point.value, point.bound]).filter((value) => value !== null), box.bottom, box.top);
    const plot = Sked.picture(width, height, `${data.objective} over time: ${data.points.length} improvements of schedule or bound in ${short(data.seconds)}`);
    Sked.grid(plot, x, y, box, "seconds", data.objective);

    /* A step at each point, and on to the end of the run. */
    function steps(field, kind) {
        const points = data.points.filter((point) => point[field] !== null);
        if (points.length === 0) return;
        plot.append(svg("path", { class: kind, d: points.map((point, k) =>
            k === 0 ? `M${x(point.seconds)} ${y(point[field])}` : `H${x(point.seconds)}V${y(point[field])}`).join("") + `H${x(data.seconds)}` }));
    }
    steps("bound", "diagonal");
    steps("value", "best");
    const placed = known.map((point) => ({ ...point, px: x(point.seconds), py: y(point.value) }));
    const incumbents = placed.filter((point, k) => k === 0 || point.value !== placed[k - 1].value || point.ii !== placed[k - 1].ii);
    for (const point of incumbents)
        plot.append(svg("g", { class: "marks", fill: data.methods[point.method].color },
            svg("path", { d: Sked.forms[data.methods[point.method].form](point.px, point.py, 3.6) })));
    Sked.hover(Sked.tipBox("progress-tip"), plot, width, placed, (point) => [`${data.objective} ${number(point.value)}`,
        [["After", short(point.seconds)], ["Evaluations", String(point.evaluations)], ["Lower bound", number(point.bound)],
            ...(point.ii === undefined ? [] : [["Interval", number(point.ii)]]), ["Method", data.methods[point.method].name]]]);

    const keys = h("div", { class: "legend" },
        data.methods.filter((method, k) => incumbents.some((point) => point.method === k)).map((method) => h("span", { class: "key" }, Sked.sign(method), method.name)),
        key("incumbent", svg("path", { class: "best", d: "M1 4H9V12H17" })),
        key("lower bound", svg("path", { class: "diagonal", d: "M1 8H17" })));

    /* When the run came within so many percent of what it returned. */
    const last = data.points[data.points.length - 1];
    const within = (share) => known.find((point) => point.ii === last.ii && point.value <= last.value * (1 + share));
    const rows = [["First schedule", known[0]], ["Within 10 % of the last", within(0.1)], ["Within 1 %", within(0.01)], ["Last improvement", incumbents[incumbents.length - 1]]];
    const table = h("table", { class: "compare" }, h("thead", {}, h("tr", {}, ["", "After", data.objective, "Method"].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, rows.filter((row) => row[1]).map(([name, point]) => h("tr", {}, h("th", { scope: "row" }, name),
            [short(point.seconds), number(point.value), data.methods[point.method].name].map((text) => h("td", {}, text))))));
    section.append(h("div", { class: "card", id: "progress" }, h("h2", {}, "Value over time"),
        h("div", { class: "robust even" }, h("div", { class: "plot" }, keys, plot), h("div", { class: "side" }, h("div", { class: "scroll" }, table),
            h("p", { class: "help" }, "Each mark is a new incumbent, in colour and shape of the method that found it. Both lines go on to the end of the run.")))));
    section.sked = { points: data.points };
});
