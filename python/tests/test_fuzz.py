"""A short run of fuzz_calls.py; `make python-asan` has the long one."""

from __future__ import annotations

import fuzz_calls
import sked


def test_every_parameter_has_values():
    """A new public function, method or keyword is fuzzed, or this fails: fuzz_calls.py wants a line for it."""
    calls = fuzz_calls.public_calls()
    wanted = {p for call in calls for p in call.parameters}
    assert wanted - set(fuzz_calls.PLAUSIBLE) == set()
    assert {call.owner for call in calls if call.owner is not None} - set(fuzz_calls.OF) == set()
    names = {call.name for call in calls}
    assert {
        "schedule",
        "Graph",
        "Graph.add_op",
        "Schedule.finish",
        "Machine.identical",
        "Samples.__getitem__",
    } <= names
    assert len(names) > 100 and {n for n in sked.__all__ if callable(getattr(sked, n))} >= {
        "measure",
        "robust",
    }


def test_calls_with_anything(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made, answered = fuzz_calls.run(400, seed=29)
    assert made >= 400 and answered > made / 5
