"""The signs of weakened checks, in the diffs of changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_acceptance.file_change import FileChange
from code_commit_acceptance.signals import find_signals

PY = (
    "import x\n\n\ndef test_a():\n    assert x.a() == 1\n\n\ndef test_b():\n    assert x.b() == 2\n"
)
JS = 'test("a", () => {\n  expect(a()).toBe(1);\n});\n\ntest("b", () => {\n  expect(b()).toBe(2);\n});\n'
GO = 'func TestA(t *testing.T) {\n\tif A() != 1 {\n\t\tt.Error("a")\n\t}\n}\n'
RS = "#[test]\nfn a() {\n    assert_eq!(1, 1);\n}\n"
JAVA = "class PriceTest {\n    @Test\n    void adds() {\n        assertEquals(1, a());\n    }\n}\n"
PACKAGE = '{"scripts": {"test": "jest", "build": "tsc"}}'


def warnings(*changes: tuple[str, str | None, str | None]) -> list[str]:
    return [signal.text for signal in signals(*changes) if signal.level == "warning"]


def signals(*changes):
    return find_signals([
        FileChange(path, old and old.encode(), new and new.encode()) for path, old, new in changes
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("path", "old", "new", "warning"),
    [
        ("test_a.py", PY, PY[: PY.index("def test_b")], "1 fewer test: test_b"),
        ("test_a.py", PY, PY.replace("    assert x.b() == 2", "    x.b()"), "1 fewer assertion"),
        ("test_a.py", PY, PY.replace("def test_b", "@pytest.mark.skip\ndef test_b"), "skipped: test_b"),
        ("test_a.py", PY, PY.replace("assert x.b", "pytest.skip()\n    assert x.b"), "skipped: test_b"),
        ("test_a.py", PY, "pytestmark = pytest.mark.skip\n" + PY, "skipped: test_a.py"),
        ("test_a.py", PY, PY.replace("test_b():\n", "test_b():\n    return\n"), "returns at once: test_b"),
        ("test_a.py", PY, PY.replace("== 2", "== 2 or True"), "1 assertion that cannot fail"),
        ("test_a.py", PY, PY.replace("def test_b", "def no_test_b"), "1 fewer test: test_b"),
        ("test_a.py", PY, "".join(f"# {line}\n" for line in PY.splitlines()), "2 fewer tests"),
        ("a.test.js", JS, JS.replace('test("b"', 'test.skip("b"'), "skipped: b"),
        ("a.test.js", JS, JS.replace('test("b"', 'test.only("b"'), "the only one to run"),
        ("a_test.go", GO, GO.replace("\tif", '\tt.Skip("slow")\n\tif'), "skipped: TestA"),
        ("tests/a.rs", RS, RS.replace("fn a", "#[ignore]\nfn a"), "skipped: a"),
        ("PriceTest.java", JAVA, JAVA.replace("@Test", "@Test\n    @Disabled"), "skipped: adds"),
        ("tests/run.sh", "x\n", None, "deleted: tests/run.sh"),
        ("a.snap", "1\n2\n", "1\n3\n", "1 snapshot rewritten: a.snap"),
        ("pytest.ini", None, '[pytest]\naddopts = -k "not b"\n', "fewer tests are collected"),
        ("tox.ini", "x = pytest\n", "x = pytest --ignore=tests/b\n", "fewer tests are collected"),
        ("package.json", PACKAGE, PACKAGE.replace("jest", "true"), "checks is gone from package.json"),
        ("package.json", PACKAGE, PACKAGE.replace("jest", "jest || true"), "a failure is ignored"),
        ("check.sh", "pytest\n", "pytest || true\n", "a failure is ignored in check.sh"),
        ("Makefile", "test:\n\tpytest\n", "test:\n\ttrue\n", "checks is gone from Makefile"),
        ("check.sh", "pytest\n", "pytest || :\n", "a failure is ignored in check.sh"),
        ("check.sh", "pytest\n", "pytest; exit 0\n", "a failure is ignored in check.sh"),
        ("Makefile", "test:\n\tpytest\n", "test:\n\t-pytest\n", "a failure is ignored in Makefile"),
        ("Cargo.toml", "[lib]\n", "[lib]\ntest = false\n", "fewer tests are collected in Cargo.toml"),
        ("Cargo.toml", "[package]\n", "[package]\nautotests = false\n", "fewer tests are collected"),
        ("pom.xml", "<p>\n", "<skipTests>true</skipTests>\n<p>\n", "fewer tests are collected in pom.xml"),
        ("a_test.go", GO, "//go:build never\n\n" + GO, "skipped: TestA"),
        ("a_test.go", GO, "func TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n" + GO, "that cannot fail"),
        (".coveragerc", "fail_under = 90\n", "fail_under = 10\n", "fail_under is lower"),
        (".coveragerc", "fail_under = 90\n", "x = 1\n", "fail_under is gone"),
        (".eslintrc", '"max-complexity": 5', '"max-complexity": 50', "max-complexity is higher"),
    ],
)  # fmt: skip
def test_a_weakened_check_is_warned_of(path, old, new, warning):
    found = warnings((path, old, new))
    assert any(warning in text for text in found), found


@pytest.mark.parametrize(
    "changes",
    [
        [("test_a.py", PY, None), ("tests/test_b.py", None, PY)],
        [("test_a.py", PY, PY.replace("test_b", "test_c"))],
        [("test_a.py", PY, PY[: PY.index("def test_b")]), ("test_b.py", None, PY[PY.index("def test_b") :])],
        [("test_a.py", PY, PY + "\n\n@pytest.mark.skip\ndef test_new():\n    assert 1 + 1\n")],
        [("test_a.py", PY, PY + "\n\ndef helper():\n    pytest.skip()\n")],
        [("a.test.js", JS, JS + '\ntest.skip("new", () => {});\n')],
        [("a.snap", "1\n", "1\n2\n"), ("b.snap", "1\n", None)],
        [("a.py", "x || true\n", "y || true\n"), ("a.js", "", "x || true;\n")],
        [("pnpm-lock.yaml", "jest\n", "\n")],
        [("pyproject.toml", "[project]\nname = 'pytest'\n", "[project]\nname = 'x'\n")],
        [("a.bin", "\0", "\0\0")],
    ],
)  # fmt: skip
def test_an_honest_change_is_not_warned_of(changes):
    assert warnings(*changes) == []


def test_notes_tell_what_honest_changes_do_as_well():
    texts = [
        signal.text
        for signal in signals(
            ("a.py", "x = 1\n", "x = 1  # noqa\ny = 2  # type: ignore\n"),
            ("test_a.py", PY, PY.replace("== 2", "== 3")),
            ("pyproject.toml", "[tool.ruff]\n", "[tool.ruff]\nselect = []\n"),
        )
    ]
    assert texts == [
        "2 more suppressions: a.py",
        "assertions changed in test_a.py",
        "the configuration of checks changed: pyproject.toml",
    ]


LINES = st.lists(
    st.sampled_from([*PY.splitlines(), *JS.splitlines(), *RS.splitlines(), "@", "\t", "é\0"])
)
PATHS = st.sampled_from(
    ["test_a.py", "a.test.ts", "tests/a.rs", "A_test.go", "ATest.java", "a.snap"]
)


@given(PATHS, LINES, LINES)
def test_an_unchanged_file_has_no_signal_and_no_text_is_too_odd(path, old, new):
    text = "\n".join(old)
    assert signals((path, text, text)) == []
    signals((path, text, "\n".join(new)), ("package.json", text, None))
