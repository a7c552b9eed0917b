"""The pages in a real browser."""

from __future__ import annotations

from functools import cache

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
STORY: tuple[tuple[float, int, int | None, str, dict[str, object]], ...] = (
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


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    folder = root / "logs" / "2026-01-01-00-00-00-x"
    folder.mkdir(parents=True)
    for name in ("q.txt", "r.txt", "b.txt"):
        (folder / name).write_text(f"error: {EVIL}\n" * 40)
    (folder / "d.diff").write_text(DIFF)
    sink = HtmlReport(ReportSettings())
    for seq, (time, span, parent, kind, data) in enumerate(STORY, 1):
        fields = {name: str(root) if value == "{root}" else value for name, value in data.items()}
        sink.receive(Record(seq, 1_780_000_000 + time, folder.name, span, parent, kind, fields))
    sink.close()
    return folder / "report.html"


CONTRAST = """(() => {
  const channel = value => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const background = node => { for (; node; node = node.parentElement) {
    const colour = numbers(getComputedStyle(node).backgroundColor); if (colour.length === 3) return colour; } return [255, 255, 255]; };
  let worst = [99, ''];
  for (const node of document.querySelectorAll('body *')) {
    if (![...node.childNodes].some(child => child.nodeType === 3 && child.data.trim()) || node.closest('svg')) continue;
    const one = light(numbers(getComputedStyle(node).color)), other = light(background(node));
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < worst[0]) worst = [ratio, node.className + ' ' + node.tagName];
  }
  return worst; })()"""
MEASURES = {
    "title": "document.title",
    "images": "document.images.length",
    "background": "getComputedStyle(document.body).backgroundColor",
    "width": "[document.documentElement.scrollWidth, window.innerWidth]",
    "contrast": CONTRAST,
    "bars": (
        "[...document.querySelectorAll('.timeline li')].map(li => { const whole = li.querySelector('svg')"
        ".getBoundingClientRect(), rect = li.querySelector('rect').getBoundingClientRect(); return "
        "[Math.round(100 * (rect.left - whole.left) / whole.width), Math.round(100 * rect.width / whole.width)] })"
    ),
    "sides": (
        "[...document.querySelectorAll('.diff td.old:not(.n), .diff td.new:not(.n)')].map(cell => "
        "[Math.round(cell.getBoundingClientRect().left), Math.round(cell.getBoundingClientRect().top)])"
    ),
    "beyond keys": (
        "[...document.querySelectorAll('summary, .scroll, a')].filter(node => node.tabIndex < 0 || "
        "(node.matches('.scroll') && !node.getAttribute('aria-label'))).length"
    ),
    "first link": "document.querySelector('a').className",
}
# Widths of windows.
WIDE = 1400
NARROW = 500
# Color schemes.
LIGHT = 1
DARK = 0


@pytest.fixture(scope="module")
def measured(page, browser):
    """Return a cached function that measures a page in a window of a width, with a color scheme."""

    @cache
    def of(name="report.html", width=WIDE, scheme=LIGHT):
        flag = f"--blink-settings=preferredColorScheme={scheme}"
        return browser.measured((page.parent / name).resolve(), MEASURES, width, flag)

    return of


def test_the_page_executes_nothing_even_without_its_policy(page, browser, measured):
    assert "<title>not_reached: 2026-01-01-00-00-00-x</title>" in browser.dom(page)
    assert measured()["title"] == "not_reached: 2026-01-01-00-00-00-x"
    assert measured()["images"] == 0


def test_the_policy_allows_the_style_and_no_script(page, browser):
    scripted = page.with_name("scripted.html")
    scripted.write_text(
        page.read_text().replace("</body>", "<script>document.title = 'owned'</script></body>")
    )
    assert "<title>owned</title>" not in browser.dom(scripted)
    unstyled = page.with_name("unstyled.html")
    # The policy has another digest.
    unstyled.write_text(page.read_text().replace("--background", "--other"))
    assert browser.screenshot(page, 800, 600) != browser.screenshot(unstyled, 800, 600)


def test_bars_are_to_scale(measured):
    call, change, build = measured()["bars"]
    assert (call, build) == ([10, 50], [60, 30])
    assert change[0] == 60
    assert change[1] <= 1


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize(
    "name", ["report.html", pytest.param("../index.html", marks=pytest.mark.slow)]
)
def test_no_page_is_wider_than_its_window(measured, width, name):
    scrolled, inner = measured(name, width)["width"]
    assert scrolled <= inner


def test_on_a_phone_the_columns_are_below_each_other(measured):
    (old_left, old_top), (new_left, new_top) = measured()["sides"]
    assert old_top == new_top
    assert old_left < new_left
    (old_left, old_top), (new_left, new_top) = measured(width=NARROW)["sides"]
    assert old_left == new_left
    assert old_top < new_top


@pytest.mark.parametrize(
    ("scheme", "background"), [(LIGHT, "rgb(251, 251, 249)"), (DARK, "rgb(21, 23, 26)")]
)
def test_each_color_scheme_has_enough_contrast(measured, scheme, background):
    values = measured(scheme=scheme)
    assert values["background"] == background
    ratio, where = values["contrast"]
    assert ratio >= 4.5, where


def test_every_control_is_reachable_by_keyboard(measured):
    assert measured()["beyond keys"] == 0
    assert measured()["first link"] == "skip"


def test_a_short_page_with_a_long_path_is_not_wider_than_its_window(answered, browser):
    answered(f"^^^{'folder/' * 20}a.txt\nnew\n^^^end\n")
    page = answered.project.run_folder / "report.html"
    scrolled, inner = browser.measured(page.resolve(), MEASURES, NARROW)["width"]
    assert scrolled <= inner
