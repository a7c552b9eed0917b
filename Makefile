# make demo    a recorded run on a small project: about a minute, no key
# make test    the tests with the current Python, but for those marked slow, and the checks of code and docs
# make matrix  all tests, with every Python and the lowest versions of the dependencies; the site; the examples
# make docs    the documentation as a site, in build/docs
# make bench   how long things take, compared to other programs
# make peers   other tools with the same faults and the same task: docs/comparison.md
# make dist    the wheels and sdists of a release, in dist/, checked and tried
#
# You need Python 3.11 or later as python3, with venv; git; make. All output is in build/ and .tox/.

PYTHON ?= python3

.DEFAULT_GOAL := help
.PHONY: help demo test matrix docs bench peers dist clean python

# pyenv's shims answer for named versions only: name each one that the matrix uses, the current one first.
ifneq ($(shell command -v pyenv 2>/dev/null),)
PYENV_CURRENT := $(shell pyenv version-name 2>/dev/null)
PYENV_OTHERS := $(shell pyenv versions --bare 2>/dev/null | grep -Ex '3\.1[1-4]\.[0-9]+')
empty :=
export PYENV_VERSION := $(subst $(empty) $(empty),:,$(strip $(PYENV_CURRENT) $(PYENV_OTHERS)))
endif

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: build/demo/.installed
	@build/demo/bin/python -m code_commit demo

TOX := build/tools/bin/python -m tox
# One folder for what all tests write, removed after success. Without it, sessions remove the folders of earlier ones
# while others create theirs, which takes long.
RUN = folder=$$(mktemp -d -t XXXXXX) && PYTEST_DEBUG_TEMPROOT=$$folder PYTEST_ADDOPTS='-o tmp_path_retention_count=1000' \
	$(TOX) run-parallel --parallel 4 --parallel-no-spinner $(1) && \
	{ rm -rf "$$folder" 2>/dev/null || { chmod -R u+rwx "$$folder" && rm -rf "$$folder"; }; }
# What `make test` runs under another name: `py-core` is `py311-core` with Python 3.11.
TESTED = $(shell $(PYTHON) -c 'import sys; print("py%d%d" % sys.version_info[:2])')-[^l]

test: build/tools/.installed
	@$(call RUN,-m test)

matrix: test
	@environments=$$($(TOX) list --no-desc | grep -E '^(py3|slow|site|automation|examples)' | grep -v '^$(TESTED)' | paste -sd, -) && \
	$(call RUN,-e "$$environments")

docs: build/tools/.installed
	$(TOX) run -e site
	@echo 'Open build/docs/index.html'

bench: build/tools/.installed
	$(TOX) run -e bench

peers: build/peers/bench/.installed
	@build/peers/bench/bin/python bench/peers/install.py
	@build/peers/bench/bin/python bench/peers/compare.py

dist: build/tools/.installed
	rm -rf dist
	$(TOX) run -e dist
	@echo 'dist/ has the wheels and sdists, build/dist/sbom.cdx.json the bill of materials.'

clean:
	rm -rf build .tox

DEMO := workspace core plugins/commit plugins/history
SOURCES := $(shell find $(DEMO) -type f -not -name '*.pyc' -not -path '*/tests/*')

build/demo/.installed: $(SOURCES) | python
	@echo 'Installing code-commit into build/demo …'
	@$(call new_environment,build/demo)
	@build/demo/bin/python -m pip install -qq --disable-pip-version-check $(DEMO:%=./%)
	@touch $@

build/peers/bench/.installed: $(SOURCES) $(shell find testing -name '*.py') | python
	@$(call new_environment,build/peers/bench)
	@build/peers/bench/bin/python -m pip install -qq --disable-pip-version-check ./workspace ./core ./testing
	@touch $@

build/tools/.installed: Makefile | python
	@echo 'Installing tox into build/tools …'
	@$(call new_environment,build/tools)
	@build/tools/bin/python -m pip install -qq --disable-pip-version-check 'tox>=4.67' 'tox-uv>=1.28'
	@touch $@

# Debian ships python3 without all of venv.
define new_environment
$(PYTHON) -m venv --clear $(1) >build/venv.log 2>&1 || \
	{ cat build/venv.log; echo '$(PYTHON) cannot make virtual environments. On Debian: apt install python3-venv' >&2; exit 1; }
endef

python:
	@mkdir -p build
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>build/venv.log || \
		{ echo 'This needs Python 3.11 or later as $(PYTHON); another one is chosen by: make PYTHON=python3.12 …' >&2; exit 1; }
