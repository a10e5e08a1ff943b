# shellcheck shell=bash
# Debian packages: which are missing, and their installation. Sourced after say.sh.

# The list that a build and its tests need (names as in Debian 12).
build_packages=(
  g++ cmake ninja-build ccache make
  libtomlplusplus-dev prometheus-cpp-dev libboost-dev libspdlog-dev libfmt-dev doctest-dev libcli11-dev
  nlohmann-json3-dev libxxhash-dev zlib1g-dev libmicrohttpd-dev libcurl4-openssl-dev
  python3 python3-venv binutils ca-certificates
)

# need_packages NAME...: installs what is missing, and does nothing (no root, no network) when nothing is.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "packages: this is not a Debian-like system, so nothing is installed; needed are the likes of: $*"
    return
  fi
  local name missing=()
  local installed
  installed=" $(dpkg-query -W -f '${db:Status-Abbrev}=${Package} ' "$@" 2>/dev/null || true)"
  for name in "$@"; do
    [[ $installed == *" ii =$name "* || $installed == *" hi =$name "* ]] || missing+=("$name")
  done
  if ((${#missing[@]} == 0)); then
    return
  fi
  local as_root=()
  if (($(id -u) != 0)); then
    command -v sudo >/dev/null || fail "these Debian packages are missing and there is neither root nor sudo to install" \
      "them: ${missing[*]}. As root, run: apt-get install ${missing[*]}"
    as_root=(sudo)
    say "packages: sudo is used for one thing, to install these Debian packages: ${missing[*]}"
    sudo -v || fail "sudo was refused. As root, run: apt-get install ${missing[*]}"
  fi
  say "packages: installing ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120)
  quietly "$root/build/setup/apt-update.log" "${apt[@]}" update
  quietly "$root/build/setup/apt-install.log" "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}
