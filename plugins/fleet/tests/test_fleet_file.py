"""Wrong and hostile fleet files: said before anything runs, with the line."""

from __future__ import annotations

import shutil

import pytest

from code_commit_fleet.positions import lines_of_keys

HEAD = 'query = "x"\nmodels = ["gpt-4.1"]\n'


OTHERS = """\

[[repository]]
url = 'nowhere'
[[repository]]
url = 'x/../one'
[[repository]]
url = 'dirty'
[[repository]]
url = 'other'
ref = 'no-such'
[[repository]]
glob = 'none-*'
[[repository]]
url = 'urls'
urll = 'two'
[[repository]]
from_file = 'list.txt'
[[repository]]
url = 'owned'
query = '{{nobody}}'
[[repository]]
"""
URLS = (
    "ext::sh -c 'touch owned'",
    "--upload-pack=touch owned",
    "https://user:password@host/x.git",
    "https://token@host/x.git",
    "ssh://-oProxyCommand=touch/x",
    "user:password@host:x.git",
    "https://host/x.git?private_token=abc",
    "git://host/x.git",
)


def errors_of(fleet, text):
    """Return the error lines of a file that must not run."""
    fleet.file.write_text(text)
    finished = fleet.run()
    assert (finished.exit_code, fleet.server.requests) == (3, []), finished.stderr
    assert finished.events[-1]["kind"] == "fleet.finished"
    assert finished.events[-1]["data"]["outcome"] == "not_ready"
    return [line.strip().removeprefix("error: ") for line in finished.stderr.splitlines()]


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ('query = "x"\nmodels = ["gpt-4.1"\n', ["fleet.toml:2: invalid TOML"]),
        (HEAD + "repository = []\n", ["fleet.toml:3: repository: "]),
        (
            "models = []\npilots = 3\n\npilot = -1\n[[repository]]\nurl = 1\n",
            [
                "fleet.toml:1: models: ",
                "fleet.toml:2: pilots: unknown key; did you mean pilot?",
                "fleet.toml:4: pilot: ",
                "fleet.toml:6: repository[1].url: ",
            ],
        ),
        (
            HEAD + "branch = '-x'\n[[repository]]\nurl = 'one'" + OTHERS,
            [
                "fleet.toml:3: branch: '-x' is not a valid branch name",
                "fleet.toml:8: there are two repositories 'one', the other is at fleet.toml:4",
                "fleet.toml:15: glob: no folder matches 'none-*'",
                "fleet.toml:17: urll: unknown key, and the query has no {{urll}}; did you mean url?",
                "list.txt:2: there are two repositories 'one'",
                "fleet.toml:22: query: the repository has no value for {{nobody}}",
                "fleet.toml:25: repository: set one of url, glob and from_file",
            ],
        ),
        (
            HEAD
            + "branch = 'taken'\nunits_at_once = { openaj = 1 }\n[[repository]]\nurl = 'one'\n"
            + "[[repository]]\nurl = 'nowhere'\n[[repository]]\nurl = 'dirty'\n"
            + "[[repository]]\nurl = 'other'\nref = 'no-such'\nmodels = ['gpt-4.1', 'gpt-4.1x']\n",
            [
                "fleet.toml:4: units_at_once: no provider is called 'openaj'; did you mean openai?",
                "fleet.toml:5: url: the branch taken-gpt-4.1 exists in ",
                "fleet.toml:7: url: ",
                "fleet.toml:9: url: ",
                "fleet.toml:11: url: ",
                "fleet.toml:14: models: no installed provider has a model 'gpt-4.1x'; did you mean gpt-4.1?",
            ],
        ),
        (
            "models = ['gpt-4.1']\n[[repository]]\nurl = 'one'\n",
            ["fleet.toml:2: set query or query_file"],
        ),
    ],
)
def test_errors_have_their_lines(fleet, text, messages):
    one, dirty, _ = fleet.repositories("one", "dirty", "other")
    (dirty / "a.txt").write_text("changed\n")
    fleet.git(one, "branch", "taken-gpt-4.1")
    (fleet.folder / "list.txt").write_text("\none\n")
    errors = errors_of(fleet, text)
    for line in messages:
        assert any(error.startswith(line) for error in errors), (line, errors)


def test_a_branch_in_the_way_a_unit_that_is_there_twice_and_a_list_with_faults(fleet):
    one, two, _ = fleet.repositories("one", "two", "three")
    fleet.git(one, "branch", "code-commit")
    fleet.git(two, "branch", "code-commit/fleet/x")
    tables = [f"[[repository]]\nurl = '{name}'\n" for name in ("one", "two", "three", "./three")]
    errors = errors_of(fleet, f"{HEAD}{''.join(tables)}name = 'again'\n")
    (fleet.folder / "list.jsonl").write_text('{"url": "one"}\n[1]\n{"url": 3}\n')
    errors += errors_of(fleet, HEAD + "[[repository]]\nfrom_file = 'list.jsonl'\n")
    shown = fleet.command("run", "fleet.toml").stderr  # without --json
    assert shown.startswith("error: list.jsonl:2: expected a JSON object\n    list.jsonl:3: url: ")
    for line in (
        "fleet.toml:3: url: the branch code-commit exists in ",
        "fleet.toml:5: url: the branch code-commit/fleet/x exists in ",
        f"fleet.toml:9: url: {fleet.folder}/three with gpt-4.1 and the same query is also at fleet.toml:7",
        "list.jsonl:2: expected a JSON object",
        "list.jsonl:3: url: input should be a valid string",
    ):
        assert any(error.startswith(line) for error in errors), (line, errors)


def test_urls_that_run_a_program_or_hold_a_key_are_refused(fleet):
    errors = errors_of(fleet, HEAD + "".join(f'[[repository]]\nurl = "{url}"\n' for url in URLS))
    for number in range(len(URLS)):
        assert any(error.startswith(f"fleet.toml:{3 + 2 * number}: url: ") for error in errors), (
            URLS[number],
            errors,
        )
    assert not list(fleet.folder.rglob("owned"))


def test_wrong_names_refs_globs_lists_and_queries_have_their_lines(fleet):
    fleet.repositories("one")
    lists = {
        "notes.txt": b"# a note\n\n",
        "globs.jsonl": b'{"glob": "o*"}\n',
        "latin.txt": b"caf\xe9\n",
    }
    for name, content in lists.items():
        (fleet.folder / name).write_bytes(content)
    tables = [
        "url = 'one'\nref = '--upload-pack=touch owned'",
        "url = 'one'\nname = '../x'",
        "glob = '**/one'",
    ]
    tables += [f"from_file = '{name}'" for name in (*lists, "gone.txt")]
    tables += ["url = 'one'\nquery = 'y'\nquery_file = 'notes.txt'", "url = 'one'\nquery = ' '"]
    errors = errors_of(fleet, HEAD + "".join(f"[[repository]]\n{table}\n" for table in tables))
    for line in (
        "fleet.toml:3: ref: '--upload-pack=touch owned' is not the name of a branch, tag or commit",
        "fleet.toml:6: name: '../x' is not a valid name of a repository",
        "fleet.toml:9: glob: ** is not supported",
        "fleet.toml:11: from_file: notes.txt lists no repository",
        "globs.jsonl:1: a repository of a list needs a url",
        "fleet.toml:15: from_file: latin.txt is not UTF-8 text",
        "fleet.toml:17: from_file: gone.txt does not exist",
        "fleet.toml:19: set query or query_file, not both",
        "fleet.toml:23: query: it is empty",
    ):
        assert any(error.startswith(line) for error in errors), (line, errors)


@pytest.mark.parametrize(
    "key", ["query_file = '../secret.txt'", "query_file = '/etc/passwd'", "query_file = 'link'"]
)
def test_a_fleet_file_reads_nothing_outside_of_its_folder(fleet, key):
    (fleet.folder / "link").symlink_to("/etc/passwd")
    fleet.file.write_text(f"{key}\nmodels = ['gpt-4.1']\n[[repository]]\nurl = 'x'\n")
    finished = fleet.run()
    assert (finished.exit_code, fleet.server.requests) == (3, [])
    assert "query_file" in finished.stderr
    assert "root:" not in finished.stderr


@pytest.mark.parametrize("words", [("run", "/"), ("run", "x.fleet"), ("status", "/")])
def test_what_is_no_toml_file_is_named(fleet, words):
    finished = fleet.command(*words)
    assert (finished.exit_code, "is not a .toml file" in finished.stderr) == (3, True), (
        finished.stderr
    )


def test_a_query_with_a_key_does_not_start(fleet):
    fleet.repositories("one")
    fleet.write("one")
    fleet.file.write_text(fleet.file.read_text().replace("Make a.txt new.", f"Use {fleet.KEY}."))
    finished = fleet.run()
    assert (finished.exit_code, fleet.server.requests) == (3, [])
    assert "contains a key" in finished.stderr
    assert fleet.KEY not in finished.stderr + finished.stdout


def test_queries_models_and_setup_of_a_repository(fleet):
    fleet.repositories("one", "two")
    (fleet.folder / "query.md").write_text("For {{name}} of {{owner}}.")
    fleet.file.write_text(
        "query_file = 'query.md'\nmodels = ['gpt-4.1', 'gpt-4o']\nrepairs = 0\nsetup = 'echo made > made.txt'\n"
        "[[repository]]\nurl = 'one'\nowner = 'Ann'\n"
        "[[repository]]\nurl = 'two'\nquery = 'Else.'\nmodels = ['gpt-4o']\nsetup = 'exit 7'\n"
    )
    fleet.server.script(fleet.good, fleet.good)
    assert fleet.run("--workers", "1").exit_code == 1
    assert [request.model for request in fleet.server.requests] == ["gpt-4.1", "gpt-4o"]
    assert all("For one of Ann." in request.prompt for request in fleet.server.requests)
    assert "made.txt" in fleet.server.requests[0].prompt  # the rollup is made after the setup
    last = fleet.lines[-1]
    assert (last["repository"], last["outcome"], last["cost"]) == ("two", "not_ready", 0.0)
    assert fleet.command("export", "--branches").exit_code == 0
    assert "code-commit/fleet-gpt-4o" in fleet.git(
        fleet.folder / "one", "branch", "--list", "code-commit/*"
    )


def test_results_go_to_a_remote_only_with_push(fleet):
    one = fleet.repositories("one")[0]
    shutil.move(one / ".git", fleet.folder / "remote.git")
    fleet.git(fleet.folder / "remote.git", "config", "core.bare", "true")
    shutil.rmtree(one)
    fleet.file.write_text(
        f"{HEAD}push = true\n[[repository]]\nurl = 'file://{fleet.folder}/remote.git'\n"
    )
    fleet.server.script(fleet.good)
    assert fleet.run().exit_code == 0, fleet.lines
    assert fleet.lines[0]["branch"] == "code-commit/fleet"
    assert (
        fleet.git(fleet.folder / "remote.git", "--git-dir=.", "show", "code-commit/fleet:a.txt")
        == "new\n"
    )


def test_lines_of_keys():
    text = 'a = """\nb = 1\n"""\n"c.d" = [\n  "[[x]]", # ]\n]\n\n[[r]]\nu = 1\n[[r]] # two\nu = { v = 2 }\n[t.x]\ny.z = 3\n'
    errors = lines_of_keys(text)
    assert errors[("a",)] == 1
    assert errors[("c.d",)] == 4
    assert (errors["r", 0, "u"], errors["r", 1], errors["r", 1, "u"]) == (9, 10, 11)
    assert errors["t", "x", "y", "z"] == 13
    assert ("b",) not in errors
