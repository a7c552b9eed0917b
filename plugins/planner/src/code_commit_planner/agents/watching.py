"""Let an agent work, and show the person what it says and does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from code_commit.plugin_api import Message, Run, count_of
from code_commit_planner.agents.display import (
    edit_line,
    last_output,
    text_lines,
    todo_lines,
    tool_line,
)
from code_commit_planner.agents.edits import Edit, with_edits
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.notices import TodosChanged, show
from code_commit_planner.plan_folder.todo import read_todos
from code_commit_toolbox.agent import run_agent
from code_commit_toolbox.outcome import AgentResult, CalledTool
from code_commit_toolbox.tool import Seen
from code_commit_toolbox.toolbox import Toolbox

_WRITES_TODOS = "todo_write"


def work(
    run: Run,
    toolbox: Toolbox,
    agent: str,
    *,
    allow: Sequence[str],
    system: str,
    prompt: str,
    shared: str = "",
    history: Sequence[Message] = (),
    seen: Seen | None = None,
    transcript: Path | None = None,
) -> AgentResult:
    """Let the model of the role `agent` work, and show its work; see `run_agent`.

    Raises:
        NotReady, LimitReached, ProviderFailed, ResponseRefused: as `run_agent`.
    """
    watch = _Watch(run, agent)
    with run.show_replies(agent):
        result = run_agent(
            run,
            run.model(agent),
            with_edits(toolbox, run, watch.edited),
            allow=allow,
            system=system,
            prompt=prompt,
            shared=shared,
            history=history,
            seen=seen,
            transcript=transcript,
            label=agent,
            on_call=watch.called,
            on_text=watch.said,
        )
    watch.ended(result)
    return result


@dataclass(slots=True)
class _Watch:
    """Shows the work of one agent.

    These are its calls, its todo list as it changes, its report, and why it ended.
    """

    run: Run
    agent: str
    todos: str = ""
    _edit: Edit | None = None
    _said: list[str] = field(default_factory=list)

    def said(self, text: str) -> None:
        """Remember the text of a reply, which the host has shown."""
        self._said.append(text.strip())

    def edited(self, edit: Edit) -> None:
        """Remember what the call changes that ends next."""
        self._edit = edit

    def called(self, called: CalledTool) -> None:
        """Show a call: what it changed, the end of a failed command, the todo list."""
        style = "red" if called.is_error else "dim"
        if self._edit is not None:
            self.run.say(edit_line(self.agent, self._edit), style)
            self._edit = None
            return
        self.run.say(tool_line(self.agent, called), style)
        if output := last_output(called):
            self.run.say(output, "dim")
        if called.name != _WRITES_TODOS or called.is_error:
            return
        text = str(called.given.get("content", ""))
        todos = read_todos(text)
        if text != self.todos and todos.all:
            self.todos = text
            self.run.emit(TodosChanged(self.agent, todos.ticked, todos.all, text))
            self.run.say(todo_lines(todos), "cyan")

    def ended(self, result: AgentResult) -> None:
        """Show the final text, unless it was shown already, and why the agent stopped."""
        text = result.text.strip()
        if text and text not in self._said:
            self.run.say(text_lines(self.agent, text, result.transcript.name))
        if result.finished:
            message, style = messages.AGENT_DONE, ""
        else:
            message, style = messages.AGENT_STOPPED, "yellow"
        show(
            self.run,
            message,
            style=style,
            agent=self.agent,
            replies=count_of(result.turns, "reply", "replies"),
            reason=result.end.value,
        )
