"""The tools that read and write files, and their limits."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from code_commit.plugin_api import NotReady
from code_commit_toolbox.tool import ToolContext, ToolError
from code_commit_toolbox.tools.project_file import write_text

SECRET = "sk-canary-0123456789-key7Q"
# Paths that no tool may read, write, change or list.
CLOSED = [
    ".git/config",
    ".GIT/config",
    "agent-config/config.toml",
    "agent-config/openai-key.txt",
    "./agent-config/openai-key.txt",
    "Agent-Config/openai-key.txt",
    "logs/x/events.jsonl",
    "../outside.txt",
    "src/../../outside.txt",
    "link.txt",
    "linked/outside.txt",
    "ignored.secret",
    "/etc/passwd",
    "pipe",
    "a.txt\0b",
    "",
    "~/.ssh/id_rsa",
]


@pytest.fixture
def hostile(bench):
    root = bench.project.root
    (root.parent / "outside.txt").write_text("outside, which is secret\n")
    (root / "link.txt").symlink_to("../outside.txt")
    (root / "linked").symlink_to("..")
    os.mkfifo(root / "pipe")
    bench.project.write(
        {
            "ignored.secret": "ignored, which is secret\n",
            "agent-config/openai-key.txt": SECRET + "\n",
        }
    )
    return bench


def tried(bench, calls):
    return bench.work({"calls": calls}, {"text": "done"}).results


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param([["read_file", {"path": path}] for path in CLOSED], id="read_file"),
        pytest.param([["write_file", {"path": path, "content": "taken over"}] for path in CLOSED], id="write_file"),
        pytest.param(
            [["str_replace", {"path": path, "old_str": "e", "new_str": "x"}] for path in CLOSED], id="str_replace"
        ),
        pytest.param([["list_files", {"path": path}] for path in [*CLOSED, ".git", "agent-config", ".."] if path], id="list_files"),
        pytest.param(
            [["code_search", {"searches": [{"pattern": "$A", "language": "python", "path": path}]}] for path in CLOSED if path],
            id="code_search",
        ),
    ],
)  # fmt: skip
def test_no_tool_accesses_closed_paths(hostile, calls):
    before = {
        path: path.read_bytes()
        for path in hostile.project.root.rglob("*")
        if path.is_file() and "logs" not in path.parts
    }
    results = tried(hostile, calls)
    assert len(results) == len(calls)
    for call, result in zip(calls, results, strict=True):
        assert result["is_error"], call
        assert "secret" not in result["text"].replace(".secret", ""), call
        assert SECRET not in result["text"]
    after = {path: path.read_bytes() for path in before}
    assert after == before
    assert (hostile.project.root.parent / "outside.txt").read_text() == "outside, which is secret\n"


def test_no_tool_can_change_protected_files(bench):
    paths = [
        "build.sh",
        ".gitignore",
        "docs/UserSpecification.md",
        "target/x",
        "Cargo.lock",
        "codeRollup.sh",
    ]
    results = tried(bench, [["write_file", {"path": path, "content": "x"}] for path in paths])
    assert all("cannot be written" in result["text"] for result in results)
    assert bench.project.git("status", "--porcelain") == ""
    assert "exit 0" in tried(bench, [["read_file", {"path": "build.sh"}]])[0]["text"]


def test_a_key_in_a_file_is_not_sent_to_the_model(bench):
    # The key is live: it belongs to the default config of a provider that is not used.
    bench.project.write(
        {
            "agent-config/config.toml": f'[providers.script.default]\napi_key = "{SECRET}"\n',
            "a.txt": f"key={SECRET}\n",
        }
    )
    worked = bench.work(
        {"calls": [["read_file", {"path": "a.txt"}], ["shell", {"command": "cat a.txt"}]]},
        {"text": "done"},
        flags=["--sandbox", "off"],
    )
    assert worked.finished.exit_code == 0
    sent = worked.asked[1]["messages"][-1]["parts"]
    assert "key=***7Q" in sent[0]["text"]
    assert "key=***7Q" in sent[1]["text"]
    written = [path.read_bytes() for path in bench.project.run_folder.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in content for content in written)
    assert SECRET not in worked.finished.stdout + worked.finished.stderr


def test_a_file_is_read_unchanged(bench):
    text = "\ufeffa\r\nb\x0cc\u2028d\n\n  e"
    bench.project.write({"odd.txt": text, "empty.txt": ""})
    results = tried(
        bench, [["read_file", {"path": path}] for path in ("odd.txt", "./odd.txt", "empty.txt")]
    )
    assert [result["text"] for result in results] == [text, text, ""]
    assert not any(result["is_error"] for result in results)


def test_the_error_about_an_unreadable_file_has_the_reason(bench):
    (bench.project.root / "binary").write_bytes(b"\x7fELF\0\0")
    (bench.project.root / "latin").write_bytes(b"caf\xe9\n")
    bench.settings("[plugins.toolbox]\nfile_limit = 1000\n")
    bench.project.write({"large.txt": "x" * 1001})
    calls = [
        ["read_file", {"path": path}] for path in ("binary", "latin", "large.txt", "missing", "src")
    ]
    words = [
        "a binary file of 6 bytes",
        "not UTF-8: line 1 contains the byte 0xe9",
        "larger than 1,000 bytes",
        "There is no file missing",
        "src",
    ]
    for result, reason in zip(tried(bench, calls), words, strict=True):
        assert result["is_error"]
        assert reason in result["text"]


def test_a_file_of_a_terabyte_is_refused_without_being_read(bench):
    with (bench.project.root / "huge.txt").open("wb") as file:
        file.truncate(1024**4)
    calls = [
        ["read_file", {"path": "huge.txt"}],
        ["str_replace", {"path": "huge.txt", "old_str": "a", "new_str": "b"}],
    ]
    results = bench.work({"calls": calls}, {"text": "done"}).results
    assert all("larger than 10,485,760 bytes" in result["text"] for result in results)


def test_a_part_of_a_file_can_be_read(bench):
    bench.project.write({"long.txt": "".join(f"line {number}\n" for number in range(1, 10_001))})
    results = tried(
        bench,
        [
            ["read_file", {"path": "a.txt", "start_line": 2, "end_line": 2}],
            ["read_file", {"path": "a.txt", "start_line": 3, "end_line": 99}],
            ["read_file", {"path": "a.txt", "start_line": 4}],
            ["read_file", {"path": "long.txt"}],
        ],
    )
    assert results[0]["text"] == "two\n[lines 2 to 2 of 3]"
    assert results[1]["text"] == "three\n[lines 3 to 3 of 3]"
    assert results[2]["text"] == "There are no lines 4 to 3: the file has 3."
    *lines, note = results[3]["text"].split("\n")
    assert lines == [f"line {number}" for number in range(1, len(lines) + 1)]
    assert note == f"[lines 1 to {len(lines)} of 10000; continue with start_line {len(lines) + 1}]"


def test_list_files_lists_the_readable_files(bench):
    bench.project.write(
        {"b/c/d.txt": "", "b/e.txt": "", "x.secret": "", "agent-config/x": "", "odd name é.txt": ""}
    )
    (bench.project.root / "link.txt").symlink_to("a.txt")
    results = tried(
        bench,
        [
            ["list_files", {}],
            ["list_files", {"path": "b"}],
            ["list_files", {"path": "./", "recursive": False}],
            ["list_files", {"path": "nowhere"}],
            ["list_files", {"pattern": "*.txt", "path": "b"}],
            ["list_files", {"pattern": "/*.txt"}],
            ["list_files", {"pattern": "*.nothing"}],
            ["list_files", {"pattern": "!"}],
        ],
    )
    everything = [
        ".gitignore",
        "a.txt",
        "b/c/d.txt",
        "b/e.txt",
        "build.sh",
        "odd name é.txt",
        "src/main.py",
    ]
    assert results[0]["text"].split("\n") == everything
    assert results[1]["text"].split("\n") == ["b/c/d.txt", "b/e.txt"]
    assert results[2]["text"].split("\n") == [
        ".gitignore",
        "a.txt",
        "b/",
        "build.sh",
        "odd name é.txt",
        "src/",
    ]
    assert results[4]["text"].split("\n") == ["b/c/d.txt", "b/e.txt"]
    assert results[5]["text"].split("\n") == ["a.txt", "odd name é.txt"]
    assert [result["is_error"] for result in results] == [False] * 3 + [True] + [False] * 2 + [
        True
    ] * 2
    assert "The pattern is invalid" in results[7]["text"]


def test_a_long_list_is_cut(bench):
    bench.settings("[plugins.toolbox]\noutput_limit = 256\n")
    bench.project.write({f"many/{number:04}.txt": "" for number in range(100)})
    *paths, note = tried(bench, [["list_files", {"path": "many"}]])[0]["text"].split("\n")
    assert len("\n".join(paths)) <= 256
    assert note == f"[... and {100 - len(paths)} more; choose a folder]"


def test_write_file_replaces_the_whole_file(bench):
    bench.settings("[plugins.toolbox]\nfile_limit = 1000\n")
    results = tried(
        bench,
        [
            ["write_file", {"path": "deep/er/new.txt", "content": "é\r\n"}],
            ["write_file", {"path": "./a.txt", "content": "only this"}],
            ["write_file", {"path": "a.txt", "content": "only this"}],
            ["write_file", {"path": "a.txt", "content": "half \ud83d"}],
            ["write_file", {"path": "src", "content": "x"}],
            ["write_file", {"path": "a.txt", "content": "x" * 1001}],
        ],
    )
    assert [result["is_error"] for result in results] == [False] * 3 + [True] * 3
    assert results[2]["text"] == "a.txt already has this content."
    assert "a lone surrogate at 5" in results[3]["text"]
    assert "has 1,001 bytes; the limit is 1,000" in results[5]["text"]
    assert bench.project.read("deep/er/new.txt") == "é\r\n"
    assert bench.project.read("a.txt") == "only this"


def test_a_write_that_fails_is_an_error_for_the_model():
    def apply(changes, shown):
        raise NotReady("No space left on device")

    tree = SimpleNamespace(read=lambda *_: b"old")
    run = SimpleNamespace(check=lambda _: (), tree=tree, apply=apply)
    with pytest.raises(ToolError, match=r"a\.txt was not written: No space left on device"):
        write_text(ToolContext(run), "a.txt", "new", 1000)


def write(path, content):
    return ["write_file", {"path": path, "content": content}]


def read(path):
    return ["read_file", {"path": path}]


def test_what_a_person_wrote_elsewhere_since_the_agent_read_a_file_stays(bench):
    file = bench.project.root / "a.txt"
    todo = bench.project.root / "todo.g3.md"
    todo.write_text("- [ ] a\n- [ ] b\n- [ ] c\n")
    calls = [
        write("./a.txt", "one\ntwo\n3\n"),
        write("a.txt", "one\ntwo\n3\nfour\n"),
        ["str_replace", {"path": "a.txt", "old_str": "four", "new_str": "4"}],
        write("a.txt", "one\ntwo\n3\n4\nfive\n"),
        ["todo_write", {"content": "- [ ] a\n- [ ] b\n- [x] c\n"}],
    ]
    meanwhile = {str(file): "ONE\ntwo\nthree\n", str(todo): "- [x] a\n- [ ] b\n- [ ] c\n"}
    worked = bench.work(
        {"calls": [read("a.txt"), ["todo_read", {}]]},
        {"calls": calls[:3], "meanwhile": meanwhile},
        {"calls": calls[3:]},
        {"text": "done"},
    )
    assert [result["is_error"] for result in worked.results] == [False] * 7
    assert file.read_text() == "ONE\ntwo\n3\n4\nfive\n"
    assert todo.read_text() == "- [x] a\n- [ ] b\n- [x] c\n"


def test_what_a_person_wrote_before_a_replacement_is_unknown_to_the_agent(bench):
    file = bench.project.root / "a.txt"
    replaced = [
        ["str_replace", {"path": "a.txt", "old_str": "ONE", "new_str": "FIRST"}],
        ["str_replace", {"path": "a.txt", "old_str": "three", "new_str": "3"}],
    ]
    worked = bench.work(
        {"calls": [read("a.txt")]},
        {"calls": replaced, "meanwhile": {str(file): "ONE\ntwo\nthree\n"}},
        {"calls": [write("a.txt", "one\ntwo\n3\n")]},
        {"text": "done"},
    )
    assert [result["is_error"] for result in worked.results] == [False] * 4
    assert file.read_text() == "FIRST\ntwo\n3\n"


@pytest.mark.parametrize(
    ("path", "person", "agent"),
    [
        ("a.txt", "ONE\ntwo\nthree\n", "1\ntwo\nthree\n"),
        pytest.param("new.txt", "mine\n", "agent\n", id="nothing was there"),
    ],
)
def test_an_agent_reads_again_what_a_person_changed_at_the_same_places(bench, path, person, agent):
    file = bench.project.root / path
    worked = bench.work(
        {"calls": [read(path)]},
        {"calls": [write(path, agent)] * 2, "meanwhile": {str(file): person}},
        {"calls": [read(path), write(path, agent)]},
        {"text": "done"},
    )
    *refused, again, _ = worked.results[1:]
    error = f"{path} was not written: it was changed since you read it"
    assert [result["text"].partition(",")[0] for result in refused] == [error] * 2
    assert again["text"] == person
    assert file.read_text() == agent


def test_a_file_that_cannot_be_read_again_is_replaced(bench):
    file = bench.project.root / "a.txt"
    worked = bench.work(
        {"calls": [read("a.txt")]},
        {"calls": [read("a.txt"), write("a.txt", "text\n")], "meanwhile": {str(file): "\0"}},
        {"text": "done"},
    )
    assert [result["is_error"] for result in worked.results] == [False, True, False]
    assert file.read_text() == "text\n"


def test_str_replace_replaces_one_passage(bench):
    bench.project.write({"crlf.txt": "a\r\nb\r\nc\r\n"})
    results = tried(
        bench,
        [
            ["str_replace", {"path": "a.txt", "old_str": "two\n", "new_str": ""}],
            ["str_replace", {"path": "a.txt", "old_str": "e", "new_str": "x"}],
            ["str_replace", {"path": "a.txt", "old_str": "seven", "new_str": "x"}],
            ["str_replace", {"path": "a.txt", "old_str": "", "new_str": "x"}],
            ["str_replace", {"path": "crlf.txt", "old_str": "a\nb", "new_str": "a\nB"}],
        ],
    )
    assert [result["is_error"] for result in results] == [False, True, True, True, False]
    assert "3 times, in lines 1, 2, 2" in results[1]["text"]
    assert "0 matches" in results[2]["text"]
    assert bench.project.read("a.txt") == "one\nthree\n"
    assert bench.project.read("crlf.txt") == "a\r\nB\r\nc\r\n"


def test_the_todo_list_is_in_the_configured_file(bench):
    calls = [["todo_read", {}], ["todo_write", {"content": "- [ ] one\n"}], ["todo_read", {}]]
    results = bench.work({"calls": calls}, {"text": "done"}, todo="g3-plan/todo.g3.md").results
    assert [result["text"] for result in results] == [
        "The list is empty (g3-plan/todo.g3.md).",
        "g3-plan/todo.g3.md is written.",
        "- [ ] one\n",
    ]
    assert bench.project.read("g3-plan/todo.g3.md") == "- [ ] one\n"
    assert bench.use("todo_write", {"content": "x"}).result["text"] == "todo.g3.md is written."


def test_the_changes_of_an_agent_can_be_undone(bench):
    shell = ["shell", {"command": "echo more >> a.txt; echo new > c.txt"}]
    write = ["write_file", {"path": "b.txt", "content": "b"}]
    worked = bench.work({"calls": [write, shell]}, {"text": "done"}, flags=["--sandbox", "off"])
    assert worked.finished.exit_code == 0
    assert bench.project.git("status", "--porcelain").split() == [
        "M",
        "a.txt",
        "??",
        "b.txt",
        "??",
        "c.txt",
    ]
    assert bench.project.command("undo").exit_code == 0
    assert bench.project.git("status", "--porcelain") == ""
