"""The guard with the rules of plugins."""

from __future__ import annotations

import pytest

from code_commit_workspace.errors import Interrupted
from code_commit_workspace.records import Change, Refusal


def write(*paths):
    return [Change(path, b"new\n") for path in paths]


class Says:
    """A rule that gives or raises `answer`, and remembers the paths that it was asked about."""

    name = "says"

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def judge(self, changes, tree):
        self.asked.append([change.path for change in changes])
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def test_a_plugins_rule_refuses_in_addition(guard):
    rule = Says([Refusal("a", "says", "No.", then="repair")])
    assert guard.check(write("./a", "build.sh", "b"), [("some-plugin", rule)]) == (
        Refusal("./a", "says", "No.", then="repair", plugin="some-plugin"),
        Refusal("build.sh", "protected", "Responses cannot change it."),
    )
    assert rule.asked == [["a", "b"]]


@pytest.mark.parametrize("nothing", [(), [], iter(())])
def test_a_plugins_rule_allows_by_refusing_nothing(guard, nothing):
    assert not guard.check(write("a"), [("some-plugin", Says(nothing))])


def test_a_plugins_rule_refuses_the_whole_change_set(guard):
    rule = Says(
        [
            Refusal("b", "says", "Not this one."),
            Refusal("", "says", "Too many files.", then="repair"),
        ]
    )
    assert guard.check(write("a", "b"), [("some-plugin", rule)]) == (
        Refusal("", "says", "Too many files.", then="repair", plugin="some-plugin"),
        Refusal("b", "says", "Not this one.", plugin="some-plugin"),
    )


def test_a_refusal_reads_like_a_line_about_its_path():
    assert str(Refusal("a", "says", "No.")) == "a: No."
    assert str(Refusal("", "says", "Too many files.")) == "Too many files."


def _fails_halfway():
    yield Refusal("a", "says", "No.")
    raise ValueError("halfway")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (ValueError("odd\x1b[2J"), "failed with"),
        (SystemExit(0), "failed with 'SystemExit: 0'"),
        (RecursionError(), "failed with 'RecursionError'"),
        (_fails_halfway(), "failed with 'ValueError: halfway'"),
        (None, "returned NoneType"),
        (True, "returned bool"),
        ("fine", "returned str"),
        (Refusal("a", "says", "No."), "returned Refusal"),
        ([None], "returned NoneType as a refusal"),
        ([Refusal("a", "says", None)], "whose fields are not text"),
        ([Refusal("a", "says", "No.", hint=1)], "whose fields are not text"),
        ([Refusal("a", "", "No.")], "a refusal with an empty `rule`"),
        ([Refusal("a", "says", " ")], "a refusal with an empty `reason`"),
        (
            [Refusal("a", "says", "No.", then="allow")],
            "a refusal whose `then` is 'allow', not 'stop', 'repair' or 'warn'",
        ),
        ([Refusal("a", "says", "No.", then=["stop"])], "a refusal whose `then` is"),
        (
            [Refusal("elsewhere", "says", "No.")],
            "refused 'elsewhere', which is not among the changes",
        ),
        ([Refusal("./a", "says", "No.")], "refused './a', which is not among the changes"),
    ],
)
def test_a_plugins_rule_that_fails_refuses_everything_and_is_named(guard, answer, problem):
    broken, sound = Says(answer), Says([])
    (refusal,) = guard.check(write("a", "b"), [("some-plugin", broken), ("other", sound)])
    assert (refusal.path, refusal.rule, refusal.then, refusal.plugin) == (
        "",
        "plugin",
        "stop",
        "some-plugin",
    )
    assert refusal.reason.startswith("The rule 'says' of some-plugin ")
    assert problem in refusal.reason
    assert refusal.reason.isprintable()
    assert sound.asked == [["a", "b"]]
    traces = [True] if problem.startswith("failed") else []
    assert [trace.startswith("Traceback") for trace in guard.traces] == traces


async def _later():
    return []


async def _one_by_one():
    yield Refusal("a", "says", "No.")


@pytest.mark.parametrize(
    ("make", "returned"), [(_later, "coroutine"), (_one_by_one, "async_generator")]
)
def test_an_async_rule_refuses_everything_and_is_named(guard, make, returned):
    answer = make()
    (refusal,) = guard.check(write("a"), [("some-plugin", Says(answer))])
    if returned == "coroutine":
        answer.close()  # else Python warns that nobody has awaited it
    assert (refusal.path, refusal.rule) == ("", "plugin")
    assert f"The rule 'says' of some-plugin returned {returned}, so" in refusal.reason


@pytest.mark.parametrize("error", [KeyboardInterrupt, Interrupted("ended")])
def test_ctrl_c_in_a_plugins_rule_is_no_verdict(guard, error):
    with pytest.raises(type(error) if isinstance(error, Interrupted) else error):
        guard.check(
            write("a"), [("some-plugin", Says(error() if error is KeyboardInterrupt else error))]
        )


def test_a_plugins_rule_sees_the_tree_before_the_change(guard, root):
    for path in ("a", "src/b", "src/deep/c", "agent-config/openai-key.txt", "out.o"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x\n")
    (root / ".gitignore").write_text("*.o\n")
    seen = []

    class Looks:
        name = "looks"

        def judge(self, changes, tree):
            seen.append([(change.content, tree.read(change.path)) for change in changes])
            seen.append(tree.list())
            seen.append(tree.list(["src/"], recursive=False))
            seen.append(list(tree.contents(tree.list(["src/"]), 10)))
            return ()

    guard.check(write("a"), [("some-plugin", Looks())])
    assert seen == [
        [(b"new\n", b"x\n")],
        (".gitignore", "a", "src/b", "src/deep/c"),
        ("src/b",),
        [("src/b", b"x\n"), ("src/deep/c", b"x\n")],
    ]


def test_a_plugins_rule_is_not_asked_about_nothing(guard):
    rule = Says([])
    guard.check(write("build.sh"), [("some-plugin", rule)])
    assert rule.asked == []
