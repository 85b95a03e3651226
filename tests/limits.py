#!/usr/bin/env python3
"""Signals and time limits: they end every command, at any moment, and its exit code says so.

Usage: limits.py SKED SOURCE_FOLDER [PART]; PART runs only tests with it in their name.
Bounds on seconds are generous (machines under test are busy); what they catch is work that ignores both.
"""
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time

import frame
from frame import Skip, test

SKED, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
with open(SKED, "rb") as binary:
    SANITIZED = b"__asan_init" in binary.read()
LESS = 4 if SANITIZED else 1  # problems are judged by processor time, which says little with a sanitizer in it
frame.only = sys.argv[3] if len(sys.argv) > 3 else ""
EXAMPLE = os.path.join(SOURCE, "examples", "cholesky.json")
STOPPED, DEVICE = 10, 9


def run(*args, timeout=120):
    return subprocess.run([SKED, *map(str, args)], capture_output=True, text=True, timeout=timeout)


def expect(result, code):
    assert result.returncode == code, (result.args[1:], result.returncode, result.stderr[-300:])
    return result


def start(*args, **more):
    return subprocess.Popen([SKED, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def wait_for(condition, seconds=30):
    end = time.time() + seconds
    while not condition():
        assert time.time() < end, "it never came"
        time.sleep(0.01)


def generate(folder, family, nodes, *more):
    path = os.path.join(folder, f"{family}-{nodes}.json")
    expect(run("generate", family, "--nodes", nodes, "--duration", "int:1,50", *more, "-o", path), 0)
    return path


def ends(process, code, seconds=5):
    """The process ends with the code, and soon; what it said."""
    begin = time.time()
    out, said = process.communicate(timeout=60)
    took = time.time() - begin
    assert process.returncode == code, (process.args[1:], process.returncode, said[-300:])
    assert took < seconds, (process.args[1:], f"{took:.2f} s")
    return out, said


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@test
def a_signal_ends_every_command_that_reads(folder):
    fifo, out = os.path.join(folder, "fifo"), os.path.join(folder, "out.json")
    os.mkfifo(fifo)
    plan = os.path.join(folder, "plan.json")
    expect(run("schedule", EXAMPLE, "--devices", 2, "--method", "list", "-o", plan), 0)
    commands = [("info", fifo), ("convert", fifo, out), ("check", fifo, plan), ("check", EXAMPLE, fifo),
                ("schedule", fifo, "--devices", 2, "-o", out), ("sample", fifo, "--devices", 2, "-o", out),
                ("schedule", EXAMPLE, "--devices", 2, "--start", fifo, "-o", out),
                ("sample", EXAMPLE, "--devices", 2, "--model", fifo, "-o", out),
                ("robust", fifo, "--devices", 2, "--target", "noisy", "-o", out),
                ("train", "--graphs", fifo, "--devices", 2, "--steps", 1, "--quiet", "-o", os.path.join(folder, "m.safetensors"))]
    for k, command in enumerate(commands):
        process = start(*command, "--from", "native") if fifo in command[:2] and command[0] != "train" else start(*command)
        with open(fifo, "wb", buffering=0) as pipe:  # returns when sked has opened the other end
            pipe.write(b'{"format": "sked-graph-1", ')
            process.send_signal(SIGNALS[k % 3])
            _, said = ends(process, STOPPED)
        assert said.startswith("sked: stopped") and said.count("\n") == 1, (command, said)
        assert set(os.listdir(folder)) == {"fifo", "plan.json"}, os.listdir(folder)


@test
def a_signal_ends_a_command_that_waits_for_its_reader(folder):
    """Standard output is a full pipe without a reader."""
    graph = generate(folder, "layered", 20000)
    for command in (("convert", graph, "-"), ("generate", "layered", "--nodes", 20000, "-o", "-")):
        process = start(*command)
        process.stdout.read(1)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)
        assert process.returncode == STOPPED, (command, process.returncode)


@test
def generating_many_ends_with_whole_files(folder):
    process = start("generate", "layered", "--nodes", 2000, "--count", 100000, "-o", os.path.join(folder, "many"))
    wait_for(lambda: os.path.isdir(os.path.join(folder, "many")) and len(os.listdir(os.path.join(folder, "many"))) > 3)
    process.send_signal(signal.SIGHUP)
    ends(process, STOPPED)
    for name in os.listdir(os.path.join(folder, "many")):
        assert name.endswith(".json"), name
        json.load(open(os.path.join(folder, "many", name)))


@test
def a_hangup_gives_the_incumbent_even_when_it_comes_twice(folder):
    graph, plan = generate(folder, "layered", 400), os.path.join(folder, "s.json")
    process = start("schedule", graph, "--devices", 7, "--time-limit", 60, "--method", "search", "-o", plan)
    time.sleep(1.0)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGHUP)
    ends(process, 0, 10)
    expect(run("check", graph, plan), 0)


@test
def nohup_is_obeyed(folder):
    graph = generate(folder, "layered", 400)
    process = start("schedule", graph, "--devices", 7, "--time-limit", 1.5, "--method", "search", "--json",
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    time.sleep(0.4)
    process.send_signal(signal.SIGHUP)
    out, _ = ends(process, 0, 20)
    assert json.loads(out)["seconds"] >= 1 or json.loads(out)["optimal"], out


@test
def a_closed_pipe_does_not_cost_the_file(folder):
    plan = os.path.join(folder, "s.json")
    process = start("schedule", EXAMPLE, "--devices", 2, "--method", "list", "--json", "-o", plan)
    process.stdout.close()
    process.stderr.read()
    process.wait(timeout=60)
    assert process.returncode in (0, 4, -signal.SIGPIPE), process.returncode
    expect(run("check", EXAMPLE, plan), 0)


def has_taken(process, number):
    """Whether the process has taken a signal that was sent to it."""
    with open(f"/proc/{process.pid}/status") as file:
        pending = [int(line.split()[1], 16) for line in file if line.startswith(("SigPnd", "ShdPnd"))]
    return not any(mask & 1 << number - 1 for mask in pending)


@test
def a_stop_that_comes_as_two_signals_is_one(folder):
    """As timeout(1) sends it, to the process and to its group: the second comes when the first has been heard."""
    graph, plan = os.path.join(folder, "g.json"), os.path.join(folder, "s.json")
    expect(run("generate", "layered", "--nodes", 5000, "--duration", "exponential:1", "-o", graph), 0)  # hard to end with
    for second in (signal.SIGINT, signal.SIGTERM):
        process = start("schedule", graph, "--devices", 8, "--method", "search", "--time-limit", 60, "-o", plan)
        time.sleep(3 if SANITIZED else 1)
        process.send_signal(signal.SIGINT)
        while not has_taken(process, signal.SIGINT):
            pass
        process.send_signal(second)
        ends(process, 0)
        expect(run("check", graph, plan), 0)
        os.remove(plan)


# ---------------------------------------------------------------- the target `command`


def script(folder, text):
    path = os.path.join(folder, "measure.sh")
    with open(path, "w") as file:
        file.write(f"#!/bin/sh\nprintf %s \"$1\" >{folder}/plan\n{text}\n")
    os.chmod(path, 0o700)
    return path


def alive(word):
    """Processes whose command line holds the word."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = open(f"/proc/{number}/cmdline", "rb").read().decode(errors="replace")
            state = open(f"/proc/{number}/stat").read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if word in line and state != "Z" and int(number) != os.getpid():
            found.append(line)
    return found


def measured_by(folder, text):
    """sked robust with a program that has begun to measure; a word in the command lines of what that starts."""
    word = f"3600.{os.getpid()}{abs(hash(folder)) % 100000}"
    program = script(folder, text.replace("WORD", word))
    process = start("robust", EXAMPLE, "--devices", 2, "--target", f"command:{program}", "--one-shot", "--method", "list", "--set", "priority=random",
                    "--candidates", 4, "--top", 4)
    wait_for(lambda: alive(word))
    return process, word


def plan_is_gone(folder):
    plan = open(os.path.join(folder, "plan")).read()
    assert plan and not os.path.exists(plan), plan


@test
def interrupted_measurements_leave_nothing_behind(folder):
    for text in ("sleep WORD", "exec 1>&- 2>&-; sleep WORD & sleep WORD", "trap '' INT TERM HUP; sleep WORD; sleep WORD"):
        for number in (signal.SIGINT, signal.SIGHUP):
            process, word = measured_by(folder, text)
            process.send_signal(number)
            ends(process, STOPPED)
            wait_for(lambda: not alive(word))  # killed by then, but the system may take a moment to let it go
            plan_is_gone(folder)


@test
def whatever_kills_sked_takes_the_program_along(folder):
    for number in (signal.SIGKILL, signal.SIGSEGV):
        process, word = measured_by(folder, "trap '' INT TERM HUP; sleep WORD & sleep WORD")
        process.send_signal(number)
        process.communicate(timeout=20)
        wait_for(lambda: not alive(word))
        wait_for(lambda: not os.path.exists(open(os.path.join(folder, "plan")).read()))


@test
def what_was_measured_before_a_stop_counts(folder):
    program = script(folder, f'test -e {folder}/once && {{ touch {folder}/twice; sleep 3600; }}; touch {folder}/once; echo 5')
    plan = os.path.join(folder, "s.json")
    process = start("robust", EXAMPLE, "--devices", 2, "--target", f"command:{program}", "--one-shot", "--method", "list", "--set", "priority=random",
                    "--candidates", 4, "--top", 4, "-o", plan)
    wait_for(lambda: os.path.exists(os.path.join(folder, "twice")))
    process.send_signal(signal.SIGTERM)
    ends(process, 0)
    expect(run("check", EXAMPLE, plan), 0)


# ---------------------------------------------------------------- time limits


def processor_time(*args):
    """Exit code, what was said, and seconds of processor time; those do not depend on what else runs."""
    process = start(*args)
    out, said = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, out + said, usage.ru_utime + usage.ru_stime


def write(folder, name, graph):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        json.dump({"format": "sked-graph-1", **graph}, file)
    return path


def pairs(ops):
    return {"ops": [{"name": f"o{i}", "duration": 2 + i % 3} for i in range(ops)], "edges": [[i, i + 1] for i in range(0, ops - 1, 2)]}


def pools(ops):
    graph = pairs(ops)
    for i, op in enumerate(graph["ops"]):
        op["demand"] = {f"r{i}": 1}
    return {"resources": [{"name": f"r{i}", "capacity": 1} for i in range(ops)], **graph}


def shared_pools(ops):
    """Every op holds of two pools of its own kind: as many kinds as ops."""
    graph = pairs(ops)
    for i, op in enumerate(graph["ops"]):
        op["demand"] = {f"r{i // 2}": 1, f"r{(i // 2 + 1) % (ops // 2)}": 1}
    return {"resources": [{"name": f"r{i}", "capacity": 1} for i in range(ops // 2)], **graph}


def ring(ops):
    """One carried cycle through all ops, a little longer than the cycles on every op alone."""
    edges = [{"from": i, "to": (i - 1) % ops, "distance": 1, "lag": 10 + (i == ops // 2)} for i in range(ops)]
    edges += [{"from": i, "to": i, "distance": 1, "lag": 10} for i in range(ops)]
    return {"ops": [{"name": f"o{i}", "duration": 1} for i in range(ops)], "edges": edges}


METHODS = [m["name"] for m in json.loads(expect(run("methods", "--json"), 0).stdout)]
CODES = (0, 6, STOPPED)  # done, not for such problems, too little time: never "no schedule exists"


def check_limit(seconds, *args):
    code, said, used = processor_time("schedule", *args, "--time-limit", seconds)
    assert code in CODES, (args, code, said[-300:])
    assert used < seconds + 1.5, (args, f"{used:.2f} s of processor time at a limit of {seconds} s")  # reading and writing count, too
    return code


@test
def every_method_keeps_a_short_limit(folder):
    cases = [(write(folder, "pools.json", pools(10000 // LESS)),), (write(folder, "shared.json", shared_pools(6000 // LESS)),),
             (write(folder, "many.json", pairs(20000 // LESS)), "--devices", 20000, "--latency", 1),
             (write(folder, "many.json", pairs(20000 // LESS)), "--devices", 20000),
             (write(folder, "ring.json", ring(20000 // LESS)), "--objective", "ii"),
             (generate(folder, "layered", 3000), "--devices", 4), (generate(folder, "layered", 10000 // LESS), "--devices", 4)]
    found = 0
    for case in cases[::3] if SANITIZED else cases:
        for method in METHODS:
            found += check_limit(0.1 if SANITIZED else 0.2, *case, "--method", method) == 0
    assert SANITIZED or found >= len(cases), "auto and list give schedules of most"


@test
def too_little_time_is_no_proof(folder):
    graph = generate(folder, "layered", 50000 // LESS)
    for method in METHODS:
        for seconds in (0.05,) if SANITIZED else (0, 0.05, 0.15):
            check_limit(seconds, graph, "--devices", 8, "--method", method)
    for seconds in range(5, 40, 9 if SANITIZED else 3):  # some of these end while the first schedule is decoded
        check_limit(seconds / 100, graph, "--devices", 8, "--method", "search")


# ---------------------------------------------------------------- many ops on many different devices

MANY, DIFFERENT = int(os.environ.get("SKED_MANY_OPS", 12000 // LESS)), 1000  # ops, devices; docs/reliability.md has 1,000,000 ops
OBJECTIVES = [("makespan",)] + [(o, "--horizon", 1e12) for o in ("resource", "memory", "cost")] + [("ii",)]


def many_ops(folder):
    """Random edges to ops that are not far; every third op takes times of its own on the types of devices."""
    path, draw = os.path.join(folder, "ops.json"), random.Random(1)
    with open(path, "w") as file:
        file.write('{"format": "sked-graph-1", "ops": [')
        for i in range(MANY):
            by_type = ", ".join(f'"t{k}": {draw.randint(1, 50)}' for k in range(4))
            file.write(f'{"," if i else ""}{{"duration": {draw.randint(1, 50)}, "memory": 1{f", {chr(34)}durations{chr(34)}: {{{by_type}}}" if i % 3 == 0 else ""}}}\n')
        file.write('], "edges": [')
        for i in range(1, MANY):
            file.write(f'{"," if i > 1 else ""}{{"from": {draw.randint(max(0, i - 1000), i - 1)}, "to": {i}, "bytes": {draw.randint(0, 9)}}}\n')
        file.write("]}")
    return path


def different_devices(folder, name, linked):
    """1,000 speeds, four types, a link between some types, and between 900 devices by name; linked: one for all other pairs."""
    path = os.path.join(folder, name)
    machine = {"format": "sked-machine-1", "devices": [{"name": f"d{k}", "type": f"t{k % 4}", "speed": 1 + k / DIFFERENT} for k in range(DIFFERENT)],
               "links": [{"from": f"t{k}", "to": f"t{k}", "latency": k, "bandwidth": 10} for k in range(4)] +
                        [{"from": "t0", "to": f"t{k}", "latency": k, "bandwidth": 10} for k in range(1, 4)]}
    if linked:
        machine["latency"], machine["bandwidth"] = 1, 10
        machine["links"] += [{"from": f"d{k}", "to": f"d{k + 1}", "latency": 1 + k / 10, "bandwidth": 5} for k in range(900)]
    with open(path, "w") as file:
        json.dump(machine, file)
    return path


def used_by(process):
    """Seconds of processor time so far; None: it has ended."""
    try:
        rest = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if rest[0] == "Z" else sum(map(float, rest[11:13])) / os.sysconf("SC_CLK_TCK")


def stopped_after(seconds, *args):
    """As processor_time, of a run that is interrupted when it has used that much; the last is what it used after that, or 0."""
    process = start(*args)
    used = used_by(process)
    while used is not None and used < seconds:
        time.sleep(0.002)
        used = used_by(process)
    if used is not None:
        process.send_signal(signal.SIGINT)
    out, said = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, out + said, usage.ru_utime + usage.ru_stime - used if used is not None else 0


def report_many(*words):
    if MANY > 12000:
        print(*words, flush=True)


@test
def many_different_devices_keep_limits(folder):
    """The time that a limit leaves is spent; what comes after it is a few passes over ops and edges."""
    graph, plan = many_ops(folder), os.path.join(folder, "plan.json")
    most = (0.3 + 3e-6 * MANY) * (20 if SANITIZED else 1)
    for linked in (True, False):
        machine = different_devices(folder, f"{linked}.json", linked)
        _, _, reading = processor_time("info", graph, "--machine", machine)
        report_many(f"all pairs linked: {linked}; info {reading:.2f} s of processor time")
        for objective in OBJECTIVES if linked else OBJECTIVES[:1]:
            for method in METHODS:
                command = ("schedule", graph, "--machine", machine, "--objective", *objective, "--method", method, "-o", plan)
                code, said, used = processor_time(*command, "--time-limit", 0.1)
                assert code in CODES, (command, code, said[-300:])
                assert used < reading + 0.1 + most, (command, f"{used:.2f} s, {reading:.2f} s for info")
                if code == 6:
                    continue
                assert code == 0 or method == "gflownet", (command, said[-300:])
                expect(run("check", graph, plan, "--machine", machine, *objective[1:]), 0) if code == 0 else None
                for _ in range(3):  # the least counts: what else runs here makes memory slower
                    stopped, said, after = stopped_after(reading + 0.05, *command, "--time-limit", 600)
                    if after < most:
                        break
                assert stopped == 0 or (stopped == STOPPED and method == "gflownet"), (command, stopped, said[-300:])
                assert after < most, (command, f"{after:.2f} s after a stop")
                report_many(f"{objective[0]:9} {method:9} exit {code}, {used - reading:5.2f} s; stop: exit {stopped}, {after:5.2f} s later")
        if reading > 1:
            stopped, said, after = stopped_after(reading / 4, "schedule", graph, "--machine", machine)
            assert stopped == STOPPED and after < 0.1, (stopped, said[-300:], after)


@test
def many_devices_with_memory_keep_limits(folder):
    """One evaluation of a plan looks at the memory of every device at every op. Too little time may be too little for a schedule."""
    if MANY * DIFFERENT > 2**26:
        raise Skip("so many ops with memory on so many devices are refused")
    graph, plan = many_ops(folder), os.path.join(folder, "plan.json")
    machine = different_devices(folder, "machine.json", True)
    said = json.load(open(machine))
    for device in said["devices"]:
        device["memory"] = 0.9 * MANY / DIFFERENT + 8
    write(folder, "machine.json", said)
    most = (0.3 + 3e-6 * MANY) * (20 if SANITIZED else 1)
    _, _, reading = processor_time("info", graph, "--machine", machine)
    for method in ("auto", "list", "search"):
        command = ("schedule", graph, "--machine", machine, "--method", method, "-o", plan)
        code, said, used = processor_time(*command, "--time-limit", 0.1)
        assert code in (0, STOPPED) and used < reading + 0.1 + most, (command, code, f"{used:.2f} s, {reading:.2f} s for info")
        code, said, after = stopped_after(reading + 0.05, *command, "--time-limit", 600)
        assert code in (0, STOPPED) and after < most, (command, code, f"{after:.2f} s after a stop")


@test
def a_refusal_of_all_members_is_a_refusal(folder):
    graph = write(folder, "loop.json", {"ops": [{"name": "a", "duration": 1.5}, {"name": "b", "duration": 0.7}],
                                        "edges": [["a", "b"], {"from": "b", "to": "a", "distance": 1}]})
    for threads in (1, 2):
        result = expect(run("schedule", graph, "--objective", "ii", "--threads", threads), 6)
        assert "scale all times" in result.stderr, result.stderr


@test
def drawing_and_training_hear_a_stop(folder):
    graph, model = generate(folder, "layered", 3000), os.path.join(folder, "m.safetensors")
    for command in (("sample", graph, "--devices", 4, "--candidates", 100000, "-o", os.path.join(folder, "c.jsonl")),
                    ("schedule", graph, "--devices", 4, "--method", "gflownet", "--candidates", 100000, "--time-limit", 600),
                    ("train", "--graphs", graph, "--devices", 4, "--minutes", 10, "--set", "validate=0", "--quiet", "-o", model)):
        process = start(*command)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        begin = time.time()
        process.communicate(timeout=60)
        assert process.returncode in (0, STOPPED), (command, process.returncode)
        assert time.time() - begin < 10, (command, time.time() - begin)


@test
def the_loop_hears_a_stop_while_it_learns(folder):
    """1,000 ops: an update of all guesses, and what it foretells of all schedules, takes a second; tests/test_stop.c counts
    what is done between two looks."""
    graph = generate(folder, "layered", 100 if SANITIZED else 1000)
    log, plan = os.path.join(folder, "log.jsonl"), os.path.join(folder, "plan.json")
    process = start("robust", graph, "--devices", 4, "--target", "noisy+linear", "--time-limit", 60, "--log", log, "-o", plan)
    wait_for(lambda: os.path.exists(log) and open(log).read().count("\n") > 1, 60)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = sum(float(x) for x in open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")
    process.send_signal(signal.SIGINT)
    ends(process, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - used
    assert spent < (5 if SANITIZED else 0.5), f"{spent:.2f} s after the stop"
    expect(run("check", graph, plan), 0)


@test
def small_files_stay_small(folder):
    """Files of some hundred bytes that speak of very much; memory is limited, so that none can be taken."""
    plan = os.path.join(folder, "plan.json")
    with open(plan, "w") as file:
        file.write('{"format":"sked-schedule-1","devices":100000000,"ops":[{"name":"a","start":0,"device":0}]}')
    one = write(folder, "one.json", {"ops": [{"name": "a", "duration": 1}], "edges": []})
    expect(run("check", one, plan), 5)
    library, many = os.path.join(folder, "lib.json"), write(folder, "many.json", pairs(20000))
    with open(library, "w") as file:
        json.dump({"types": {"*": {"duration": 1, "demand": {f"r{i}": 1 for i in range(8000)}}}}, file)
    limit = "" if SANITIZED else "ulimit -v 400000; "  # AddressSanitizer reserves more than any limit
    process = subprocess.run(["/bin/sh", "-c", limit + 'exec "$@"', "sh", SKED, "info", many, "--library", library],
                             capture_output=True, text=True, timeout=60)
    assert process.returncode == 6 and "demands" in process.stderr, (process.returncode, process.stderr)


frame.end()
