# Everything that a person or CI does here. `make help` lists it. Needs python3, make and a Rust toolchain; the rest it fetches.
# Stamps in .venv keep set-up and build from running twice: touch a source, and only what depends on it runs again.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/.tools-installed
EXTENSION := python/escrowmq/_core.abi3.so

CRASH_SEEDS ?= 10000
CRASH_SEEDS_IN_TEST ?= 500
FUZZ_SECONDS ?= 60

LOAD := target/release/escrowmq-load
LOAD_SOURCES := bench/load/Cargo.toml $(wildcard bench/load/src/*.rs)

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find rust -name target -prune -o \( -name '*.rs' -o -name Cargo.toml \) -not -path 'rust/fuzz/*' -print)
PYTHON_CHECKED := $(wildcard python tests bench examples)

# maturin refuses to choose between two environments; this one is ours.
unexport CONDA_PREFIX
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup build check test test-rust test-python crash chaos fuzz bench bench-load bench-filter bench-stall bench-transactions bench-apache bench-client interop interop-short run clean

help: ## lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(TOOLS) ## creates .venv with the pinned tools

$(TOOLS): requirements-dev.txt
	@command -v cargo >/dev/null || { echo "a Rust toolchain is missing: see https://rustup.rs" >&2; exit 1; }
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --requirement requirements-dev.txt
	touch $@

build: $(EXTENSION) ## builds the native module into .venv, optimised: what is tested is what is run

$(EXTENSION): $(TOOLS) pyproject.toml $(RUST_SOURCES)
	$(BIN)/maturin develop --release --quiet
	touch $@

check: $(EXTENSION) ## rustfmt, clippy, ruff, mypy, stubtest, import-linter
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- --deny warnings
	$(BIN)/ruff check $(PYTHON_CHECKED)
	$(BIN)/ruff format --check $(PYTHON_CHECKED)
	$(BIN)/mypy $(PYTHON_CHECKED)
	MYPYPATH=python $(BIN)/stubtest --mypy-config-file pyproject.toml escrowmq._core
	$(BIN)/lint-imports

test: test-rust test-python ## all tests but interop, fuzz and the long crash run

test-rust: $(TOOLS)
	ESCROWMQ_CRASH_SEEDS=$(CRASH_SEEDS_IN_TEST) cargo test --workspace --quiet
	RUSTFLAGS="--cfg loom" cargo test --package escrowmq-store --lib --quiet --target-dir target/loom -- loom

test-python: $(EXTENSION)
	$(BIN)/python -m pytest --ignore=tests/interop

crash: ## 10,000 seeds of crash images
	ESCROWMQ_CRASH_SEEDS=$(CRASH_SEEDS) cargo test --package escrowmq-store --release --test crash_images -- --nocapture

chaos: $(EXTENSION) ## a service killed at every line of its transaction, on SQLite, PostgreSQL and MariaDB
	ESCROWMQ_CHAOS=all $(BIN)/python -m pytest tests/sql -s

fuzz: ## each fuzz target for a minute; needs a nightly toolchain
	@cargo +nightly --version >/dev/null 2>&1 || { echo "fuzzing needs a nightly toolchain: rustup toolchain install nightly" >&2; exit 1; }
	@cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz
	@for target in $$(cd rust/fuzz && cargo +nightly fuzz list --fuzz-dir .); do \
	  echo "fuzzing $$target for $(FUZZ_SECONDS) s"; \
	  (cd rust/fuzz && cargo +nightly fuzz run --fuzz-dir . "$$target" -- -max_total_time=$(FUZZ_SECONDS) -malloc_limit_mb=32); \
	done

bench: $(EXTENSION) ## criterion and pytest-benchmark, each against a floor measured in the same run
	cargo bench --workspace
	$(BIN)/python -m pytest bench/python --benchmark-json=target/python-bench.json
	@$(BIN)/python bench/report.py

bench-load: $(EXTENSION) $(LOAD) ## sends of 1 KiB a second per core of the broker
	@$(BIN)/python -m bench.load_bench

bench-filter: $(EXTENSION) $(LOAD) ## a filter of ten terms over a million messages, beside no filter
	@$(BIN)/python -m bench.filter_bench

bench-stall: $(EXTENSION) $(LOAD) ## how late a ping is while the disk syncs, and while 10 GB are read cold
	@$(BIN)/python -m bench.stall

bench-transactions: $(EXTENSION) $(LOAD) ## how late transactions are answered at a rate, and everybody while a million are pending; restarts
	@$(BIN)/python -m bench.transactions $(PARTS)

bench-apache: $(EXTENSION) $(LOAD) ## our broker and Apache's in turn, under Apache's benchmark programs; needs Java and Maven. PARTS chooses
	@$(BIN)/python -m bench.apache $(PARTS)

bench-client: $(EXTENSION) $(LOAD) ## the Python client beside Apache's Java client on a broker of ours; needs Java and Maven
	@$(BIN)/python -m bench.client

$(LOAD): $(LOAD_SOURCES) Cargo.lock $(wildcard rust/wire/src/*.rs)
	cargo build --release --quiet --package escrowmq-load
	touch $@

interop: $(EXTENSION) ## both ways with a real Apache RocketMQ, its integration tests included; needs Java and Maven
	ESCROWMQ_TRANSACTIONS_S=300 $(BIN)/python -m pytest tests/interop --no-fold-skipped

interop-short: $(EXTENSION) ## five minutes of the same
	$(BIN)/python -m pytest tests/interop --no-fold-skipped -m short

run: $(EXTENSION) ## sets up, then: orders and their messages through kills; messages over the wire, a SIGKILL that loses none
	@$(BIN)/python -m examples.orders
	@$(BIN)/python -m escrowmq.demo

clean: ## removes all that make made
	rm -rf $(VENV) target rust/fuzz/target python/escrowmq/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks .import_linter_cache
