"""A program with a decimal comma: what is written has the same bytes, what is read says the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, json, locale, os, sys
import sked

if sys.argv[1] == "comma":
    locale.setlocale(locale.LC_ALL, "")
    assert locale.localeconv()["decimal_point"] == ","
g = sked.from_arrays([0.5, 1.25, 1e-7], [0, 0], [1, 2], bytes=[0.125, 3.5], memory=[1.5, 2.5, 0.25], name="g")
m = sked.Machine("m", latency=0.25, bandwidth=512.5)
m.add_device("a", speed=1.5)
m.add_device("b", speed=0.75, memory=64.5)
p = sked.Problem(g, m)
best = sked.schedule(p, method="list", time_limit=None, iterations=10).schedule
for f in sked.formats():
    if f.writes:
        try:
            g.save("graph." + f.name, f.name)
        except sked.Error:
            continue
for name in ("s.json", "s.svg", "s.html", "s.dot", "s.trace.json"):
    best.save(name)
m.save("m.machine.json")
assert sked.read("graph.native", format="native").duration.tolist() == [0.5, 1.25, 1e-7]
assert sked.Machine.read("m.machine.json").devices[0].speed == 1.5
found = {n: hashlib.sha256(open(n, "rb").read()).hexdigest() for n in sorted(os.listdir("."))}
print(json.dumps([found, repr(g), repr(best), repr(m)]))
"""


def _comma(folder):
    """Variables of a locale with a decimal comma, made here; None where it cannot be."""
    if shutil.which("localedef") is None:
        return None
    made = os.path.join(folder, "de_DE.UTF-8")
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", made], capture_output=True, check=False)
    return {"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8"} if os.path.isdir(made) else None


def test_a_comma_changes_no_byte(tmp_path):
    (tmp_path / "locale").mkdir()
    comma = _comma(tmp_path / "locale")
    if comma is None:
        pytest.skip("skipped: no locale with a decimal comma, and localedef cannot make one")
    said = []
    for name, more in (("point", {}), ("comma", comma)):
        (tmp_path / name).mkdir()
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, name],
            cwd=tmp_path / name,
            capture_output=True,
            text=True,
            env={**os.environ, **more},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1]
