#!/usr/bin/env bash
# clang-tidy, pinned, on the sources of the half without LibTorch; needs build/fast for its compile commands and generated headers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=runner/setup/say.sh
source "$here/say.sh"
python=$("$here/setup.sh" >/dev/null && sed -n 's/^set(HOLDFAST_PYTHON "\([^"]*\)".*/\1/p' "$root/build/setup.cmake")
cd "$root"
"$here/build.sh" fast holdfast
bin=$(dirname "$python")
mapfile -t sources < <("$python" -c '
import json, sys
print("\n".join(sorted({e["file"] for e in json.load(open("build/fast/compile_commands.json")) if "/runner/" in e["file"]})))')
say "clang-tidy: ${#sources[@]} files"
printf '%s\0' "${sources[@]}" | xargs -0 -n 4 -P "$(nproc)" "$bin/clang-tidy" -p build/fast --quiet --warnings-as-errors='*'
say "clang-tidy: no finding"
