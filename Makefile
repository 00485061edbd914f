# Two commands do all the set-up: `make demo` runs the main job, `make test` passes the tests.
# Needs Python 3.11 or newer with venv; Rust is used if present, else the build fetches a toolchain by itself.

PYTHON ?= python3
VENV := .venv
TEST_ENV := build/test-env
TRAIN_ENV := build/train-env
WHEELS := build/wheels
STAMPS := build/stamps
PIP_FLAGS := --quiet --disable-pip-version-check
NPM_FLAGS := --no-package-lock --no-audit --no-fund --silent

CRATE := $(shell find redb-py/src -name '*.rs') redb-py/Cargo.toml redb-py/pyproject.toml $(wildcard redb-py/*.pyi redb-py/python/redb/*)
SOURCES := $(shell find namespace server tools learning storage providers training -type f -not -path '*/__pycache__/*') pyproject.toml

# An environment is bound to its folder and to its interpreter. One of a clone that was moved or copied, or whose Python is
# gone, is made anew: its programs would not start, or would work in the clone that it was copied from.
is_sound = { read -r first; read -r second; } <$(1)/bin/pip && case $$first$$second in \
	(*"$$(pwd -P)/$(1)/bin/"*) $(1)/bin/python -c '' ;; (*) false ;; esac
unsound = $(shell { [ ! -e $(1)/bin/pip ] || { $(is_sound); }; } 2>/dev/null || echo anew)

.PHONY: demo install test unit training check types format bench clean anew

demo: install
	$(VENV)/bin/prowess demo

install: $(STAMPS)/venv
	@echo "prowess is installed: $(VENV)/bin/prowess --help"

test: check unit training

# The tests see the built wheels, not this folder: -I keeps the working directory off sys.path.
unit: $(STAMPS)/test-env $(STAMPS)/npm
	PROWESS_TEST_INSTALLED=1 $(TEST_ENV)/bin/python -I -m pytest $(PYTEST_FLAGS) tests redb-py/tests

# The trainer's tests, the only ones with torch. On Linux that is its CUDA build: 3 GB to fetch, some minutes.
training: $(STAMPS)/train-env
	OMP_NUM_THREADS=1 $(TRAIN_ENV)/bin/python -I -m pytest $(PYTEST_FLAGS) tests/training

check: $(STAMPS)/test-env types
	$(TEST_ENV)/bin/ruff check .
	$(TEST_ENV)/bin/ruff format --check .
	$(TEST_ENV)/bin/mypy -p prowess
	MYPYPATH=tests/e2e:tests/e2e/clients:tests/server/sync:benchmarks $(TEST_ENV)/bin/mypy benchmarks/*.py
	MYPYPATH=benchmarks/quality:benchmarks $(TEST_ENV)/bin/mypy benchmarks/quality/*.py
	PYTHONPATH=.types $(TEST_ENV)/bin/lint-imports

format: $(STAMPS)/test-env
	$(TEST_ENV)/bin/ruff check --fix .
	$(TEST_ENV)/bin/ruff format .

bench: $(STAMPS)/venv $(STAMPS)/npm
	for script in benchmarks/[a-z]*.py; do $(VENV)/bin/python -I $$script || exit 1; done

# Type checkers see the namespace through links, since the folders stand at the top.
types:
	@mkdir -p .types/prowess
	@for folder in learning providers server storage tools training; do ln -sfn ../../$$folder .types/prowess/$$folder; done
	@for file in __init__.py version.py py.typed; do ln -sfn ../../namespace/$$file .types/prowess/$$file; done

define environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $(PYTHON) is older than 3.11"; echo "hint: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' || \
		{ echo "error: $(PYTHON) has no venv"; echo "hint: install it (Debian: apt-get install python3-venv)"; exit 1; }
	$(PYTHON) -m venv --clear $(1)
	@$(1)/bin/pip --version >/dev/null || { rm -rf $(1); echo "error: programs do not start from this folder"; \
		echo "hint: move the clone to where programs may run, under a path without quotes and dollar signs"; exit 1; }
endef

$(VENV)/bin/pip: $(call unsound,$(VENV))
	$(call environment,$(VENV))

# redb-py is on no registry: its wheel is built first and installed by path. A rustup without a default toolchain leaves a
# cargo on the PATH that only fails: its folder is taken off the build's PATH, which then fetches a toolchain by itself.
$(STAMPS)/redb: $(CRATE) $(VENV)/bin/pip
	@mkdir -p $(STAMPS) $(WHEELS)
	@rm -f $(WHEELS)/redb_py-*.whl
	@echo "building redb-py; the first time this takes a minute or more"
	@path=$$PATH; cargo=$$(command -v cargo) && ! cargo --version >/dev/null 2>&1 && { \
		path=$$(printf '%s' ":$$PATH:" | sed -e ':a' -e "s|:$${cargo%/*}:|:|" -e 'ta' -e 's|^:||' -e 's|:$$||'); \
		(PATH=$$path; command -v cc >/dev/null && ! command -v cargo >/dev/null) || \
		{ echo "error: $$cargo fails"; echo "hint: rustup default stable, and run make again"; exit 1; }; \
		echo "$$cargo fails, as a rustup without a toolchain does; the build goes on as if it were not there"; }; \
	(PATH=$$path; command -v cargo) >/dev/null || \
		echo "there is no Rust: the build fetches a toolchain, which then takes 660 MB in your cache folder"; \
	PATH=$$path $(VENV)/bin/pip wheel $(PIP_FLAGS) --no-deps --wheel-dir $(WHEELS) ./redb-py || \
		{ echo "error: redb-py could not be built"; echo "hint: install Rust 1.90 or newer (rustup.rs) and run make again"; exit 1; }
	@touch $@

$(STAMPS)/venv: $(STAMPS)/redb pyproject.toml
	@echo "installing prowess and what it needs"
	@$(VENV)/bin/pip install $(PIP_FLAGS) --force-reinstall --no-deps $(WHEELS)/redb_py-*.whl
	@$(VENV)/bin/pip install $(PIP_FLAGS) --editable .
	@touch $@

$(STAMPS)/wheel: $(SOURCES) $(VENV)/bin/pip
	rm -rf $(WHEELS)/prowess-*.whl build/lib build/bdist.*
	$(VENV)/bin/pip wheel $(PIP_FLAGS) --no-deps --wheel-dir $(WHEELS) .
	@touch $@

$(TEST_ENV)/bin/pip: $(call unsound,$(TEST_ENV))
	$(call environment,$(TEST_ENV))

$(STAMPS)/test-env: $(STAMPS)/redb $(STAMPS)/wheel $(TEST_ENV)/bin/pip
	$(TEST_ENV)/bin/pip install $(PIP_FLAGS) --force-reinstall --no-deps $(WHEELS)/redb_py-*.whl $(WHEELS)/prowess-*.whl
	$(TEST_ENV)/bin/pip install $(PIP_FLAGS) "$(firstword $(wildcard $(WHEELS)/prowess-*.whl))[dev]"
	@touch $@

$(TRAIN_ENV)/bin/pip: $(call unsound,$(TRAIN_ENV))
	$(call environment,$(TRAIN_ENV))

# Without what the train extra has for other embedding models, which no test here uses.
$(STAMPS)/train-env: $(STAMPS)/redb $(STAMPS)/wheel $(TRAIN_ENV)/bin/pip
	$(TRAIN_ENV)/bin/pip install $(PIP_FLAGS) --force-reinstall --no-deps $(WHEELS)/redb_py-*.whl $(WHEELS)/prowess-*.whl
	$(TRAIN_ENV)/bin/pip install $(PIP_FLAGS) $(firstword $(wildcard $(WHEELS)/prowess-*.whl)) \
		"hypothesis>=6.150,<7" "matplotlib>=3.9,<4" "pytest>=8.4,<10" "torch>=2.6,<3"
	@touch $@

# The reference inspector, and the agents that people use, for the tests that drive them; without npm those are skipped
# with a reason.
$(STAMPS)/npm: tests/e2e/package.json tests/e2e/clients/package.json
	@mkdir -p build/npm/clients $(STAMPS)
	@if command -v npm >/dev/null; then \
		cp tests/e2e/package.json build/npm/ && cp tests/e2e/clients/package.json build/npm/clients/ && \
		npm install --prefix build/npm $(NPM_FLAGS) && npm install --prefix build/npm/clients $(NPM_FLAGS); fi
	@touch $@

clean:
	rm -rf build .types redb-py/target
