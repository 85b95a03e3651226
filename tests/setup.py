#!/usr/bin/env python3
"""Building without root: setup.py SOURCE_DIR. What scripts/setup.sh does with packages that are missing, where it may not
install them, where it can ask, and as root; and CMake where there is neither apt nor dpkg."""
import os
import pty
import shutil
import subprocess
import sys
import tempfile

source = sys.argv[1]
passed = 0


def check(holds, what):
    global passed
    if not holds:
        sys.exit(f"FAILED {what}\n{passed} passed, 1 failed")
    passed += 1


def system(folder, user, *programs):
    """A PATH with the shell's tools and programs that write down how they were called; dpkg-query knows no package."""
    path = os.path.join(folder, "-".join(("bin", str(user), *programs)))
    os.mkdir(path)
    for tool in ("sh", "grep", "dirname"):
        os.symlink(shutil.which(tool), os.path.join(path, tool))
    for name in ("id", "dpkg-query", *programs):
        body = f"echo {user}" if name == "id" else "exit 1" if name == "dpkg-query" else f'echo {name} "$@" >>{folder}/calls'
        with open(os.path.join(path, name), "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{body}\n")
        os.chmod(os.path.join(path, name), 0o755)
    return path


def setup(folder, path, answer=None):
    """Its exit status, what it says, and what it called. answer: typed on a terminal; None: there is none."""
    calls = os.path.join(folder, "calls")
    if os.path.exists(calls):
        os.remove(calls)
    master, slave = pty.openpty() if answer is not None else (None, subprocess.DEVNULL)
    if answer is not None:
        os.write(master, answer.encode())
    done = subprocess.run([os.path.join(source, "scripts", "setup.sh"), "build"], env={"PATH": path}, stdin=slave,
                          capture_output=True, text=True, timeout=60)
    for end in (master, slave) if answer is not None else ():
        os.close(end)
    called = open(calls, encoding="utf-8").read() if os.path.exists(calls) else ""
    return done.returncode, done.stdout + done.stderr, called


with tempfile.TemporaryDirectory(prefix="sked-setup-") as folder:
    user = system(folder, 1000, "apt-get", "sudo")
    status, said, called = setup(folder, user)
    check(status == 1 and called == "", "without a terminal nothing is installed")
    check("coinor-libcbc-dev" in said and "cmake -B build && cmake --build build" in said, f"it says what to do: {said}")
    check("[y/N]" not in said, "nobody is asked where nobody can answer")
    status, said, called = setup(folder, user, "n\n")
    check(status == 1 and called == "" and "[y/N]" in said, "who says no gets nothing")
    status, said, called = setup(folder, user, "y\n")
    check(status == 0 and "sudo apt-get install" in called and "libonnx-dev" in called, f"who says yes: {called}")
    status, said, called = setup(folder, system(folder, 1000, "apt-get"), "y\n")
    check(status == 1 and called == "" and "[y/N]" not in said, "without sudo nobody is asked")
    status, said, called = setup(folder, system(folder, 0, "apt-get"))
    check(status == 0 and "apt-get install" in called and "sudo" not in called, "root is not asked")
    status, said, called = setup(folder, system(folder, 0))
    check(status == 1 and "no Debian" in said and "libxml2-dev" in said, "another system")

    # CMake asks neither apt nor dpkg, nor for root.
    tools = system(folder, 1001, "apt-get", "sudo", "dpkg", "apt")
    build = os.path.join(folder, "build")
    done = subprocess.run(["cmake", "-S", source, "-B", build], env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
                          capture_output=True, text=True)
    check(done.returncode == 0, f"cmake -B build: {done.stderr}")
    check(not os.path.exists(os.path.join(folder, "calls")) or "apt" not in open(os.path.join(folder, "calls")).read(),
          "cmake calls neither apt nor sudo")
print(f"{passed} passed, 0 failed")
