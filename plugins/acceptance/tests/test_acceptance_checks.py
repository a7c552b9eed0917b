"""What the checks say about changes, through the command."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from code_commit_acceptance.review import read_verdict
from code_commit_testing import Finished, Project, install_plugin

SCRIPTED = "from code_commit_testing.scripted_provider import code_commit_providers\n"
FILES = {
    "price.py": "def total(items, discount=0):\n    return sum(items) * (1 - discount)\n",
    "tests/test_price.py": (
        "from price import total\n\n\n"
        "def test_total():\n    assert total([10, 20]) == 30\n\n\n"
        "def test_discount():\n    assert total([10, 20], 0.5) == 15\n"
    ),
    "tests/test_more.py": "def test_more():\n    assert 1 + 1 == 2\n",
}
# Runs the functions `test_…` of each file, as pytest does, and lists the files.
BUILD = """\
ls tests *.ini 2>/dev/null; echo "before: $CODE_COMMIT_TESTS_OF_BEFORE"
python3 -I -S -B -c '
import glob, sys
sys.path.insert(0, ".")
for path in sorted(glob.glob("tests/test_*.py")):
    names = {}
    exec(compile(open(path).read(), path, "exec"), names)
    for name, test in names.items():
        if name.startswith("test_"):
            print(path, name)
            test()
'
"""
BROKEN = "def total(items, discount=0):\n    return sum(items)\n"
WEAKER = FILES["tests/test_price.py"].partition("\n\n\ndef test_discount")[0] + "\n"


def block(path: str, content: str | None) -> str:
    if content is None:
        return f"^^^{path}\n^^^delete\n"
    return f"^^^{path}\n{content}^^^end\n"


def response(files: Mapping[str, str | None]) -> str:
    return "".join(block(path, content) for path, content in files.items())


@dataclass(frozen=True)
class Shop:
    """Runs the commit workflow in `project` with scripted answers."""

    project: Project
    plugins: Path

    def change(
        self,
        *answers: str,
        settings: str = "",
        providers: str = "",
        arguments: tuple[str, ...] = (),
    ) -> Finished:
        model = f'[providers]\n{providers}default_provider = "scripted.default"\n'
        model += "[providers.scripted.default]\n"
        section = f"[plugins.acceptance]\n{settings}\n" if settings else ""
        config = f"{model}replies = {json.dumps(answers)}\n{section}"
        self.project.write({"agent-config/config.toml": config})
        return self.project.command(
            *arguments, plugins=[self.plugins], environ={"CODE_COMMIT_SANDBOX": "off"}
        )

    def reset(self) -> None:
        """Take back what the latest run changed."""
        self.project.git("checkout", "-q", ".")

    def log(self, name: str) -> str:
        """Return a file of the latest run."""
        return (self.project.run_folder / name).read_text()

    @property
    def builds(self) -> list[str]:
        """The logs of the builds of the latest run."""
        names = [path.name for path in self.project.run_folder.glob("*.txt")]
        return sorted(
            name for name in names if re.fullmatch(r"\d+-(build|tests-of-before)\.txt", name)
        )

    @property
    def acceptance(self) -> dict[str, object]:
        """What the result of the latest run says about the checks."""
        document = json.loads((self.project.run_folder / "run.json").read_bytes())
        return dict(document["data"]["acceptance"])


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    plugins = install_plugin(tmp_path / "plugins", "scripted", SCRIPTED)
    project = Project.create(tmp_path, files=FILES, build=BUILD)
    project.git("config", "user.name", "A")
    project.git("config", "user.email", "a@b.c")
    return Shop(project, plugins)


TESTS = "tests/test_price.py"
GOOD = response({"price.py": FILES["price.py"] + "\n\ndef tax(price):\n    return price / 5\n"})
WEAKENED = response({"price.py": BROKEN, TESTS: WEAKER})


def test_a_change_that_only_adds_tests_is_built_once(shop):
    more = FILES[TESTS] + "\n\ndef test_nothing():\n    assert total([]) == 0\n"
    answer = GOOD + block(TESTS, more) + block("tests/test_new.py", "def test_new():\n    pass\n")
    finished = shop.change(answer, arguments=("--commit",))
    assert finished.exit_code == 0, finished.stderr
    assert shop.builds == ["1-build.txt"]
    trailers = {"Signals": "none", "Tests-Of-Before": "not needed"}
    assert shop.acceptance == {
        "accepted": True, "refused_by": "", "reason": "", "notes": [], "trailers": trailers,
    }  # fmt: skip
    assert "  Signals: none; Tests-Of-Before: not needed\n" in finished.stderr
    message = shop.project.git("log", "-1", "--format=%B")
    assert "\nModel: scripted\nSignals: none\nTests-Of-Before: not needed\n" in message


def test_weakened_tests_are_told_and_the_tests_from_before_are_built(shop):
    finished = shop.change(WEAKENED)
    assert finished.exit_code == 0, finished.stderr
    assert shop.builds == ["1-build.txt", "1-tests-of-before.txt"]
    assert shop.project.read(TESTS) == WEAKER, "they are put back"
    assert "tests/test_price.py test_discount\n" in shop.log("1-tests-of-before.txt")
    assert "before: 1\n" in shop.log("1-tests-of-before.txt")
    assert "before: \n" in shop.log("1-build.txt")
    assert shop.acceptance["trailers"] == {"Signals": "2 warnings", "Tests-Of-Before": "red"}
    assert shop.acceptance["notes"] == [
        "warning: 1 fewer test: test_discount",
        "warning: 1 fewer assertion in the tests",
        "note: assertions changed in tests/test_price.py",
        "with the tests from before, the build is red: assert total([10, 20], 0.5) == 15",
    ]
    assert all(f"\n  {note}\n" in finished.stderr for note in shop.acceptance["notes"])


def test_tests_from_before_can_be_required(shop):
    right = response({TESTS: FILES[TESTS], "price.py": FILES["price.py"] + "\n"})
    finished = shop.change(WEAKENED, right, settings='tests_of_before = "require"')
    assert finished.exit_code == 0, finished.stderr
    prompt = shop.log("2-repair-query.txt")
    assert "build.sh passed, but the change is not accepted. The reason:\nwith the tests" in prompt
    assert "was run once more: tests/test_price.py. Change the code" in prompt
    assert "tests/test_price.py test_discount\n" in prompt
    assert shop.acceptance["trailers"] == {"Signals": "none", "Tests-Of-Before": "not needed"}

    shop.reset()
    finished = shop.change(
        WEAKENED, WEAKENED, settings='tests_of_before = "require"', arguments=("--repairs", "1")
    )
    assert finished.exit_code == 1
    assert (
        "error: the build passes, but tests-of-before of code-commit-acceptance refuses the change "
        "after 2 attempts: with the tests from before, the build is red: "
    ) in finished.stderr
    assert "files stay changed:\n    price.py " in finished.stderr
    assert not shop.acceptance["accepted"]


def test_check_files_from_before_come_back_and_new_ones_go_away(shop):
    answer = response({
        "price.py": FILES["price.py"] + "\n",
        "tests/test_more.py": None,
        "tests/test_new.py": "def test_new():\n    pass\n",
        "pytest.ini": "[pytest]\naddopts = -k 'not more'\n",
    })  # fmt: skip
    assert shop.change(answer).exit_code == 0
    assert "pytest.ini\n" in shop.log("1-build.txt")
    earlier = shop.log("1-tests-of-before.txt")
    assert "test_more.py test_more\n" in earlier
    assert "pytest.ini" not in earlier
    assert "test_new" not in earlier
    assert "the tests from before pass, too" in shop.acceptance["notes"]
    assert shop.project.read("pytest.ini").startswith("[pytest]")
    assert not (shop.project.root / "tests/test_more.py").exists()


def test_tests_that_the_query_means_to_change_are_allowed(shop):
    finished = shop.change(WEAKENED, arguments=("--allow-tests", "./tests/"))
    assert finished.exit_code == 0, finished.stderr
    assert shop.builds == ["1-build.txt"]
    assert shop.acceptance["trailers"] == {"Signals": "none", "Tests-Of-Before": "not needed"}


@pytest.mark.parametrize(
    ("settings", "builds"),
    [('tests_of_before = "off"', 1), ('signals = "off"', 2)],
)
def test_checks_can_be_switched_off(shop, settings, builds):
    assert shop.change(WEAKENED, settings=settings).exit_code == 0
    assert len(shop.builds) == builds
    assert len(shop.acceptance["trailers"]) == 1


def test_signals_can_refuse(shop):
    finished = shop.change(
        WEAKENED, GOOD + block(TESTS, FILES[TESTS]), settings='signals = "refuse"'
    )
    assert finished.exit_code == 0, finished.stderr
    assert shop.builds == ["1-build.txt", "2-build.txt"]
    assert "the change weakens what checks it: 1 fewer test: test_discount; " in shop.log(
        "2-repair-query.txt"
    )


def test_a_build_that_rewrites_snapshots_is_told(shop):
    shop.project.write({"tests/a.snap": "old\n", "build.sh": "cp price.py tests/a.snap\n"})
    shop.project.git("add", "-A")
    shop.project.git("commit", "-qm", "snapshot")
    answer = response({"price.py": BROKEN, "tests/a.snap": BROKEN})
    assert shop.change(answer, answer).exit_code == 0, "the first one has not seen the snapshot"
    assert shop.acceptance["notes"] == [
        "warning: 1 snapshot rewritten: tests/a.snap",
        "the build itself changes what checks it: tests/a.snap",
        "the tests from before pass, too",
    ]
    assert shop.project.read("tests/a.snap") == BROKEN


def test_flags_need_the_plugin(shop):
    for flags in (("--review",), ("--allow-tests", "tests")):
        disabled = ("--disable-plugin", "acceptance", *flags)
        finished = shop.change(GOOD, arguments=disabled)
        assert finished.exit_code == 2
        assert f"error: {flags[0]} needs the plugin code-commit-acceptance\n" in finished.stderr
        assert 'pip install ".[acceptance]"' in finished.stderr
    plain = shop.change(WEAKENED, arguments=("--disable-plugin", "acceptance"))
    assert plain.exit_code == 0
    assert shop.builds == ["1-build.txt"]


BETTER = response({"price.py": FILES["price.py"] + "\n\ndef tax(price):\n    return price / 4\n"})
ACCEPTED = "I looked at it.\n\n%%%accepted\n"
OBJECTIONS = "%%%objections\nprice.py: the tax is a quarter\nREADME.md: say so\n%%%end\n"


def test_a_change_is_reviewed(shop):
    finished = shop.change(
        "Words of the author.\n" + GOOD, ACCEPTED, arguments=("--review", "--query", "Add a tax.")
    )
    assert finished.exit_code == 0, finished.stderr
    prompt = shop.log("2-review-query.txt")
    assert "Words of the author" not in prompt
    assert "[query]\n--- " in prompt
    assert "\nAdd a tax.\n--- " in prompt
    assert "build.sh ended with exit code 0\n" in prompt
    assert "\n--- a/price.py\n+++ b/price.py\n@@" in prompt
    assert "\n+def tax(price):\n" in prompt
    assert shop.acceptance["trailers"]["Reviewed-By"] == "scripted/scripted"


def test_objections_are_a_failed_attempt(shop):
    finished = shop.change(GOOD, OBJECTIONS, BETTER, ACCEPTED, settings="review = true")
    assert finished.exit_code == 0, finished.stderr
    prompt = shop.log("3-repair-query.txt")
    assert "the reviewer has 2 objections: price.py: the tax is a quarter\n" in prompt
    assert "README.md: say so\n" in prompt
    assert (
        "the acceptance check review of code-commit-acceptance refuses the change"
        in finished.stderr
    )
    shop.reset()
    finished = shop.change(GOOD, OBJECTIONS, settings="review = true", arguments=("--repairs", "0"))
    assert finished.exit_code == 1
    assert (
        "review of code-commit-acceptance refuses the change after 1 attempt: " in finished.stderr
    )


def test_a_reviewer_without_a_verdict_is_asked_once_more(shop):
    assert shop.change(GOOD, "Fine!", ACCEPTED, arguments=("--review",)).exit_code == 0
    assert "The answer has no verdict." in shop.log("3-review-query.txt")
    shop.reset()
    finished = shop.change(BETTER, "Fine!", "Really.", ACCEPTED, arguments=("--review",))
    assert finished.exit_code == 4
    assert "the build passes, but the reviewer scripted gave no verdict" in finished.stderr
    assert "files stay changed:\n    price.py " in finished.stderr


def test_a_long_diff_is_cut_file_by_file_and_told(shop):
    lines = "".join(f"line {number:0200}\n" for number in range(5000))
    answer = GOOD + response({"long.txt": lines})
    assert shop.change(answer, ACCEPTED, arguments=("--review",)).exit_code == 0
    prompt = shop.log("2-review-query.txt")
    assert len(prompt) < 410_000
    assert "\n+def tax(price):\n" in prompt
    assert "more lines] of this file" in prompt or "more lines of this file]" in prompt
    [note] = shop.acceptance["notes"]
    assert note.startswith("the reviewer did not see 3,0")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("%%%accepted", []),
        ("words\r\n%%%accepted \r\n%%%end\r\n", []),
        ("%%%objections\na.py: bad\n\n b: worse\n%%%end", ["a.py: bad", "b: worse"]),
        ("accepted", None),
        ("  %%%accepted", None),
        ("%%%accepted\n%%%accepted", None),
        ("%%%accepted\n%%%objections\na: b\n%%%end", None),
        ("%%%objections\na.py: bad\n", None),
        ("%%%objections\n%%%end", None),
        ("%%%objections\nno path\n%%%end", None),
        ("", None),
    ],
)
def test_a_verdict_has_one_form(text, verdict):
    assert read_verdict(text) == verdict


def test_a_reviewer_without_a_key_ends_the_run_before_the_first_call(shop):
    for settings, arguments in (("review = true", ()), ("review = false", ("--review",))):
        finished = shop.change(
            GOOD, settings=settings, arguments=arguments, providers='reviewer = "openai.default"\n'
        )
        assert finished.exit_code == 3, finished.stderr
        assert "asking scripted" not in finished.stderr
        assert "price / 5" not in shop.project.read("price.py")


def test_what_a_person_writes_in_a_placed_test_is_named_and_comes_back(shop):
    mine = FILES[TESTS] + "# mine\n"
    build = f'[ -z "$CODE_COMMIT_TESTS_OF_BEFORE" ] || echo "# mine" >>{TESTS}\n'
    shop.project.write({"build.sh": build})
    finished = shop.change(response({TESTS: WEAKER}))
    assert (finished.exit_code, shop.project.read(TESTS)) == (0, WEAKER)
    assert (
        f"moved back all the same: {TESTS}; `code-commit redo` brings that back" in finished.stderr
    )
    assert shop.project.command("redo").exit_code == 0
    assert shop.project.read(TESTS) == mine
