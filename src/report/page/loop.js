"use strict";
/*
 * The section of kind "loop": the best after each measurement, times of the model against those of the target
 * before and after fitting, and what was learnt of each parameter.
 */
Sked.section("loop", (section, data) => {
    const { h, svg, number, forms, sign, axis, picture, key } = Sked;
    const measurements = data.measurements;
    const done = measurements.filter((point) => point.time !== null);
    const tip = Sked.tipBox("loop-tip");
    const short = (x) => x === null ? "–" : number(Number(x.toPrecision(4)));

    function facts(point) {
        const rows = [["Method", data.methods[point.method].name]];
        if (point.time === null) rows.push(["Target", "failed"]);
        else rows.push(["Time on the target", short(point.time) + (point.deviation > 0 ? ` ± ${short(point.deviation)}` : "")],
            ["Speedup", short(point.speedup)]);
        rows.push(["Time on the proxy", short(point.proxy)], ["Expected before it", short(point.expected)], ["Fitted model", short(point.fitted)]);
        if (point.again) rows.push(["", "a contender measured again"]);
        if (point.resumed) rows.push(["", "measured by an earlier run"]);
        return [`Measurement ${point.number} of ${data.count}`, rows];
    }

    /* The mark of a measurement: of its method, ringed where it is a repetition, faint where an earlier run made it. */
    function mark(point, px, py) {
        const method = data.methods[point.method];
        const node = svg("g", { class: point.resumed ? "marks earlier" : "marks", fill: method.color }, svg("path", { d: forms[method.form](px, py, 4) }));
        if (point.again) node.append(svg("circle", { cx: px, cy: py, r: 7, class: "again" }));
        return node;
    }

    /* ---------------------------------------------------------------- the curve */

    function curve() {
        const width = 760, height = 360, box = { left: 58, right: 744, top: 14, bottom: 314 };
        const x = axis([1, data.count], box.left, box.right, { whole: true });
        const y = axis(done.flatMap((point) => [point.speedup, point.best]), box.bottom, box.top);
        const plot = picture(width, height, `Best speedup on ${data.target} after each of ${data.count} measurements`);
        Sked.grid(plot, x, y, box, "measurements", `speedup on ${data.target.slice(0, 60)}`);
        const steps = measurements.filter((point) => point.best !== null);
        if (steps.length > 0)
            plot.append(svg("path", { class: "best", d: steps.map((point, k) => k === 0 ? `M${x(point.number)} ${y(point.best)}` : `H${x(point.number)}V${y(point.best)}`).join("") }));
        const points = measurements.map((point) => ({ ...point, px: x(point.number), py: point.time === null ? box.bottom - 8 : y(point.speedup) }));
        for (const point of points)
            plot.append(point.time === null ? svg("path", { class: "failed", d: `M${point.px - 4} ${point.py - 4}l8 8m0 -8l-8 8` }) : mark(point, point.px, point.py));
        Sked.hover(tip, plot, width, points, facts);
        return plot;
    }

    function keys() {
        const some = (test) => measurements.some(test);
        return h("div", { class: "legend" }, data.methods.map((method) => h("span", { class: "key" }, sign(method), method.name)),
            key("best", svg("path", { class: "best", d: "M1 12H9V4H17" })),
            some((point) => point.time === null) ? key("failed", svg("path", { class: "failed", d: "M5 4l8 8m0 -8l-8 8" })) : null,
            some((point) => point.again) ? key("measured again", svg("circle", { cx: 9, cy: 8, r: 6, class: "again" })) : null,
            some((point) => point.resumed) ? key("earlier run", svg("g", { class: "marks earlier", fill: data.methods[0].color }, svg("path", { d: forms[1](9, 8, 4) }))) : null);
    }

    const last = measurements[measurements.length - 1];
    const figure = (label, value, note) => h("div", {}, h("dt", {}, label), h("dd", {}, value, note ? h("div", { class: "note" }, note) : null));
    const summary = h("dl", { class: "figures" },
        figure("Best speedup", short(last.best), `on ${data.target.slice(0, 80)}`),
        figure("Measurements", String(data.count), data.end),
        figure("Failed", String(data.failures)),
        figure("Noise of one", data.noise === null ? "–" : `${short(100 * data.noise)} %`));
    section.append(h("div", { class: "card", id: "loop-curve" }, h("h2", {}, "Best after each measurement"),
        h("div", { class: "robust even" }, h("div", { class: "plot" }, keys(), curve()), h("div", { class: "side" }, summary, h("div", { class: "scroll" }, Sked.methodTable(data)),
            h("p", { class: "help" }, "Each mark is one measurement, by the method that made the schedule; the line is the best until then. ",
                "The Gantt below shows the winner as the proxy sees it.")))));

    /* ---------------------------------------------------------------- times, before and after */

    /* Both panels share their axes, so that what fitting changed can be seen. */
    const range = done.flatMap((point) => [point.time, point.proxy, point.fitted]).filter((value) => value !== null);
    function panel(title, field, note) {
        const width = 480, height = 430, box = { left: 62, right: 466, top: 14, bottom: 384 };
        const points = done.filter((point) => point[field] !== null);
        const x = axis(range, box.left, box.right), y = axis(range, box.bottom, box.top);
        const plot = picture(width, height, `${title}: time of the model against time on the target`);
        Sked.grid(plot, x, y, box, `time, ${note}`, `time on ${data.target.slice(0, 40)}`);
        const [low, high] = [Math.min(...range), Math.max(...range)];
        plot.append(svg("path", { class: "diagonal", d: `M${x(low)} ${y(low)}L${x(high)} ${y(high)}` }));
        const placed = points.map((point) => ({ ...point, px: x(point[field]), py: y(point.time) }));
        for (const point of placed) plot.append(mark(point, point.px, point.py));
        Sked.hover(tip, plot, width, placed, facts);
        const off = points.map((point) => Math.abs(Math.log(point.time / point[field]))).sort((a, b) => a - b);
        const median = off.length > 0 ? `${short(100 * (Math.exp(off[Math.floor(off.length / 2)]) - 1))} % off in the median` : "";
        return h("div", {}, h("h3", {}, title, " ", h("span", {}, median)), plot);
    }
    if (range.length > 0)
        section.append(h("div", { class: "card", id: "loop-times" }, h("h2", {}, "Model and target"),
            h("div", { class: "panels" }, panel("Before", "proxy", "on the proxy"), panel("After", "fitted", "fitted model")),
            h("p", { class: "help" }, "On the line the model is right. The proxy is the problem as it was given; the fitted model is what the measurements taught.")));

    /* ---------------------------------------------------------------- parameters */

    /* Bars of prior and posterior on one scale, logarithmic where all values are above 0: 90 % thin, the middle half thick. */
    function bars(parameter) {
        const width = 320, height = 30, values = [...parameter.prior, ...parameter.posterior].filter((value) => value !== null);
        const logarithmic = values.every((value) => value > 0);
        const scale = (value) => logarithmic ? Math.log(value) : value;
        const from = scale(Math.min(...values)), to = scale(Math.max(...values));
        const place = (value) => 4 + (width - 8) * (to > from ? (scale(value) - from) / (to - from) : 0.5);
        const plot = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "bars", role: "img",
            "aria-label": `prior ${short(parameter.prior[0])} to ${short(parameter.prior[4])}, posterior ${short(parameter.posterior[0])} to ${short(parameter.posterior[4])}` });
        for (const [kind, top] of [["prior", 5], ["posterior", 18]]) {
            const q = parameter[kind];
            if (q.some((value) => value === null)) continue;
            plot.append(svg("path", { class: `${kind} thin`, d: `M${place(q[0])} ${top + 4}H${Math.max(place(q[4]), place(q[0]) + 1)}` }),
                svg("path", { class: `${kind} thick`, d: `M${place(q[1])} ${top + 4}H${Math.max(place(q[3]), place(q[1]) + 2)}` }),
                svg("path", { class: "median", d: `M${place(q[2])} ${top}v8` }));
        }
        return plot;
    }
    const rows = data.parameters.map((parameter) => h("tr", {}, h("th", { scope: "row" }, parameter.name), h("td", {}, bars(parameter)),
        [parameter.prior[2], parameter.posterior[2], parameter.mean, parameter.spread].map((value) => h("td", {}, short(value)))));
    const more = data.parameterCount - data.parameters.length;
    if (rows.length > 0)
        section.append(h("div", { class: "card", id: "loop-model" }, h("h2", {}, "What was learnt"),
            h("div", { class: "scroll wide" }, h("table", { class: "compare parameters" },
                h("thead", {}, h("tr", {}, ["Parameter", "Prior (above), posterior (below)", "Prior median", "Median", "Mean", "Spread"].map((text) => h("th", { scope: "col" }, text)))),
                h("tbody", {}, rows))),
            h("p", { class: "help" }, "Thin: 90 % of the guesses. Thick: the middle half. Mark: median. Each row has its own scale, logarithmic where all values are above 0. ",
                "Spread: standard deviation of the guesses after the last measurement.", more > 0 ? ` ${more} more are in the output of --json.` : null)));
    section.sked = { measurements };
});
