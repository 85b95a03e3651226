"use strict";
/* Values at their addresses under the Gantt: time across, address up. They share its window of time. */
Sked.Arena = class extends Sked.Chart {
    constructor(arena, model, timeline, state) {
        super(timeline, `Addresses of values: ${arena.name}, size ${Sked.number(arena.size)}`);
        this.arena = arena;
        this.model = model;
        this.state = state;
        this.height = 190;
        this.hover = () => {};
        this.box.addEventListener("pointermove", (event) => {
            const box = this.box.getBoundingClientRect(), x = event.clientX - box.left;
            this.state.cursor(timeline.time(x));
            this.hover(this.hit(timeline.time(x), this.address(event.clientY - box.top)), event);
        });
        this.box.addEventListener("pointerleave", (event) => { this.state.cursor(null); this.hover(-1, event); });
        Sked.onTheme(() => timeline.redraw());
    }

    y(address) { return 8 + (this.height - 16) * (1 - address / Math.max(1, this.arena.size)); }
    address(y) { return (1 - (y - 8) / (this.height - 16)) * this.arena.size; }

    /* The value at a time and an address; -1: none. */
    hit(time, address) {
        const { begin, end, low, sizes } = this.arena;
        return begin.findIndex((from, k) => from <= time && time < end[k] && low[k] <= address && address < low[k] + sizes[k]);
    }

    facts(k) {
        const { begin, end, low, sizes } = this.arena, { number } = Sked;
        return [["Address", number(low[k])], ["Size", number(sizes[k])], ["From", number(begin[k])], ["To", number(end[k])]];
    }

    draw() {
        const context = this.prepare(), { timeline } = this;
        context.fillStyle = Sked.cssColor("muted");
        context.textAlign = "right";
        context.fillText(Sked.clip(context, this.arena.name, timeline.gutter - 16), timeline.gutter - 10, 24);
        context.font = Sked.smallFont;
        context.fillText(Sked.number(this.arena.size), timeline.gutter - 10, 40);
        context.save();
        context.beginPath();
        context.rect(timeline.gutter, 0, timeline.width + 1, this.height);
        context.clip();
        context.fillStyle = Sked.cssColor("idle");
        context.fillRect(timeline.gutter, this.y(this.arena.size), timeline.width, this.y(0) - this.y(this.arena.size));
        const { op, begin, end, sizes } = this.arena;
        for (let k = 0; k < op.length; k++)
            if (sizes[k] > 0 && end[k] > timeline.from && begin[k] < timeline.to && !this.state.hidden[this.model.color[op[k]]]) this.drawValue(context, k);
        context.restore();
    }

    /* Its name where it fits; the selected op's value is framed. */
    drawValue(context, k) {
        const { timeline, model } = this, { op, begin, end, low, sizes } = this.arena;
        const left = Math.max(timeline.x(begin[k]), timeline.gutter - 2), right = Math.min(timeline.x(end[k]), timeline.gutter + timeline.width + 2);
        const top = this.y(low[k] + sizes[k]), height = this.y(low[k]) - top, width = Math.max(right - left, 0.6);
        context.fillStyle = model.data.palette[model.color[op[k]]];
        context.fillRect(left, top, width > 3 ? width - 0.6 : width, height > 3 ? height - 0.6 : Math.max(height, 0.6));
        if (this.state.selected === op[k]) {
            context.strokeStyle = Sked.cssColor("text");
            context.lineWidth = 2;
            context.strokeRect(left + 1, top + 1, width - 2, height - 2);
        }
        if (height < 13 || width < 24) return;
        context.fillStyle = Sked.cssColor("bar-text");
        context.textAlign = "center";
        context.fillText(Sked.clip(context, model.name(op[k]), width - 6), (left + right) / 2, top + height / 2 + 4);
    }
};
