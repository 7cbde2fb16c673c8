# `make help` lists the targets. Only python3 (3.11 or newer, with venv) and pip are needed.

PYTHON ?= python3
BIN    := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-all conformance docs calibrate mutants bench-against bench-foreign format clean check

help:  ## list the targets
	@grep -hE '^[a-z%-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-13s %s\n", $$1, $$2 }'

demo: .venv/installed  ## an attention step worked exactly, forward and backward
	@$(BIN)/workings demo

test: check  ## format, lint, types and the tests that take seconds
	@echo "tests"
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal

test-all: check  ## the same with the slow tests
	@echo "tests, the slow ones too"
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m ""
	@echo "layers and models again, with the shapes in their signatures checked"
	@$(BIN)/python -m pytest -q -n 2 --jaxtyping-packages=workings.equations,workings.nn,workings.models,workings.course,beartype.beartype tests/nn tests/models tests/course

conformance: .venv/installed-test  ## run PyTorch's own operator tests on exact tensors, rewrite docs/conformance.md
	@$(BIN)/python conformance/run.py

docs: .venv/installed-test  ## write the generated pages: public names, operations, the drawing of the packages
	@$(BIN)/python tools/api_table.py docs/api.md
	@$(BIN)/python tools/operations_table.py docs/operations.md
	@$(BIN)/python tools/draw_plan.py docs/architecture.svg

calibrate: .venv/installed-test  ## count the judged findings of bench/judged, write how sure each kind of finding is
	@$(BIN)/python tools/calibrate.py

bench-against: .venv/installed-test  ## is it slower than it was? make bench-against OLD=../old/src
	@$(BIN)/python bench/against.py $(OLD)

bench-foreign: .venv/installed-test  ## show the code of others and compare: make bench-foreign FOREIGN=folder
	@$(BIN)/python bench/foreign.py $(FOREIGN)

mutants: .venv/installed-test  ## make small mistakes in a copy of the sources, and list those that no test notices
	@$(BIN)/python bench/mutants.py

bench-%: .venv/installed-test  ## run bench/%.py, for example: make bench-exact
	@$(BIN)/python bench/$*.py

format: .venv/installed-test  ## put the code into its standard form
	@$(BIN)/ruff check -q --fix .
	@$(BIN)/ruff format -q .

clean:  ## delete the environment and everything generated
	@rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

check: .venv/installed-test
	@echo "format, lint and types"
	@$(BIN)/ruff format -q --check .
	@$(BIN)/ruff check -q .
	@$(BIN)/python tools/docs_blocks.py build/docs
	@$(BIN)/mypy --no-error-summary

.venv/bin/python:
	@echo "creating .venv"
	@$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	@echo "installing workings into .venv (PyTorch is large: the first time takes minutes)"
	@$(BIN)/python -m pip install -q -e .
	@touch $@

.venv/installed-test: pyproject.toml tests/peers.txt | .venv/bin/python
	@echo "installing workings and its test tools into .venv (PyTorch is large: the first time takes minutes)"
	@$(BIN)/python -m pip install -q -e '.[test]'
	@$(BIN)/python -m pip install -q --no-deps --upgrade --target .venv/peers/site-packages -r tests/peers.txt
	@touch $@ .venv/installed
