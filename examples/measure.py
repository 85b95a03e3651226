#!/usr/bin/env python3
"""A target of one's own: measure.py GRAPH.json SCHEDULE.json runs the schedule and prints what it took.

    sked robust graph.json --devices 2 --target 'command:python3 examples/measure.py graph.json'

One thread a device takes its ops in the order of the schedule, waits for what they read, and sleeps for their duration in
units of 10 microseconds: put your kernels there. The last line is what sked reads: the time, and when each op ran. Both are
in the unit of the durations.
"""
import json
import sys
import threading
import time

UNIT = 1e-5
with open(sys.argv[1], encoding="utf-8") as file:
    graph = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    plan = json.load(file)["ops"]
names = [op.get("name", str(i)) for i, op in enumerate(graph["ops"])]
duration = {name: op["duration"] for name, op in zip(names, graph["ops"])}
done = {name: threading.Event() for name in names}
reads = {name: [] for name in names}
for edge in graph["edges"]:
    ends = (edge["from"], edge["to"]) if isinstance(edge, dict) else edge[:2]
    source, to = (names[end] if isinstance(end, int) else end for end in ends)
    reads[to].append(done[source])
trace = []


def device(number):
    for op in sorted((op for op in plan if op["device"] == number), key=lambda op: (op["start"], op["finish"])):
        for event in reads[op["name"]]:
            event.wait()
        start = time.perf_counter()
        time.sleep(duration[op["name"]] * UNIT)
        finish = time.perf_counter()
        trace.append({"name": op["name"], "start": start, "finish": finish, "device": number})
        done[op["name"]].set()


threads = [threading.Thread(target=device, args=(number,)) for number in sorted({op["device"] for op in plan})]
begin = time.perf_counter()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for op in trace:
    op["start"], op["finish"] = ((op[key] - begin) / UNIT for key in ("start", "finish"))
print(json.dumps({"time": max(op["finish"] for op in trace), "ops": trace}))
