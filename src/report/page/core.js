"use strict";
/*
 * The page's frame. A report is a list of sections, each a JSON block <script data-kind="...">; what draws
 * a kind registers itself with Sked.section(kind, build), and build(card, data) fills an empty card.
 */
const Sked = (() => {
    const builders = new Map();
    const themeListeners = [];

    /* h("button", {onclick: f, "aria-label": "x"}, "text", child): a DOM element. Text is never markup. */
    function h(tag, attributes, ...children) {
        const node = document.createElement(tag);
        for (const [key, value] of Object.entries(attributes || {})) {
            if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
            else if (key === "hidden" || key === "disabled") node[key] = value;
            else node.setAttribute(key, value);
        }
        node.append(...children.flat().filter((child) => child !== null && child !== undefined));
        return node;
    }

    /* At most six significant digits, integers in full. */
    function number(x) {
        if (x === null || x === undefined || Number.isNaN(x)) return "–";
        if (Number.isInteger(x) && Math.abs(x) < 2 ** 53) return String(x);
        return Math.abs(x) >= 1e6 && Math.abs(x) < 2 ** 53 ? String(Math.round(x)) : String(Number(x.toPrecision(6)));
    }

    /* Round axis steps: 1, 2 or 5 times a power of ten, at most `most` over the span. They are counted: a step that is too
       small for the size of its values ends here all the same. */
    function ticks(from, to, most, whole) {
        let exponent = Math.max(-323, Math.floor(Math.log10((to - from) / most)) - 1);
        for (;; exponent++) {
            for (const mantissa of [1, 2, 5]) {
                let step = mantissa * 10 ** exponent;
                if ((to - from) / step > most && exponent < 308) continue;
                if (whole && step < 1) { step = 1; exponent = 0; }
                const digits = Math.max(0, -exponent), first = Math.ceil(from / step - 1e-9);
                const list = [];
                for (let i = 0; i <= most + 1 && (first + i) * step <= to + step * 1e-9; i++) {
                    const value = (first + i) * step;
                    list.push({ value, text: digits <= 9 && Math.abs(value) < 1e12 ? value.toFixed(digits) : number(value) });
                }
                return list;
            }
        }
    }

    function cssColor(name) {
        return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
    }

    const theme = {
        choice: "auto",
        get dark() {
            return this.choice === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : this.choice === "dark";
        },
        apply() {
            document.documentElement.setAttribute("data-theme", this.dark ? "dark" : "light");
            for (const listener of themeListeners) listener();
        },
        set(choice) {
            this.choice = choice;
            this.apply();
        },
    };

    /* Auto, then the other of light and dark, then the same: the first press always changes something. */
    function themeButton() {
        const names = { auto: "Auto", light: "Light", dark: "Dark" };
        const button = h("button", { id: "theme", type: "button", onclick: () => {
            const order = matchMedia("(prefers-color-scheme: dark)").matches ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
            theme.set(order[(order.indexOf(theme.choice) + 1) % 3]);
            button.textContent = "Theme: " + names[theme.choice];
        } }, "Theme: Auto");
        return button;
    }

    /* Paper is white: charts are redrawn in light colours while the page prints. */
    function followPrinter() {
        let before = null;
        addEventListener("beforeprint", () => { before = theme.choice; theme.set("light"); });
        addEventListener("afterprint", () => { if (before) theme.set(before); before = null; });
    }

    function buildSections(main) {
        for (const block of document.querySelectorAll("script.sked-section")) {
            const kind = block.getAttribute("data-kind");
            const card = h("section", { class: "section", "data-kind": kind });
            main.append(card);
            const build = builders.get(kind);
            if (build) build(card, JSON.parse(block.textContent));
            else card.append(h("p", { class: "card error" }, `This page has no drawing for a section of kind “${kind}”.`));
            block.remove();
        }
    }

    function start() {
        const main = document.getElementById("sked");
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme.apply());
        theme.apply();
        const lead = h("div", {});
        main.append(h("header", { class: "page" }, lead, themeButton()));
        Sked.lead = lead;
        buildSections(main);
        followPrinter();
        document.documentElement.setAttribute("data-ready", "true");
    }

    /* An SVG element. The page holds no address, not even the name of SVG's namespace: a probe knows it. */
    function svg(tag, attributes, ...children) {
        const probe = h("div", {});
        probe.innerHTML = "<svg></svg>";
        const node = document.createElementNS(probe.firstChild.namespaceURI, tag);
        for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
        node.append(...children);
        return node;
    }

    return {
        h, svg, number, ticks, cssColor, theme, start,
        lead: null, /* the page's heading; a section may fill it */
        section(kind, build) { builders.set(kind, build); },
        onTheme(listener) { themeListeners.push(listener); },
    };
})();
