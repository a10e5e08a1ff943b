# shellcheck shell=bash
# LibTorch: a given prefix, else an installed Python torch of a supported version, else the pinned wheel in the cache.
# Sourced after python.sh. find_torch sets torch_prefix (the folder with share/cmake/Torch), torch_site (folder to import
# the Python torch from; empty when there is none) and torch_python (a Python that can import it).

torch_cpu=2.13.0
torch_cuda=2.14.1
torch_prefix='' torch_site='' torch_python=''

version_of_prefix() { sed -n 's/^set(PACKAGE_VERSION "\([^"]*\)").*/\1/p' "$1/share/cmake/Torch/TorchConfigVersion.cmake" 2>/dev/null; }

# The folder with share/cmake/Torch at or below a path that a user gave; empty when there is none.
prefix_at() {
  local candidate
  for candidate in "$1" "$1/libtorch" "$1"/lib/python3*/site-packages/torch "$1/torch"; do
    if [[ -f $candidate/share/cmake/Torch/TorchConfig.cmake ]]; then
      (cd "$candidate" && pwd)
      return
    fi
  done
}

# Whether a Python torch package is one for this Python (asked of its file names: importing torch takes seconds).
fits_python() {
  "$2" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sys.argv[1] + "/_C" + sysconfig.get_config_var("EXT_SUFFIX")))' \
    "$1" 2>/dev/null
}

accept_given() {
  local version
  version=$(version_of_prefix "$1")
  [[ $version == "$torch_cpu"* || $version == "$torch_cuda"* ]] ||
    fail "$2 names LibTorch ${version:-of an unknown version} ($1), but holdfast is built and tested with $torch_cpu (CPU)" \
      "and $torch_cuda (CUDA); give one of these, or unset $2 to have the pinned wheel"
  torch_prefix=$1
  if [[ -f $1/__init__.py ]]; then
    local site python
    site=$(dirname "$1")
    for python in "$site/../../../bin/python" "$(base_python)"; do
      if [[ -x $python ]] && fits_python "$1" "$python"; then
        torch_site=$site torch_python=$python
        break
      fi
    done
  fi
  say "torch: $version, as $2 says ($1)"
}

# Whether CMake can use a torch that happens to be installed (a CUDA build needs its toolkit). Remembered per place.
cmake_accepts() {
  local answer
  answer=$cache/probe-$(printf '%s' "$1 $2 $(cmake --version | head -n 1)" | cksum | cut -d' ' -f1)
  if [[ ! -f $answer ]]; then
    mkdir -p "$cache"
    local folder
    folder=$(mktemp -d)
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(probe LANGUAGES CXX)\nfind_package(Torch REQUIRED)\n' >"$folder/CMakeLists.txt"
    if cmake -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$1" >"$answer.log" 2>&1 </dev/null; then
      echo yes >"$answer"
    else
      echo no >"$answer"
    fi
    rm -rf "$folder"
  fi
  [[ $(<"$answer") == yes ]]
}

# A torch that `python3` imports, of a supported version and kind.
find_installed() {
  command -v python3 >/dev/null || return 1
  local found version prefix
  found=$(python3 - 2>/dev/null <<'PYTHON'
import importlib.metadata, importlib.util
spec = importlib.util.find_spec("torch")
print(importlib.metadata.version("torch"), spec.submodule_search_locations[0])
PYTHON
  ) || return 1
  version=${found%% *} prefix=${found#* }
  local kind=$torch_cpu
  [[ ! -f $prefix/lib/libtorch_cuda.so ]] || kind=$torch_cuda
  if [[ ${version%%+*} != "$kind" ]]; then
    say "torch: python3 has $version ($prefix); holdfast wants $torch_cpu (CPU build) or $torch_cuda (CUDA build), so it is left alone"
    return 1
  fi
  if ! cmake_accepts "$prefix" "$version"; then
    say "torch: python3 has $version ($prefix), but CMake cannot build against it here ($cache/probe-*.log says why); left alone"
    return 1
  fi
  torch_prefix=$prefix torch_site=$(dirname "$prefix") torch_python=$(command -v python3)
  say "torch: $version, installed in Python ($prefix)"
}

# pip would take gigabytes of a CUDA build where its index offers no CPU build: find out before fetching.
refuse_cuda_wheel() {
  local report=$root/build/setup/torch-report.json
  mkdir -p "$(dirname "$report")"
  "$1" -m pip install --dry-run --ignore-installed --no-deps --no-input --quiet --report "$report" "torch==$torch_cpu" \
    >"$root/build/setup/torch-report.log" 2>&1 </dev/null || return 0  # the installation itself will say what is wrong
  if grep -q '"nvidia-\|"cuda-' "$report"; then
    fail "pip would install the CUDA build of torch $torch_cpu; holdfast uses the CPU build of this version. Tell pip where" \
      "the CPU wheels are (PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS), or give a LibTorch with HOLDFAST_TORCH=/path"
  fi
}

find_pinned() {
  local venv=$cache/torch-$torch_cpu python stamp="torch==$torch_cpu"
  if ! is_complete "$venv" "$stamp"; then
    python=$(base_python)
    refuse_cuda_wheel "$python"
    make_venv "$venv" "$python" "$stamp" "torch $torch_cpu" "torch==$torch_cpu"
  fi
  torch_python=$venv/bin/python
  torch_site=$(site_of "$torch_python")
  torch_prefix=$torch_site/torch
  say "torch: $torch_cpu, the pinned wheel in the cache ($venv)"
}

find_torch() {
  local entry prefix entries
  if [[ -n ${HOLDFAST_TORCH:-} ]]; then
    prefix=$(prefix_at "$HOLDFAST_TORCH")
    [[ -n $prefix ]] || fail "HOLDFAST_TORCH=$HOLDFAST_TORCH holds no share/cmake/Torch/TorchConfig.cmake; name the folder of an unpacked LibTorch or of a Python torch package"
    accept_given "$prefix" HOLDFAST_TORCH
    return
  fi
  IFS=':;' read -ra entries <<<"${CMAKE_PREFIX_PATH:-}"
  for entry in "${entries[@]}"; do
    prefix=$(prefix_at "$entry")
    if [[ -n $prefix ]]; then
      accept_given "$prefix" CMAKE_PREFIX_PATH
      return
    fi
  done
  find_installed || find_pinned
}
