"""Definitions that the host loads at every start. Import nothing heavy here."""

from __future__ import annotations

from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl

_MAX_TURNS = Flag(("--max-turns",), "turns of the player, each judged by the coach (default 5)", metavar="N")


@hookimpl
def code_commit_settings() -> str:
    """Return the path of the settings class of `[plugins.planner]`."""
    return "code_commit_planner.settings:PlannerSettings"


@hookimpl
def code_commit_workflows() -> list[WorkflowDefinition]:
    """Return planning (seed 003), autonomous mode and chat."""
    return [
        WorkflowDefinition(
            name="planning",
            help="refine requirements with a model, have them built by a coach and a player, commit",
            flags=(
                Flag(("--planning",), "plan with you, in the folder g3-plan", selects=True),
                Flag(("--codepath",), "the codebase; asked for where it is not given", metavar="PATH"),
                Flag(("--no-git",), "leave git alone: no checks, no staging, no commit"),
                _MAX_TURNS,
            ),
            run="code_commit_planner.planning:plan",
            roles=("planner", "coach", "player"),
            options="code_commit_planner.options:PlanningOptions",
            root="code_commit_planner.codepath:choose_codepath",
            ignores=("--task",),
            no_repository=("no_git",),
            interactive=True,
            reports_progress=True,
        ),
        WorkflowDefinition(
            name="autonomous",
            help="have requirements.md built by a coach and a player, without a person",
            flags=(
                Flag(("--autonomous", "--auto"), "have requirements.md built; nobody is asked", selects=True),
                _MAX_TURNS,
            ),
            run="code_commit_planner.autonomous:build_alone",
            roles=("coach", "player"),
            options="code_commit_planner.options:AutonomousOptions",
            reports_progress=True,
        ),
        WorkflowDefinition(
            name="chat",
            help="have a player build what a person says, who judges each turn",
            flags=(Flag(("--chat",), "say what is to be done, judge what was done", selects=True),),
            run="code_commit_planner.chat:chat",
            roles=("player",),
            interactive=True,
            reports_progress=True,
        ),
    ]
