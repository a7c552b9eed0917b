"""What the package offers can be imported, and type checkers know the same names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, get_origin

import pytest

import code_commit_workspace

STUB = Path(code_commit_workspace.__file__).with_suffix(".pyi").read_text()
NAMES = re.findall(r"^from \.\S* import (\w+) as \1$", STUB, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_offered_by_its_own_name(name):
    offered = getattr(code_commit_workspace, name)
    is_value = get_origin(offered) is Literal or name == "STOP"
    assert is_value or offered.__name__ == name
    assert name in dir(code_commit_workspace)


def test_nothing_else_is_offered():
    assert set(code_commit_workspace.__all__) == {"__version__", *NAMES}
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = code_commit_workspace.nothing  # type: ignore[attr-defined]
