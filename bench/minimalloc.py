#!/usr/bin/env python3
"""`sked pack` on buffer instances, and MiniMalloc beside it where its program is given.

    bench/minimalloc.py [--sked PATH] [--minimalloc PATH] [--data FOLDER] [--time-limit S] [--seed N] [FILE.csv ...]

Each MiniMalloc instance is packed within the capacity for which it was published, by both programs one after the
other, on one thread; sked then seeks the least height as well, which MiniMalloc is not asked for. Other files have
no capacity: there sked alone runs. A run that does not end within the limit is counted as not solved.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CAPACITY = 1048576


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def run_sked(options: argparse.Namespace, path: Path, *more: str) -> dict[str, object] | None:
    command = [options.sked, "pack", str(path), "--json", "--threads", "1", "--seed", str(options.seed),
               "--time-limit", str(options.time_limit), *more]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 7:
        return None
    if done.returncode != 0:
        sys.exit(f"minimalloc.py: {done.stderr.strip()}")
    return json.loads(done.stdout)


def run_minimalloc(options: argparse.Namespace, path: Path) -> tuple[float, int | None]:
    """Seconds and height; no height: not solved."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.csv"
        command = [options.minimalloc, f"--input={path}", f"--output={out}", f"--capacity={CAPACITY}",
                   f"--timeout={options.time_limit}s"]
        begin = time.monotonic()
        subprocess.run(command, capture_output=True, timeout=options.time_limit + 60)
        seconds = time.monotonic() - begin
        if not out.exists() or not out.read_text(encoding="utf-8").strip():
            return seconds, None
        header, *lines = out.read_text(encoding="utf-8").splitlines()
        rows = [dict(zip(header.split(","), line.split(","))) for line in lines]
        return seconds, max(int(row["offset"]) + int(row["size"]) for row in rows)


def row(name: str, program: str, seconds: float, height: object, bound: object) -> None:
    print(f"{name:24} {program:20} {seconds:8.2f} s  height {height if height is not None else 'none':>12}  "
          f"bound {bound if bound is not None else '-':>12}", flush=True)


def compare(options: argparse.Namespace, path: Path) -> None:
    name = path.stem
    if name.startswith("minimalloc_"):
        begin = time.monotonic()
        found = run_sked(options, path, "--capacity", str(CAPACITY))
        row(name, "sked, capacity", time.monotonic() - begin, found and found["value"], found and found["lower_bound"])
        if options.minimalloc:
            seconds, height = run_minimalloc(options, path)
            row(name, "MiniMalloc, capacity", seconds, height, None)
    begin = time.monotonic()
    found = run_sked(options, path)
    assert found is not None
    row(name, "sked, least height", time.monotonic() - begin, found["value"], found["lower_bound"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.csv")
    parser.add_argument("--sked", default=str(ROOT / "build" / "sked"))
    parser.add_argument("--minimalloc", help="MiniMalloc's program; without it, sked alone runs")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("SKED_BENCH_DATA", ROOT / "../shared/data")))
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    files = options.files or sorted((options.data / "buffers").glob("*.csv"))
    if not files:
        print(f"skipped: no buffer instances in {options.data / 'buffers'}")
        return
    print(f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; one thread, seed {options.seed}, "
          f"limit {options.time_limit:g} s")
    for path in files:
        compare(options, path)


if __name__ == "__main__":
    main()
