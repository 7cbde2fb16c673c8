# `make help` lists the targets. Only python3 (3.11 or newer, with venv) and pip are needed.
# `make test PYTHON=python3.12` works in an environment of its own, .venv-python3.12.

PYTHON ?= python3
ENV    := .venv$(if $(filter-out python3,$(notdir $(PYTHON))),-$(notdir $(PYTHON)))
BIN    := $(ENV)/bin
PYTHONS := python3.11 python3.12 python3.13
VERSION := -c 'import sys; print(*sys.version_info[:2])'

.DEFAULT_GOAL := help
.PHONY: help demo test test-all conformance docs calibrate mutants bench-against bench-foreign format clean check

help:  ## list the targets
	@grep -hE '^[a-z%-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-13s %s\n", $$1, $$2 }'

demo: $(ENV)/installed  ## an attention step worked exactly, forward and backward
	@$(BIN)/workings demo

test: check  ## format, lint, types and the tests that take seconds
	@echo "tests"
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal

test-all: check  ## the same with the slow tests, then the quick ones on every other Python that is installed
	@echo "tests, the slow ones too"
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m ""
	@echo "layers and models again, with the shapes in their signatures checked"
	@$(BIN)/python -m pytest -q -n 2 --jaxtyping-packages=workings.equations,workings.nn,workings.models,workings.course,beartype.beartype tests/nn tests/models tests/course
	@here=$$($(BIN)/python $(VERSION)); for python in $(PYTHONS); do \
		there=$$($$python $(VERSION) 2>/dev/null) || continue; \
		if [ "$$here" != "$$there" ]; then echo "$$python"; $(MAKE) --no-print-directory test PYTHON=$$python || exit 1; fi; \
	done

conformance: $(ENV)/installed-test  ## run PyTorch's own operator tests on exact tensors, rewrite docs/conformance.md
	@$(BIN)/python conformance/run.py

docs: $(ENV)/installed-test  ## write the generated pages: public names, operations, the drawing of the packages
	@$(BIN)/python tools/api_table.py docs/api.md
	@$(BIN)/python tools/operations_table.py docs/operations.md
	@$(BIN)/python tools/draw_plan.py docs/architecture.svg

calibrate: $(ENV)/installed-test  ## learn from the judged findings of bench/judged how sure each finding is
	@$(BIN)/python tools/calibrate.py

bench-against: $(ENV)/installed-test  ## is it slower than it was? make bench-against OLD=../old/src
	@$(BIN)/python bench/against.py $(OLD)

bench-foreign: $(ENV)/installed-test  ## show the code of others and compare: make bench-foreign FOREIGN=folder
	@$(BIN)/python bench/foreign.py $(FOREIGN)

mutants: $(ENV)/installed-test  ## make small mistakes in a copy of the sources, and list those that no test notices
	@$(BIN)/python bench/mutants.py

bench-%: $(ENV)/installed-test  ## run bench/%.py, for example: make bench-exact
	@$(BIN)/python bench/$*.py

format: $(ENV)/installed-test  ## put the code into its standard form
	@$(BIN)/ruff check -q --fix .
	@$(BIN)/ruff format -q .

clean:  ## delete the environment and everything generated
	@rm -rf .venv .venv-* build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

check: $(ENV)/installed-test
	@echo "format, lint and types"
	@$(BIN)/ruff format -q --check .
	@$(BIN)/ruff check -q .
	@$(BIN)/python tools/docs_blocks.py build/docs
	@$(BIN)/mypy --no-error-summary

$(BIN)/python:
	@echo "creating $(ENV)"
	@$(PYTHON) -m venv $(ENV)

$(ENV)/installed: pyproject.toml | $(BIN)/python
	@echo "installing workings into $(ENV) (PyTorch is large: the first time takes minutes)"
	@$(BIN)/python -m pip install -q -e .
	@touch $@

$(ENV)/installed-test: pyproject.toml tests/peers.txt | $(BIN)/python
	@echo "installing workings and its test tools into $(ENV) (PyTorch is large: the first time takes minutes)"
	@$(BIN)/python -m pip install -q -e '.[test]'
	@$(BIN)/python -m pip install -q --no-deps --upgrade --target $(ENV)/peers/site-packages -r tests/peers.txt
	@touch $@ $(ENV)/installed
