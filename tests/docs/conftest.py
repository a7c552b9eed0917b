"""Validators for the JSON schemas of the pages, and what several tests share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.fixture(scope="session")
def validators() -> dict[str, Any]:
    """Return a validator for each schema, by name."""
    jsonschema = pytest.importorskip(
        "jsonschema", reason="the environment `docs` has it, through the toolbox"
    )
    pages = {}
    for file in SCHEMAS.glob("*.schema.json"):
        schema = json.loads(file.read_text("utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        pages[file.name.removesuffix(".schema.json")] = jsonschema.Draft202012Validator(schema)
    return pages


@pytest.fixture(scope="session")
def fits(validators) -> Callable[[str, Any], None]:
    """Return a function that asserts that a document matches a schema, and that an extra field does
    not.
    """

    def fits(name: str, document: Any) -> None:
        validators[name].validate(document)
        if isinstance(document, dict):
            assert not validators[name].is_valid({**document, "new": 1}), (
                "the schema allows unknown fields"
            )

    return fits


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder for what mypy knows of the packages that are installed."""
    return str(tmp_path_factory.mktemp("mypy"))
