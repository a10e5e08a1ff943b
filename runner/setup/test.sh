#!/usr/bin/env bash
# Runs the tests of one built preset: test.sh PRESET [CTEST_ARGUMENTS...]. Its last lines are ctest's.
set -euo pipefail
# shellcheck source=runner/setup/say.sh
source "$(cd "$(dirname "$0")" && pwd)/say.sh"
preset=$1
shift
cd "$root"
say "test: build/$preset"
exec ctest --preset "$preset" --no-label-summary --no-tests=error "$@" </dev/null
