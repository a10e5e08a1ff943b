# shellcheck shell=bash
# Virtual environments in the cache: made once, complete only when their stamp says so. Sourced after packages.sh.

# Prints a Python >= 3.10 that can make a virtual environment.
base_python() {
  local candidate
  for candidate in "${HOLDFAST_BASE_PYTHON:-}" python3 /usr/bin/python3; do
    if [[ -n $candidate ]] && "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  fail "no Python 3.10 or newer with the modules venv and ensurepip was found; on Debian install python3 and python3-venv"
}

site_of() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }

is_complete() { [[ -f $1/holdfast-complete && -x $1/bin/python && $(<"$1/holdfast-complete") == "$2" ]]; }

# make_venv FOLDER PYTHON STAMP WHAT PIP_ARGUMENTS...: makes the environment unless its stamp is there. The stamp is
# written last, so an interrupted installation is never trusted: it is kept only if every file of it has the recorded
# digest, else made anew.
make_venv() {
  local folder=$1 python=$2 stamp=$3 what=$4 log
  shift 4
  log=$root/build/setup/$(basename "$folder").log
  if is_complete "$folder" "$stamp"; then
    return
  fi
  mkdir -p "$cache"
  exec {lock}>"$folder.lock"
  flock "$lock"  # another clone may be installing right now
  if ! is_complete "$folder" "$stamp"; then
    if [[ -d $folder ]]; then
      say "$what: $folder has no mark of a complete installation; checking every file of it"
      if ! "$folder/bin/python" "$root/runner/setup/verify_wheels.py" "$@" >&2 </dev/null; then
        say "$what: an earlier installation was interrupted or is another one; making it anew"
        rm -rf "$folder"
      fi
    fi
    if [[ ! -d $folder ]]; then
      say "$what: installing into $folder (log: $log)"
      quietly "$log" "$python" -m venv "$folder"
      quietly "$log" "$folder/bin/python" -m pip install --no-input --disable-pip-version-check "$@"
    fi
    printf '%s' "$stamp" >"$folder/holdfast-complete.new"
    mv "$folder/holdfast-complete.new" "$folder/holdfast-complete"
  fi
  flock -u "$lock"
  exec {lock}>&-
  say "$what: ready"
}
