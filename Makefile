# `make run` trains the main experiment on this machine, `make test` checks everything, `make lint` the style.
# Each makes .venv and installs what it needs first, once: until requirements or pyproject.toml change.
#
#   make run ARGS="--agent relational --seed 1"        flags for run.py
#   make test ARGS="tests/envs -k solver"              flags for pytest
#   make run PYTHON=python3.12                         this interpreter for a new .venv, and no other
#
# Installed are the exact versions of requirements.lock, not the newest of requirements.txt's ranges: so that
# the same commit runs the same code on every machine. To try the newest instead: make run LOCK=

# Who names none gets python3 if it fits, else the newest that does.
PYTHON ?=
PYTHONS = $(or $(PYTHON),python3 python3.13 python3.12 python3.11)
LOCK ?= requirements.lock
VENV := .venv
BIN := $(VENV)/bin
SOURCES := requirements.txt requirements.lock pyproject.toml
ARGS ?=
FITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
NEEDS := tf_relational needs Python 3.11, 3.12 or 3.13, for which TensorFlow is made
NAME_ANOTHER = Name one of these: make $(or $(MAKECMDGOALS),run) PYTHON=python3.12

.DEFAULT_GOAL := help
.PHONY: help run test lint format clean

help:
	@sed -n 's/^# \{0,1\}//; 1,9p' Makefile

run: $(VENV)/.installed
	$(BIN)/python run.py --exp bridge_boxworld $(ARGS)

test: $(VENV)/.installed-dev
# The tests of rl start Ray with settings of their own, so they have a process of their own.
	$(BIN)/python -m pytest $(or $(ARGS),--ignore=tests/rl)
	$(if $(ARGS),,$(BIN)/python -m pytest tests/rl)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV)

# An order-only prerequisite, for the folder's own time changes with every file made in it.
$(VENV)/.installed: $(SOURCES) | $(BIN)/python
	$(call install,.)

$(VENV)/.installed-dev: $(SOURCES) | $(BIN)/python
	$(call install,.[dev])
	@touch $(VENV)/.installed

$(BIN)/python:
	@for python in $(PYTHONS); do \
	  "$$python" -c '$(FITS)' 2>/dev/null || continue; \
	  "$$python" -m venv $(VENV) && exit 0; \
	  rm -rf $(VENV); \
	  echo "'$$python -m venv' failed, see above. On Debian and Ubuntu it comes with: apt-get install python3-venv" >&2; \
	  exit 1; \
	done; \
	python=$(firstword $(PYTHONS)); \
	if command -v "$$python" >/dev/null; then \
	  echo "$(NEEDS), and '$$python' is $$("$$python" --version 2>&1). $(NAME_ANOTHER)" >&2; \
	else \
	  echo "There is no '$$python' here. $(NEEDS). $(NAME_ANOTHER)" >&2; \
	fi; \
	exit 1

define install
@$(BIN)/python -c '$(FITS)' || { \
  echo "$(VENV) holds $$($(BIN)/python --version 2>&1). $(NEEDS)." \
    "Remove $(VENV) and call make again." >&2; exit 1; }
@echo "Installing into $(VENV) (a few minutes the first time)"
$(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(LOCK),-c $(LOCK)) -e '$(1)'
@touch $@
endef
