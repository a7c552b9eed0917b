"""The workflow."""

from __future__ import annotations

from code_commit.plugin_api import Outcome, Result, Run


def advise(run: Run) -> Result:
    """Ask every advisor; the goal is reached when none has anything to say."""
    paths = run.files()
    told = [
        {"from": distribution, "advice": line}
        for distribution, advisor in run.collect("code_commit_advisors")
        for line in advisor(paths)
    ]
    for each in told:
        run.say(f"{each['from']}: {each['advice']}")
    outcome = Outcome.NOT_REACHED if told else Outcome.REACHED
    return Result(outcome, f"{len(told)} pieces of advice", {"advice": told})
