"use strict";
/* The window of time that all charts of a section share, and how mouse, touch and keys move it. */
Sked.Timeline = class {
    constructor(end) {
        this.gutter = 110; /* pixels for names left of every plot */
        this.right = 14;
        this.width = 600; /* of the plot */
        this.views = [];
        this.pending = false;
        this.setEnd(end);
    }

    setEnd(end) {
        this.end = end;
        this.from = 0;
        this.to = end;
        this.redraw();
    }

    x(time) { return this.gutter + ((time - this.from) / (this.to - this.from)) * this.width; }
    time(x) { return this.from + ((x - this.gutter) / this.width) * (this.to - this.from); }
    get scale() { return this.width / (this.to - this.from); }
    get whole() { return this.from <= 0 && this.to >= this.end; }

    show(from, to) {
        const least = this.end * 1e-9, span = Math.min(Math.max(to - from, least), this.end);
        this.from = Math.min(Math.max(from, 0), this.end - span);
        this.to = this.from + span;
        this.redraw();
    }
    zoom(factor, around) {
        const at = around ?? (this.from + this.to) / 2;
        this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
    }
    pan(share) {
        const step = (this.to - this.from) * share;
        this.show(this.from + step, this.to + step);
    }
    fit() { this.show(0, this.end); }

    redraw() {
        if (this.pending) return;
        this.pending = true;
        requestAnimationFrame(() => {
            this.pending = false;
            for (const view of this.views) view.draw();
        });
    }

    /* Wheel zooms, shift + wheel and sideways pan; zooming out of the whole lets the page scroll. */
    onWheel(event) {
        const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
        if (sideways || event.shiftKey) {
            this.pan((sideways ? event.deltaX : event.deltaY) / this.width);
        } else {
            if (event.deltaY > 0 && this.whole) return;
            const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
            this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 250))), this.time(Math.max(x, this.gutter)));
        }
        event.preventDefault();
    }

    onKey(event) {
        const actions = {
            ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15),
            "+": () => this.zoom(0.7), "=": () => this.zoom(0.7), "-": () => this.zoom(1 / 0.7),
            0: () => this.fit(), Home: () => this.show(0, this.to - this.from),
            End: () => this.show(this.end - (this.to - this.from), this.end),
        };
        if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return false;
        actions[event.key]();
        event.preventDefault();
        return true;
    }
};

/* Two stacked canvases in a box: the picture, and what follows the pointer over it. */
Sked.Chart = class {
    constructor(timeline, label) {
        this.timeline = timeline;
        this.canvas = Sked.h("canvas", {});
        this.over = Sked.h("canvas", { class: "over" });
        this.box = Sked.h("div", { class: "chart", role: "img", "aria-label": label }, this.canvas, this.over);
        this.height = 100;
        timeline.views.push(this);
        this.box.addEventListener("wheel", (event) => timeline.onWheel(event), { passive: false });
    }

    /* Sizes both canvases for this screen; returns the picture's context in CSS pixels. */
    prepare() {
        const ratio = window.devicePixelRatio || 1, width = Math.max(this.box.clientWidth, 240);
        for (const canvas of [this.canvas, this.over]) {
            if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(this.height * ratio)) {
                canvas.width = Math.round(width * ratio);
                canvas.height = Math.round(this.height * ratio);
                canvas.style.height = this.height + "px";
            }
        }
        this.timeline.width = width - this.timeline.gutter - this.timeline.right;
        return this.context(this.canvas);
    }

    context(canvas) {
        const ratio = window.devicePixelRatio || 1, context = canvas.getContext("2d");
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.clearRect(0, 0, canvas.width / ratio, canvas.height / ratio);
        context.font = Sked.font;
        return context;
    }
};
Sked.font = '12px -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif';
Sked.smallFont = Sked.font.replace("12px", "11px");

/* Text cut with an ellipsis to fit a width. */
Sked.clip = (context, text, width) => {
    if (context.measureText(text).width <= width) return text;
    const long = (k) => context.measureText(text.slice(0, k) + "…").width > width;
    return text.slice(0, Sked.first(1, Math.min(text.length, 400) + 1, long) - 1) + "…";
};
