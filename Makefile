# make demo    the main job, on a small project, with recorded answers: about a minute, no key
# make test    the whole matrix of tests
# make docs    the pages as a site, in build/docs
# make bench   the ratios that speed is judged by
#
# Needs python3 of 3.11 or later with venv, git and make. Everything it makes is below build/ and .tox/.

PYTHON ?= python3

.DEFAULT_GOAL := help
.PHONY: help demo test docs bench clean python

# pyenv's shims answer for named versions alone: name every one that the matrix knows, the current one first.
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

test: build/tools/.installed
	build/tools/bin/python -m tox run-parallel --parallel 2 --parallel-no-spinner

docs: build/tools/.installed
	build/tools/bin/python -m tox run -e site
	@echo 'Open build/docs/index.html'

bench: build/tools/.installed
	build/tools/bin/python -m tox run -e bench

clean:
	rm -rf build .tox

CORE := workspace/pyproject.toml core/pyproject.toml $(shell find workspace/src core/src -type f -not -name '*.pyc')

build/demo/.installed: $(CORE) | python
	@echo 'Installing code-commit into build/demo …'
	@$(call new_environment,build/demo)
	@build/demo/bin/python -m pip install -qq --disable-pip-version-check ./workspace ./core
	@touch $@

build/tools/.installed: Makefile | python
	@echo 'Installing tox into build/tools …'
	@$(call new_environment,build/tools)
	@build/tools/bin/python -m pip install -qq --disable-pip-version-check 'tox>=4.30' 'tox-uv>=1.28'
	@touch $@

# Debian's python3 comes without venv's other half.
define new_environment
$(PYTHON) -m venv --clear $(1) >build/venv.log 2>&1 || \
	{ cat build/venv.log; echo '$(PYTHON) cannot make virtual environments. On Debian: apt install python3-venv' >&2; exit 1; }
endef

python:
	@mkdir -p build
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>build/venv.log || \
		{ echo 'This needs Python 3.11 or later as $(PYTHON); another one is chosen by: make PYTHON=python3.12 …' >&2; exit 1; }
