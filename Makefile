# All a newcomer needs. Tools and builds go into ignored folders here: node_modules, .tools, target, build. README.md
# says which Debian packages may be installed.

SHELL := /bin/bash
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
export CARGO_TARGET_DIR := $(CURDIR)/target

.PHONY: help setup build dev port test sim fuzz crash audit bench deploy deploy-dry-run fmt clean

help:
	@echo 'make dev             serve the agent at http://127.0.0.1:8787 (PORT), with its resident beside it'
	@echo 'make test            run every check and every test'
	@echo 'make fuzz            feed the parsers what nobody would write (FUZZ_SECONDS per target)'
	@echo 'make sim             run the objects through 10,000 simulated disasters (SIMULATION_SEEDS)'
	@echo 'make crash           kill it at random moments under load, and look what is lost (CRASH_KILLS, CRASH_SEED)'
	@echo 'make bench           measure it beside a hand-written Worker and the official servers (BENCH_ONLY)'
	@echo 'make deploy          deploy to Cloudflare; make deploy-dry-run only checks'
	@echo 'make setup           get the tools; the others do it too'
	@echo 'make build           build the Worker and the resident'
	@echo 'make audit           check licenses and known vulnerabilities'
	@echo 'make fmt             format everything'
	@echo 'make clean           delete what was built; the tools stay'

setup:
	@scripts/setup.sh

build: setup
	@scripts/build.sh
	@scripts/build-resident.sh

dev: port build
	@exec node scripts/dev.mjs

# Told before the build. Where there is no Node yet, setup says so.
port:
	@if command -v node >/dev/null; then node scripts/port.mjs; fi

test: build
	@scripts/test.sh

sim: setup
	@scripts/sim.sh

fuzz: setup
	@scripts/fuzz.sh

crash: build
	@scripts/crash.sh

audit: setup
	@scripts/audit.sh

bench: build
	@scripts/python.sh bench
	@node bench/run.mjs $(if $(BENCH_ONLY),--only $(BENCH_ONLY))

deploy: build
	@scripts/deploy.sh

deploy-dry-run: build
	@scripts/deploy.sh --dry-run

fmt: setup
	@cargo fmt --all
	@cargo fmt --manifest-path fuzz/Cargo.toml
	@cargo fmt --manifest-path scripts/bindings/Cargo.toml
	@prettier --write --log-level warn .

clean:
	rm -rf build target
