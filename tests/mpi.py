#!/usr/bin/env python3
"""Two and three processes over MPI: what each command shares, what comes out once, and how a job ends.

Usage: mpi.py SKED PLAIN [CASE...], commands built with MPI and without. Ends with the line that scripts/count.py counts."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKED, PLAIN = map(os.path.abspath, sys.argv[1:3])  # with MPI and without
# Ranks on any machine: as root, and with fewer cores than ranks.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]
# A small model: learning must be quick here, not good.
SMALL = ["--set", "batch=8", "--set", "validate=3", "--set", "held-out=1"]


def words(text):
    return text.split()


def launch(*programs, **options):
    """Starts a job; each program is (ranks, command line as a list). One process needs no mpirun."""
    line = list(MPIRUN) if len(programs) > 1 or programs[0][0] > 1 else []
    for k, (ranks, command) in enumerate(programs):
        line += [":"] * (k > 0) + (["-n", str(ranks)] if line else []) + command
    return subprocess.Popen(line, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def end(job, code=0):
    """Output of a job that must end with this exit code (None: any but 0)."""
    out, err = job.communicate(timeout=60)
    assert job.returncode == code if code is not None else job.returncode != 0, (job.args, job.returncode, out, err)
    return out, err


def run(ranks, line, code=0):
    return end(launch((ranks, [SKED] + words(line))), code)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def timeless(value):
    """A JSON value without what the clock says."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k != "seconds"}
    return [timeless(v) for v in value] if isinstance(value, list) else value


def wait_for(condition, what):
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < 30, what
        time.sleep(0.02)


def graph(name, ops):
    subprocess.run([SKED] + words(f"generate layered --nodes {ops} --duration int:1,20 -o {name}"), check=True)
    return name


# ---------------------------------------------------------------- schedule

def the_best_of_independent_seeds_reaches_rank_0():
    """list exchanges nothing: never worse than one rank, for some seed better, and work adds up."""
    g = graph("g.json", 60)
    better = 0
    for seed in range(4):
        line = f"schedule {g} --devices 3 --method list --set priority=random --set tries=1 --seed {seed} --json -o s.json --curve k.jsonl"
        one, two = (json.loads(run(n, line)[0]) for n in (1, 2))
        run(1, f"check {g} s.json")
        with open("k.jsonl") as lines:  # rank 0 writes it, and it ends with what the ranks have together
            last = [json.loads(line) for line in lines][-1]
        assert (last["value"], last["bound"]) == (two["value"], two["lower_bound"]), (last, two)
        assert last["method"] == "list" and last["seconds"] >= 0, last
        assert two["value"] <= one["value"], (seed, one["value"], two["value"])
        assert two["value"] == two["makespan"], two
        assert two["evaluations"] == 2 * one["evaluations"], (seed, one["evaluations"], two["evaluations"])
        better += two["value"] < one["value"]
    assert better > 0, "the second rank never won"


def addresses_come_with_the_best_schedule():
    """Of the rank that won, with its copies: what is written has passed the judge again."""
    subprocess.run([SKED] + words("generate layered --nodes 40 --duration int:1,20 --memory int:1,9 -o g.json"), check=True)
    better = 0
    for seed in range(4):
        line = f"schedule g.json --devices 2 --offsets --method list --set priority=random --set tries=1 --seed {seed} --json -o s.json"
        one, two = (json.loads(run(n, line)[0]) for n in (1, 2))
        run(1, "check g.json s.json --offsets")
        with open("s.json") as f:
            assert json.load(f)["arena"] == two["device_arena"], two
        better += two["value"] < one["value"]
    assert better > 0, "the second rank never won"


MACHINE = "--devices 8 --latency 5 --bandwidth 0.2"
WEAK = "--set steps=3 --set starts=1 --set polish=false --set restarts=0 --iterations 2"
# Each form of search, brkga and gaus: method, problem, so few iterations that a better schedule is
# soon found, and the method that finds it.
EXCHANGING = [
    ("search", "pooled.json", "--iterations 100", "search"),
    ("search", "shop.json", "--iterations 8", "search"),
    ("search", "plain.json " + MACHINE, "--iterations 50", "search"),
    ("search", "plain.json --devices 2 --memory-limit 150", "--iterations 16", "search"),
    ("brkga", "pooled.json", "--iterations 41 --set population=10", "search"),
    ("brkga", "plain.json " + MACHINE, "--iterations 41 --set population=4", "search"),
    ("gaus", "plain.json --objective memory --horizon 300", WEAK, "gaus"),
]


def problems():
    """One graph with devices in mind, with a pool of five units, and with machines for one op at a time."""
    with open(graph("plain.json", 60)) as f:
        g = json.load(f)
    for name, resources, demand in (
            ("plain.json", [], lambda k: {}),
            ("pooled.json", [{"name": "unit", "capacity": 5}], lambda k: {"unit": 1 + k * 7 % 4}),
            ("shop.json", [{"name": f"m{i}", "capacity": 1} for i in range(4)], lambda k: {f"m{k * 7 % 4}": 1})):
        g["resources"] = resources
        for k, op in enumerate(g["ops"]):
            op["memory"], op["demand"] = op["duration"], demand(k)
        with open(name, "w") as f:
            json.dump(g, f)


def an_incumbent_is_taken_over_by_the_other_rank():
    """
    Rank 1 starts from a better schedule than rank 0 finds in its few iterations. Of equal results that of rank 0 is
    reported, with the statistics of its run; a result that came at the end only has none.
    """
    problems()
    for method, problem, few, strong in EXCHANGING:
        line = f"schedule {problem} --json"
        subprocess.run([SKED] + words(f"{line} --method {strong} --time-limit 0.2 --seed 7 -o start.json"),
                       check=True, stdout=subprocess.DEVNULL)
        weak = [SKED] + words(f"{line} --method {method} {few} --statistics")
        alone = json.loads(subprocess.run(weak, check=True, capture_output=True, text=True).stdout)
        known = [SKED] + words(f"{line} --method {strong} --start start.json")
        known += words(few if strong == method else "--iterations 3")
        both = json.loads(end(launch((1, weak), (1, known)))[0])
        assert both["value"] < alone["value"], (method, problem, alone["value"], both["value"])
        assert both["statistics"], (method, problem, "rank 0 did not take it over")


def iterations_give_the_same_bytes_again():
    problems()
    for k, (method, problem, few, _) in enumerate(EXCHANGING):
        for name in ("a.json", "b.json"):
            run(2 + k % 2, f"schedule {problem} --method {method} {few} -o {name}")
        assert read("a.json") == read("b.json"), (method, problem)


def a_proof_ends_the_other_rank():
    """Rank 1 proves at once what rank 0 would look for until its time limit is over."""
    g = graph("g.json", 60)
    own = f"schedule {g} --devices 3 --json"
    run(1, own + " --method exact --time-limit 20 -o best.json")
    begin = time.monotonic()
    searching = [SKED] + words(own + " --method search --time-limit 40")
    out, _ = end(launch((1, searching), (1, [SKED] + words(own + " --method exact --time-limit 40 --start best.json"))))
    assert json.loads(out)["optimal"] and time.monotonic() - begin < 30


def stopping_the_job_gives_the_incumbent():
    g = graph("g.json", 300)
    job = launch((2, [SKED] + words(f"schedule {g} {MACHINE} --method search --time-limit 1000 -o s.json")))
    time.sleep(1.5)
    job.send_signal(signal.SIGTERM)
    job.communicate(timeout=30)
    run(1, f"check {g} s.json --latency 5 --bandwidth 0.2")


def with_pid(line):
    """The command of a rank that writes its process number to the file pid."""
    return ["sh", "-c", 'echo $$ >pid; exec "$0" "$@"', SKED] + words(line)


def a_signal_to_one_rank_stops_all():
    g = graph("g.json", 200)
    line = f"schedule {g} {MACHINE} --method search --time-limit 1000 -o s.json"
    job = launch((1, [SKED] + words(line)), (1, with_pid(line)))
    wait_for(lambda: os.path.exists("pid") and read("pid"), "rank 1 does not start")
    time.sleep(1)
    os.kill(int(read("pid")), signal.SIGINT)
    end(job)
    run(1, f"check {g} s.json --latency 5 --bandwidth 0.2")


# ---------------------------------------------------------------- train and sample

def a_model_has_the_same_bytes_on_any_number_of_ranks():
    trainings = (("encode-once", "variance", 3), ("stepwise", "variance", 3), ("encode-once", "tb", 2), ("stepwise", "ppo", 2))
    for policy, loss, most in trainings:
        line = f"train --graphs layered:8-12 --devices 2 --steps 4 --set policy={policy} --set loss={loss} --set graphs=4"
        logs = set()
        for ranks in range(1, most + 1):
            _, err = run(ranks, f"{line} -o m{ranks}.safetensors -o log.jsonl " + " ".join(SMALL))
            assert err.count("train: graphs") == 1 and err.count("step 3 ") == 1, err
            logs.add(json.dumps([timeless(json.loads(x)) for x in read("log.jsonl").splitlines()]))
            assert read(f"m{ranks}.safetensors") == read("m1.safetensors"), (policy, loss, ranks)
        assert len(logs) == 1, logs
    run(1, "train --graphs layered:8-12 --devices 2 --steps 2 --set graphs=1 -o one.safetensors " + " ".join(SMALL))
    run(2, "train --graphs layered:8-12 --devices 2 --steps 2 --set graphs=1 -o two.safetensors " + " ".join(SMALL))
    assert read("one.safetensors") == read("two.safetensors"), "a rank without a graph of its own"


def training_goes_on_from_a_checkpoint_on_other_ranks():
    line = "train --graphs layered:8-12 --devices 2 --set graphs=3 " + " ".join(SMALL)
    run(1, line + " --steps 6 -o whole.safetensors")
    run(2, line + " --steps 3 -o part.safetensors")
    run(3, line + " --steps 6 --resume part.safetensors -o part.safetensors")
    assert read("whole.safetensors") == read("part.safetensors")


def stopping_training_saves_the_model():
    line = "train --graphs layered:8-12 --devices 2 --minutes 10 -o m.safetensors -o log.jsonl " + " ".join(SMALL)
    job = launch((2, [SKED] + words(line)))
    wait_for(lambda: os.path.exists("log.jsonl") and read("log.jsonl").count(b"\n") > 4, "no update")
    job.send_signal(signal.SIGTERM)
    job.communicate(timeout=30)
    steps = len(read("log.jsonl").splitlines())
    run(1, f"train --graphs layered:8-12 --devices 2 --steps {steps} -o again.safetensors " + " ".join(SMALL))
    assert read("m.safetensors") == read("again.safetensors"), steps


def a_rank_that_dies_ends_the_job_and_leaves_a_whole_checkpoint():
    """The model that is there is that of some update before, to the byte."""
    line = "train --graphs layered:8-12 --devices 2 --minutes 10 -o m.safetensors " + " ".join(SMALL)
    job = launch((1, [SKED] + words(line)), (1, with_pid(line)))
    wait_for(lambda: os.path.exists("m.safetensors"), "no checkpoint")
    os.kill(int(read("pid")), signal.SIGKILL)
    _, err = end(job, None)
    assert "rank 1" in err and "signal 9" in err, err
    out, _ = run(1, "train --graphs layered:8-12 --devices 2 --steps 1 --resume m.safetensors -o n.safetensors "
                 + " ".join(SMALL))
    steps = int(out.split(" after ")[1].split()[0])
    run(1, f"train --graphs layered:8-12 --devices 2 --steps {steps} -o again.safetensors " + " ".join(SMALL))
    assert read("n.safetensors") == read("again.safetensors"), steps


def draws_have_the_same_bytes_on_any_number_of_ranks():
    g = graph("g.json", 40)
    for how in ("--raw", "--any-machine", "--local", "--temperature 0.05 --raw"):
        told = set()
        for ranks in (1, 2, 3) if how == "--raw" else (1, 3):
            told.add(run(ranks, f"sample {g} --devices 3 --candidates 70 -o s{ranks}.jsonl {how}")[1])
            assert read(f"s{ranks}.jsonl") == read("s1.jsonl"), (how, ranks)
        assert len(told) == 1, told


# ---------------------------------------------------------------- robust

def candidates_are_measured_on_all_ranks():
    """The times of simulated targets are those of one process, noise and all."""
    g = graph("g.json", 30)
    line = (f"robust {g} --devices 3 --target noisy+linear+jitter:repeat=2,warm-up=1 --one-shot --candidates 30 --top 7"
            " --iterations 5 --time-limit 1000 --method list --json")
    told = [timeless(json.loads(run(n, line)[0])) for n in (1, 2, 3)]
    assert told[0] == told[1] == told[2], told


def the_loop_measures_a_schedule_on_each_rank():
    """Same ranks: the same bytes. The record has the measurements in one order, and can be resumed."""
    g = graph("g.json", 20)
    line = f"robust {g} --devices 2 --target noisy+linear+jitter --measurements 7 --iterations 5 --time-limit 1000 --json"
    first, second = (json.loads(run(2, f"{line} --log {name}")[0]) for name in ("a.jsonl", "b.jsonl"))
    assert timeless(first) == timeless(second)
    assert read("a.jsonl") == read("b.jsonl") and first["measurements"] == 7, first
    more = json.loads(run(3, line.replace("--measurements 7", "--measurements 9") + " --resume a.jsonl")[0])
    assert more["measurements"] == 9 and len(more["curve"]) == 9, more


MEASURE = """#!/bin/sh
# Answers 1 where another one measures at the same time, 2 where none came; never two where one place is allowed.
mkdir "$PWD/here.$$"
k=0
while [ "$(ls -d "$PWD"/here.* | wc -l)" -lt 2 ] && [ ! -e "$PWD/met" ] && [ $k -lt $1 ]; do k=$((k + 1)); sleep 0.02; done
if [ "$(ls -d "$PWD"/here.* | wc -l)" -ge 2 ]; then touch "$PWD/met"; fi
rmdir "$PWD/here.$$"
if [ -e "$PWD/met" ]; then echo 1; else echo 2; fi
"""


def a_command_measures_at_several_places_only_where_it_may():
    g = graph("g.json", 20)
    with open("measure.sh", "w") as f:
        f.write(MEASURE)
    os.chmod("measure.sh", 0o755)
    for option, patience, time_there in (("", 5, 2), (",parallel=true", 1000, 1)):
        job = launch((2, [SKED] + words(f"robust {g} --devices 2 --one-shot --method list --candidates 8 --top 2")
                      + words("--iterations 5 --json --target") + [f"command{option}:{os.getcwd()}/measure.sh {patience}"]))
        told = json.loads(end(job)[0])
        assert told["target_time"] == time_there and told["measurements"] == 2, (option, told)


# ---------------------------------------------------------------- what comes out

def an_error_of_all_ranks_is_printed_once():
    for line, code, part in (("schedule nothing.json", 4, "nothing.json"), ("schedule", 2, "GRAPH"),
                             ("train --graphs layered:8-12 --devices 2", 2, "-o MODEL")):
        out, err = run(2, line, code)
        assert out == "" and err.count("sked: ") == 1 and part in err, (line, out, err)


def an_error_of_one_rank_ends_the_job():
    """Rank 1 is given a graph that is not there: rank 0 says so; a command that shares nothing does not ask."""
    g = graph("g.json", 20)
    _, err = end(launch((1, [SKED] + words(f"schedule {g}")), (1, [SKED] + words("schedule nothing.json"))), 4)
    assert err.count("sked: ") == 1 and "nothing.json" in err, err


def a_rank_that_fails_alone_tells_and_ends_the_others():
    """Rank 1 does not know an option; rank 0 would search for a long time."""
    g = graph("g.json", 300)
    searching = [SKED] + words(f"schedule {g} {MACHINE} --time-limit 1000")
    _, err = end(launch((1, searching), (1, [SKED, "schedule", g, "--no-such-option"])), 2)
    assert err.count("no-such-option") == 1, err


def different_inputs_are_refused_on_all_ranks():
    """Whatever differs, every rank ends with exit code 2 and one sentence is printed; nobody waits for ever."""
    a, b = graph("a.json", 20), graph("b.json", 24)
    with open(a) as f:
        other = json.load(f)
    other["ops"][7]["memory"] = 3
    with open("c.json", "w") as f:
        json.dump(other, f)
    own = f"{a} --devices 3 --latency 1 --bandwidth 10"
    problems = (own.replace(a, b), own.replace(a, "c.json"), own.replace("3", "4"), own.replace("10", "11"),
                own.replace("latency 1", "latency 2"), own + " --horizon 1000")
    shared = {
        "schedule": ("--time-limit 60 --method search", ()),
        "sample": ("--candidates 40 -o s.jsonl", ("--seed 3", "--temperature 0.5")),
        "robust": ("--target noisy+linear --measurements 4 --iterations 3 --time-limit 1000",
                   ("--seed 3",)),
    }
    for command, (options, more) in shared.items():
        lines = [f"{command} {p} {options}" for p in (problems if command == "schedule" else problems[:1])]
        lines += [f"{command} {own} {options} {x}" for x in more]
        for line in lines:
            refused(f"{command} {own} {options}", line)
    line = "train --graphs layered:8-12 --devices 2 --steps 50 -o m.safetensors " + " ".join(SMALL)
    for other in (line.replace("8-12", "8-13"), line + " --seed 1", line.replace("--steps 50", "--steps 51")):
        refused(line, other)
    refused(f"schedule {own} --time-limit 60", f"sample {own} -o s.jsonl")
    refused(f"schedule {own} --time-limit 60", f"info {a}")
    refused(f"info {a}", f"schedule {own} --time-limit 60")
    refused(f"schedule {own} --time-limit 60", f"schedule {own} --sweep horizon=100:200:50")


def refused(one, two):
    out, err = end(launch((1, [SKED] + words(one)), (1, [SKED] + words(two))), 2)
    assert err.count("sked: ") == 1 and "all ranks take the same command" in err, (one, two, out, err)


def a_build_without_mpi_is_refused():
    graph("g.json", 30)
    line = [PLAIN, "schedule", "g.json", "--devices", "2", "--time-limit", "0.1"]
    out, err = end(launch((3, line)), 6)
    assert out == "" and err.count("has begun 3 processes") == 1 and "make mpi" in err, (out, err)
    assert "makespan" in end(launch((1, line)))[0]


def other_commands_run_once():
    g = graph("g.json", 20)
    for line in (f"info {g}", "--version", "formats", f"convert {g} -  --to dot"):
        assert run(3, line)[0] == run(1, line)[0], line


CASES = [f for f in list(globals().values()) if callable(f) and getattr(f, "__module__", None) == __name__
         and f.__name__ not in ("words", "launch", "end", "run", "read", "timeless", "wait_for", "graph", "problems", "refused", "with_pid", "main")]


def main():
    chosen = [f for f in CASES if not sys.argv[3:] or f.__name__ in sys.argv[3:]]
    passed = failed = 0
    home = os.getcwd()
    for case in chosen:
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        begin = time.monotonic()
        try:
            case()
            passed += 1
            print(f"mpi: {case.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
        except (AssertionError, subprocess.SubprocessError, OSError, ValueError, KeyError) as e:
            failed += 1
            print(f"FAILED {case.__name__}: {type(e).__name__} {e}", flush=True)
        os.chdir(home)
        shutil.rmtree(folder)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
