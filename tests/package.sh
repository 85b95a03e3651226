#!/bin/sh
# The Debian packages, as one who installs them finds them: package.sh FOLDER, which holds the .deb files.
# First unpacked into a folder of its own; then, as root, really installed by dpkg, in a mount namespace whose /usr, /var and
# /etc are thrown away afterwards. Where the system allows no such thing, that part is skipped with a message.
set -eu
cd "$(dirname "$0")/.."
source=$PWD
packages=$(cd "$1" && pwd)
version=$(awk '/^#define SKED_VERSION_(MAJOR|MINOR|PATCH) /{v = v dot $3; dot = "."} END {print v}' include/sked/sked.h)
if [ $# -eq 1 ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
else
    work=$2 # in the namespace
fi
passed=0 skipped=0
fail() { echo "FAILED $1"; exit 1; }
ok() { passed=$((passed + 1)); }
# expect WORDS COMMAND...: the command succeeds and prints the words.
expect() {
    words=$1
    shift
    "$@" >"$work/said" 2>&1 || { head -n 30 "$work/said"; fail "$*"; }
    grep -qF -- "$words" "$work/said" || { head -n 30 "$work/said"; fail "$*: no '$words' in what it printed"; }
    ok
}

# The checks on what is installed under a root, "" for the real one.
check() {
    root=$1 libdir=$1/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
    if [ -n "$root" ]; then
        export LD_LIBRARY_PATH="$libdir" PKG_CONFIG_PATH="$libdir/pkgconfig" PYTHONPATH="$root/usr/lib/python3/dist-packages"
    fi
    expect "sked $version" "$root/usr/bin/sked" --version
    expect "makespan 135" "$root/usr/bin/sked" schedule examples/cholesky.json --devices 4
    expect "find a good schedule" gzip -dc "$root/usr/share/man/man1/sked-schedule.1.gz"
    expect "complete " cat "$root/usr/share/bash-completion/completions/sked"
    expect "makespan 6190" "$root/usr/bin/sked" schedule "$root/usr/share/doc/sked/examples/recommender.json" --devices 13
    # shellcheck disable=SC2046 # flags are several words
    cc "$root/usr/share/doc/libsked-dev/examples/own_method.c" $(pkg-config --cflags --libs sked) -lm -o "$work/embed" || fail "pkg-config"
    expect "scatter: makespan" "$work/embed" "$root/usr/share/doc/sked/examples/recommender.json"
    # shellcheck disable=SC2046
    cc examples/embed.c $(pkg-config --cflags --libs sked) -o "$work/embed" || fail "pkg-config"
    expect "makespan 5" "$work/embed"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.20)' 'project(embed C)' "find_package(sked $version REQUIRED)" \
        "add_executable(embed $source/examples/embed.c)" 'target_link_libraries(embed PRIVATE sked::sked)' >"$work/CMakeLists.txt"
    expect "" cmake -S "$work" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$root/usr"
    expect "" cmake --build "$work/cmake"
    expect "makespan 5" "$work/cmake/embed"
    rm -rf "$work/cmake"
    (cd "$work" && expect "135.0 $version" /usr/bin/python3 -c "import sked
g = sked.read('$source/examples/cholesky.json')
print(sked.schedule(g, sked.Machine.identical(4)).makespan, sked.__version__)") || exit 1
    ok
    unset LD_LIBRARY_PATH PKG_CONFIG_PATH PYTHONPATH
}

if [ $# -gt 1 ]; then # hide the real folders, install, look, remove
    mount -t tmpfs none "$work"
    for folder in usr var etc; do
        mkdir -p "$work/$folder/new" "$work/$folder/work"
        mount -t overlay -o "lowerdir=/$folder,upperdir=$work/$folder/new,workdir=$work/$folder/work" none "/$folder"
    done
    expect "" dpkg -i "$packages"/*.deb
    check ""
    expect "" dpkg --purge sked libsked-dev libsked0.1 python3-sked
    if [ -e /usr/bin/sked ] || [ -e /usr/lib/python3/dist-packages/sked ]; then
        fail "dpkg --purge leaves something behind"
    fi
    echo "$passed"
    exit 0
fi

# debian/control lists what the build needs once more, in its own form.
grep -v '^#' scripts/packages-build.txt | while read -r package; do
    [ "$package" = build-essential ] || sed -n '/^Build-Depends:/,/^Standards/p' debian/control | grep -qw -- "$package" ||
        { echo "FAILED debian/control: no $package in Build-Depends"; exit 1; }
done

count=0
for package in "$packages"/*.deb; do
    count=$((count + 1))
    [ "$(dpkg-deb -f "$package" Version)" = "$version" ] || fail "$package: debian/changelog has not version $version of the header"
    dpkg-deb -x "$package" "$work/root"
done
[ $count -eq 4 ] || fail "$count packages in $packages instead of 4"
check "$work/root"
if [ "$(id -u)" -eq 0 ] && unshare -m sh -c "mount -t tmpfs none $work && mkdir $work/a $work/b && \
    mount -t overlay -o lowerdir=/usr,upperdir=$work/a,workdir=$work/b none /usr" 2>/dev/null; then
    mkdir "$work/hidden"
    unshare -m "$source/tests/package.sh" "$packages" "$work/hidden" >"$work/inside" || { cat "$work/inside"; exit 1; }
    passed=$((passed + $(tail -n 1 "$work/inside")))
else
    skipped=1
    echo "skipped: installing by dpkg (needs root and overlay mounts)"
fi
if command -v lintian >/dev/null; then # the maintainers have no public address
    lintian --allow-root --fail-on error,warning --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
        "$packages"/*.deb || fail lintian
    ok
fi
echo "$passed passed, 0 failed, $skipped skipped"
