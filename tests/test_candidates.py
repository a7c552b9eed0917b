"""Several candidates for the first attempt: what stays, what is repaired, and what is told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from code_commit.plugin_api import read_summary
from code_commit_testing import Finished, Project, install_plugin

# Lets calls arrive in the order of $ORDER; those that are not in it never do.
ORDERED = """
import json, os, subprocess
from code_commit_testing.scripted_provider import code_commit_providers
from contextlib import suppress
from code_commit.plugin_api import AcceptanceCheck, NotReady, Verdict, hookimpl

@hookimpl
def code_commit_model_layers():
    return [in_order]

@hookimpl
def code_commit_acceptance():
    return [AcceptanceCheck("taste", accept)]

def accept(run, submission):
    # Accepts what has no "poor" in it, after a look at the files from before the run.
    text = run.tree.read("a.txt")
    with suppress(NotReady), run.trial(show=run.originals(["a.txt"])):
        assert run.tree.read("a.txt") == b"old\\n"
    assert run.tree.read("a.txt") == text
    return Verdict(b"poor" not in text, "poor taste\\nsecond line")

def in_order(call, next):
    if call.label != "initial-query" or "ORDER" not in os.environ:
        return next(call)
    meanwhile = json.loads(os.environ.get("MEANWHILE", "{}")).get(str(call.number))
    if meanwhile:  # when all earlier candidates are judged and moved back
        while not set(range(1, call.number)) <= set(numbers(call.root, "commit.judged")):
            call.wait(0.002)
        subprocess.run(["sh", "-c", meanwhile], cwd=call.root, check=True)
    try:
        return next(call)
    finally:
        order = json.loads(os.environ["ORDER"])
        earlier = order[: order.index(call.number)] if call.number in order else [0]
        while not set(earlier) <= set(numbers(call.root, "call.arrived")):
            call.wait(0.002)

def numbers(root, kind):
    events = max(root.glob("logs/*/events.jsonl"))
    for line in events.read_bytes().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            return
        if record["kind"] == kind:
            yield record["data"]["number"]
"""
BUILD = 'echo "a.txt: $(cat a.txt)" >>built.log; grep -q good a.txt\n'
NO_SANDBOX = {"CODE_COMMIT_SANDBOX": "off"}
PROSE = "I cannot do that."
# The process of the latest run.
PID = r"$(sed -n 's/.*\"pid\":\([0-9]*\).*/\1/p' logs/*/events.jsonl | tail -n 1)"


def block(path: str, content: str) -> str:
    return f"^^^{path}\n{content}^^^end\n"


GOOD, RED, OTHER = (block("a.txt", f"{word}\n") for word in ("good", "bad", "worse"))
UNCHANGED = block("a.txt", "old\n")
FORBIDDEN = block("build.sh", "exit 0\n")


def row(number: int, outcome: str, reason: str) -> dict[str, Any]:
    """Return what a run tells of a candidate."""
    return {
        "number": number,
        "model": f"model-{number}",
        "outcome": outcome,
        "reason": reason,
        "cost": None,
    }


class Runs:
    """Runs the command in a project, with a list of replies for each candidate."""

    def __init__(self, project: Project, plugins: Path) -> None:
        self.project = project
        self._plugins = plugins

    def __call__(
        self,
        *replies: Sequence[str] | str,
        order: Sequence[int] = (),
        arguments: Sequence[str] = (),
        settings: str = "",
        meanwhile: Mapping[int, str] | None = None,
    ) -> Finished:
        models = [f"scripted.m{number}" for number in range(1, len(replies) + 1)]
        self.script(*replies, settings=settings)
        arrivals = list(order) or list(range(1, len(replies) + 1))
        return self.command(
            *("--candidates", ",".join(models), *arguments),
            ORDER=json.dumps(arrivals),
            MEANWHILE=json.dumps(meanwhile or {}),
        )

    def script(self, *replies: Sequence[str] | str, settings: str = "") -> None:
        config = f"{settings}\n"
        for number, answers in enumerate(replies, 1):
            listed = [answers] if isinstance(answers, str) else answers
            config += f'[providers.scripted.m{number}]\nmodel = "model-{number}"\n'
            config += f"replies = {json.dumps(listed)}\n"
        self.project.write({"agent-config/config.toml": config})

    def command(self, *arguments: str, **environ: str) -> Finished:
        return self.project.command(
            *arguments, plugins=[self._plugins], environ={**NO_SANDBOX, **environ}
        )

    def require_same_replay(self) -> None:
        """Check that a replay of the latest run has the same candidates, changes and files."""
        replayed = self.command("replay", self.project.run_folder.name)
        assert replayed.exit_code == 0, replayed.stdout + replayed.stderr

    def data(self) -> dict[str, Any]:
        return dict(json.loads((self.project.run_folder / "run.json").read_bytes())["data"])

    def events(self, kind: str) -> list[dict[str, Any]]:
        lines = (self.project.run_folder / "events.jsonl").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        return [record["data"] for record in records if record["kind"] == kind]

    def outcomes(self) -> list[str]:
        """Return what became of each candidate, by number."""
        judged = sorted(self.events("commit.judged"), key=lambda one: one["number"])
        return [candidate["outcome"] for candidate in judged]

    def files(self, pattern: str) -> list[str]:
        return sorted(path.name for path in self.project.run_folder.glob(pattern))

    def builds(self) -> list[str]:
        return self.project.read("built.log").splitlines()

    def texts(self, *paths: str) -> list[str | None]:
        files = [self.project.root / path for path in paths]
        return [file.read_text() if file.exists() else None for file in files]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    files = {"a.txt": "old\n", "b.txt": "old\n", ".gitignore": "/agent-config\n/logs\nbuilt.log\n"}
    return Project.create(tmp_path, files=files, build=BUILD, rollup=None)


@pytest.fixture
def runs(project: Project, tmp_path: Path) -> Runs:
    return Runs(project, install_plugin(tmp_path / "plugins", "ordered", ORDERED))


QUERY = ("--query", "Change a.txt.")


def test_the_first_candidate_that_is_accepted_stays_and_the_others_are_cancelled(runs):
    finished = runs(RED, GOOD, OTHER, order=[1, 2], arguments=QUERY)
    assert finished.exit_code == 0
    summary = "1 file changed, the build passes; candidate 2 (model-2) of 3"
    assert finished.stdout == ""
    assert f"\n{summary}\n" in finished.stderr
    assert "candidate 1 (model-1): the build is red: build.sh ended with" in finished.stderr
    assert "model-3 cancelled after" in finished.stderr
    assert runs.texts("a.txt", "b.txt") == ["good\n", "old\n"]
    assert runs.builds() == ["a.txt: bad", "a.txt: good"]
    assert runs.outcomes() == ["red", "accepted", "cancelled"]
    assert runs.files("*build.txt") == ["1-build.txt", "2-build.txt"]
    assert runs.files("[0-9]*-query.txt") == [f"{number}-initial-query.txt" for number in (1, 2, 3)]
    response = runs.project.run_folder / "3-initial-query-response.txt"
    assert response.read_text().startswith("ERROR\ncancelled\n")
    assert runs.data().pop("acceptance")["accepted"] is True
    assert runs.data() | {"acceptance": None} == {
        "acceptance": None,
        "written": ["a.txt"],
        "deleted": [],
        "candidates": [
            row(1, "red", "build.sh ended with exit code 1"),
            row(2, "accepted", ""),
            row(3, "cancelled", ""),
        ],
    }
    assert runs.project.command("runs", "show").stdout.count("candidate 2: a.txt\n") == 1
    runs.require_same_replay()
    assert runs.command("undo").stdout == "a.txt\n"
    assert runs.texts("a.txt") == ["old\n"]


POOR = block("a.txt", "good but poor\n")
# The replies of each candidate, the order of arrival, then: exit code, outcomes, the model that is
# asked for repairs, builds by the content of a.txt, and a.txt in the end.
MIXES: list[tuple[Any, ...]] = [
    ([[RED, GOOD], [OTHER]], [1, 2], 0, ["red", "red"], "model-1", "bad worse good", "good"),
    ([[RED], [OTHER, GOOD]], [2, 1], 0, ["red", "red"], "model-2", "worse bad good", "good"),
    ([[PROSE], [RED, GOOD]], [1, 2], 0, ["unusable", "red"], "model-2", "bad good", "good"),
    ([[FORBIDDEN], [PROSE, GOOD]], [1, 2], 0, ["refused", "unusable"], "model-2", "good", "good"),
    ([[FORBIDDEN], [GOOD]], [1, 2], 0, ["refused", "accepted"], None, "good", "good"),
    ([[], [GOOD]], [1, 2], 0, ["failed", "accepted"], None, "good", "good"),
    ([[], [RED, GOOD]], [1, 2], 0, ["failed", "red"], "model-2", "bad good", "good"),
    ([[], [PROSE, RED]], [1, 2], 4, ["failed", "unusable"], "model-2", "bad", "bad"),
    ([[], []], [1, 2], 4, ["failed", "failed"], None, "", "old"),
    ([[FORBIDDEN], [FORBIDDEN]], [1, 2], 5, ["refused", "refused"], None, "", "old"),
    ([[PROSE] * 2, [PROSE]], [1, 2], 5, ["unusable", "unusable"], "model-1", "", "old"),
    ([[GOOD], [UNCHANGED]], [1, 2], 0, ["accepted", "cancelled"], None, "good", "good"),
    ([[RED, GOOD], [RED]], [1, 2], 0, ["red", "red"], "model-1", "bad good", "good"),
    ([[RED], [POOR, GOOD]], [1, 2], 0, ["red", "not_accepted"], "model-2", None, "good"),
    ([[POOR], [GOOD]], [1, 2], 0, ["not_accepted", "accepted"], None, None, "good"),
    ([[POOR] * 3, [POOR]], [1, 2], 1, ["not_accepted"] * 2, "model-1", None, "good but poor"),
    ([[RED, PROSE, PROSE], [PROSE]], [1, 2], 1, ["red", "unusable"], "model-1", "bad", "bad"),
]


@pytest.mark.fast_rows(6)
@pytest.mark.parametrize(
    ("replies", "order", "exit_code", "outcomes", "repairer", "builds", "content"), MIXES
)
def test_the_candidate_that_came_furthest_is_repaired_by_its_own_model(
    runs, replies, order, exit_code, outcomes, repairer, builds, content
):
    finished = runs(*replies, order=order, arguments=QUERY)
    assert finished.exit_code == exit_code
    assert runs.outcomes() == outcomes
    repairs = [call["model"] for call in runs.events("call.started")[2:]]
    assert set(repairs) == ({repairer} if repairer else set())
    if builds:
        assert runs.builds() == [f"a.txt: {word}" for word in builds.split()]
    assert runs.texts("a.txt", "b.txt") == [f"{content}\n", "old\n"]
    runs.require_same_replay()


@pytest.mark.parametrize(
    ("replies", "outcomes", "exit_code", "data"),
    [
        ([UNCHANGED, GOOD], ["unchanged", "accepted"], 0, {"written": ["a.txt"], "deleted": []}),
        ([UNCHANGED, UNCHANGED], ["unchanged"] * 2, 0, {"nothing_to_change": True}),
        ([UNCHANGED, PROSE], ["unchanged", "unusable"], 0, {"nothing_to_change": True}),
    ],
)
def test_a_response_that_changes_nothing_waits_for_the_others(
    runs, replies, outcomes, exit_code, data
):
    runs.project.write({"build.sh": "echo built >>built.log\n"})
    assert runs(*replies, arguments=QUERY).exit_code == exit_code
    assert runs.outcomes() == outcomes
    assert data.items() <= runs.data().items()
    assert len(runs.builds()) == len(set(replies) - {PROSE})
    runs.require_same_replay()


def test_the_same_changes_are_built_once(runs):
    """A file as it is on disk makes no difference."""
    same = RED + block("b.txt", "old\n")
    finished = runs(RED, same, RED, arguments=(*QUERY, "--repairs", "0"))
    assert finished.exit_code == 1
    assert runs.outcomes() == ["red"] * 3
    assert runs.files("*-build*.txt") == ["1-build.txt"]
    reason = "the same changes as candidate 1 (model-1); build.sh ended with exit code 1"
    assert runs.data()["candidates"][1:] == [row(2, "red", reason), row(3, "red", reason)]
    assert "files stay changed:\n    a.txt +1 -1\n" in finished.stderr
    runs.require_same_replay()


def test_a_dry_run_shows_the_first_usable_response_and_apply_applies_it(runs):
    finished = runs(PROSE, GOOD, RED, order=[1, 2], arguments=(*QUERY, "--dry-run"))
    assert finished.exit_code == 0
    assert "+good\n" in finished.stdout
    assert runs.outcomes() == ["unusable", "accepted", "cancelled"]
    assert runs.texts("a.txt") == ["old\n"]
    assert not (runs.project.root / "built.log").exists()
    name = runs.project.run_folder.name
    applied = runs.command("apply", name)
    assert applied.exit_code == 0, applied.stderr
    assert runs.texts("a.txt") == ["good\n"]


def test_the_commit_names_the_model_of_the_chosen_candidate(runs):
    runs.project.git("config", "--global", "user.name", "Ada")
    runs.project.git("config", "--global", "user.email", "ada@example.org")
    assert runs(PROSE, [RED, GOOD], arguments=(*QUERY, "--commit")).exit_code == 0
    assert "\nModel: model-2\n" in runs.project.git("log", "-1", "--format=%B")
    assert runs(PROSE, GOOD, arguments=("--query", "x", "--commit", "--dry-run")).exit_code == 2


def test_what_a_person_writes_meanwhile_stays(runs):
    meanwhile = {1: "echo mine >>b.txt", 2: "echo mine >own.txt"}
    finished = runs([RED, GOOD], PROSE, arguments=QUERY, meanwhile=meanwhile)
    assert finished.exit_code == 0
    assert runs.texts("a.txt", "b.txt", "own.txt") == ["good\n", "old\nmine\n", "mine\n"]
    assert runs.command("undo").stdout == "a.txt\n"
    assert runs.texts("a.txt", "b.txt", "own.txt") == ["old\n", "old\nmine\n", "mine\n"]


def test_what_a_person_writes_into_a_file_of_a_candidate_is_kept_and_named(runs):
    build = "if grep -q bad a.txt; then echo mine >>a.txt; fi\n" + BUILD
    runs.project.write({"build.sh": build})
    finished = runs(RED, GOOD, arguments=QUERY, order=[1, 2])
    assert finished.exit_code == 0, finished.stderr
    assert runs.texts("a.txt") == ["good\n"]
    assert "moved back all the same: a.txt; `code-commit redo` brings that back" in finished.stderr
    assert runs.command("undo").exit_code == 0
    assert runs.command("redo").exit_code == 0
    assert runs.texts("a.txt") == ["good\n"], "the latest of the two is the undo"
    assert runs.command("redo").exit_code == 3


@pytest.mark.parametrize(
    ("replies", "outcomes", "exit_code", "end"),
    [
        ([RED, GOOD], ["red", "unusable"], 5, ["old\nmine\n", "old\n"]),
        ([RED, block("b.txt", "x\n")], ["red", "red"], 1, ["old\nmine\n", "x\n"]),
    ],
)
def test_a_candidate_whose_file_a_person_changed_is_not_put_in_place(
    runs, replies, outcomes, exit_code, end
):
    finished = runs(
        *replies, arguments=(*QUERY, "--repairs", "0"), meanwhile={2: "echo mine >>a.txt"}
    )
    assert finished.exit_code == exit_code
    assert runs.outcomes() == outcomes
    assert runs.texts("a.txt", "b.txt") == end
    assert "a.txt: Somebody changed this file after the model saw it." in finished.stderr


def test_what_changes_during_a_build_stays(runs):
    runs.project.write({"build.sh": "grep -q good a.txt || { echo mine >>b.txt; exit 1; }\n"})
    finished = runs(RED, GOOD, arguments=QUERY)
    assert finished.exit_code == 0
    assert runs.texts("a.txt", "b.txt") == ["good\n", "old\nmine\n"]
    undone = runs.command("undo")
    assert "left, because no response wrote them: b.txt\n" in undone.stderr
    assert runs.texts("a.txt", "b.txt") == ["old\n", "old\nmine\n"]


def test_a_build_that_alters_its_checks_ends_the_run(runs):
    runs.project.write({"build.sh": "echo 'exit 0' >build.sh; exit 1\n"})
    finished = runs(RED, GOOD, arguments=QUERY)
    assert finished.exit_code == 1
    assert "the build changed its own checks: build.sh" in finished.stderr
    assert runs.outcomes() == ["red", "cancelled"]
    assert runs.texts("a.txt", "build.sh") == ["old\n", "exit 0\n"]


@pytest.mark.parametrize("signal", ["INT", "KILL"])
@pytest.mark.parametrize("moment", ["call", "build"])
def test_a_signal_leaves_the_files_as_they_were_or_undo_does(runs, signal, moment):
    send = f"kill -{signal} {PID}"
    meanwhile = {3: f"{send}; exec sleep 60"}
    if moment == "build":
        runs.project.write({"build.sh": f"grep -q old a.txt || {{ {send}; exec sleep 60; }}\n"})
        meanwhile = {}
    finished = runs(RED, OTHER, GOOD, arguments=QUERY, meanwhile=meanwhile)
    assert finished.exit_code == {"INT": 130, "KILL": -9}[signal]
    if (signal, moment) == ("KILL", "build"):
        assert runs.texts("a.txt") == ["bad\n"]
        assert "was killed: a.txt moved back; " in runs.command("undo").stderr
    else:
        assert read_summary(runs.project.run_folder)["files"] == []
    assert runs.texts("a.txt", "b.txt") == ["old\n", "old\n"]
    runs.project.write({"build.sh": "grep -q good a.txt\n"})
    assert runs(GOOD, RED, arguments=QUERY).exit_code == 0
    assert runs.texts("a.txt") == ["good\n"]


@pytest.mark.parametrize(
    ("candidates", "text"),
    [
        ("0", "there are 1 to 16 candidates, not 0"),
        ("17", "there are 1 to 16 candidates, not 17"),
        ("-1", "there are 1 to 16 candidates, not -1"),
        ("", "name models, or give their number"),
        ("scripted.m1,", "name models, or give their number"),
        ("scripted.m1,nobody-9", "there is no model 'nobody-9'"),
        ("scripted.m1,scripted.m7", "scripted.m7"),
    ],
)
def test_a_wrong_number_or_model_ends_the_run_before_a_call(runs, candidates, text):
    runs.script(GOOD, RED)
    finished = runs.command("--candidates", candidates, *QUERY)
    assert finished.exit_code == 2
    assert text in finished.stderr
    assert not list(runs.project.root.glob("logs/*/"))


def test_model_and_models_of_candidates_exclude_each_other(runs):
    runs.script(GOOD, RED)
    models = ("--candidates", "scripted.m1,scripted.m2")
    finished = runs.command(*models, "--model", "scripted.m1", *QUERY)
    assert (finished.exit_code, "--model has no effect" in finished.stderr) == (2, True)
    assert runs.command("--candidates", "2", "--model", "scripted.m1", *QUERY).exit_code == 0
    assert "accepted" in runs.outcomes()
    setting = "[plugins.commit]\ncandidates = ['scripted.m1', 'scripted.m2']\n"
    runs.script(GOOD, RED, settings=setting)
    assert runs.command("--model", "scripted.m1", *QUERY).exit_code == 0
    assert "candidates" not in runs.data()


@pytest.mark.parametrize("value", ["2", "'2'", "['scripted.m1', 'scripted.m1']"])
def test_the_number_or_the_models_are_a_setting(runs, value):
    default = "[providers]\ndefault_provider = 'scripted.m1'\n"
    replies = [[RED, GOOD, RED, GOOD]]
    runs.script(*replies, settings=f"[plugins.commit]\ncandidates = {value}\n{default}")
    assert runs.command(*QUERY).exit_code == 0
    assert len(runs.outcomes()) == 2
    assert runs.command("undo").exit_code == 0
    assert runs.command("--candidates", "1", *QUERY).exit_code == 0
    assert "candidates" not in runs.data()
    assert runs.events("candidate.started") == []


@pytest.mark.parametrize("replies", [[GOOD], [RED, GOOD]])
def test_a_candidate_can_request_files_and_knows_them_in_its_repair(runs, replies):
    request = "%%%files\na.txt\n%%%end\n"
    arguments = (*QUERY, "--files", "b.txt")
    finished = runs([request, *replies], [PROSE], order=[1, 2, 3], arguments=arguments)
    assert finished.exit_code == 0, finished.stderr
    prompts = [
        (runs.project.run_folder / f"{number}-initial-query.txt").read_text()
        for number in (1, 2, 3)
    ]
    assert ["--- a.txt ---" in prompt for prompt in prompts] == [False, False, True]
    assert [call["model"] for call in runs.events("call.started")][2:4] == ["model-1"] * len(
        replies
    )
    assert runs.texts("a.txt", "b.txt") == ["good\n", "old\n"]
    runs.require_same_replay()
