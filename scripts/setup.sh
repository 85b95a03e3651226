#!/bin/sh
# Installs the Debian packages named in the given lists that are missing. Nothing missing: does nothing.
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
[ "$(id -u)" -eq 0 ] || root=sudo
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -q >/dev/null
$root apt-get install -y -q --no-install-recommends $missing >/dev/null
