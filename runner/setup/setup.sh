#!/usr/bin/env bash
# Brings in what is missing, and nothing else: setup.sh [packages] [torch] [tools]; all three without arguments; torch
# brings the tools too. What was found is written to build/setup.cmake (build/setup-fast.cmake without torch) for CMake.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=runner/setup/say.sh
source "$here/say.sh"
# shellcheck source=runner/setup/packages.sh
source "$here/packages.sh"
# shellcheck source=runner/setup/python.sh
source "$here/python.sh"
# shellcheck source=runner/setup/torch.sh
source "$here/torch.sh"

wants() { [[ " ${parts[*]} " == *" $1 "* ]]; }

# Python with the test tools; sees the torch that the build uses, if that is a Python one. One environment for each
# torch, so that clones with different ones do not disturb each other.
find_tools() {
  local base requirements=$root/runner/setup/requirements.txt key
  base=${torch_python:-$(base_python)}
  key=$("$base" -c 'import sys, zlib; print("%08x" % zlib.crc32(open(sys.argv[1], "rb").read() + (sys.version + sys.argv[2]).encode()))' \
    "$requirements" "$torch_site")
  local venv=$cache/tools-$key
  make_venv "$venv" "$base" "$key" "test tools" -r "$requirements"
  tools_python=$venv/bin/python
  local link
  link=$(site_of "$tools_python")/holdfast-torch.pth
  if [[ -n $torch_site && ! -f $link ]]; then
    printf '%s\n' "$torch_site" >"$link.$$"
    mv "$link.$$" "$link"
  fi
}

# write_answers FILE TEXT: left alone when nothing changed, for CMake runs anew when the file is newer.
write_answers() {
  mkdir -p "$root/build"
  if [[ ! -f $1 || $(<"$1") != "$2" ]]; then
    printf '%s\n' "$2" >"$1"
  fi
}

answers() {
  printf '# Written by runner/setup/setup.sh: where the things lie that the build needs.\n'
  printf 'set(HOLDFAST_PYTHON "%s" CACHE FILEPATH "Python of the tests" FORCE)\n' "$tools_python"
  printf 'set(HOLDFAST_PYTHON_TENSORS ON CACHE BOOL "Whether that Python imports numpy and safetensors" FORCE)\n'
  if [[ -n $torch_prefix ]]; then
    local imports=OFF
    [[ -z $torch_site ]] || imports=ON
    printf 'set(HOLDFAST_PYTHON_TORCH %s CACHE BOOL "Whether that Python imports torch" FORCE)\n' "$imports"
    printf 'set(Torch_DIR "%s/share/cmake/Torch" CACHE PATH "CMake files of LibTorch" FORCE)\n' "$torch_prefix"
  fi
}

parts=("$@")
((${#parts[@]})) || parts=(packages torch tools)
tools_python=''
if wants packages; then need_packages "${build_packages[@]}"; fi
if wants torch; then find_torch; fi
if wants torch; then
  find_tools
  write_answers "$root/build/setup.cmake" "$(answers)"
elif wants tools && [[ ! -f $root/build/setup.cmake ]]; then
  find_tools
  write_answers "$root/build/setup-fast.cmake" "$(answers)"
fi
say "set-up: nothing is missing"
