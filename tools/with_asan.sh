#!/bin/sh
# tools/with_asan.sh <build folder> <command>...
# Runs a Python command with the sanitizers' runtime loaded before the
# interpreter and with the extension of a build made with MAGNETO_SANITIZE.
# Leaks are not looked for: the interpreter and torch keep much until the end.
# Tests ask for more memory than there is, and handle what comes of it.
set -eu
build=$1
shift
cd "$(dirname "$0")/.."
package=$(mktemp -d)
trap 'rm -rf "$package"' EXIT
# The package as it stands, but with this build's extension.
mkdir "$package/magneto"
ln -s "$PWD"/python/magneto/* "$package/magneto/"
rm -f "$package"/magneto/_C_t*.so
ln -s "$PWD/$build"/lib/_C_t* "$package/magneto/"
# libstdc++ too: the runtime looks for __cxa_throw when it starts.
# Frames are several times as big as without.
ulimit -s unlimited
LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)" \
ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
PYTHONMALLOC=malloc OMP_NUM_THREADS=1 \
PYTHONPATH="$package" MAGNETO_PACKAGE="$package" "$@"
