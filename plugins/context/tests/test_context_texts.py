"""What is read in a text: its terms, the files that it names, the names that it defines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_context.definitions import defined_names
from code_commit_context.named import FileNames
from code_commit_context.terms import terms_of

PATHS = [
    "README.md",
    "app/[slug].tsx",
    "app/(group)/page.tsx",
    "src/main.rs",
    "src/config/loader.rs",
    "pkg/core/parse.py",
    "pkg/util/parse.py",
    "pkg/util/texts.py",
    "java/com/shop/OrderService.java",
    "web/snake_name.js",
    "main.go",
]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('  File "pkg/core/parse.py", line 3, in f', ["pkg/core/parse.py"]),
        ("app/page.ts(3,5): error; src/main.rs:10:5", ["src/main.rs"]),
        ("web/snake_name.js(3,5): error TS2304", ["web/snake_name.js"]),
        (" --> \x1b[1;31msrc/main.rs\x1b[0m:10:5", ["src/main.rs"]),
        ("at f (/home/me/project/web/snake_name.js:1:2)", ["web/snake_name.js"]),
        ("./main.go:7:2: undefined: x", ["main.go"]),
        ("Change `texts.py`, and nothing else.", ["pkg/util/texts.py"]),
        ("Change parse.py.", []),
        ("Change util/parse.py.", ["pkg/util/parse.py"]),
        ("app/[slug].tsx and (app/(group)/page.tsx)", ["app/[slug].tsx", "app/(group)/page.tsx"]),
        ("No module named 'pkg.util.texts'", ["pkg/util/texts.py"]),
        ("pkg.util.texts.shorten fails", ["pkg/util/texts.py"]),
        ("error in crate::config::loader::load", ["src/config/loader.rs"]),
        ("com.shop.OrderService > total FAILED", ["java/com/shop/OrderService.java"]),
        ("Split OrderService", ["java/com/shop/OrderService.java"]),
        ("Rename snake_name", ["web/snake_name.js"]),
        ("main, loader, texts and README", []),
        ("请修改src/main.rs文件\uff0c然后main.go。", ["src/main.rs", "main.go"]),
        ("src/main.rs main.go src/main.rs", ["src/main.rs", "main.go"]),
        ("../../etc/passwd C:\\x.py //// ( . ..", []),
    ],
)
def test_files_that_a_text_names(text, named):
    assert FileNames(PATHS).named_in(text) == named


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("class A(B):\n    def m(self): ...\n\nasync def f():\n    return g(1)\n", "A m f"),
        ("import x\nfrom y import (\n  z)\nif f(x):\n    raise E(\n        1)\n", ""),
        (
            "pub(crate) struct S;\nimpl S {\n    pub fn go(&self) {}\n}\npub mod inner;\n",
            "S go inner",
        ),
        ("func (s *Server) Run(ctx C) error {\ntype (\n\tJob struct {\n", "Run Job"),
        (
            "export default class Page {\nexport const make = (a) => 1\nfunction* g() {\n",
            "Page make g",
        ),
        ("public class Shop {\n    private static List<Map<A, B>> of(int a) {\n", "Shop of"),
        (
            "#define MOST 3\nstatic int total(const char *name)\n{\n  return size(name);\n}\n",
            "MOST total",
        ),
        ("module Shop\n  def self.open(x)\n", "Shop open"),
        ("create table orders (id int);\nCREATE VIEW totals AS\n", "orders totals"),
        ("interface Props {\n}\ntype Id = string\nenum Kind {\n", "Props Id Kind"),
    ],
)
def test_names_that_a_file_defines(text, names):
    assert defined_names(text) == names.split()


def test_ten_names_are_the_least_indented_ones():
    text = "".join(f"class C{n}:\n    def m{n}(self): ...\n" for n in range(12))
    assert defined_names(text) == [f"C{n}" for n in range(10)]


@given(st.text(st.sampled_from("def class \t\n(){}aZ_0.<>,*&:#=export pub"), max_size=300))
def test_any_text_has_at_most_ten_names(text):
    names = defined_names(text)
    assert len(names) <= 10
    assert all(name in text for name in names)


@pytest.mark.parametrize(
    "hostile",
    [
        "a " * 8000,
        "a.b<" * 4000,
        "export " * 2500,
        "\t" * 16000,
        "def " * 4000,
        "pub(" * 4000,
        "x" * 16000,
    ],
)
def test_names_take_linear_time(hostile):
    """The largest text takes some milliseconds; a quadratic pattern would exceed the time limit."""
    for _ in range(20):
        defined_names(hostile)


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("Fix the parsing of options", "pars option"),
        ("getUserName in HTTPServer", "getusername user name httpserver http serv"),
        ("reset_index", "reset_index reset index"),
        ("dependencies and classes", "dependenc class"),
        ("修复login错误", "login 修复 错误"),
        ("登录错误 x", "登录 录错 错误"),
        ("der Größe", "der größ"),
        ("the of 12 x", ""),
    ],
)
def test_terms(query, terms):
    assert list(terms_of(query)) == terms.split()


def test_frequent_terms_come_first_and_their_number_is_bounded():
    text = " ".join(f"word{chr(97 + n // 26)}{chr(97 + n % 26)}xq" for n in range(100))
    terms = terms_of(f"{text} parcel parcel")
    assert next(iter(terms)) == "parcel"
    assert len(terms) == 16
