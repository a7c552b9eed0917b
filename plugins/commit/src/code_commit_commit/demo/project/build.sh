#!/usr/bin/env bash
# The judge: the change stands if this exits with 0.
set -euo pipefail
python3 -B check_slugs.py
