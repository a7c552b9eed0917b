"""Show the person what an agent says and does."""

from __future__ import annotations

from dataclasses import dataclass, field

from code_commit.plugin_api import Run
from code_commit_planner import messages
from code_commit_planner.display import text_lines, todo_lines, tool_line
from code_commit_planner.notices import TodosChanged, show
from code_commit_planner.prompts import filled
from code_commit_planner.todo import read_todos
from code_commit_toolbox.outcome import AgentResult, CalledTool

_WRITES_TODOS = "todo_write"


@dataclass(slots=True)
class Watch:
    """Shows the work of one agent: its words, a line for each call, the todo list as it changes, why it ended."""

    run: Run
    agent: str
    todos: str = ""
    _said: list[str] = field(default_factory=list)

    def says(self, text: str) -> None:
        """Show the text of a reply."""
        if text.strip():
            self._said.append(text.strip())
            self.run.say(text_lines(self.agent, text, f"{self.agent}-transcript.jsonl"))

    def called(self, called: CalledTool) -> None:
        """Show a call, and the todo list if the call changed it."""
        self.run.say(tool_line(self.agent, called))
        if called.name != _WRITES_TODOS or called.is_error:
            return
        text = str(called.given.get("content", ""))
        todos = read_todos(text)
        if text != self.todos and todos.all:
            self.todos = text
            self.run.emit(TodosChanged(self.agent, todos.all - len(todos.open), todos.all, text))
            self.run.say(todo_lines(todos))

    def ended(self, result: AgentResult) -> None:
        """Show the last words, unless they were shown already, and why the agent stopped."""
        if result.text.strip() not in self._said:
            self.says(result.text)
        message = messages.AGENT_DONE if result.finished else messages.AGENT_STOPPED
        replies = f"{result.turns} repl{'y' if result.turns == 1 else 'ies'}"
        show(self.run, filled(message, agent=self.agent, replies=replies, reason=result.end.value))
