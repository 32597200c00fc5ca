# Everything runs in .venv; the only thing a machine must have is Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: all demo test slow check format conformance wheel bench long chaos fuzz clean pins

all: check test

$(READY): pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tracescore needs Python 3.11 or newer; this is " + sys.version.split()[0] + " (set PYTHON=...)")'
	@echo "Setting up $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/dev.txt
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY)  ## run the whole system on real traces
	@$(BIN)/tracescore demo

test: $(READY)  ## run all tests
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadgroup

slow: $(READY)  ## run the tests of many real processes that take half a minute each
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadgroup -m slow

check: $(READY)  ## format, lint, types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/basedpyright --level error
	@$(BIN)/mypy tests/typing/api.py tests/typing/completion_api.py tests/fundamentals/test_seeds.py

format: $(READY)
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

conformance: $(READY)  ## print what the runs of every recorded library show, beside what its files record
	@$(BIN)/python -m tests.golden.conformance

wheel: $(READY)  ## build the wheel, install it alone beside a project of somebody's, and run it there
	@$(BIN)/python -m pytest tests/wheel -m wheel

bench: $(READY)  ## print each figure beside the limit measured in the same run
	@$(BIN)/python -m benchmarks

long: $(READY)  ## a backfill of 20 000 runs, its command and its workers killed twice, on both databases
	@$(BIN)/python -m benchmarks.long_backfill

chaos: $(READY)  ## 2 000 runs x 3 scorers on each store while everything is killed, flushed, restarted and deployed
	@$(BIN)/python -m benchmarks.chaos

FUZZ_SECONDS ?= 600

fuzz: $(READY)  ## look for input that breaks reading or assembling, FUZZ_SECONDS for each target; crashes become tests
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/fuzz.txt
	@for target in traces values growth otlp decoder receiver; do \
		$(BIN)/python -m tests.fuzz $$target $(FUZZ_SECONDS) || exit 1; \
	done

pins: $(READY)  ## renew the pinned versions, with hashes and without a registry's name
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --extra dev --extra embedded --upgrade --output-file requirements/dev.txt pyproject.toml requirements/build.in
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --upgrade --output-file requirements/fuzz.txt requirements/fuzz.in

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .fuzz
