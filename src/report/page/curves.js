"use strict";
/* Step curves under the Gantt: load of devices and resources, memory. They share its window of time. */
Sked.Curve = class extends Sked.Chart {
    constructor(curve, model, timeline, state) {
        super(timeline, `${curve.name} over time, peak ${Sked.number(curve.peak)}`);
        this.curve = curve;
        this.model = model;
        this.state = state;
        this.height = 74;
        this.time = Float64Array.from(curve.time);
        this.value = Float64Array.from(curve.value);
        this.top = Math.max(curve.peak, curve.capacity ?? 0) * 1.08 || 1;
        this.box.addEventListener("pointermove", (event) => {
            this.state.cursor(timeline.time(event.clientX - this.box.getBoundingClientRect().left));
        });
        this.box.addEventListener("pointerleave", () => this.state.cursor(null));
        Sked.onTheme(() => timeline.redraw());
    }

    static peak(curve) { return `peak ${Sked.number(curve.peak)}${curve.capacity === null ? "" : " of " + Sked.number(curve.capacity)}`; }

    y(value) { return 8 + (this.height - 14) * (1 - value / this.top); }

    /* Value at a time: the steady state repeats every II. */
    at(time) {
        const { ii } = this.model.data;
        const folded = ii > 0 ? time - Math.floor(time / ii) * ii : time;
        const index = Sked.after(this.time, 0, this.time.length, folded) - 1;
        return index < 0 ? 0 : this.value[index];
    }

    draw() {
        const context = this.prepare(), { timeline } = this, right = timeline.gutter + timeline.width;
        context.fillStyle = Sked.cssColor("muted");
        context.textAlign = "right";
        context.fillText(Sked.clip(context, this.curve.name, timeline.gutter - 16), timeline.gutter - 10, 24);
        context.font = Sked.smallFont;
        const limit = this.curve.capacity;
        context.fillText(Sked.Curve.peak(this.curve), timeline.gutter - 10, 40);
        context.save();
        context.beginPath();
        context.rect(timeline.gutter, 0, timeline.width + 1, this.height);
        context.clip();
        context.fillStyle = Sked.cssColor("idle");
        context.fillRect(timeline.gutter, this.y(this.top), timeline.width, this.y(0) - this.y(this.top));
        this.drawArea(context, right);
        if (limit !== null) {
            context.strokeStyle = Sked.cssColor("muted");
            context.setLineDash([5, 4]);
            context.lineWidth = 1;
            context.beginPath();
            context.moveTo(timeline.gutter, Math.round(this.y(limit)) + 0.5);
            context.lineTo(right, Math.round(this.y(limit)) + 0.5);
            context.stroke();
        }
        context.restore();
        this.drawOver();
    }

    /* One rectangle per pixel column at most, as high as the curve is anywhere in it. */
    drawArea(context, right) {
        const { ii } = this.model.data, { timeline } = this, base = this.y(0);
        context.fillStyle = Sked.cssColor("curve");
        const periods = ii > 0 ? Math.min(1000, Math.ceil(timeline.to / ii)) : 1;
        for (let p = ii > 0 ? Math.max(0, Math.floor(timeline.from / ii)) : 0; p < periods; p++) {
            const shift = p * (ii || 0), stop = ii > 0 ? ii : Infinity;
            let index = Math.max(0, Sked.after(this.time, 0, this.time.length, timeline.from - shift) - 1);
            while (index < this.time.length) {
                const x0 = Math.max(timeline.x(this.time[index] + shift), timeline.gutter);
                if (x0 >= right) break;
                let value = this.value[index], next = index + 1;
                const edge = x0 + 1;
                while (next < this.time.length && timeline.x(this.time[next] + shift) <= edge) value = Math.max(value, this.value[next++]);
                const x1 = timeline.x(Math.min(next < this.time.length ? this.time[next] : stop, stop) + shift);
                const left = Math.round(x0), end = Math.max(Math.round(Math.min(x1, right)), left + 1); /* no seams */
                if (value > 0) context.fillRect(left, this.y(value), end - left, base - this.y(value));
                index = next;
            }
        }
    }

    drawOver() {
        const context = this.context(this.over), { timeline } = this, time = this.state.time;
        if (time === null || time < timeline.from || time > timeline.to) return;
        const x = timeline.x(time), text = Sked.number(this.at(time));
        context.fillStyle = Sked.cssColor("text");
        context.fillRect(Math.round(x), 4, 1, this.height - 10);
        const left = x > timeline.gutter + 70; /* the tip of the Gantt is on the right */
        context.textAlign = left ? "right" : "left";
        context.lineWidth = 4;
        context.lineJoin = "round";
        context.strokeStyle = Sked.cssColor("card");
        context.strokeText(text, x + (left ? -6 : 7), 19);
        context.fillText(text, x + (left ? -6 : 7), 19);
    }
};
