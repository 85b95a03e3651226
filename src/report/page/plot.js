"use strict";
/* What plots share: axes and grid, marks that differ in form as well as in colour, the fact of the nearest mark. */
Object.assign(Sked, (() => {
    const { h, svg } = Sked;

    const forms = [
        (x, y, r) => `M${x} ${y - 1.4 * r}l${1.4 * r} ${1.4 * r}l${-1.4 * r} ${1.4 * r}l${-1.4 * r} ${-1.4 * r}z`,
        (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
        (x, y, r) => `M${x - 0.9 * r} ${y - 0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}z`,
        (x, y, r) => `M${x} ${y - 1.15 * r}l${1.1 * r} ${2 * r}h${-2.2 * r}z`,
        (x, y, r) => `M${x} ${y + 1.15 * r}l${1.1 * r} ${-2 * r}h${-2.2 * r}z`,
    ];

    /* The mark of a method beside its name. */
    const sign = (method) => svg("svg", { width: 14, height: 14, "aria-hidden": "true" },
        svg("path", { d: forms[method.form](7, 7, 4.6), fill: method.color }));

    /* A linear axis over the values, with room at both ends; values too close to be told apart get a range of their own.
       floor: no end of the range is below 0. */
    function axis(values, low, high, { whole = false, floor = false } = {}) {
        let from = Infinity, to = -Infinity;
        for (const value of values) [from, to] = [Math.min(from, value), Math.max(to, value)];
        if (from > to) [from, to] = [0, 1];
        const size = Math.max(Math.abs(from), Math.abs(to));
        const room = Math.max(0.06 * (to - from), size > 0 ? Math.max(0.005 * size, 1e-300) : 0.5);
        from = Math.max(floor ? 0 : -Infinity, from - room);
        to += room;
        const place = (x) => low + (high - low) * (x - from) / (to - from);
        place.ticks = Sked.ticks(from, to, Math.abs(high - low) > 500 ? 8 : 7, whole);
        return place;
    }

    /* box: left, right, top, bottom in pixels. */
    function grid(plot, x, y, box, xName, yName) {
        const middle = (box.top + box.bottom) / 2;
        for (const tick of x.ticks) plot.append(svg("path", { class: "grid", d: `M${x(tick.value)} ${box.top}V${box.bottom}` }),
            svg("text", { x: x(tick.value), y: box.bottom + 18, class: "middle" }, tick.text));
        for (const tick of y.ticks) plot.append(svg("path", { class: "grid", d: `M${box.left} ${y(tick.value)}H${box.right}` }),
            svg("text", { x: box.left - 8, y: y(tick.value) + 4, class: "end" }, tick.text));
        plot.append(svg("text", { x: (box.left + box.right) / 2, y: box.bottom + 38, class: "middle" }, xName),
            svg("text", { x: 14, y: middle, class: "middle", transform: `rotate(-90 14 ${middle})` }, yName));
    }

    /* An empty picture with a name for those who cannot see it. */
    const picture = (width, height, label) => svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "scatter", role: "img", "aria-label": label });
    const factTable = (rows) => h("table", { class: "facts" }, rows.map(([key, value]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, value))));
    /* Shapes in a legend. */
    const key = (name, ...shapes) => h("span", { class: "key" }, svg("svg", { width: 18, height: 16, class: "scatter inline", "aria-hidden": "true" }, ...shapes), name);

    /* One tip for all plots of a section. plot, points with px and py, facts(point): title and rows; shown(point). */
    function hover(tip, plot, width, points, facts, shown) {
        const ring = svg("circle", { r: 7, class: "ring", visibility: "hidden" });
        plot.append(ring);
        function nearest(event) {
            const box = plot.getBoundingClientRect(), scale = width / box.width;
            const px = (event.clientX - box.left) * scale, py = (event.clientY - box.top) * scale;
            let best = null, least = 14 * 14;
            for (const point of points) {
                const d = (point.px - px) ** 2 + (point.py - py) ** 2;
                if ((!shown || shown(point)) && d <= least) [best, least] = [point, d];
            }
            return best;
        }
        plot.addEventListener("pointermove", (event) => {
            const point = nearest(event);
            tip.hidden = !point;
            ring.setAttribute("visibility", point ? "visible" : "hidden");
            if (!point) return;
            const [title, rows] = facts(point);
            ring.setAttribute("cx", point.px);
            ring.setAttribute("cy", point.py);
            tip.replaceChildren(h("b", {}, title), factTable(rows));
            const box = tip.getBoundingClientRect();
            tip.style.left = Math.max(4, Math.min(event.clientX + 16, innerWidth - box.width - 8)) + "px";
            tip.style.top = Math.max(4, Math.min(event.clientY + 18, innerHeight - box.height - 8)) + "px";
        });
        plot.addEventListener("pointerleave", () => { tip.hidden = true; ring.setAttribute("visibility", "hidden"); });
    }

    function tipBox(id) {
        const tip = h("div", { class: "tip", id, role: "tooltip", hidden: true });
        document.body.append(tip);
        return tip;
    }

    return { forms, sign, axis, grid, picture, factTable, key, hover, tipBox };
})());
