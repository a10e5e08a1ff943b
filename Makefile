# The front door. Two commands do everything: `make quickstart` and `make check`. The work is in runner/setup.
SHELL := /bin/bash
SETUP := runner/setup
PREFIX ?= /usr/local
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
export HOLDFAST_STARTED := $(shell date +%s)

.PHONY: help quickstart check check-full soak setup build fast format tidy docs data install bench clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  HOLDFAST_TORCH=/path   use this LibTorch (2.13.0 CPU, 2.14.1 CUDA) instead of looking for one"
	@echo "  HOLDFAST_JOBS=N        compilers at a time"

quickstart: build ## set up, build, train on the bundled digits
	@build/release/holdfast run configs/digits.toml

check: ## set up, build, run the tests
	@$(SETUP)/setup.sh
	@$(SETUP)/build.sh release
	@$(SETUP)/test.sh release

check-full: check ## check, a short bench, the Prometheus chain, and the sanitizers and clang-tidy on the half without LibTorch
	@$(SETUP)/build.sh release bench_programs
	@python3 tests/bench/run.py --short
	@HOLDFAST_BUILD=build/release python3 -B tests/chain/chain_test.py
	@for preset in asan tsan; do $(SETUP)/build.sh $$preset && $(SETUP)/test.sh $$preset || exit 1; done
	@$(SETUP)/tidy.sh

soak: ## 200 runs killed at random instants and resumed to the same bits: mlp and gpt, saved in both ways (half an hour)
	@$(SETUP)/setup.sh
	@$(SETUP)/build.sh release
	@cd tests/e2e && HOLDFAST_KILLS=50 HOLDFAST_BUILD=$(CURDIR)/build/release python3 kill_test.py -v Kill.test_an_mlp \
	  Kill.test_an_mlp_saved_in_the_background Kill.test_a_gpt_with_dropout Kill.test_a_gpt_with_dropout_saved_in_the_background

setup: ## bring in what is missing (Debian packages, LibTorch, Python tools)
	@$(SETUP)/setup.sh

build: ## set up and build what is installed, without the tests, in build/release
	@$(SETUP)/setup.sh
	@$(SETUP)/build.sh release product

fast: ## build and test the half without LibTorch, in build/fast
	@$(SETUP)/setup.sh packages tools
	@$(SETUP)/build.sh fast
	@$(SETUP)/test.sh fast

format: ## format every C++ file with the pinned clang-format
	@$(SETUP)/format.sh

tidy: ## clang-tidy on the half without LibTorch
	@$(SETUP)/tidy.sh

docs: build ## write anew what the command generates: the schema, the recipe reference, the list of metrics
	@HOLDFAST_PLUGIN_PATH= build/release/holdfast schema >schemas/run.schema.json
	@HOLDFAST_PLUGIN_PATH= build/release/holdfast schema --markdown >runner/docs/recipe.md
	@build/release/holdfast metrics --list --markdown >runner/docs/metrics.md

data: ## fetch MNIST into data/mnist and a text into data/text
	@$(SETUP)/data.sh

install: build ## install below PREFIX (default /usr/local)
	@cmake --install build/release --prefix "$(abspath $(PREFIX))" >build/setup/install.log
	@echo "installed below $(abspath $(PREFIX)): $(abspath $(PREFIX))/bin/holdfast"

bench: build ## compare with a bare LibTorch loop and Python peers (CONTRIBUTING.md); BENCH="--works gpt" picks rows
	@$(SETUP)/build.sh release bench_programs
	@python3 tests/bench/run.py $(BENCH)

clean: ## remove the build folders; the cache outside the tree stays
	@rm -rf build
