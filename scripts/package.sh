#!/bin/sh
# Builds the Debian packages (debian/) into build/package. What debhelper prints is in build/package.log.
set -eu
cd "$(dirname "$0")/.."
log=build/package.log
if ! DEB_RULES_REQUIRES_ROOT=no SKED_PACKAGES=build/package debian/rules clean binary >$log 2>&1; then
    cat $log >&2
    exit 1
fi
dh_clean
ls build/package/*.deb
