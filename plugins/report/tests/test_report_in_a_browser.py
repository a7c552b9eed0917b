"""What a real browser makes of the pages."""

from __future__ import annotations

import pytest

from code_commit.plugin_api import Record
from code_commit_report.settings import ReportSettings
from code_commit_report.sink import HtmlReport

EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
DIFF = (
    """diff --git a/long.py b/long.py
--- a/long.py
+++ b/long.py
@@ -1,3 +1,3 @@
 import os
-print("a rather long line that a phone cannot show as a whole", os.environ, os.getcwd(), os.listdir())
+print("another rather long line that a phone cannot show as a whole", os.environ, os.getcwd(), os.listdir())
 # """
    + EVIL
    + "\n"
)
STORY = (
    (0.0, 1, None, "run.started", {"workflow": "committing-code", "root": "{root}", "folder": "logs/2026-01-01-00-00-00-x", "argv": ["--query", EVIL]}),
    (0.0, 2, 1, "attempt.started", {"number": 1}),
    (1.0, 3, 2, "call.started", {"number": 1, "label": "initial-query", "provider": "p", "model": EVIL, "request": "q.txt"}),
    (6.0, 3, 2, "call.finished", {"number": 1, "model": EVIL, "finish": "stop", "input_tokens": 10, "output_tokens": 5, "response": "r.txt"}),
    (6.0, 2, 1, "changes.applied", {"written": ["long.py"], "deleted": [], "diff": "d.diff"}),
    (6.0, 4, 2, "process.started", {"argv": ["bash", "build.sh"], "sandbox": "off", "log": "b.txt"}),
    (9.0, 4, 2, "process.finished", {"argv": ["bash", "build.sh"], "exit_code": 1, "timed_out": False, "tampered": [], "log": "b.txt"}),
    (9.0, 1, None, "message", {"text": EVIL, "level": "warning"}),
    (10.0, 1, None, "run.finished", {"outcome": "not_reached", "exit_code": 1, "summary": EVIL, "data": {}}),
)  # fmt: skip


@pytest.fixture
def page(tmp_path):
    folder = tmp_path / "logs" / "2026-01-01-00-00-00-x"
    folder.mkdir(parents=True)
    for name in ("q.txt", "r.txt", "b.txt"):
        (folder / name).write_text(f"error: {EVIL}\n" * 40)
    (folder / "d.diff").write_text(DIFF)
    sink = HtmlReport(ReportSettings())
    for seq, (time, span, parent, kind, data) in enumerate(STORY, 1):
        told = {name: str(tmp_path) if value == "{root}" else value for name, value in data.items()}
        sink.receive(Record(seq, 1_780_000_000 + time, folder.name, span, parent, kind, told))
    sink.close()
    return folder / "report.html"


def test_nothing_in_the_page_is_executed_even_without_its_policy(page, browser):
    assert "<title>not_reached: 2026-01-01-00-00-00-x</title>" in browser.dom(page)
    assert browser.measured(page, "document.title", 1200) == "not_reached: 2026-01-01-00-00-00-x"
    assert browser.measured(page, "document.images.length", 1200) == 0


def test_the_policy_lets_the_style_through_and_no_script(page, browser):
    changed = page.read_text().replace("</body>", "<script>document.title = 'owned'</script></body>")
    page.write_text(changed)
    assert "<title>owned</title>" not in browser.dom(page)
    # A picture of an unstyled page has no red badge; that the style is applied shows in the measures below.
    unstyled = page.with_name("unstyled.html")
    unstyled.write_text(changed.replace("--ground", "--other"))
    assert browser.screenshot(page, 800, 600) != browser.screenshot(unstyled, 800, 600)


def test_bars_are_to_scale(page, browser):
    expression = (
        "[...document.querySelectorAll('.timeline li')].map(li => {"
        "const rect = li.querySelector('rect').getBoundingClientRect(), whole = li.querySelector('svg').getBoundingClientRect();"
        "return [Math.round(100 * (rect.left - whole.left) / whole.width), Math.round(100 * rect.width / whole.width)] })"
    )
    call, change, build = browser.measured(page, expression, 1200)
    assert (call, build) == ([10, 50], [60, 30])
    assert change[0] == 60
    assert change[1] <= 1


@pytest.mark.parametrize("width", [500, 1400])
@pytest.mark.parametrize("name", ["report.html", "../index.html"])
def test_no_page_is_wider_than_its_window(page, browser, width, name):
    expression = "[document.documentElement.scrollWidth, window.innerWidth]"
    scrolled, inner = browser.measured((page.parent / name).resolve(), expression, width)
    assert scrolled <= inner


def test_on_a_phone_the_sides_stand_below_each_other(page, browser):
    expression = (
        "['old', 'new'].map(side => { const box = document.querySelector(`.diff td.${side}:not(.n)`).getBoundingClientRect();"
        "return [Math.round(box.left), Math.round(box.top)] })"
    )
    wide_old, wide_new = browser.measured(page, expression, 1400)
    assert wide_old[1] == wide_new[1]
    assert wide_old[0] < wide_new[0]
    old, new = browser.measured(page, expression, 500)
    assert old[0] == new[0]
    assert old[1] < new[1]


def test_the_scheme_is_the_readers(page, browser):
    expression = "getComputedStyle(document.body).backgroundColor"
    light = browser.measured(page, expression, 1200, "--blink-settings=preferredColorScheme=1")
    dark = browser.measured(page, expression, 1200, "--blink-settings=preferredColorScheme=0")
    assert (light, dark) == ("rgb(251, 251, 249)", "rgb(21, 23, 26)")


CONTRAST = """(() => {
  const channel = value => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = node => { for (; node; node = node.parentElement) {
    const colour = numbers(getComputedStyle(node).backgroundColor); if (colour.length === 3) return colour; } return [255, 255, 255]; };
  let worst = [99, ''];
  for (const node of document.querySelectorAll('body *')) {
    if (![...node.childNodes].some(child => child.nodeType === 3 && child.data.trim()) || node.closest('svg')) continue;
    const one = light(numbers(getComputedStyle(node).color)), other = light(ground(node));
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < worst[0]) worst = [ratio, node.className + ' ' + node.tagName];
  }
  return worst; })()"""


@pytest.mark.parametrize("scheme", [0, 1])
def test_every_text_stands_out_from_its_ground(page, browser, scheme):
    ratio, where = browser.measured(page, CONTRAST, 1200, f"--blink-settings=preferredColorScheme={scheme}")
    assert ratio >= 4.5, where


def test_all_that_can_be_opened_or_scrolled_is_reached_by_keyboard(page, browser):
    expression = (
        "[...document.querySelectorAll('summary, .scroll, a')].filter(node => node.tabIndex < 0 || "
        "(node.matches('.scroll') && !node.getAttribute('aria-label'))).length"
    )
    assert browser.measured(page, expression, 1200) == 0
    assert browser.measured(page, "document.querySelector('a').className", 1200) == "skip"


def test_a_picture_can_be_taken(page, browser):
    assert browser.screenshot(page, 1200, 1600)[:8] == b"\x89PNG\r\n\x1a\n"
