"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl

_MAX_TURNS = Flag(
    ("--max-turns",),
    "maximum turns, each reviewed by the coach (default 5)",
    metavar="N",
    for_programs=True,
)


@hookimpl
def code_commit_settings() -> str:
    """Return the path of the settings class of `[plugins.planner]`."""
    return "code_commit_planner.settings:PlannerSettings"


@hookimpl
def code_commit_workflows() -> list[WorkflowDefinition]:
    """Return planning, autonomous mode and chat."""
    return [
        WorkflowDefinition(
            name="planning",
            help=(
                "refine requirements with a model, let a coach and a player implement them, commit"
            ),
            flags=(
                Flag(("--planning",), "plan with you, in the folder g3-plan", selects=True),
                Flag(
                    ("--codepath",),
                    "the codebase; planning asks if it is missing",
                    metavar="PATH",
                ),
                Flag(("--no-git",), "do not use git: no checks, no staging, no commit"),
                _MAX_TURNS,
            ),
            run="code_commit_planner.session.planning:run_plan",
            roles=("planner", "coach", "player"),
            optional_roles=("reviewer",),
            accepts="acceptance",
            options="code_commit_planner.settings:PlanningOptions",
            root="code_commit_planner.start.codepath:choose_codepath",
            continues="`code-commit --planning --codepath=.` continues",
            ignores=("--task", "--task-file"),
            no_repository=("no_git",),
            interactive=True,
            reports_progress=True,
        ),
        WorkflowDefinition(
            name="autonomous",
            help="let a coach and a player implement requirements.md, without a person",
            flags=(
                Flag(
                    ("--autonomous", "--auto"),
                    "implement requirements.md without questions",
                    selects=True,
                    for_programs=True,
                ),
                _MAX_TURNS,
            ),
            run="code_commit_planner.session.autonomous:build_alone",
            roles=("coach", "player"),
            optional_roles=("reviewer",),
            accepts="acceptance",
            options="code_commit_planner.settings:AutonomousOptions",
            continues="`code-commit --autonomous` continues",
            reports_progress=True,
        ),
        WorkflowDefinition(
            name="chat",
            help="work with a player; you are the coach",
            flags=(Flag(("--chat",), "describe the work, review the results", selects=True),),
            run="code_commit_planner.session.chat:chat",
            roles=("player",),
            continues="`code-commit --chat` continues the conversation",
            interactive=True,
            reports_progress=True,
        ),
    ]
