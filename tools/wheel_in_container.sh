#!/bin/sh
# Builds the wheels inside a manylinux_2_28 image, for its processor: one for
# each CPython that pyproject.toml allows, into dist/. From the repository:
#
#   docker run --rm -v "$PWD":/magneto -w /magneto <image> \
#     sh tools/wheel_in_container.sh
set -eu
git config --global --add safe.directory "$PWD"
for python in /opt/python/cp311-cp311/bin/python; do
  environment=$(mktemp -d)
  "$python" -m venv "$environment"
  "$environment/bin/pip" install -q -r requirements-wheel.txt
  "$environment/bin/python" tools/build_wheel.py --jobs "$(nproc)"
  rm -rf "$environment"
done
