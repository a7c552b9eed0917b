"""Targets that a model wrote wrongly are sent back, never written; files with odd names are
written.
"""

from __future__ import annotations

import json

GREEN = "^^^a.txt\ngood\n^^^end\n"
FILES = {"a.py": "a\n", "b.py": "b\n", "Makefile": "all:\n", "README": "x\n"}
WRAPPED = [
    *(
        "`a.py`",
        "`new.py`",
        "'a.py'",
        '"a.py"',
        "**a.py**",
        "*a.py*",
        "<a.py>",
        "“a.py”",
        "src/`a.py`",
        "`a.py",
    ),
    *(
        "_a.py_",
        "[a.py]",
        "(a.py)",
        "{a.py}",
        "[a.py](a.py)",
        "^a.py",
        "^new.py",
        "^^^a.py",
        "a.py^^^",
    ),
]
FOLLOWED = [
    *(
        "a.py:10",
        "a.py:10-20",
        "new.py:10",
        "a.py:L3",
        "a.py#L10",
        "new.py#L1-L5",
        "a.py, line 3",
        "a.py lines 3-5",
    ),
    *(
        "a.py (updated)",
        "new.py (new file)",
        "Makefile (updated)",
        "a.py [new]",
        "a.py - updated",
        "a.py # new",
    ),
    *(
        "a.py, b.py",
        "a.py,b.py",
        "new.py, newer.py",
        "a.py and b.py",
        "a.py; b.py",
        "a.py b.py",
        "a.py -> b.py",
    ),
    "- a.py",
]
UNPAIRED = [
    *(
        "'a.py",
        "a.py'",
        "(a.py",
        "a.py)",
        "a.py]",
        "(Makefile",
        "'new.py",
        "new.py)",
        "„a.py“",
        "“a.py“",
        "»a.py«",
    ),
    *(
        "\u2039a.py\u203a",
        "「a.py」",
        "„new.py“",
        "“a.py",
        "&lt;a.py&gt;",
        "&quot;new.py&quot;",
        "a.py^",
        "a.py^^",
        "new.py^",
    ),
    *(
        "a.py,",
        "a.py;",
        "new.py,",
        "Makefile,",
        "file a.py",
        "delete a.py",
        "the file Makefile",
        "path=a.py",
    ),
    *("path=new.py", "a.py#10", "a.py@10"),
]
NEW = [
    *(
        "(new.py)",
        "[new.py]",
        "{new.py}",
        "[src/new.py]",
        "- new.py",
        "* new.py",
        "new.py - new file",
        "new.py # new",
    ),
    *(
        "new.py (updated",
        "new.py delete",
        "new.py // new",
        "new.py -> newer.py",
        "new.py — a helper",
    ),
]
NOT_PORTABLE = [
    "a?.txt",
    "aux.rs",
    "10:30.txt",
    "x<y",
    "x>y",
    "x|y",
    'x"y',
    "x*y",
    "c:\\x",
    "src\\a.py",
    "nul",
    "x. ",
]
VALID = [
    *(
        "[slug].tsx",
        "app/(group)/page.tsx",
        "[...all]/page.tsx",
        "{id}.ts",
        "_a.py",
        "__init__.py",
        "don't.txt",
    ),
    *(
        "@x/y.ts",
        "photo (1).png",
        "my file.txt",
        "a b.txt",
        "README first.txt",
        "c++.txt",
        "C#.md",
        "a, b.txt",
    ),
    *(
        "+page.svelte",
        "$types.d.ts",
        "a=b.txt",
        "100%.txt",
        "a#b.txt",
        "Makefile.am",
        "-x",
        "#1.md",
        "1. intro.md",
    ),
    *(
        "__new__.py",
        "(group)/layout.tsx",
        "[id].[format].ts",
        "{{cookiecutter.slug}}/setup.py",
        "icon@2x.png",
        "v1.0 - x.txt",
    ),
    *(
        "{{cookiecutter.name}}",
        "new file.txt",
        "file one.txt",
        "x#10",
        "notes.d/{id}/a.ts",
        "[locale]/(shop)/cart.tsx",
    ),
]
ODD = [
    "10:30.txt",
    "a?.txt",
    "aux.rs",
    "`odd`.txt",
    "^a.py",
    "a.py:10",
    "a.py (updated)",
    "a.py, b.py",
    "<x>",
    "'q'",
]


def block(path: str) -> str:
    return f"^^^{path}\nnew\n^^^end\n"


def test_each_mistaken_target_is_sent_back(change):
    change.project.write(FILES)
    targets = [*WRAPPED, *FOLLOWED, *UNPAIRED, *NEW]
    finished = change([GREEN + "".join(map(block, targets)), GREEN])
    assert finished.exit_code == 0, finished.stderr
    events = map(
        json.loads, (change.project.run_folder / "events.jsonl").read_text("utf-8").splitlines()
    )
    [refused] = [event["data"] for event in events if event["kind"] == "changes.refused"]
    assert [row["path"] for row in refused["refusals"] if row["rule"] == "target"] == targets
    assert (
        "`a.py`: Quotes, brackets or other marks stand around the path. Write the path alone"
        in change.prompts()[1]
    )
    assert change.result() == {"written": ["a.txt"], "deleted": []}


def test_a_deletion_with_a_mistaken_target_is_sent_back(change):
    change.project.write(FILES)
    change.show()
    finished = change(["^^^`a.py`\n^^^delete\n", "^^^a.py\n^^^delete\n" + GREEN])
    assert (finished.exit_code, (change.project.root / "a.py").exists()) == (0, False)


def test_names_that_windows_cannot_have_are_sent_back(change):
    finished = change([GREEN + "".join(map(block, NOT_PORTABLE)), GREEN])
    assert finished.exit_code == 0, finished.stderr
    events = map(
        json.loads, (change.project.run_folder / "events.jsonl").read_text("utf-8").splitlines()
    )
    [refused] = [event["data"] for event in events if event["kind"] == "changes.refused"]
    assert [row["path"] for row in refused["refusals"]] == [
        path.rstrip(" ") for path in NOT_PORTABLE
    ]
    assert (
        'a?.txt: The path contains one of < > " | ? *, which names on Windows cannot have.'
        in change.prompts()[1]
    )


def test_a_path_that_is_not_allowed_still_ends_the_run(change):
    finished = change([GREEN + block("aux.rs") + block("../x"), GREEN])
    assert (finished.exit_code, len(change.prompts())) == (5, 1)


def test_odd_names_are_written(change):
    change.project.write(dict.fromkeys(ODD, "old\n") | FILES)
    change.show()
    assert change([GREEN + "".join(map(block, [*VALID, *ODD]))]).exit_code == 0
    for path in [*VALID, *ODD]:
        assert change.project.read(path) == "new\n"
    assert change.project.command("check", "aux.rs", "[slug].tsx").exit_code == 0
    assert change.project.command("check", "aux.c").exit_code == 1


def test_more_than_three_carets_alone_are_text(change):
    assert change(["Title\n^^^^^\n" + GREEN]).exit_code == 0
