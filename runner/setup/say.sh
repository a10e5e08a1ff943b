# shellcheck shell=bash
# How the set-up scripts speak: one line a step with the seconds since the start. Sourced; knows nothing of what is done.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${XDG_CACHE_HOME:-${HOME:?HOME is not set; set it, or set XDG_CACHE_HOME to a writable folder}/.cache}/holdfast
: "${HOLDFAST_STARTED:=$(date +%s)}"
export HOLDFAST_STARTED

say() { printf '[%4d s] %s\n' "$(($(date +%s) - HOLDFAST_STARTED))" "$*" >&2; }

fail() {
  say "error: $*"
  exit 1
}

# quietly LOG COMMAND...: runs with the output in LOG; shows its end only when the command fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 25 "$log" >&2
    fail "'$*' failed; the whole output is in $log"
  fi
}
