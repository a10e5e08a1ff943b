#!/usr/bin/env bash
# Formats every C++ file of the tree with the pinned clang-format; `format.sh --check` only says which would change.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=runner/setup/say.sh
source "$here/say.sh"
python=$("$here/setup.sh" torch tools >/dev/null && sed -n 's/^set(HOLDFAST_PYTHON "\([^"]*\)".*/\1/p' "$root/build/setup.cmake")
mode=(-i)
[[ ${1:-} != --check ]] || mode=(--dry-run -Werror)
cd "$root"
git ls-files -z --cached --others --exclude-standard '*.cpp' '*.hpp' | xargs -0 "$(dirname "$python")/clang-format" "${mode[@]}"
