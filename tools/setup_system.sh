#!/bin/sh
# Brings GoogleTest and ccache where they are missing and can be had: through
# apt when run as root. Without GoogleTest the C++ tests are skipped, without
# ccache builds are slower; nothing else needs them, so this never fails.
set -u
missing=""
[ -e /usr/include/gtest/gtest.h ] || missing="$missing libgtest-dev"
command -v ccache >/dev/null 2>&1 || missing="$missing ccache"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -qq -y --no-install-recommends $missing >/dev/null 2>&1 && exit 0
  if apt-get update -qq >/dev/null 2>&1 &&
     apt-get install -qq -y --no-install-recommends $missing >/dev/null 2>&1; then
    exit 0
  fi
fi
echo "setup: not found:$missing" \
     "(no libgtest-dev: C++ tests are skipped; no ccache: slower builds)"
