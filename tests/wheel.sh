#!/bin/sh
# The wheel as one who installs it finds it: wheel.sh FOLDER VERSION..., the versions of CPython to try. Each gets an
# environment of its own, with nothing but what the wheel asks for; versions that are not here are skipped.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
wheel=$(echo "$(cd "$1" && pwd)"/*.whl)
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 skipped=0
fail() { cat "$work/said"; echo "FAILED $1"; exit 1; }
# expect WORDS COMMAND...: the command succeeds and prints the words.
expect() {
    words=$1
    shift
    "$@" >"$work/said" 2>&1 || fail "$*"
    grep -qF -- "$words" "$work/said" || fail "$*: no '$words' in what it printed"
    passed=$((passed + 1))
}

# An interpreter of that version: on the PATH, or one of pyenv's.
python_of() {
    for python in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python3; do
        if "$python" -c "import sys; assert '%d.%d' % sys.version_info[:2] == '$1'" 2>/dev/null; then
            echo "$python"
            return
        fi
    done
}

case $wheel in *-cp39-abi3-manylinux_*) ;; *) echo "FAILED $wheel: not for every CPython from 3.9 on"; exit 1 ;; esac
cp -r "$source/examples" "$work/examples"
cd "$work"
for version in "$@"; do
    python=$(python_of "$version")
    if [ -z "$python" ]; then
        skipped=$((skipped + 1))
        echo "skipped: no CPython $version here"
        continue
    fi
    venv=$work/$version
    "$python" -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check "$wheel" >said 2>&1 || fail "pip install, Python $version"
    unset PYTHONPATH LD_LIBRARY_PATH
    expect "sked " "$venv/bin/sked" --version
    expect "makespan 135" "$venv/bin/python" -m sked schedule examples/cholesky.json --devices 4
    expect "135.0 $version" "$venv/bin/python" -c "import sked, sys
g = sked.read('examples/cholesky.json')
print(sked.schedule(g, devices=4).makespan, '%d.%d' % sys.version_info[:2])"
    expect "ops" "$venv/bin/sked" info examples/inception.onnx
    # Both programs find what is not the C library in the wheel, nowhere else.
    for program in "$venv"/lib/python*/site-packages/sked/_native.abi3.so "$venv"/lib/python*/site-packages/sked/sked; do
        expect libsked.libs ldd "$program"
        if grep -E "=> (not found|/(usr/)?lib.*lib(Cbc|Clp|xml2|protobuf|lapack|hwloc))" said; then
            fail "$program needs a library of this system"
        fi
    done
done
echo "$passed passed, 0 failed, $skipped skipped"
