"""The page of a fleet: models side by side, causes of failures, and every unit with a link."""

from __future__ import annotations

import html
import json
import math
import random
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from code_commit.plugin_api import Usage
from code_commit_fleet.comparison import Sample, price_of_success, success_rate
from code_commit_testing import Reply


def cells(page: str, table: str) -> list[list[str]]:
    """Return the rows of a table as text."""
    start = page.index(f'id="{table}"')
    body = page[page.index("<tbody>", start) : page.index("</tbody>", start)]
    rows = [
        re.findall(r"<td.*?</td>", row, re.DOTALL)
        for row in re.findall(r"<tr>.*?</tr>", body, re.DOTALL)
    ]
    plain = re.compile(r"<title>.*?</title>|<[^>]*>", re.DOTALL)
    return [[" ".join(html.unescape(plain.sub(" ", cell)).split()) for cell in row] for row in rows]


def page_of(fleet) -> str:
    return (fleet.folder / "fleet.fleet/report.html").read_text("utf-8")


def test_a_run_writes_the_page(fleet) -> None:
    fleet.repositories("one", "two", "three")
    fleet.write("one", "two", "three", head='models = ["gpt-4.1", "gpt-4.1-mini"]')

    def answer(request) -> Reply:
        good = request.model == "gpt-4.1"
        return Reply(
            "^^^a.txt\nnew\n^^^end\n" if good else "^^^a.txt\nworse\n^^^end\n",
            usage=Usage(1000, 100),
        )

    fleet.server.script(*[answer] * 6)
    fleet.run("--workers", "3")
    page = page_of(fleet)
    assert "<script" not in page
    models = {row[0]: row for row in cells(page, "models")}
    assert models["gpt-4.1"][1:4] == ["3 reached", "3 of 3", "100% (44% to 100%)"]
    assert models["gpt-4.1-mini"][1].startswith("3 not_reached")
    assert models["gpt-4.1-mini"][4] == "-"
    # 1,000 tokens in at $2 and 100 out at $8 for a million
    assert models["gpt-4.1"][4].startswith("$0.0028")
    ((count, cause, where),) = cells(page, "failures")
    assert (count, cause) == ("3", "error: no new")
    assert where == "one gpt-4.1-mini , two gpt-4.1-mini , three gpt-4.1-mini"
    rows = cells(page, "repositories")
    assert [row[:2] for row in rows] == [
        ["one", "reached"],
        ["two", "reached"],
        ["three", "reached"],
    ]
    for link in re.findall(r'href="(units/[^"]*)"', page):
        assert (fleet.folder / "fleet.fleet" / link).is_file(), link


def test_the_page_shows_what_waits_after_a_pilot(fleet) -> None:
    fleet.repositories("one", "two")
    fleet.write("one", "two", head="pilot = 1")
    fleet.server.script(fleet.bad)
    fleet.run()
    assert [row[:2] for row in cells(page_of(fleet), "repositories")] == [
        ["one", "not_reached"],
        ["two", "waiting"],
    ]


def test_report_writes_the_page_again(fleet) -> None:
    fleet.repositories("one")
    fleet.write("one")
    assert fleet.command("report", "fleet.toml").exit_code == 3
    fleet.server.script(fleet.good)
    fleet.run()
    (fleet.folder / "fleet.fleet/report.html").unlink()
    finished = fleet.command("report")
    assert (finished.exit_code, finished.stdout.strip()) == (
        0,
        str(fleet.folder / "fleet.fleet/report.html"),
    )
    assert cells(page_of(fleet), "repositories")[0][:2] == ["one", "reached"]


def test_foreign_text_is_escaped_and_holds_no_key(fleet) -> None:
    fleet.repositories("one")
    fleet.write("one")
    fleet.server.script(fleet.good)
    fleet.run()
    file = fleet.folder / "fleet.fleet/units.jsonl"
    row = json.loads(file.read_text())
    key = fleet.environment()["OPENAI_API_KEY"]
    bad = f"error: <script>alert(1)</script> \x1b[31m {key} in /tmp/x/y/a.py line 7"
    file.write_text(json.dumps(row | {"outcome": "not_reached", "error": bad, "try": 2}) + "\n")
    assert fleet.command("report").exit_code == 0
    page = page_of(fleet)
    assert "<script" not in page
    assert "\x1b" not in page
    assert key not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_query_with_a_key_is_not_run(fleet) -> None:
    """Also beside repositories, where the host reads no key files."""
    fleet.repositories("one")
    fleet.write("one")
    fleet.file.write_text(
        fleet.file.read_text().replace("Make", f"Use {fleet.environment()['OPENAI_API_KEY']}, make")
    )
    finished = fleet.run()
    assert finished.exit_code == 3
    assert fleet.server.requests == []
    assert fleet.environment()["OPENAI_API_KEY"] not in finished.stdout + finished.stderr


def test_causes_differ_in_more_than_numbers_and_folders(fleet) -> None:
    fleet.repositories("one")
    fleet.write("one")
    fleet.server.script(fleet.good)
    fleet.run()
    folder = fleet.folder / "fleet.fleet"
    plan, row = (
        json.loads((folder / "plan.json").read_text()),
        json.loads((folder / "units.jsonl").read_text()),
    )
    errors = ["/tmp/a/b/x.py:3: boom", "/var/q/r/x.py:44: boom", "no such thing", ""]
    units = [{**plan["units"][0], "unit": f"u{n}", "repository": f"r{n}"} for n in range(4)]
    (folder / "plan.json").write_text(json.dumps({**plan, "units": units}))
    lines = [
        {**row, "unit": f"u{n}", "outcome": "not_reached", "error": error}
        for n, error in enumerate(errors)
    ]
    (folder / "units.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert fleet.command("report").exit_code == 0
    assert [row[:2] for row in cells(page_of(fleet), "failures")] == [
        ["2", "/tmp/a/b/x.py:3: boom"],
        ["1", "no such thing"],
        ["1", "not_reached, without an error message"],
    ]


# --- numbers ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.builds(Sample, st.booleans(), st.none() | st.floats(0, 100)), max_size=60))
@example([Sample(False, 0.0), Sample(True, 1.5e-272)])
def test_an_interval_holds_its_value(samples) -> None:
    rate, price = success_rate(samples), price_of_success(samples)
    assert (rate is None) == (not samples)
    for interval in (rate, price):
        if interval and interval.low is not None:
            assert interval.low <= interval.value * (1 + 1e-9)
            assert interval.value <= interval.high * (1 + 1e-9) + 1e-12
            assert math.isfinite(interval.high)


@pytest.mark.parametrize("true_rate", [0.2, 0.5, 0.9])
def test_about_95_of_100_intervals_hold_the_truth(true_rate: float) -> None:
    """200 fleets of 60 units, with known rates and prices; about 190 intervals must hold them."""
    chance = random.Random(7)  # noqa: S311 - the same in each run
    rates = prices = 0
    for _ in range(200):
        samples = [Sample(chance.random() < true_rate, chance.uniform(0.5, 1.5)) for _ in range(60)]
        rate, price = success_rate(samples), price_of_success(samples)
        rates += rate.low <= true_rate <= rate.high
        prices += price.low <= 1 / true_rate <= price.high
    assert 180 <= rates <= 200
    assert 180 <= prices <= 200


def test_the_page_is_one_file(fleet) -> None:
    from code_commit_fleet.fleet_folder import FleetFolder
    from code_commit_fleet.plan import Plan
    from code_commit_fleet.report import page, view_of

    text = page(view_of(FleetFolder(Path("x.toml")), Plan((), 0), []))
    assert text.startswith("<!doctype html>")
    assert not re.search(r"(src|href)=\"(?!#|units/)", text)
