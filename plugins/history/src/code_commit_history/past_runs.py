"""Earlier runs: their calls, processes, costs and changes."""

from code_commit_history.changes import Step, steps_of, whole_change
from code_commit_history.cost import Cost
from code_commit_history.story import Applied, Call, Process, Story, read_story

__all__ = ["Applied", "Call", "Cost", "Process", "Step", "Story", "read_story", "steps_of", "whole_change"]
