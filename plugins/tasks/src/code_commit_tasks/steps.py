"""Run the steps of a task in order, each with its own agent and exit requirement.

Steps may contain steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from code_commit.plugin_api import LimitReached, MessageLogged, ProviderFailed, Run, count_of
from code_commit_tasks.agent import Agent, Answer, AttemptFailed, AttemptFiles
from code_commit_tasks.events import AttemptJudged, StepEnded, TaskDivided
from code_commit_tasks.prompts import Failure, describe_requirement, step_prompt, task_prompt
from code_commit_tasks.requirements import Requirements
from code_commit_tasks.settings import TasksSettings
from code_commit_tasks.step_context import sections
from code_commit_tasks.task_list import TaskList
from code_commit_tasks.tree import Attempt, Node, indent
from code_commit_toolbox.shortening import head_and_tail

_UNREACHED = "the model could not be reached"
_REASON_SHOWN = 300  # characters of a reason in messages


class StepFailed(Exception):  # noqa: N818 - the name of an event
    """All attempts at a step failed. `malformed` is that of the last `AttemptFailed`."""

    def __init__(self, node: Node, reason: str, *, malformed: bool) -> None:
        super().__init__(reason)
        self.node = node
        self.malformed = malformed


class _ListFailed(AttemptFailed):
    """A step of the answer's list failed finally."""

    def __init__(self, failed: StepFailed, code: str) -> None:
        node = failed.node
        super().__init__(f"Step {node.place} ({node.title}) failed: {failed}", code=code)
        self.failed = failed


class _LimitExceeded(AttemptFailed):
    """The answer exceeds a limit.

    The next attempt gets the reason; after the last one, the task ends.
    """


@dataclass(slots=True)
class Steps:
    """A running task.

    `save` is called whenever the tree changes; `earlier` is whether the tree is from another run.

    `build` checks the project when the task is done: it returns why the build is red, or "".
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
        for number in range(1, self.settings.attempts + 1):
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
                last: Exception = failed
            except ProviderFailed as failed:
                if not failed.may_pass:
                    raise
                # The host shows the message.
                self._record(node, attempt, f"{_UNREACHED}: {failed.message}", shown=_UNREACHED)
                last = failed
            else:
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
                return result
            if not node.place and isinstance(last, _ListFailed):
                break  # do not restart the task in a partially changed project
        raise self._final_error(node, last)

    def _final_error(self, node: Node, last: Exception) -> Exception:
        """Return the exception to raise after the last attempt failed with `last`."""
        self.run.emit(
            StepEnded(step=node.place, title=node.title, passed=False, attempts=len(node.attempts))
        )
        match last:
            case ProviderFailed():
                return last
            case _ListFailed(failed=failed) if not node.place:
                return failed
            case _LimitExceeded():
                return LimitReached(
                    str(last), hint="raise the limit in [plugins.tasks], or make the task smaller"
                )
        malformed = isinstance(last, AttemptFailed) and last.malformed
        return StepFailed(node, str(last), malformed=malformed)

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
        answer = self._answer(node, attempt, before, part_of, failure)
        if isinstance(answer.value, TaskList):
            self._divide(node, answer.value, answer)
            result = self._run_list(node, answer.code)
        else:
            result = answer.value
        self._require_met(node, result, answer)
        return result

    def _resume(self, node: Node) -> str:
        """Continue the steps of an earlier run, as `_attempt` does with those of a new answer."""
        self.agent.seconds_left()
        result = self._run_list(node, "") if node.steps else node.result or ""
        self._require_met(node, result, Answer("", "", ""))
        return result

    def _require_met(self, node: Node, result: str, answer: Answer) -> None:
        """Check the exit requirement of a step, or the build of the whole task."""
        if node.step and (reason := self.requirements.unmet(node.step.exit_requirement, result)):
            output = f"returned: {result}"
            if answer.output:
                output = f"{answer.output}\n{output}"
            raise AttemptFailed(
                f"The exit requirement is not met. {reason}", code=answer.code, output=output
            )
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
        node.steps = []
        node.list_title = ""
        if node.step is None:
            prompt = task_prompt(self.description, failure, self.run.token)
        else:
            results = [(previous.title, previous.result or "") for previous in before]
            limit = self.settings.context_limit
            context = sections(self.run, node.step.context, results, limit=limit)
            prompt = step_prompt(node.step, part_of, context, failure, self.run.token)
        files = AttemptFiles()
        try:
            name = node.name_of(attempt)
            return self.agent.attempt(
                prompt,
                place=node.place,
                name=name,
                number=attempt.number,
                files=files,
            )
        finally:
            attempt.code = files.code
            attempt.log = files.log

    def _divide(self, node: Node, steps: TaskList, answer: Answer) -> None:
        """Accept a list as the parts of `node`."""
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
        self.listed += len(steps.steps)
        node.list_title = steps.title
        node.steps = [node.child(number, step) for number, step in enumerate(steps.steps, 1)]
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
                raise _ListFailed(failed, code) from None
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
