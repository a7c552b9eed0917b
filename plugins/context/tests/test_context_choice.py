"""What the contexts choose in a run: by words, paths, git's past and pairs, and by a model."""

from __future__ import annotations

import pytest

from code_commit_testing import Reply

FILLER = "x = 1  # nothing of interest stands here\n" * 40  # about 500 tokens
FILLERS = {f"src/filler_{number}.py": FILLER for number in range(12)}
SHOP = {
    **FILLERS,
    "src/money.py": f"{FILLER}def rounded(amount): ...\n",
    "src/tests/test_parcel.py": FILLER,
    "src/parcel.py": f"{FILLER}def shipped(parcel): ...  # shipping and shipping\n",
    "lib/shipping/zone.py": FILLER,
    "docs/named.txt": FILLER,
    "data.csv": "shipping\n" * 9000,
}


@pytest.fixture
def shop(choosing):
    choosing.commit("Start", SHOP)
    choosing.commit("Correct the invoices", {"src/money.py": f"{FILLER}# 2\n"})
    choosing.commit("Tidy up", dict.fromkeys(FILLERS, f"{FILLER}#\n"))
    return choosing


def test_ranked_finds_files_by_content_path_past_pair_and_name(shop):
    (shop.project.root / "picture.py").write_bytes(b"shipping\0shipping")
    (shop.project.root / "latin.py").write_bytes("shipping größer".encode("latin-1"))
    choice = shop("Show shipping in invoices, see docs/named.txt.", tokens=3200)
    assert choice.paths[0] == "docs/named.txt"
    found = {"src/money.py", "src/parcel.py", "src/tests/test_parcel.py", "lib/shipping/zone.py"}
    assert found == set(choice.paths[1:5])
    assert set(choice.map) <= {*FILLERS, "build.sh", "data.csv"}
    assert "by words of the query, paths and 4 past commits" in choice.reason
    assert "the query names docs/named.txt" in choice.reason
    assert "larger than the budget: data.csv" in choice.reason
    assert "2 files are not text" in choice.reason


def test_the_map_has_names_and_named_files_take_their_part_of_the_budget(shop):
    choice = shop("Show shipping", tokens=1400, named=["docs/named.txt"])
    assert "docs/named.txt" not in {*choice.paths, *choice.map}
    assert choice.paths[0] == "src/parcel.py"
    assert "lib/shipping/zone.py" in choice.map
    assert shop("Show shipping", tokens=1400).paths[:2] == ["src/parcel.py", "lib/shipping/zone.py"]
    assert shop("Show shipping", tokens=500).map["src/parcel.py"] == ["shipped"]


@pytest.mark.parametrize("query", ["", "?", "x", "修复用户登录错误", "Größe ändern", "\ud800\0"])
def test_a_query_without_words_of_the_files_still_gets_a_choice(shop, query):
    choice = shop(query.encode("utf-8", "replace").decode().replace("\0", " "), tokens=2000)
    assert choice.paths
    assert choice.paths[0] in FILLERS  # the latest
    assert "no file has a word of the query" in choice.reason


# --- map ------------------------------------------------------------------------------------------


def test_map_asks_the_navigator_and_puts_its_files_first(shop):
    answer = (
        "These:\n%%%files\nsrc/filler_7.py\nno/such.py\n`src/money.py`\n./src/filler_3.py\n%%%end\n"
    )
    shop.server.script(Reply(text=answer))
    choice = shop("Show shipping", context="map", tokens=1700)
    assert choice.paths[:2] == ["src/filler_7.py", "src/filler_3.py"]
    assert choice.paths[2] == "src/parcel.py"
    assert choice.reason.startswith(
        "the navigator chose 2 files from a map of 20 files, then by words"
    )
    [request] = shop.server.requests
    prompt = request.prompt
    assert "Show shipping" in prompt
    assert "src/parcel.py: shipped" in prompt
    assert "nothing of interest" not in prompt
    assert [path.name for path in shop.project.root.glob("logs/*/*-navigator-query.txt")] == [
        "1-navigator-query.txt"
    ]


@pytest.mark.parametrize("answer", ["I would look at src/money.py.", "%%%files\nmoney\n%%%end", ""])
def test_map_without_an_answer_of_use_is_ranked(shop, answer):
    shop.server.script(Reply(text=answer))
    choice = shop("Show shipping", context="map", tokens=1400)
    assert choice.paths[0] == "src/parcel.py"
    assert "the navigator named no file from a map of 20 files, so by words" in choice.reason


def test_map_needs_a_model(shop):
    choice = shop("Show shipping", context="map", calls=False)
    assert choice.exit_code == 3
    assert "map asks a model" in choice.stderr
    assert "use the context ranked" in choice.stderr


# --- a repair -------------------------------------------------------------------------------------


def test_related_files_are_those_of_the_failure_then_those_that_change_together(shop):
    for number in range(3):
        shop.commit(
            "Both", {"src/parcel.py": f"{number}\n", "src/filler_9.py": f"{FILLER}{number}\n"}
        )
        others = {path: f"{FILLER}{number}\n" for path in FILLERS if path != "src/filler_9.py"}
        shop.commit("Others", others)
    failure = '  File "src/filler_4.py", line 3\n    ...\nsrc/money.py(3,5): error\nsrc/money.py:9'
    choice = shop("Show invoices", failure=failure, changed=["src/parcel.py", "gone.py"])
    assert choice.related[:2] == ["src/money.py", "src/filler_4.py"]
    assert "src/filler_9.py" in choice.related[2:5]
    assert "src/parcel.py" not in choice.related
