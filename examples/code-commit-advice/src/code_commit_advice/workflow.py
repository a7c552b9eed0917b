"""The workflow."""

from __future__ import annotations

from code_commit.plugin_api import Outcome, Result, Run


def advise(run: Run) -> Result:
    """Call every advisor; the goal is reached if none returns advice."""
    paths = run.files()
    collected = [
        {"from": distribution, "advice": line}
        for distribution, advisor in run.collect("code_commit_advisors")
        for line in advisor(paths)
    ]
    for row in collected:
        run.say(f"{row['from']}: {row['advice']}")
    outcome = Outcome.NOT_REACHED if collected else Outcome.REACHED
    return Result(outcome, f"pieces of advice: {len(collected)}", {"advice": collected})
