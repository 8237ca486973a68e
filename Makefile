# `make run` trains the main experiment on this machine, `make test` checks everything, `make lint` the style.
# Each makes .venv and installs what it needs first, once: until requirements or pyproject.toml change.
#
#   make run ARGS="--agent relational --seed 1"        flags for run.py
#   make test ARGS="tests/envs -k solver"              flags for pytest
#   make run PYTHON=python3.12                         another interpreter for a new .venv
#
# Installed are the exact versions of requirements.lock, not the newest of requirements.txt's ranges: so that
# the same commit runs the same code on every machine. To try the newest instead: make run LOCK=

PYTHON ?= python3
LOCK ?= requirements.lock
VENV := .venv
BIN := $(VENV)/bin
SOURCES := requirements.txt requirements.lock pyproject.toml
ARGS ?=
# TensorFlow has no wheels for others.
FITTING := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
NAME_ANOTHER = Name a Python from 3.11 to 3.13: make $(or $(MAKECMDGOALS),run) PYTHON=python3.12

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
	@command -v $(PYTHON) >/dev/null || { \
	  echo "There is no '$(PYTHON)' here. $(NAME_ANOTHER)" >&2; exit 1; }
	@$(PYTHON) -c '$(FITTING)' || { \
	  echo "tf_relational needs Python 3.11 to 3.13, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." \
	    "$(NAME_ANOTHER)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "'$(PYTHON) -m venv' failed, see above. On Debian and Ubuntu it comes with: apt-get install python3-venv" >&2; exit 1; }

define install
@$(BIN)/python -c '$(FITTING)' || { \
  echo "$(VENV) holds $$($(BIN)/python --version 2>&1), and tf_relational needs Python 3.11 to 3.13." \
    "Remove $(VENV) and call make again." >&2; exit 1; }
@echo "Installing into $(VENV) (a few minutes the first time)"
$(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(LOCK),-c $(LOCK)) -e '$(1)'
@touch $@
endef
