"""Run the steps of a task in order, each with its own agent and exit requirement.

Steps may contain steps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from code_commit.plugin_api import LimitReached, MessageLogged, ProviderFailed, Run, count_of
from code_commit_tasks.agent import Agent, Answer, AttemptFailed, AttemptFiles
from code_commit_tasks.events import AttemptJudged, StepEnded, TaskDivided
from code_commit_tasks.prompts import Failure, describe_requirement, step_prompt, task_prompt
from code_commit_tasks.requirements import Requirements, Unmet
from code_commit_tasks.settings import TasksSettings
from code_commit_tasks.step_context import sections
from code_commit_tasks.task_list import TaskList
from code_commit_tasks.tree import Attempt, Node, indent
from code_commit_toolbox.shortening import head_and_tail
from code_commit_toolbox.tool import ToolContext

_UNREACHED = "the model could not be reached"
_REASON_SHOWN = 300  # characters of a reason in messages
_DONE = "these are not done again, because they have passed."


class StepFailed(Exception):  # noqa: N818 - the name of an event
    """A step failed finally. `last` is why its last attempt failed."""

    def __init__(self, node: Node, last: AttemptFailed) -> None:
        super().__init__(str(last))
        self.node = node
        self.last = last


class _RequirementUnmet(AttemptFailed):
    """The exit requirement is not met. If it `is_wrong`, no other attempt can meet it."""

    def __init__(self, unmet: Unmet, code: str, output: str) -> None:
        reason = f"The exit requirement is not met. {unmet.reason}"
        super().__init__(reason, code=code, output=output)
        self.is_wrong = unmet.is_wrong


class _ListFailed(AttemptFailed):
    """A step of the answer's list failed finally; steps before it passed."""

    def __init__(self, failed: StepFailed, code: str, passed: int) -> None:
        node = failed.node
        lines = [f"Step {node.place} ({node.title}) failed: {failed}"]
        self.is_unmet = isinstance(failed.last, _RequirementUnmet)
        if isinstance(failed.last, _RequirementUnmet) and failed.last.is_wrong:
            lines.append("No work on the step can meet this requirement: correct it.")
        if passed:
            first = count_of(passed, "step")
            lines.append(f"If your new list begins with the first {first}, unchanged, {_DONE}")
        super().__init__("\n".join(lines), code=code)
        self.failed = failed


class _LimitExceeded(AttemptFailed):
    """The answer exceeds a limit.

    The next attempt gets the reason; after the last one, the task ends.
    """


@dataclass(slots=True)
class Steps:
    """A running task.

    `save` is called whenever the tree changes; `earlier` is whether the tree is from another run.

    `build` checks the result when the task is done: it returns why it does not stand, or "".
    """

    run: Run
    agent: Agent
    requirements: Requirements
    settings: TasksSettings
    description: str = field(repr=False)
    save: Callable[[], None]
    build: Callable[[], str] = str
    earlier: bool = False
    listed: int = 0  # steps of all lists so far

    def result_of(self, node: Node, before: Sequence[Node] = (), part_of: str = "") -> str:
        """Perform the step `node` and return its result.

        `before` are the previous steps of its list.

        Raises:
            StepFailed: all its attempts failed.
            LimitReached: a limit of the task was reached.
            ProjectTampered, CodeCommitError: as `Agent.attempt`.
        """
        with self.run.span("tasks.step", step=node.place, title=node.title):
            if node.step:
                self._log(node, f"{node.place} {node.title} ({node.step.step_type})")
            if not (node.passed and self._still_passes(node)):
                return self._make_attempts(node, before, part_of)
            result = node.result or ""
            self.run.emit(
                StepEnded(
                    step=node.place,
                    title=node.title,
                    passed=True,
                    attempts=0,
                    characters=len(result),
                    earlier=True,
                )
            )
            self._log(node, "   passed earlier")
            return result

    def _make_attempts(self, node: Node, before: Sequence[Node], part_of: str) -> str:
        # An earlier run may have set these. A task that lacks only a green build keeps its result.
        has_result = node.result is not None and not node.place
        node.passed = False
        if not has_result:
            node.result = None
        resumed = (bool(node.steps) or has_result) and self.earlier
        failure: Failure | None = None
        most = self.settings.attempts
        corrects = False  # whether this attempt corrects a list
        number = 0
        while number < most:
            number += 1
            attempt = Attempt(len(node.attempts) + 1)
            node.attempts.append(attempt)
            try:
                with self.run.span("tasks.attempt", step=node.place, number=attempt.number):
                    if resumed and number == 1:
                        result = self._resume(node)
                    else:
                        result = self._attempt(node, attempt, before, part_of, failure)
            except AttemptFailed as failed:
                failure = Failure(str(failed), failed.code, failed.output)
                self._record(node, attempt, str(failed))
                self.agent.seconds_left()  # a check may have used up the time
                last = failed
            else:
                self._pass(node, attempt, result, number)
                return result
            if _is_final(node, last, corrects=corrects):
                break
            corrects = isinstance(last, _ListFailed)
            if resumed and number == 1 and not corrects:
                most += 1  # it took no call
        raise self._final_error(node, last)

    def _pass(self, node: Node, attempt: Attempt, result: str, number: int) -> None:
        """Record that an attempt passed, the `number`th of this run."""
        node.passed = True
        node.result = result
        self._record(node, attempt, "")
        self.run.emit(
            StepEnded(
                step=node.place,
                title=node.title,
                passed=True,
                attempts=number,
                characters=len(result),
            )
        )

    def _final_error(self, node: Node, last: AttemptFailed) -> Exception:
        """Return the exception to raise after the last attempt failed with `last`."""
        self.run.emit(
            StepEnded(step=node.place, title=node.title, passed=False, attempts=len(node.attempts))
        )
        match last:
            case _ListFailed(failed=failed) if not node.place:
                return failed
            case _LimitExceeded():
                return LimitReached(
                    str(last), hint="raise the limit in [plugins.tasks], or make the task smaller"
                )
        return StepFailed(node, last)

    def _attempt(
        self,
        node: Node,
        attempt: Attempt,
        before: Sequence[Node],
        part_of: str,
        failure: Failure | None,
    ) -> str:
        """Make one attempt; return a result that meets the exit requirement, if any.

        Raises:
            AttemptFailed: with the reason, for the next attempt, and this one's output.
        """
        self.agent.seconds_left()  # raises if no time is left
        try:
            answer = self._answer(node, attempt, before, part_of, failure)
        except ProviderFailed as failed:
            if failed.may_pass:  # the host shows the message, and --resume continues
                self._record(node, attempt, f"{_UNREACHED}: {failed.message}", _UNREACHED)
            raise
        passed_steps = _passed_before_failure(node)
        node.steps = []
        node.list_title = ""
        if isinstance(answer.value, TaskList):
            self._divide(node, answer.value, answer, passed_steps)
            result = self._run_list(node, answer.code)
        else:
            result = answer.value
        self._require_met(node, result, answer)
        return result

    def _resume(self, node: Node) -> str:
        """Continue the steps of an earlier run, as `_attempt` does with those of a new answer."""
        self.agent.seconds_left()
        result = node.result or ""
        if node.steps:
            result = self._run_list(node, _list_of(node))
        self._require_met(node, result, Answer("", "", ""))
        return result

    def _require_met(self, node: Node, result: str, answer: Answer) -> None:
        """Check the exit requirement of a step, or the build of the whole task."""
        if node.step and (unmet := self.requirements.unmet(node.step.exit_requirement, result)):
            output = f"returned: {result}"
            if answer.output:
                output = f"{answer.output}\n{output}"
            raise _RequirementUnmet(unmet, answer.code, output)
        if not node.place and (reason := self.build()):
            node.result = result
            raise AttemptFailed(reason, code=answer.code, output=f"returned: {result}")

    def _answer(
        self,
        node: Node,
        attempt: Attempt,
        before: Sequence[Node],
        part_of: str,
        failure: Failure | None,
    ) -> Answer:
        tools = ToolContext(self.run, self.agent.deadline)
        if node.step is None:
            prompt = task_prompt(self.description, failure, self.run.token)
        else:
            results = [(previous.title, previous.result or "") for previous in before]
            limit = self.settings.context_limit
            context = sections(tools, node.step.context, results, limit=limit)
            prompt = step_prompt(node.step, part_of, context, failure, self.run.token)
        files = AttemptFiles()
        try:
            name = node.name_of(attempt)
            return self.agent.attempt(
                prompt,
                tools,
                place=node.place,
                name=name,
                number=attempt.number,
                files=files,
            )
        finally:
            attempt.code = files.code
            attempt.log = files.log

    def _divide(
        self,
        node: Node,
        steps: TaskList,
        answer: Answer,
        passed_steps: Sequence[Node],
    ) -> None:
        """Accept a list as the parts of `node`. Keep `passed_steps` with which it begins."""
        depth = self.settings.max_depth
        if node.depth >= depth:
            raise _LimitExceeded(
                f"Lists of steps may be nested {depth} deep, and this one is deeper. "
                "Do it directly: return a string.",
                code=answer.code,
            )
        left = self.settings.max_steps - self.listed
        if len(steps.steps) > left:
            raise _LimitExceeded(
                f"The list has {count_of(len(steps.steps), 'step')}; of the "
                f"{count_of(self.settings.max_steps, 'step')} of this task, {left} are left. "
                "Use larger steps, or do it directly.",
                code=answer.code,
            )
        if reason := self.requirements.problem(steps):
            raise AttemptFailed(reason, code=answer.code, output=answer.output)
        node.list_title = steps.title
        node.steps = [node.child(number, step) for number, step in enumerate(steps.steps, 1)]
        for index, (passed_step, child) in enumerate(zip(passed_steps, node.steps, strict=False)):
            if passed_step.step != child.step:
                break
            node.steps[index] = passed_step
        self.listed += sum(not child.passed for child in node.steps)
        if answer.note:
            self._log(node, f"   {answer.note}")
        rows = tuple(
            {
                "step": child.place,
                "title": step.title,
                "step_type": step.step_type,
                "exit_requirement": step.exit_requirement.model_dump(mode="json"),
                "verifies": describe_requirement(step.exit_requirement),
            }
            for child, step in zip(node.steps, steps.steps, strict=True)
        )
        self.run.emit(TaskDivided(node.place, steps.title, rows))
        self.save()

    def _run_list(self, node: Node, code: str) -> str:
        """Perform the steps of `node`, and return their results as its own."""
        count = len(node.steps)
        for index, child in enumerate(node.steps):
            part_of = f"Step {index + 1} of {count} of: {node.list_title}"
            try:
                self.result_of(child, node.steps[:index], part_of)
            except StepFailed as failed:
                raise _ListFailed(failed, code, index) from None
        results = [f"{child.place} {child.title}\n{child.result}" for child in node.steps]
        return head_and_tail("\n\n".join(results), self.settings.result_limit)

    def _still_passes(self, node: Node) -> bool:
        """Return whether a step of an earlier run still passes: the project may have changed."""
        if node.step is None or node.result is None:
            return False
        return not self.requirements.unmet(node.step.exit_requirement, node.result)

    def _record(self, node: Node, attempt: Attempt, reason: str, shown: str = "") -> None:
        attempt.passed = not reason
        attempt.reason = reason
        self.run.emit(AttemptJudged(node.place, attempt.number, attempt.passed, reason))
        if reason:
            shown = shown or reason[:_REASON_SHOWN]
            self._log(node, f"   attempt {attempt.number} failed: {shown}")
        elif node.place:
            self._log(node, "   passed")
        self.save()

    def _log(self, node: Node, words: str) -> None:
        branch = indent(node)
        if words.startswith(" "):
            branch = branch.replace("├─", "│ ")
        self.run.emit(MessageLogged(branch + words))


def _is_final(node: Node, last: AttemptFailed, *, corrects: bool) -> bool:
    """Return whether no other attempt may follow. `corrects` is whether the last was a correction.

    An unmet requirement goes back once to who wrote it. Apart from that, the task is not restarted
    in a partially changed project.
    """
    match last:
        case _ListFailed(is_unmet=True):
            return corrects
        case _ListFailed():
            return not node.place
        case _RequirementUnmet(is_wrong=is_wrong):
            return is_wrong
    return False


def _passed_before_failure(node: Node) -> list[Node]:
    """Return the first steps of the last list, which passed, if a later one did not."""
    passed = list(takewhile(lambda child: child.passed, node.steps))
    return passed if len(passed) < len(node.steps) else []


def _list_of(node: Node) -> str:
    """Return the list of a node as JSON, for a list whose code an earlier run has."""
    steps = [child.step.model_dump(mode="json") for child in node.steps if child.step]
    return json.dumps({"title": node.list_title, "steps": steps}, indent=2, ensure_ascii=False)
