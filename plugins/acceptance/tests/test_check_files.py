"""Which files check a project, and how the part of a shared file goes back."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_acceptance.file_change import FileChange
from code_commit_acceptance.languages import kind_of
from code_commit_acceptance.shared_files import check_part, with_check_part
from code_commit_acceptance.tests_of_before import earlier_check_files, needs_build

KINDS = {
    "test": [
        "test_a.py", "src/a_test.py", "tests/helpers.py", "a.spec.ts", "src/a.test.jsx", "a_test.go",
        "tests/cart.rs", "src/test/java/shop/PriceTest.java", "src/__tests__/a.js", "tests/run.sh",
    ],
    "snapshot": ["a/__snapshots__/b.js", "b.snap", "testdata/receipt.golden", "x/goldens/a.png"],
    "support": ["testdata/a.json", "src/fixtures/a.txt", "__mocks__/fs.js"],
    "configuration": [
        "conftest.py", "tests/conftest.py", "pytest.ini", "tox.ini", "sitecustomize.py", "pytest.py",
        "jest.config.js", "tsconfig.json", "eslint.config.mjs", ".npmrc", ".golangci.yml",
        "clippy.toml", ".cargo/config.toml", "checkstyle.xml", "mypy.ini", ".coveragerc",
    ],
    None: [
        "a.py", "src/testing.py", "latest.py", "contest.ts", "src/lib.rs", "main.go", "README.md",
        "package.json", "pyproject.toml", "src/main/java/shop/Price.java", "lib/sitecustomize.py",
    ],
}  # fmt: skip
PYPROJECT = """\
[project]
name = "shop"
version = "1.0"

[tool.coverage.report]
fail_under = 95

[tool.pytest.ini_options] # how tests run
testpaths = ["tests"]

[tool.other]
x = 1
"""
LIB = """\
pub fn one() -> i32 { 1 }

#[cfg(test)]
mod tests {
    #[test]
    fn is_one() {
        assert_eq!(super::one(), 1);
    }
}
"""


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind in KINDS for path in KINDS[kind]])
def test_each_file_has_a_kind(kind, path):
    assert kind_of(path) == kind


def test_only_the_checks_of_a_toml_go_back():
    new = PYPROJECT.replace("95", "10").replace('"1.0"', '"2.0"').replace('["tests"]', "[]")
    new += '[tool.ruff]\nselect = []\n\n[[tool.mypy.overrides]]\nmodule = "x"\n'
    merged = tomllib.loads(with_check_part("pyproject.toml", new, PYPROJECT))
    assert merged == tomllib.loads(PYPROJECT.replace('"1.0"', '"2.0"'))
    assert with_check_part("pyproject.toml", "[broken", PYPROJECT) == PYPROJECT
    assert with_check_part("pyproject.toml", "[tool]\nruff.select = []\n", PYPROJECT) == PYPROJECT


def test_only_the_checks_of_an_ini_go_back():
    old = "[metadata]\nname = a\n[tool:pytest]\naddopts = -q\n[mypy-x.*]\nstrict = true\n"
    new = "[metadata]\nname = b\n[tool:pytest]\naddopts = -k x\n"
    merged = with_check_part("setup.cfg", new, old)
    assert (
        merged == "[metadata]\nname = b\n[tool:pytest]\naddopts = -q\n[mypy-x.*]\nstrict = true\n"
    )


def test_only_the_checks_of_a_package_json_go_back():
    old = {
        "name": "a",
        "scripts": {"test": "jest", "lint:css": "x", "build": "tsc"},
        "jest": {"bail": 1},
    }
    new = {"name": "b", "scripts": {"test": "true", "test:new": "x", "build": "y"}, "c8": {}}
    merged = json.loads(with_check_part("package.json", json.dumps(new), json.dumps(old)))
    scripts = {"test": "jest", "lint:css": "x", "build": "y"}
    assert merged == {"name": "b", "scripts": scripts, "jest": {"bail": 1}}
    assert with_check_part("package.json", "[", json.dumps(old)) == json.dumps(old)


def test_the_tests_in_a_rust_file_go_back_under_the_new_code():
    new = LIB.replace("{ 1 }", "{ 2 }").replace("assert_eq!(super::one(), 1)", "()")
    merged = with_check_part("src/lib.rs", new, LIB)
    assert merged == LIB.replace("{ 1 }", "{ 2 }")
    more = "#[cfg(test)]\nmod more;\n\npub fn two() {}\n"
    assert check_part("src/lib.rs", more + LIB) == "#[cfg(test)]\nmod more;\n" + LIB[27:]


def test_what_stands_in_place_of_the_changed_files():
    changes = [
        FileChange("tests/old.py", b"old", b"new"),
        FileChange("tests/gone.bin", b"\0\xff", None),
        FileChange("tests/new.py", None, b"new"),
        FileChange("pytest.ini", None, b"[pytest]"),
        FileChange("src/a.py", b"old", b"new"),
        FileChange("pyproject.toml", PYPROJECT.encode(), PYPROJECT.replace("1.0", "2").encode()),
        FileChange("src/lib.rs", None, LIB.encode()),
        FileChange("src/gone.rs", LIB.encode(), None),
        FileChange("setup.cfg", b"[mypy]\nname = \xff\n", b"\xff"),
    ]
    assert earlier_check_files(changes) == {
        "tests/old.py": b"old",
        "tests/gone.bin": b"\0\xff",
        "tests/new.py": None,
        "pytest.ini": None,
        "src/lib.rs": LIB[:27].encode(),
        "setup.cfg": b"[mypy]\nname = \xff\n",
    }


@pytest.mark.parametrize(
    ("path", "old", "new", "needed"),
    [
        ("tests/a.py", b"a\nb\n", b"a\nx\nb\n", False),
        ("tests/a.py", b"a\nb\n", b"b\na\n", True),
        ("tests/a.py", b"a\n", None, True),
        ("tests/a.py", None, b"a\n", False),
        ("tests/a.bin", b"\0a", b"\0ab", True),
        ("conftest.py", b"a\n", b"a\nb\n", True),
        ("pytest.ini", None, b"", True),
        ("a.py", b"a", b"b", False),
        (
            "src/lib.rs",
            LIB.encode(),
            LIB.replace("mod tests {", "mod tests {\n    // x").encode(),
            False,
        ),
        ("src/lib.rs", LIB.encode(), LIB.replace("#[test]", "").encode(), True),
        ("package.json", b'{"name": "a"}', b'{"name": "b"}', False),
        ("package.json", b"{}", b'{"scripts": {"test": "true"}}', True),
    ],
)
def test_it_is_built_again_only_where_checks_may_be_weaker(path, old, new, needed):
    assert needs_build([FileChange(path, old, new)], is_suspect=False) is needed


TABLES = st.sampled_from(["project", "tool.ruff", "tool.ruff.lint", "tool.other", "tool.mypy"])
TOML = st.lists(TABLES, unique=True).flatmap(
    lambda names: st.lists(
        st.integers(0, 9), min_size=len(names), max_size=len(names)
    ).map(lambda numbers: "".join(f"[{n}]\nx = {v}\n" for n, v in zip(names, numbers, strict=True)))
)  # fmt: skip


@given(TOML, TOML)
def test_a_merged_toml_has_the_earlier_checks_and_the_new_rest(new, earlier):
    path = "pyproject.toml"
    merged = with_check_part(path, new, earlier)
    assert sorted(check_part(path, merged).split("[")) == sorted(
        check_part(path, earlier).split("[")
    )
    assert with_check_part(path, merged, new) == with_check_part(path, new, new)


@given(st.text(), st.text(), st.sampled_from(["setup.cfg", "package.json", "a.rs", "Cargo.toml"]))
def test_no_text_is_too_odd(new, earlier, path):
    with_check_part(path, new, earlier)
    check_part(path, new)
