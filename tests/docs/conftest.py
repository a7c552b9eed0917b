"""The JSON schemas of the pages, and what makes documents for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.fixture(scope="session")
def validators() -> dict[str, Any]:
    """A validator of each schema, by its name."""
    jsonschema = pytest.importorskip("jsonschema", reason="the environment `docs` has it, by the toolbox")
    made = {}
    for file in SCHEMAS.glob("*.schema.json"):
        schema = json.loads(file.read_text("utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        made[file.name.removesuffix(".schema.json")] = jsonschema.Draft202012Validator(schema)
    return made


@pytest.fixture(scope="session")
def fits(validators) -> Callable[[str, Any], None]:
    """Assert that a document is what a schema says, and that one field more would not be."""

    def fits(name: str, document: Any) -> None:
        validators[name].validate(document)
        if isinstance(document, dict):
            assert not validators[name].is_valid({**document, "new": 1}), "the schema does not know its fields"

    return fits
