from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest
import sked
from conftest import ROOT

PACKAGE = os.path.join(ROOT, "python", "sked")
SOURCES = sorted(name for name in os.listdir(PACKAGE) if name.endswith((".py", ".pyi")))


def test_version_is_that_of_the_header():
    with open(os.path.join(ROOT, "include", "sked", "sked.h"), encoding="utf-8") as f:
        numbers = re.findall(r"#define SKED_VERSION_(?:MAJOR|MINOR|PATCH) +(\d+)", f.read())
    assert sked.__version__ == ".".join(numbers)


def test_typed():
    assert os.path.exists(os.path.join(os.path.dirname(sked.__file__), "py.typed"))


@pytest.mark.parametrize("name", SOURCES)
def test_python_3_9_understands_it(name):
    with open(os.path.join(PACKAGE, name), encoding="utf-8") as f:
        ast.parse(f.read(), feature_version=(3, 9))


def public_parts():
    for name in sked.__all__:
        thing = getattr(sked, name)
        yield name, thing
        for part, member in vars(thing).items() if inspect.isclass(thing) else ():
            if not part.startswith("_") and (callable(member) or isinstance(member, property)):
                yield f"{name}.{part}", member


def test_everything_public_is_documented():
    missing = [name for name, thing in public_parts() if not inspect.getdoc(thing)]
    assert missing == []


def arguments_of(thing) -> set:
    try:
        parameters = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return set()
    return {p for p in parameters if p not in ("self", "cls")}


def test_docstrings_name_the_arguments():
    """Every function with arguments worth a section names them all, and no others."""
    for name, thing in public_parts():
        thing = thing.__func__ if isinstance(thing, classmethod) else thing
        section = re.search(r"Args:\n(.*?)(?:\n\n|\Z)", inspect.getdoc(thing) or "", flags=re.S)
        if inspect.isfunction(thing) and section:
            named = set(re.findall(r"^    \*{0,2}(\w+): ", section[1], flags=re.M))
            assert named == arguments_of(thing), name


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_types(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
        + ["--config-file", os.path.join(ROOT, "pyproject.toml"), PACKAGE],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(
    importlib.util.find_spec("cibuildwheel") is None, reason="cibuildwheel is not installed"
)
def test_what_wheels_are_built():
    """cibuildwheel reads its settings, refuses what it does not know, and says what it would build."""
    ask = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--archs", "all"]
    done = subprocess.run([*ask, "--platform", "linux", ROOT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["cp39-manylinux_x86_64", "cp39-manylinux_aarch64"]
    script = os.path.join(ROOT, "python", "wheel-libraries.sh")  # what runs before all of them
    assert subprocess.run(["sh", "-n", script]).returncode == 0 and os.access(script, os.X_OK)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_missing_libraries_are_named(tmp_path):
    """`pip install .` on a fresh system: its error ends with the packages to install."""
    configure = ["cmake", "-S", ROOT, "-B", str(tmp_path)]
    nowhere = {**os.environ, "PKG_CONFIG_LIBDIR": str(tmp_path), "PKG_CONFIG_PATH": ""}
    done = subprocess.run(configure, env=nowhere, capture_output=True, text=True)
    assert done.returncode != 0
    assert "apt install libprotobuf-c-dev libxml2-dev coinor-libcbc-dev" in done.stderr


def python_blocks(path: str) -> list:
    with open(path, encoding="utf-8") as f:
        return re.findall(r"^```python\n(.*?)^```", f.read(), flags=re.S | re.M)


def test_the_documentation_runs(tmp_path, monkeypatch):
    """The examples of docs/python.md one after another, as a reader would type them."""
    blocks = python_blocks(os.path.join(ROOT, "docs", "python.md"))
    assert len(blocks) > 5
    monkeypatch.chdir(tmp_path)
    os.symlink(os.path.join(ROOT, "examples"), tmp_path / "examples")
    names: dict = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)


def test_the_notebook_runs(monkeypatch):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    folder = os.path.join(ROOT, "examples")
    book = nbformat.read(os.path.join(folder, "sked.ipynb"), as_version=4)
    client = nbclient.NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    client.execute()
    pictures = [
        o for c in book.cells for o in c.get("outputs", ()) if "text/html" in o.get("data", {})
    ]
    assert any("data:image/svg+xml" in o.data["text/html"] for o in pictures)


def test_what_is_missing_names_an_extra_that_there_is(monkeypatch, recommender):
    with open(os.path.join(ROOT, "pyproject.toml"), encoding="utf-8") as f:
        extras = set(re.findall(r"^(\w+) = \[", f.read().split("[project.optional-dependencies]")[1].split("\n[")[0], flags=re.M))
    for name in ("pandas", "networkx", "matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    r = sked.schedule(recommender, 2, method="heft")
    calls = [r.plot, r.schedule.to_pandas, recommender.to_networkx, lambda: sked.compare([r])]
    calls += [sked.sample(recommender, 2, candidates=2).to_pandas]
    named = set()
    for call in calls:
        with pytest.raises(ImportError, match="pip install 'libsked") as raised:
            call()
        named |= set(re.findall(r"libsked\[(\w+)\]", str(raised.value)))
    assert named == {"pandas", "networkx", "plot"} and named <= extras
    folders = [os.path.join(ROOT, part) for part in ("python/sked", "src", "tools", "docs")]
    said = subprocess.run(["grep", "-rhoE", r"libsked\[[a-z]+\]", *folders], capture_output=True, text=True).stdout
    assert set(re.findall(r"\[(\w+)\]", said)) <= extras


@pytest.mark.parametrize("way", [[sys.executable, "-m", "sked"], [os.path.join(sysconfig.get_path("scripts"), "sked")]])
def test_the_command(way, tmp_path):
    def run(*words):
        return subprocess.run([*way, *words], cwd=tmp_path, capture_output=True, text=True)

    assert run("--version").stdout.startswith(f"sked {sked.__version__}")
    done = run("schedule", os.path.join(ROOT, "examples", "cholesky.json"), "--devices", "4", "-o", "plan.json")
    assert done.returncode == 0 and "makespan 135" in done.stdout and (tmp_path / "plan.json").exists()
    assert run("schedule", "none.json").returncode == 4


def test_without_a_command_it_says_so(monkeypatch, tmp_path):
    """Beside this package there is none, and the only one on the path is the script that asks."""
    import sked.__main__ as command

    script = tmp_path / "sked"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(command, "__file__", str(tmp_path / "none" / "__main__.py"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command._program() == str(script)
    monkeypatch.setattr(sys, "argv", [str(script)])
    with pytest.raises(SystemExit, match="not installed with this package"):
        command._program()
