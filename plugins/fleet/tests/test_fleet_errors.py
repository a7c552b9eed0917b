"""What the actions of `fleet` refuse: wrong arguments, folders in the way, damaged files, hostile
results.
"""

from __future__ import annotations

import json
import resource
import shutil

import pytest

from code_commit_fleet.bundle import SENT_LIMIT, pack, unpack
from code_commit_fleet.fleet_folder import FleetFolder


def test_folders_that_no_unit_can_start_from_have_their_lines(fleet):
    one, empty, unborn = fleet.repositories("one", "empty", "unborn")
    (one / "sub").mkdir()
    for repository in (empty, unborn):
        shutil.rmtree(repository / ".git")
    fleet.git(unborn, "init", "-q")
    (unborn / ".gitignore").write_text("*\n")
    fleet.write("gone", "one/sub", "empty", "unborn")
    fleet.file.write_text(
        f"{fleet.file.read_text()}\n[[repository]]\nurl = 'one'\nref = 'no-such-branch'\n"
    )
    finished = fleet.run()
    assert (finished.exit_code, fleet.server.requests) == (3, [])
    errors = [line.strip().removeprefix("error: ") for line in finished.stderr.splitlines()]
    for line in (
        f"fleet.toml:5: url: {fleet.folder}/gone does not exist",
        f"fleet.toml:8: url: {one}/sub is not the top of a git repository",
        f"fleet.toml:14: url: {unborn} has no commit",
        f"fleet.toml:17: url: {one} has no commit 'no-such-branch'",
    ):
        assert line in errors, (line, errors)
    assert any(line.startswith("fleet.toml:11: url: ") for line in errors), errors


def test_an_action_with_wrong_arguments_changes_nothing(fleet):
    fleet.repositories("one")
    fleet.write("one", head="models = ['gpt-4.1', 'gpt-4o']")
    fleet.server.script(fleet.good, fleet.good)
    assert fleet.run("--workers", "1").exit_code == 0
    results = fleet.folder / "fleet.fleet"
    (fleet.folder / "there").mkdir()
    (fleet.folder / "table.csv").touch()
    shutil.copytree(results, fleet.folder / "before")
    for words, code, message in (
        ((), 2, "fleet needs an action"),
        (("run", "fleet.toml", "--workers", "0"), 2, "expected a number of 1 or more"),
        (("retry",), 2, "name the units to run again, or use --failed"),
        (("retry", "one", "--failed"), 2, "name the units to run again, or use --failed"),
        (
            ("retry", "one", "--workers", "1", "--scheduler", "tcp://127.0.0.1:1"),
            2,
            "cannot be used with --scheduler",
        ),
        (("retry", "--failed"), 0, "no unit has failed"),
        (("show", "one"), 2, "'one' names several units"),
        (("show", "two"), 2, "there is no unit 'two'"),
        (("export", "--branches", "--output", "x"), 2, "--output cannot be used with --branches"),
        (("export", "--patches", "--output", "there"), 3, "there exists"),
        (
            ("export", "--patches", "--output", "no/where"),
            3,
            "no/where cannot be created: No such file",
        ),
        (("export", "--csv", "--output", "table.csv"), 3, "table.csv exists"),
        (
            ("export", "--csv", "--output", "no/where"),
            3,
            "no/where cannot be written: No such file",
        ),
    ):
        finished = fleet.command(*words)
        assert (finished.exit_code, message in finished.stderr) == (code, True), (
            words,
            finished.stderr,
        )
    for name in ("plan.json", "tries.jsonl", "units.jsonl"):
        assert (results / name).read_bytes() == (fleet.folder / "before" / name).read_bytes()
    plan = json.loads((results / "plan.json").read_bytes())
    units = [{**row, "unit": f"abc{number}"} for number, row in enumerate(plan["units"])]
    (results / "plan.json").write_text(json.dumps({**plan, "units": units}))
    finished = fleet.command("show", "abc")
    assert (
        finished.exit_code,
        "several units begin with 'abc'\nhint: abc0, abc1\n" in finished.stderr,
    ) == (2, True)


def test_a_setup_command_cannot_change_what_decides(fleet):
    command = ("fleet", "setup", "--sandbox", "off")  # in the sandbox, the file is read-only
    finished = fleet.home.command(*command, stdin="echo said; echo >> build.sh; exit 4")
    assert (
        finished.exit_code,
        "said\nerror: the setup command altered build.sh\n" in finished.stderr,
    ) == (
        3,
        True,
    )


def test_an_error_is_the_same_with_json(fleet):
    secret = "words-of-nobody-5Yh2"
    fleet.write("gone", "lost", head=f"models = ['{secret}']")
    finished = fleet.run(SOME_TOKEN=secret)
    assert finished.stderr == fleet.command("run", "fleet.toml", SOME_TOKEN=secret).stderr
    assert finished.stderr.count("\n    fleet.toml:") > 1
    assert secret not in finished.stderr + finished.stdout


def test_damaged_files_of_a_fleet_are_named_or_passed_over(fleet):
    fleet.repositories("one")
    fleet.write("one")
    fleet.server.script(fleet.good)
    assert fleet.run().exit_code == 0
    results = fleet.folder / "fleet.fleet"
    unit = fleet.lines[0]["unit"]
    with (results / "units.jsonl").open("a") as file:
        file.write(json.dumps({"unit": unit, "outcome": "lost"}) + '\n{"unit"')
    shown = fleet.command("show", unit[:5], "--json")
    assert [tried["outcome"] for tried in shown.document["tries"]] == ["reached"]
    patch = results / "units" / unit / "change.patch"
    patch.write_bytes(patch.read_bytes().replace(b"-old", b"-other"))
    finished = fleet.command("export", "--branches")
    failed = "error: one: code-commit/fleet: `git apply` failed: error: patch failed: a.txt:1\n    error: a.txt: patch "
    assert (finished.exit_code, finished.stderr[: len(failed)]) == (1, failed)
    patch.unlink()
    finished = fleet.command("export", "--patches")
    assert (finished.exit_code, "change.patch cannot be read: No such file" in finished.stderr) == (
        3,
        True,
    )
    for text in ("{", "[]", '{"units": [{"unit": "x"}], "pilot": 0}', '{"units": []}'):
        (results / "plan.json").write_text(text)
        finished = fleet.command("status")
        assert (finished.exit_code, "plan.json cannot be read: " in finished.stderr) == (3, True), (
            text,
            finished.stderr,
        )
    (results / "units.jsonl").unlink()
    (results / "units.jsonl").mkdir()
    finished = fleet.run()
    assert (finished.exit_code, "not a regular file: " in finished.stderr) == (70, True)
    results.rename(fleet.folder / "elsewhere")
    results.symlink_to("elsewhere")
    finished = fleet.run()
    assert (finished.exit_code, f"{results} is a link" in finished.stderr) == (3, True)
    results.unlink()
    results.touch()
    finished = fleet.run()
    assert (finished.exit_code, f"{results} cannot be used: File exists" in finished.stderr) == (
        3,
        True,
    )
    assert len(fleet.server.requests) == 1


def test_a_line_that_a_full_disk_cuts_short_is_an_error_and_skipped(tmp_path):
    folder = FleetFolder(tmp_path / "fleet.toml")
    folder.path.mkdir()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9, before[1]))  # stands in for a full disk
    try:
        with pytest.raises(OSError, match="No space left on device"):
            folder.append("tries.jsonl", {"unit": "u", "try": 1, "reserved": 1.0})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    folder.append("tries.jsonl", {"unit": "u", "try": 2, "reserved": 2.0})
    assert folder.reserved() == {("u", 2): 2.0}


GOOD = pack({"unit": "u"}, [("change.patch", b"patch\n"), ("run/empty.txt", b"")])


def head(**more) -> bytes:
    return json.dumps({"record": {}, "files": [], **more}).encode() + b"\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x" * (SENT_LIMIT + 1), f"the result has {SENT_LIMIT + 1} bytes"),
        (b"x" * 99, "the result has no record"),
        (b"{}\n", "the result has no record: 'record'"),
        (b"[" * 100_000 + b"\n", "the result has no record: "),
        (head(record=7), "the result is malformed"),
        (head(record={"cost": 10**400}), "no run has the number 1000"),
        (head(record={"cost": float("nan")}), "no run has the number NaN"),
        (head(files=[["a", -1], ["b", 1]]), "the result is malformed"),
        (head(files=[["a", 2**40]]), "the result is malformed"),
        (head(files=[["../a", 1]]), "the result has a file named '../a'"),
        (head(files=[["run/.git", 1]]), "the result has a file named 'run/.git'"),
        (GOOD[: GOOD.index(b"\n") + 5], "the result is cut short"),
        (GOOD.partition(b"\n")[0] + b"\nnothing that zlib wrote", "the result is damaged: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_result_that_a_worker_did_not_pack_is_refused(tmp_path, data, message):
    with pytest.raises(ValueError) as refused:
        unpack(data, tmp_path / "unit")
    assert str(refused.value).startswith(message)
    assert not (tmp_path / "a").exists()


def test_a_result_keeps_its_files(tmp_path):
    assert unpack(GOOD, tmp_path) == {"unit": "u"}
    assert (tmp_path / "change.patch").read_bytes() == b"patch\n"
    assert (tmp_path / "run/empty.txt").read_bytes() == b""
