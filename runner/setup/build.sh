#!/usr/bin/env bash
# Configures (when needed) and builds one preset: build.sh PRESET [NINJA_ARGUMENTS...]. Set-up is done before, by setup.sh.
set -euo pipefail
# shellcheck source=runner/setup/say.sh
source "$(cd "$(dirname "$0")" && pwd)/say.sh"

# One compiler per core, but not more than the memory bears (a LibTorch source file takes about 2 GB).
jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 2097152) }' /proc/meminfo)
  ((memory >= 1)) || memory=1
  echo "${HOLDFAST_JOBS:-$((cores < memory ? cores : memory))}"
}

sparse() {
  local line last='' shown=$SECONDS
  while IFS= read -r line; do
    if [[ $line =~ ^\[[0-9]+/[0-9]+\]\  ]]; then
      last=$line
      if ((SECONDS - shown >= 30)); then
        say "build: $line"
        shown=$SECONDS last=''
      fi
    elif [[ $line != 'ninja: '@(Entering|no work)* && $line != '-- '* ]]; then
      [[ -z $last ]] || printf '%s\n' "$last"
      printf '%s\n' "$line"
      last=''
    fi
  done
}

preset=$1
shift
folder=$root/build/$preset
answers=$root/build/setup.cmake
[[ -f $answers ]] || answers=$root/build/setup-fast.cmake
cd "$root"
if [[ ! -f $folder/build.ninja || ($answers -nt $folder/configured && $preset != @(fast|asan|tsan)) ]]; then
  say "configure: preset $preset in build/$preset"
  initial=()
  [[ ! -f $answers ]] || initial=(-C "$answers")
  quietly "$root/build/setup/configure-$preset.log" cmake --preset "$preset" "${initial[@]}"
  touch "$folder/configured"
fi
say "build: build/$preset, $(jobs) at a time"
if [[ -t 1 ]]; then
  ninja -C "$folder" -j "$(jobs)" "$@"
else
  # No terminal: a line every 30 seconds instead of one a file; whatever the compiler says is shown.
  NINJA_STATUS='[%f/%t] ' ninja -C "$folder" -j "$(jobs)" "$@" </dev/null | sparse
fi
say "build: build/$preset is up to date"
