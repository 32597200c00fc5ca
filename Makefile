# Everything runs in .venv; the only thing a machine must have is Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: all demo test check format wheel bench long clean pins

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

check: $(READY)  ## format, lint, types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/basedpyright --level error
	@$(BIN)/mypy tests/typing/api.py tests/typing/completion_api.py

format: $(READY)
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

wheel: $(READY)  ## build the wheel, install it alone in an empty environment, and run the demo with it
	@rm -rf build/wheel && mkdir -p build/wheel
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir build/wheel .
	@$(BIN)/python -m venv build/wheel/venv
	@build/wheel/venv/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls build/wheel/*.whl)[embedded]"
	@cd build/wheel && mkdir -p workers tests && echo 'raise SystemExit("not mine")' | tee workers/__init__.py > tests/__init__.py && venv/bin/tracescore demo > demo.log 2>&1 || { tail -30 demo.log; exit 1; }
	@tail -12 build/wheel/demo.log | head -3

bench: $(READY)  ## print each figure beside the limit measured in the same run
	@$(BIN)/python -m benchmarks

long: $(READY)  ## a backfill of 20 000 runs, its command and its workers killed twice
	@$(BIN)/python -m benchmarks.long_backfill

pins: $(READY)  ## renew the pinned versions, with hashes and without a registry's name
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --extra dev --extra embedded --upgrade --output-file requirements/dev.txt pyproject.toml requirements/build.in

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
