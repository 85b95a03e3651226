#!/usr/bin/env python3
"""Opens the HTML and SVG reports in headless Chromium and uses them as a person would.

Usage: report_browser.py TEST_REPORT [SHOTS]

TEST_REPORT is the test program; it writes the sample reports (`--samples DIR`). SHOTS: a folder that gets
screenshots. Speaks the WebDriver protocol to chromedriver with the standard library alone. Skips (exit 77)
with a message where Chromium or its driver is missing.
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """A headless Chromium behind chromedriver."""

    def __init__(self, driver, chromium, profile):
        self.process = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.base = None
        for line in self.process.stdout:
            found = re.search(r"successfully on port (\d+)", line)
            if found:
                self.base = f"http://127.0.0.1:{found.group(1)}/session"
                break
        if self.base is None:
            raise RuntimeError("chromedriver did not start")
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--window-size=1400,1000", f"--user-data-dir={profile}"]
        options = {"binary": chromium, "args": arguments}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = None
        self.session = self.call("POST", "", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def call(self, method, path, body=None):
        url = self.base + (f"/{self.session}" if self.session else "") + path
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from error

    def open(self, path):
        self.call("POST", "/url", {"url": "file://" + os.path.abspath(path)})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script, message, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(script):
                return
            time.sleep(0.05)
        raise AssertionError("waited in vain: " + message)

    def frame(self):
        """Waits until everything asked for has been drawn."""
        self.call("POST", "/execute/async", {
            "script": "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(1)));",
            "args": []})

    def keys(self, selector, text):
        element = self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        self.call("POST", f"/element/{element}/value", {"text": text})

    def click(self, selector):
        element = self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        self.call("POST", f"/element/{element}/click", {})

    def pointer(self, *steps):
        actions = [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": list(steps)}]
        self.call("POST", "/actions", {"actions": actions})
        self.frame()

    def move(self, x, y):
        self.pointer({"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)})

    def wheel(self, x, y, delta):
        self.call("POST", "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": int(x), "y": int(y), "deltaX": 0, "deltaY": delta, "duration": 0}]}]})
        self.frame()

    def command(self, name, parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def scheme(self, value):
        self.command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": value}]})
        self.frame()

    def errors(self):
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING") and "willReadFrequently" not in entry["message"]]

    def shot(self, path):
        size = self.run("return [innerWidth, Math.ceil(document.documentElement.getBoundingClientRect().height)]")
        height = min(max(int(size[1]), 200), 3000)
        self.command("Emulation.setDeviceMetricsOverride", {
            "width": int(size[0]), "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.frame()
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("GET", "/screenshot")))
        self.command("Emulation.clearDeviceMetricsOverride", {})

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait(timeout=20)


SKED = "const s = document.querySelector('section[data-kind=schedule]').sked;"
# Centre of an op's bar in the window.
CENTRE = SKED + """
const op = s.model.data.names ? s.model.data.names.indexOf(arguments[0]) : Number(arguments[0]);
const [row, start, end] = s.gantt.place(op), box = s.gantt.box.getBoundingClientRect();
return [box.left + (s.timeline.x(start) + s.timeline.x(end)) / 2, box.top + s.gantt.y(row) + s.gantt.rowHeight / 2];"""
VIEW = SKED + "return [s.timeline.from, s.timeline.to];"
# How many different colours the Gantt shows, and the colour of its first row's middle.
PIXELS = SKED + """
const c = s.gantt.canvas, d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
return seen.size;"""


class Suite:
    def __init__(self, browser, folder, shots):
        self.browser, self.folder, self.shots = browser, folder, shots

    def path(self, name):
        return os.path.join(self.folder, name)

    def load(self, name):
        self.browser.open(self.path(name + ".html"))
        self.browser.wait("return document.documentElement.getAttribute('data-ready') === 'true'", name + " is ready")
        self.browser.frame()

    def keep(self, name):
        if self.shots:
            self.browser.shot(os.path.join(self.shots, name + ".png"))

    def no_errors(self, where):
        found = self.browser.errors()
        assert not found, f"{where}: console says {found}"

    def test_every_page_loads(self):
        for name in ("small", "layered", "resources", "pipelined", "free", "hostile", "instant", "machine", "hostile-machine"):
            self.load(name)
            assert self.browser.run(PIXELS) > 3, name + ": the Gantt is empty"
            self.no_errors(name)
            self.keep("page-" + name)

    def test_empty(self):
        self.load("empty")
        assert "Schedule of 0 ops" in self.browser.run("return document.body.innerText")
        self.no_errors("empty")

    def test_nothing_is_fetched(self):
        self.load("small")
        assert self.browser.run("return performance.getEntriesByType('resource').length") == 0

    def test_summary(self):
        self.load("small")
        text = self.browser.run("return document.querySelector('dl.figures').innerText")
        for part in ("Graph", "small network", "Method", "greedy", "Objective", "makespan", "Lower bound", "Gap",
                     "Speedup", "Idle", "Seed", "7", "Time to schedule", "0.1.0"):
            assert part in text, f"the summary does not say {part}: {text}"

    def test_names_are_text(self):
        self.load("hostile")
        assert self.browser.run("return document.querySelectorAll('b').length") == 0, "a name became markup"
        assert "</title>" in self.browser.run("return document.querySelector('h1').textContent")
        self.browser.keys("#search", "alert(1)")
        self.browser.wait("return document.getElementById('count').textContent === '2 found'", "name and type found")

    def test_devices_have_names(self):
        self.load("machine")
        self.browser.move(*self.browser.run(CENTRE, "conv1"))
        text = self.browser.run("const t = document.getElementById('tip'); return t.hidden ? '' : t.innerText")
        assert re.search(r"Device\s+(cpu0|cpu1|gpu)", text), f"hover does not name the device: {text}"
        assert "workstation" in self.browser.run("return document.querySelector('dl.figures').innerText")
        labels = self.browser.run(
            "return [...document.querySelectorAll('#curves [aria-label]')].map((e) => e.getAttribute('aria-label'))")
        assert any("memory gpu" in label for label in labels), f"no curve of the card's memory: {labels}"
        self.keep("page-machine-hover")
        self.load("hostile-machine")
        assert self.browser.run("return document.querySelectorAll('b').length") == 0, "a name became markup"
        self.no_errors("machine")

    def test_search(self):
        self.load("layered")
        before = self.browser.run(VIEW)
        self.browser.keys("#search", "layer3/")
        self.browser.wait("return document.getElementById('count').textContent === '40 found'", "search by name")
        self.browser.keys("#search", "\ue007")
        self.browser.frame()
        assert self.browser.run("return document.getElementById('count').textContent") == "1 of 40"
        name = self.browser.run("return document.querySelector('#details h3').textContent")
        assert name.startswith("layer3/"), name
        after = self.browser.run(VIEW)
        assert after[1] - after[0] < before[1] - before[0], "search did not zoom to the op"
        self.keep("page-search")
        self.browser.keys("#search", "\ue00c")
        self.browser.wait("return document.getElementById('count').textContent === ''", "escape clears")
        self.browser.keys("#search", "gelu")
        self.browser.wait("return / found/.test(document.getElementById('count').textContent)", "search by type")
        self.browser.keys("#search", " no such op")
        self.browser.wait("return document.getElementById('count').textContent === 'nothing found'", "nothing found")
        self.no_errors("search")

    def test_zoom_and_pan(self):
        self.load("layered")
        x, y = self.browser.run(CENTRE, self.browser.run(SKED + "return s.model.name(500)"))
        whole = self.browser.run(VIEW)
        self.browser.wheel(x, y, -300)
        near = self.browser.run(VIEW)
        assert near[1] - near[0] < 0.6 * (whole[1] - whole[0]), f"wheel: {whole} to {near}"
        self.browser.pointer({"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)},
                             {"type": "pointerDown", "button": 0},
                             {"type": "pointerMove", "duration": 0, "x": int(x) + 120, "y": int(y)},
                             {"type": "pointerUp", "button": 0})
        moved = self.browser.run(VIEW)
        assert moved[0] < near[0] and abs((moved[1] - moved[0]) - (near[1] - near[0])) < 1e-6 * whole[1], "drag pans"
        self.browser.click("#fit")
        self.browser.frame()
        assert self.browser.run(VIEW) == whole
        self.browser.run("document.getElementById('gantt').focus()")
        self.browser.keys("#gantt", "++")
        self.browser.frame()
        keyed = self.browser.run(VIEW)
        assert keyed[1] - keyed[0] < 0.6 * (whole[1] - whole[0]), "keys zoom"
        self.browser.keys("#gantt", "0.")
        self.browser.frame()
        assert self.browser.run(SKED + "return s.state.selected") >= 0, "keys select"
        self.no_errors("zoom")

    def test_hover_and_click(self):
        self.load("small")
        self.browser.move(*self.browser.run(CENTRE, "concat"))
        text = self.browser.run("const t = document.getElementById('tip'); return t.hidden ? '' : t.innerText")
        for part in ("concat", "Concat", "12.5", "13.5", "Device", "Slack", "conv2a, conv2b", "add"):
            assert part in text, f"hover does not say {part}: {text}"
        self.keep("page-hover")
        self.browser.pointer({"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})
        assert "Predecessors (2)" in self.browser.run("return document.getElementById('details').innerText")
        self.browser.click("#details .ops button")
        self.browser.frame()
        assert self.browser.run("return document.querySelector('#details h3').textContent") == "conv2a"
        self.browser.move(5, 5)
        assert self.browser.run("return document.getElementById('tip').hidden"), "the tip goes away"
        self.no_errors("hover")

    def test_dark(self):
        background = "return getComputedStyle(document.body).backgroundColor"
        self.browser.scheme("light")
        self.load("layered")
        light = self.browser.run(background)
        self.browser.scheme("dark")
        dark = self.browser.run(background)
        assert light != dark, "the page does not follow the system's scheme"
        self.keep("page-dark")
        self.browser.click("#theme")
        self.browser.frame()
        assert self.browser.run(background) == light, "the switch does not change the theme"
        self.browser.scheme("light")
        self.no_errors("dark")

    def test_idle_is_what_is_idle(self):
        """Of the pixels in the middle of all rows, as many are no bar's as device time is idle."""
        share = SKED + """const g = s.gantt, r = devicePixelRatio, p = g.canvas.getContext('2d'), d = s.model.data;
            s.timeline.fit();
            g.draw();
            const x = Math.round(r * s.timeline.x(0)), width = Math.round(r * s.timeline.x(d.makespan)) - x, rows = d.rows.length;
            let idle = 0, busy = 0;
            for (let row = 0; row < rows; row++) {
                const line = p.getImageData(x, Math.round(r * (g.y(row) + 0.4 * g.rowHeight)), width, 1).data;
                for (let i = 0; i < line.length; i += 4) {
                    const all = [line[i], line[i + 1], line[i + 2]];
                    idle += Math.max(0, Math.min(1, (Math.min(...all) - 0x77) / (0xEE - 0x77))) / width;
                }
            }
            const layer = s.gantt.layers()[0];
            return [idle / rows, 1 - layer.busy[layer.op.length] / (rows * d.makespan)];"""
        self.browser.scheme("light")
        self.load("dense")
        seen, true = self.browser.run(share)
        assert abs(seen - true) < 0.005, f"{100 * seen:.2f} % drawn idle, {100 * true:.2f} % are"
        self.keep("page-dense")

    def test_legend_and_chain_toggles(self):
        self.load("small")
        pixel = SKED + """const p = s.gantt.canvas.getContext('2d'), [row, a, b] = s.gantt.place(4), r = devicePixelRatio;
            return Array.from(p.getImageData(r * (s.timeline.x(a) + 8), r * (s.gantt.y(row) + 6), 1, 1).data);"""
        shown = self.browser.run(pixel)
        assert shown[:3] == [0x77, 0xAA, 0xDD], f"conv2b is not drawn in its colour: {shown}"
        self.browser.click(".legend button")
        self.browser.frame()
        assert self.browser.run(pixel) != shown, "the legend does not dim a type"
        self.browser.click("#critical")
        assert self.browser.run(SKED + "return s.state.critical") is False

    def test_pipelined_views(self):
        self.load("pipelined")
        whole = self.browser.run(VIEW)
        self.browser.click("#folded")
        self.browser.frame()
        assert self.browser.run(VIEW) == [0, 4] and whole[1] > 19, "the steady state shows one interval"
        assert self.browser.run(PIXELS) > 3
        self.keep("page-folded")
        self.browser.click("#iterations")
        self.browser.frame()
        assert self.browser.run(VIEW) == whole
        self.no_errors("pipelined")

    def test_large(self):
        begin = time.monotonic()
        self.load("large")
        loaded = time.monotonic() - begin
        milliseconds = self.browser.run(SKED + """
            const t = performance.now();
            for (let k = 0; k < 10; k++) { s.timeline.zoom(0.7); for (const v of s.timeline.views) v.draw(); }
            const zoomed = (performance.now() - t) / 10;
            s.timeline.fit();
            const u = performance.now();
            for (const v of s.timeline.views) v.draw();
            return [zoomed, performance.now() - u];""")
        print(f"  100,000 ops: loaded in {loaded:.2f} s, a frame {milliseconds[0]:.1f} ms zoomed, {milliseconds[1]:.1f} ms whole")
        assert loaded < 30 and max(milliseconds) < 500, "far too slow"
        self.keep("page-large")
        self.browser.keys("#search", "layer200/Conv")
        self.browser.wait("return / found/.test(document.getElementById('count').textContent)", "search in the large page")
        self.no_errors("large")

    def test_robust(self):
        self.browser.scheme("light")
        self.load("robust")
        text = self.browser.run("return document.getElementById('robust-table').innerText")
        for part in ("gflownet", "winner", "92.0", "24.27", "90.17", "1.620", "<brkga> & co", "Failed", "6"):
            assert part in text, f"the table does not say {part}: {text}"
        assert self.browser.run("return document.querySelectorAll('svg.scatter .marks path').length") == 1 + 60 + 54
        assert self.browser.run("return document.querySelectorAll('svg.scatter .winner').length") == 1
        self.browser.move(*self.browser.run("""const b = document.querySelector('svg.scatter .winner').getBoundingClientRect();
            return [b.left + b.width / 2, b.top + b.height / 2];"""))
        tip = self.browser.run("const t = document.getElementById('robust-tip'); return t.hidden ? '' : t.innerText")
        for part in ("gflownet", "12 of 60", "1.62"):
            assert part in tip, f"hover does not say {part}: {tip}"
        self.keep("page-robust")
        self.browser.move(5, 5)
        assert self.browser.run("return document.getElementById('robust-tip').hidden"), "the tip goes away"
        visible = "return document.querySelectorAll('svg.scatter .marks')[2].getAttribute('visibility')"
        self.browser.click("section[data-kind=robust] .legend button:last-child")
        assert self.browser.run(visible) == "hidden", "the legend does not hide a method"
        self.browser.click("section[data-kind=robust] .legend button:last-child")
        assert self.browser.run(visible) == "visible"
        assert self.browser.run(PIXELS) > 3, "the winner's Gantt is empty"
        self.browser.scheme("dark")
        self.keep("page-robust-dark")
        self.browser.scheme("light")
        self.browser.open(self.path("robust.scatter.svg"))
        assert self.browser.run("return document.querySelectorAll('.w').length") == 1
        self.keep("svg-scatter")
        self.no_errors("robust")

    def test_loop(self):
        self.browser.scheme("light")
        self.load("loop")
        count = lambda what: self.browser.run(f"return document.querySelectorAll('{what}').length")
        assert count("#loop-curve .plot > svg .failed") == 3 and count("#loop-curve .plot > svg .again") == 3
        assert count("#loop-curve .plot > svg .marks") == 21 and count("#loop-curve .plot > svg .earlier") == 2
        assert count("#loop-times svg .diagonal") == 2 and count("#loop-times .marks") == 42
        assert count("#loop-model svg.bars") == 5 and count("#loop-model svg.bars .posterior") == 10
        text = self.browser.run("return document.getElementById('loop-model').innerText")
        for part in ("latency", "0.76", "type </script><b>Conv</b>", "3.25"):
            assert part in text, f"the model does not say {part}: {text}"
        said = self.browser.run("return document.getElementById('loop-curve').innerText")
        for part in ("nothing promises more", "1.12 %", "noisy+linear:cost=<4> & more", "gflownet", "measured again"):
            assert part in said, f"the curve does not say {part}: {said}"
        self.browser.move(*self.browser.run("""const b = document.querySelector('#loop-curve .plot > svg .failed').getBoundingClientRect();
            return [b.left + b.width / 2, b.top + b.height / 2];"""))
        tip = self.browser.run("const t = document.getElementById('loop-tip'); return t.hidden ? '' : t.innerText")
        for part in ("Measurement 6 of 24", "failed", "Expected before it"):
            assert part in tip, f"hover does not say {part}: {tip}"
        assert self.browser.run(PIXELS) > 3, "the winner's Gantt is empty"
        self.keep("page-loop")
        self.browser.scheme("dark")
        self.keep("page-loop-dark")
        self.browser.scheme("light")
        self.browser.open(self.path("loop.curve.svg"))
        assert count(".x") == 3
        self.keep("svg-curve")
        self.no_errors("loop")

    def test_progress(self):
        self.browser.scheme("light")
        self.load("progress")
        count = lambda what: self.browser.run(f"return document.querySelectorAll('{what}').length")
        assert count("#progress .plot > svg .marks") == 3 and count("#progress .plot > svg .best") == 1
        assert count("#progress .plot > svg .diagonal") == 1
        assert count("#progress .legend .key") == 3 + 2  # who found an incumbent; the two lines
        said = self.browser.run("return document.getElementById('progress').innerText")
        for part in ("First schedule", "0.0004 s", "Last improvement", "0.5 s", "</script> & <co>", "lower bound"):
            assert part in said, f"the card does not say {part}: {said}"
        self.browser.run("document.getElementById('progress').scrollIntoView()")
        self.browser.move(*self.browser.run("""const b = document.querySelectorAll('#progress .plot > svg .marks')[2].getBoundingClientRect();
            return [b.left + b.width / 2, b.top + b.height / 2];"""))
        tip = self.browser.run("const t = document.getElementById('progress-tip'); return t.hidden ? '' : t.innerText")
        for part in ("makespan 30", "0.5 s", "9000", "gaus"):
            assert part in tip, f"hover does not say {part}: {tip}"
        self.keep("page-progress")
        self.browser.scheme("dark")
        self.keep("page-progress-dark")
        self.browser.scheme("light")
        self.browser.open(self.path("progress.progress.svg"))
        assert count(".l") == 1
        self.keep("svg-progress")
        self.no_errors("progress")

    def test_pipeline(self):
        self.browser.scheme("light")
        self.load("clocked")
        count = lambda what: self.browser.run(f"return document.querySelectorAll('#pipeline {what}').length")
        stages = count("rect.stage")
        assert stages == 2 + 1 and count("rect.delay") == stages and count("rect.register") == stages - 1
        said = self.browser.run("return document.getElementById('pipeline').innerText")
        bits = self.browser.run("return [...document.querySelectorAll('#pipeline text.register')].reduce((sum, t) => sum + Number(t.textContent), 0)")
        assert f"{stages} stages" in said and f"{bits} register bits" in said, said
        longest = self.browser.run("return Math.max(...[...document.querySelectorAll('#pipeline rect.delay')].map((r) => r.height.baseVal.value))")
        assert longest == self.browser.run("return document.querySelector('#pipeline rect.stage').height.baseVal.value")
        self.keep("page-pipeline")
        self.browser.scheme("dark")
        self.keep("page-pipeline-dark")
        self.no_errors("clocked")

    def test_unknown_section(self):
        self.load("sections")
        assert "unheard-of" in self.browser.run("return document.querySelector('.error').textContent")
        self.no_errors("sections")

    def test_axes_end(self):
        """Whatever the values: ticks are counted and in order, and no pixel of a mark is NaN."""
        self.load("small")
        wrong = self.browser.run("""
            const values = [0, 5e-324, 1e-320, 1e-300, 1e-9, 1, 1000, 9e15, 2 ** 53 - 1, 2 ** 53, 2 ** 53 + 2, 4.5e16, 4.5e16 + 8, 1e100];
            const wrong = [];
            for (const a of values) for (const b of values.filter((x) => x >= a)) for (const floor of [true, false]) for (const whole of b < 1 ? [false] : [true, false]) {
                const place = Sked.axis([a, b], 0, 600, { floor, whole });
                const at = [a, b, ...place.ticks.map((tick) => tick.value)].map(place);
                if (place.ticks.length > 12 || !at.every((x) => x > -1 && x < 601) || place.ticks.some((tick) => /nan|inf/i.test(tick.text))
                    || place.ticks.some((tick, k) => k > 0 && place.ticks[k - 1].value >= tick.value))
                    wrong.push([a, b, floor, whole, at, place.ticks.map((tick) => tick.text)]);
                if (a < b && Sked.ticks(a, b, 8, false).length > 11) wrong.push([a, b]);
            }
            return JSON.stringify(wrong.slice(0, 3));""")
        assert wrong == "[]", wrong
        self.no_errors("axes")

    def test_svg(self):
        for name in ("small", "layered", "resources", "pipelined", "free", "hostile", "instant", "large"):
            self.browser.open(self.path(name + ".svg"))
            assert self.browser.run("return document.documentElement.localName") == "svg", name
            assert self.browser.run("return document.querySelectorAll('rect,path').length") > 5, name
            self.no_errors(name + ".svg")
            self.keep("svg-" + name)
        fill = "return getComputedStyle(document.querySelector('.bg')).fill"
        self.browser.scheme("light")
        light = self.browser.run(fill)
        self.browser.scheme("dark")
        assert self.browser.run(fill) != light, "the SVG has no dark colours"
        self.browser.open(self.path("layered.svg"))
        self.keep("svg-dark")
        self.browser.scheme("light")


def main():
    driver = shutil.which("chromedriver")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not driver or not chromium:
        print("skipped: chromium and chromedriver (Debian: chromium, chromium-driver) are not installed")
        return 77
    shots = sys.argv[2] if len(sys.argv) > 2 else None
    if shots:
        os.makedirs(shots, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], "--samples", folder], check=True, stdout=subprocess.DEVNULL)
        browser = Browser(driver, chromium, os.path.join(folder, "profile"))
        try:
            suite = Suite(browser, folder, shots)
            tests = [name for name in dir(suite) if name.startswith("test_")]
            for name in tests:
                try:
                    getattr(suite, name)()
                    print(f"ok {name}")
                except (AssertionError, RuntimeError) as error:
                    failed += 1
                    print(f"FAILED {name}: {error}")
        finally:
            browser.close()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
