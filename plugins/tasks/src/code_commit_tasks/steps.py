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
        self.node, self.malformed = node, malformed


class _ListFailed(AttemptFailed):
    """A step of the answer's list failed finally."""

    def __init__(self, failed: StepFailed, code: str) -> None:
        super().__init__(
            f"Step {failed.node.place} ({failed.node.title}) failed: {failed}", code=code
        )
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
            if node.place:
                self._log(
                    node, f"{node.place} {node.title} ({node.step.step_type if node.step else ''})"
                )
            if node.passed and self._still_passes(node):
                self.run.emit(
                    StepEnded(node.place, node.title, True, 0, len(node.result or ""), earlier=True)
                )
                self._log(node, "   passed earlier")
                return node.result or ""
            return self._make_attempts(node, before, part_of)

    def _make_attempts(self, node: Node, before: Sequence[Node], part_of: str) -> str:
        # An earlier run may have set them. A task that is done except for a red build keeps its
        # result.
        done = node.result is not None and not node.place
        node.passed, node.result = False, node.result if done else None
        resumed = (bool(node.steps) or done) and self.earlier
        first = len(node.attempts) + 1
        failure: Failure | None = None
        for number in range(1, self.settings.attempts + 1):
            attempt = Attempt(first + number - 1)
            node.attempts.append(attempt)
            try:
                with self.run.span("tasks.attempt", step=node.place, number=attempt.number):
                    result = self._attempt(
                        node, attempt, before, part_of, failure, resumed=resumed and number == 1
                    )
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
                node.passed, node.result = True, result
                self._record(node, attempt, "")
                self.run.emit(StepEnded(node.place, node.title, True, number, len(result)))
                return result
            if not node.place and isinstance(last, _ListFailed):
                break  # do not restart the task in a partially changed project
        raise self._final_error(node, last)

    def _final_error(self, node: Node, last: Exception) -> Exception:
        """Return the exception to raise after the last attempt failed with `last`."""
        self.run.emit(StepEnded(node.place, node.title, False, len(node.attempts)))
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
        *,
        resumed: bool,
    ) -> str:
        """Make one attempt; return a result that meets the exit requirement, if any.

        Raises:
            AttemptFailed: with the reason, for the next attempt, and this one's output.
        """
        self.agent.seconds_left()  # raises if no time is left
        if resumed:
            answer = Answer("", "", "")
            result = self._run_list(node, answer) if node.steps else node.result or ""
        else:
            answer = self._answer(node, attempt, before, part_of, failure)
            if isinstance(answer.value, TaskList):
                self._divide(node, answer.value, answer)
                result = self._run_list(node, answer)
            else:
                result = answer.value
        if node.step and (reason := self.requirements.unmet(node.step.exit_requirement, result)):
            output = "\n".join(piece for piece in (answer.output, f"returned: {result}") if piece)
            raise AttemptFailed(
                f"The exit requirement is not met. {reason}", code=answer.code, output=output
            )
        if not node.place and (reason := self.build()):
            node.result = result
            raise AttemptFailed(reason, code=answer.code, output=f"returned: {result}")
        return result

    def _answer(
        self,
        node: Node,
        attempt: Attempt,
        before: Sequence[Node],
        part_of: str,
        failure: Failure | None,
    ) -> Answer:
        node.steps, node.list_title = [], ""
        if node.step is None:
            prompt = task_prompt(self.description, failure, self.run.token)
        else:
            results = [(each.title, each.result or "") for each in before]
            context = sections(
                self.run, node.step.context, results, limit=self.settings.context_limit
            )
            prompt = step_prompt(node.step, part_of, context, failure, self.run.token)
        files = AttemptFiles()
        try:
            name = node.name_of(attempt)
            return self.agent.attempt(
                prompt, place=node.place, name=name, number=attempt.number, files=files
            )
        finally:
            attempt.code, attempt.log = files.code, files.log

    def _divide(self, node: Node, steps: TaskList, answer: Answer) -> None:
        """Accept a list as the parts of `node`."""
        depth, left = node.depth + 1, self.settings.max_steps - self.listed
        if depth > self.settings.max_depth:
            raise _LimitExceeded(
                f"Lists of steps may be nested {self.settings.max_depth} deep, and this one is deeper. "
                "Do it directly: return a string.",
                code=answer.code,
            )
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
                "step": each.place,
                "title": step.title,
                "step_type": step.step_type,
                "exit_requirement": step.exit_requirement.model_dump(mode="json"),
                "verifies": describe_requirement(step.exit_requirement),
            }
            for each, step in zip(node.steps, steps.steps, strict=True)
        )
        self.run.emit(TaskDivided(node.place, steps.title, rows))
        self.save()

    def _run_list(self, node: Node, answer: Answer) -> str:
        """Perform the steps of `node`, and return their results as its own."""
        count = len(node.steps)
        for index, each in enumerate(node.steps):
            part_of = f"Step {index + 1} of {count} of: {node.list_title}"
            try:
                self.result_of(each, node.steps[:index], part_of)
            except StepFailed as failed:
                raise _ListFailed(failed, answer.code) from None
        results = "\n\n".join(f"{each.place} {each.title}\n{each.result}" for each in node.steps)
        return head_and_tail(results, self.settings.result_limit)

    def _still_passes(self, node: Node) -> bool:
        """Return whether a step of an earlier run still passes: the project may have changed."""
        if node.step is None or node.result is None:
            return False
        return not self.requirements.unmet(node.step.exit_requirement, node.result)

    def _record(self, node: Node, attempt: Attempt, reason: str, shown: str = "") -> None:
        attempt.passed, attempt.reason = not reason, reason
        self.run.emit(AttemptJudged(node.place, attempt.number, attempt.passed, reason))
        if reason:
            self._log(
                node, f"   attempt {attempt.number} failed: {shown or reason[:_REASON_SHOWN]}"
            )
        elif node.place:
            self._log(node, "   passed")
        self.save()

    def _log(self, node: Node, words: str) -> None:
        branch = indent(node) if not words.startswith(" ") else indent(node).replace("├─", "│ ")
        self.run.emit(MessageLogged(branch + words))
