#!/bin/sh
# Installs the Debian packages named in the given lists that are missing. Nothing missing: does nothing. Who is not root is
# asked; where there is no terminal to ask on, it says what is missing and stops.
set -eu
cd "$(dirname "$0")"
missing=
for list in "$@"; do
    for package in $(grep -v '^#' "packages-$list.txt"); do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "setup: this is no Debian; please install the equivalents of:$missing" >&2
    exit 1
fi
root=
if [ "$(id -u)" -ne 0 ]; then
    echo "setup: packages are missing:$missing" >&2
    answer=
    if [ -t 0 ] && command -v sudo >/dev/null; then
        printf 'setup: install them with sudo? [y/N] ' >&2
        read -r answer || :
    fi
    if [ "$answer" != y ]; then
        echo "setup: as root: apt-get install$missing" >&2
        echo "setup: with libraries from elsewhere, without root: cmake -B build && cmake --build build" >&2
        exit 1
    fi
    root=sudo
fi
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -q >/dev/null
$root apt-get install -y -q --no-install-recommends $missing >/dev/null
