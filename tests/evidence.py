#!/usr/bin/env python3
"""What makes figures and tables in the docs, on tiny examples. Usage: evidence.py SOURCE_FOLDER

scripts/evidence.py rewrites blocks of pages; bench/figures/paper.py draws what `sked-bench paper`
records; bench/cpsat.py prints what it recorded. No benchmark runs here. Ends with the line that
scripts/count.py counts."""

import json
import os
import subprocess
import sys
import tempfile
import xml.dom.minidom

SOURCE = sys.argv[1]
EVIDENCE = os.path.join(SOURCE, "scripts", "evidence.py")
PICTURES = os.path.join(SOURCE, "bench", "figures", "paper.py")
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def python(*args):
    return subprocess.run([sys.executable, *map(str, args)], capture_output=True, text=True)


def put(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path


def block(command, inside="old\n", kind="evidence"):
    return f"<!-- {kind}: {command} -->\n{inside}<!-- /evidence -->\n"


@test
def blocks_are_rewritten(folder):
    put(
        folder,
        "docs/table.md",
        "# Page\n\nbefore\n"
        + block("printf '## T\\n\\n| a | b |\\n|---|---|\\n| x | 1.5 |\\n'")
        + "after\n",
    )
    put(folder, "README.md", block("echo 17 ops") + "\n" + block("echo long", kind="evidence-full"))
    done = python(EVIDENCE, "--root", folder)
    assert done.returncode == 0 and "2 blocks, 0 failed" in done.stdout, done
    page = open(os.path.join(folder, "docs/table.md")).read()
    assert "before\n<!-- evidence: printf" in page and page.endswith(
        "| x | 1.5 |\n\n<!-- /evidence -->\nafter\n"
    ), page
    assert "**T**" in page and "\n## T" not in page and "old" not in page, page
    readme = open(os.path.join(folder, "README.md")).read()
    assert "-->\n```\n17 ops\n```\n<!-- /evidence -->" in readme, readme
    assert readme.endswith(block("echo long", kind="evidence-full")), readme  # only with --full
    assert python(EVIDENCE, "--root", folder, "--full").returncode == 0
    assert "long\n```" in open(os.path.join(folder, "README.md")).read()
    again = python(EVIDENCE, "--root", folder)  # what it wrote is read again as it is
    assert again.returncode == 0 and open(os.path.join(folder, "docs/table.md")).read() == page


@test
def what_fails_changes_nothing(folder):
    text = (
        block("echo new; exit 3")
        + block("echo 'skipped: no data'")
        + block("true")
        + block("sleep 9")
    )
    put(folder, "a.md", text + block("echo good"))
    done = python(EVIDENCE, "--root", folder, "--limit", 1)
    assert done.returncode == 1 and "5 blocks, 3 failed" in done.stdout, done.stdout
    for reason in (
        "ended with code 3",
        "skipped: no data",
        "printed nothing",
        "took more than 1 s",
    ):
        assert reason in done.stdout, done.stdout
    page = open(os.path.join(folder, "a.md")).read()
    assert page.startswith(text) and "good" in page.split(text)[1].split("-->", 1)[1], page


@test
def pages_may_be_edited_meanwhile(folder):
    put(
        folder,
        "a.md",
        block("echo '# New' > new; cat new a.md > b; mv b a.md; echo 5 ops") + "end\n",
    )
    assert python(EVIDENCE, "--root", folder).returncode == 0
    page = open(os.path.join(folder, "a.md")).read()
    assert page.startswith("# New\n<!-- ev") and page.endswith(
        "5 ops\n```\n<!-- /evidence -->\nend\n"
    )


@test
def a_command_of_several_pages_runs_once(folder):
    command = "echo run >> runs; wc -l < runs"
    put(folder, "README.md", block(command))
    put(folder, "docs/a.md", block(command) + block(command))
    done = python(EVIDENCE, "--root", folder)
    assert done.returncode == 0 and "3 blocks, 0 failed" in done.stdout, done
    for page, blocks in (("README.md", 1), ("docs/a.md", 2)):
        text = open(os.path.join(folder, page)).read()
        assert text.count("```\n1\n```") == blocks, text


@test
def programs_of_the_build_come_first(folder):
    os.chmod(put(folder, "build/sked-bench", "#!/bin/sh\necho ours $1\n"), 0o755)
    put(folder, "a.md", block("sked-bench paper"))
    assert python(EVIDENCE, "--root", folder).returncode == 0
    assert "ours paper" in open(os.path.join(folder, "a.md")).read()
    os.chmod(put(folder, "build/cuda/sked-bench", "#!/bin/sh\necho with a GPU $1\n"), 0o755)
    put(folder, "b.md", block("sked-bench long", kind="evidence-full"))
    assert python(EVIDENCE, "--root", folder).returncode == 0  # the short ones stay on the CPU
    assert python(EVIDENCE, "--root", folder, "--full").returncode == 0
    assert "ours paper" in open(os.path.join(folder, "a.md")).read()
    assert "with a GPU long" in open(os.path.join(folder, "b.md")).read()


@test
def broken_markers_are_named(folder):
    for text, part in (
        ("\n<!-- evidence: true -->\n", "a.md:2: this block has no end"),
        ("x\n<!-- /evidence -->\n", "a.md:2: no block begins"),
        (
            "<!-- evidence: a -->\n" + block("b"),
            "a.md:2: a block begins inside the block of line 1",
        ),
    ):
        put(folder, "a.md", text)
        done = python(EVIDENCE, "--root", folder)
        assert done.returncode == 1 and part in done.stderr, (text, done)
    put(folder, "a.md", "```\n<!-- evidence: touch made -->\n```\n")  # an example, not a block
    done = python(EVIDENCE, "--root", folder)
    assert (
        done.returncode == 0
        and "0 blocks" in done.stdout
        and not os.path.exists(os.path.join(folder, "made"))
    )


@test
def cpsat_table_names_the_winner(folder):
    def one(order, best, sked, cpsat, **more):
        sides = [dict(zip(("value", "proved", "seconds", "bound"), side)) for side in (sked, cpsat)]
        row = {"kind": "instance", "set": "j30", "threads": 1, "limit": 2, "proven": True, "order": order}
        return {**row, "best": best, "sked": sides[0], "cpsat": sides[1], **more}

    run = {"kind": "run", "sked": "sked 1", "ortools": "9", "seed": 0, "machine": "m", "jobs": 2}
    lines = [
        {**run, "date": "2026-01-02"},
        one([0, 1, 1], 100, (100, True, 1, 100), (100, True, 1), set="late"),
        one([0, 1, 0], 100, (101, False, 2, 90), (100, True, 1)),
        one([0, 1, 0], 100, (100, True, 1, 100), (100, False, 2)),
        one([60, 1, 0], None, (11, False, 2, 10), (None, False, 2), set="open", proven=False),
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path = put(folder, "r.jsonl", text + '{"kind": "inst')  # cut off while it was written
    done = python(os.path.join(SOURCE, "bench", "cpsat.py"), "--table", path)
    assert done.returncode == 0, done
    assert "sked 1, method auto, beside CP-SAT of ortools 9; seed 0; m, 2 at a time; 2026-01-02." in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith(("| j30", "| late", "| open"))]
    assert rows == [
        "| j30 | 2 | 1 | 2 | 0.500 | 50.0 | 50.0 | 1.50 | 0.000 | 100.0 | 50.0 | 1.50 | CP-SAT | equal |",
        "| late | 1 | 1 | 2 | 0.000 | 100.0 | 100.0 | 1.00 | 0.000 | 100.0 | 100.0 | 1.00 | equal | equal |",
        "| open | 1 | 1 | 2 | 10.000 | - | 0.0 | 2.00 | - (1 without) | - | 0.0 | 2.00 | sked | equal |",
    ], rows


@test
def bare_tables_are_named(folder):
    table = "| a | b |\n|---|---|\n| x | 1.5 |\n"
    put(
        folder,
        "a.md",
        f"# A\n\n## One\n{table}\n## Two\n{table}\n    sked-bench scale\n## Three\n| a |\n|---|\n| word |\n",
    )
    done = python(EVIDENCE, "--root", folder, "--bare")
    assert (
        "a.md:5: figures without a command" in done.stdout and "1 tables" in done.stdout
    ), done.stdout


@test
def blocks_of_the_project_are_well_formed(folder):
    done = python(EVIDENCE, "--list")
    assert (
        done.returncode == 0 and "evidence" in done.stdout and "0 blocks" not in done.stdout
    ), done


RECORDS = [
    {"kind": "run", "seed": 0},
    {"kind": "row", "table": "table1", "method": "list"},
    {
        "kind": "correlation",
        "target": "a<b",
        "correlation": 0.5,
        "proxy": [1, 2, 3],
        "measured": [1, 3, 2],
    },
    *(
        {
            "kind": "rewards",
            "temperature": t,
            "trained_down_to": 0.01,
            "mean": 3,
            "top1": 4,
            "first": 1,
            "width": 1,
            "counts": [1, 2, 3],
        }
        for t in (0.001, 0.01, 1)
    ),
    *(
        {
            "kind": "curve",
            "figure": f,
            "series": s,
            "seed": k,
            "temperature": 1,
            "updates": [1, 2],
            "mean": [1, 1],
            "top1": [1, 2],
            "spread": [2, 1],
        }
        for f in ("loss", "temperature")
        for s in ("x", "y")
        for k in (0, 1)
    ),
]


@test
def records_are_drawn(folder):
    record = put(folder, "r.jsonl", "".join(json.dumps(r) + "\n" for r in RECORDS))
    done = python(PICTURES, record, "-o", folder)
    assert done.returncode == 0, done
    for name in ("correlation", "rewards", "extrapolation", "loss", "temperature"):
        picture = xml.dom.minidom.parse(os.path.join(folder, f"paper-{name}.svg"))
        text = picture.toxml()
        assert (
            picture.getElementsByTagName("path") and "nan" not in text and "inf" not in text
        ), text
    assert "a&lt;b" in open(os.path.join(folder, "paper-correlation.svg")).read()
    curves = xml.dom.minidom.parse(os.path.join(folder, "paper-loss.svg"))
    lines = [p for p in curves.getElementsByTagName("path") if p.getAttribute("fill") == "none"]
    assert len(lines) == 4, len(lines)  # two series, each a mean of two seeds, in two panels
    stepwise = [{**r, "stepwise": True} if r["kind"] == "run" else r for r in RECORDS]
    record = put(folder, "s.jsonl", "".join(json.dumps(r) + "\n" for r in stepwise))
    assert python(PICTURES, record, "-o", folder).returncode == 0
    assert os.path.exists(os.path.join(folder, "paper-loss-stepwise.svg"))
    bands = [p for p in curves.getElementsByTagName("path") if p.getAttribute("fill-opacity")]
    assert len(bands) == 4, len(bands)


@test
def bad_records_are_refused(folder):
    done = python(PICTURES, put(folder, "r.jsonl", '{"kind": "run"}\n[1]\n'), "-o", folder)
    assert done.returncode == 1 and "r.jsonl:2: no record" in done.stderr, done
    done = python(PICTURES, put(folder, "r.jsonl", '{"kind": "run"}\n'), "-o", folder)
    assert done.returncode == 1 and "no figures in it" in done.stderr, done


def main():
    passed = failed = 0
    for function in TESTS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(folder)
                passed += 1
            except Exception as error:  # the others run all the same
                print(f"FAILED {function.__name__}: {error!r}")
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
