#!/usr/bin/env python3
"""What `make install` gives to a program: install.py SOURCE_DIR BUILD_DIR CC CXX.

Examples are compiled from where they are installed, with what pkg-config and CMake say, shared and static, and run."""
import os
import re
import subprocess
import sys
import tempfile

source, build, cc, cxx = sys.argv[1:5]
passed = skipped = 0


def run(*command, cwd=None, **more):
    env = {**os.environ, **more}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"FAILED {' '.join(command)}\n{done.stdout}\n{done.stderr}\n{passed} passed, 1 failed")
    return done.stdout


def says(words, *command, **more):
    global passed
    out = run(*command, **more)
    if words not in out:
        sys.exit(f"FAILED {' '.join(command)}: no '{words}' in\n{out}\n{passed} passed, 1 failed")
    passed += 1


def needs(program):
    """Shared libraries of a program."""
    return re.findall(r"NEEDED.*\[(.*?)\]", run("readelf", "-d", program))


def check(holds, what):
    global passed
    if not holds:
        sys.exit(f"FAILED {what}\n{passed} passed, 1 failed")
    passed += 1


with tempfile.TemporaryDirectory(prefix="sked-install-") as folder:
    prefix, there = os.path.join(folder, "prefix"), {}
    run("cmake", "--install", build, "--prefix", prefix)
    for path, _, names in os.walk(prefix):
        there.update((name, os.path.join(path, name)) for name in names)
    examples, library = os.path.dirname(there["embed.c"]), os.path.dirname(there["libsked.a"])
    packages = {"PKG_CONFIG_PATH": os.path.dirname(there["sked.pc"])}
    program = os.path.join(folder, "program")

    def compiled(name, *flags, kind=(), compiler=cc):
        words = run("pkg-config", *kind, "--cflags", "--libs", "sked", **packages).split()
        run(compiler, *flags, os.path.join(examples, name), *words, "-lm", "-o", program)
        return program

    # As one finds it: shared. Other packages need not be there.
    alone = {**packages, "PKG_CONFIG_LIBDIR": folder}
    check("-lsked" in run("pkg-config", "--libs", "sked", **alone), "pkg-config without the packages sked was built with")
    says("makespan 5", compiled("embed.c"), LD_LIBRARY_PATH=library)
    check("libsked.so" in " ".join(needs(program)), "shared")
    says("scatter: makespan", compiled("own_method.c"), cwd=examples, LD_LIBRARY_PATH=library)
    says("makespan 5", compiled("embed.c", "-x", "c++", "-std=c++20", compiler=cxx), LD_LIBRARY_PATH=library)

    # One file, which needs nothing of this system.
    archives = [run(cc, f"-print-file-name={name}").strip() for name in ("libgfortran.a", "liblapack.a", "libc.a")]
    if all(os.path.isabs(name) for name in archives):
        says("makespan 5", compiled("embed.c", "-static", kind=["--static"]))
        check(needs(program) == [], "static")
    else:
        skipped += 1
        print("skipped: a program without shared libraries (needs archives of C, LAPACK and Fortran)")

    # CMake: both targets in one project.
    with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as f:
        f.write(f"""cmake_minimum_required(VERSION 3.20)
project(embed C)
find_package(sked REQUIRED)
add_executable(shared {examples}/embed.c)
target_link_libraries(shared PRIVATE sked::sked)
add_executable(archive {examples}/embed.c)
target_link_libraries(archive PRIVATE sked::sked_static)
""")
    made = os.path.join(folder, "cmake")
    run("cmake", "-S", folder, "-B", made, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", made)
    for name in ("shared", "archive"):
        says("makespan 5", os.path.join(made, name))
    check("libsked" not in " ".join(needs(os.path.join(made, "archive"))), "sked::sked_static")

    # Without the shared library pkg-config's own words find the other one.
    for name in os.listdir(library):
        if name.startswith("libsked.so"):
            os.remove(os.path.join(library, name))
    says("makespan 5", compiled("embed.c", kind=["--static"]))
    check("libsked" not in " ".join(needs(program)), "libsked.a")
print(f"{passed} passed, 0 failed, {skipped} skipped")
