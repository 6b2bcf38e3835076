"""Formulas: written and read back they are the same, and whatever else is typed is a Mistake, soon and without a trace."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from asking import python_regression
from confide.errors import Mistake
from confide.model.formula import (
    LONGEST,
    MOST_TERMS,
    Factor,
    Formula,
    Transform,
    read_formula,
    read_term,
    write_formula,
)

HOSTILE = [
    "log",
    "1",
    "2",
    "a`b",
    "``",
    "a b",
    " a ",
    "a+b",
    "a:b~c",
    "^2",
    "x=y",
    "é",
    "年齢",
    "e\u0301",
    "'; --",
    "a\nb",
]
NAMES = st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1, max_size=12), st.from_regex(r"[a-z][a-z0-9_.]{0,5}"))
PREDICTORS = st.builds(Factor, NAMES, st.sampled_from(Transform))
RESPONSES = st.one_of(PREDICTORS, st.builds(Factor, NAMES, codes=st.lists(NAMES, min_size=1, max_size=3).map(tuple)))


@st.composite
def formulas(draw: st.DrawFn) -> Formula:
    response = draw(RESPONSES)
    others = PREDICTORS.filter(lambda factor: factor.variable != response.variable)
    others |= st.builds(Factor, others.map(lambda f: f.variable), reference=st.sampled_from(["a b", "x", "`"]))
    terms = draw(st.lists(st.lists(others, min_size=1, max_size=3).map(tuple), min_size=1, max_size=6))
    first: dict[str, str] = {}
    for factor in (factor for term in terms for factor in term):
        assume(factor.reference is None or first.setdefault(factor.variable, factor.reference) == factor.reference)
    return Formula(response, tuple(terms))


@given(formulas())
def test_a_formula_written_and_read_is_the_same(formula: Formula) -> None:
    text = write_formula(formula)
    assert read_formula(text) == formula
    assert write_formula(read_formula(text)) == text
    assert read_formula(text.replace("~", " ~ ", 1) if "`" not in text else text) == formula


@given(st.text(max_size=60))
def test_any_text_is_a_formula_or_a_mistake(text: str) -> None:
    try:
        formula = read_formula(text)
    except Mistake:
        return
    assert read_formula(write_formula(formula)) == formula


@given(
    st.lists(st.sampled_from(["y", "~", "+", ":", "*", "^", "2", "1", "(", ")", "=", "log", "x", "`a b`", "`", " "]))
)
def test_any_order_of_the_words_of_a_formula_is_one_or_a_mistake(tokens: list[str]) -> None:
    test_any_text_is_a_formula_or_a_mistake.hypothesis.inner_test("".join(tokens))  # type: ignore[attr-defined]


X, Z, W = Factor("x"), Factor("z"), Factor("w")
MEANT: list[tuple[str, Any]] = [
    ("y ~ x", [(X,)]),
    ("y~x+x", [(X,)]),
    ("  y\t~\nx + 1", [(X,)]),
    ("y ~ 1 + x + z", [(X,), (Z,)]),
    ("y ~ x:z", [(X, Z)]),
    ("y ~ z:x + x:z", [(X, Z)]),
    ("y ~ x*z", [(X,), (Z,), (X, Z)]),
    ("y ~ x*z*w", [(X,), (Z,), (W,), (X, Z), (W, X), (W, Z), (W, X, Z)]),
    ("y ~ x:z + w", [(W,), (X, Z)]),
    ("y ~ x^2", [(Factor("x", Transform.SQUARE),)]),
    ("y ~ x**2", [(Factor("x", Transform.SQUARE),)]),
    ("y ~ square(x)", [(Factor("x", Transform.SQUARE),)]),
    ("y ~ log(x):z", [(Factor("x", Transform.LOG), Z)]),
    ("y ~ log", [(Factor("log"),)]),
    ("y ~ log(log)", [(Factor("log", Transform.LOG),)]),
    ("y ~ `log`", [(Factor("log"),)]),
    ("y ~ `a``b` + 年齢", [(Factor("a`b"),), (Factor("年齢"),)]),
]


@pytest.mark.parametrize(("text", "terms"), MEANT)
def test_what_a_formula_means(text: str, terms: Any) -> None:
    assert list(read_formula(text).terms) == [tuple(sorted(term, key=lambda f: f.variable)) for term in terms]
    assert read_formula(text).response == Factor("y")


def test_a_class_is_a_response_and_nothing_else() -> None:
    assert read_formula("ill=yes ~ x").response == Factor("ill", codes=("yes",))
    assert read_formula("ill=`not yet` ~ x").response == Factor("ill", codes=("not yet",))
    assert read_formula("ill=01 ~ x").response == Factor("ill", codes=("01",))
    assert read_formula("ill in (yes) ~ x") == read_formula("ill=yes ~ x")
    assert read_formula("ill in (very bad,bad, `a,b`, 1) ~ x").response.codes == ("1", "a,b", "bad", "very bad")
    assert write_formula(read_formula("ill in (b, a c) ~ x")) == "ill in (`a c`, b) ~ x"
    assert read_formula("in in (in) ~ x").response == Factor("in", codes=("in",))
    with pytest.raises(Mistake, match="response only"):
        read_formula("y ~ ill=yes")
    with pytest.raises(Mistake, match="response only"):
        read_formula("y ~ ill in (yes, no)")
    with pytest.raises(Mistake, match="response only"):
        Formula(Factor("y"), ((Factor("x", codes=("1",)), Factor("x")),))


def test_a_reference_holds_wherever_the_variable_stands() -> None:
    once = read_formula("y ~ relevel(x, very bad) + z + x:z")
    assert once == read_formula("y ~ relevel(x, `very bad`)*z") and once.references == {"x": "very bad"}
    assert write_formula(once) == "y ~ relevel(x, `very bad`) + z + relevel(x, `very bad`):z"
    assert read_term("relevel(x, 1):z") == (Factor("x", reference="1"), Factor("z"))
    assert read_formula("y ~ relevel").terms == ((Factor("relevel"),),)
    with pytest.raises(Mistake, match="two references"):
        read_formula("y ~ relevel(x, a) + relevel(x, b):z")
    assert read_formula("relevel(y, a) ~ x").response == Factor("y", reference="a")


GARBAGE = [
    "y in ~ x", "y in () ~ x", "y in (a ~ x", "y in (a,) ~ x", "y in a ~ x", "y in (a b, ~ x", "log(y) in (a) ~ x", "y ~ x in",
    "y ~ relevel(x)", "y ~ relevel(x,)", "y ~ relevel(x, a, b)", "y ~ relevel(log(x), a)", "y ~ relevel(x, a)^2", "y ~ relevel(, a)",
    "", " ", "~", "y", "y ~", "~ x", "y ~ 1", "y ~ 0 + x", "y ~ x - 1", "y ~ x +", "y ~ + x", "y ~ x + + z", "y ~ x ~ z", "y = x",
    "y ~ x:", "y ~ x*", "y ~ x z", "y ~ x^3", "y ~ x^2.5", "y ~ x^", "y ~ x^-1", "y ~ log(x", "y ~ log x)", "y ~ log()",
    "y ~ log(x, 2)",
    "y ~ log(log(x))", "y ~ exp(x)", "y ~ I(x)", "y ~ 1/x", "y ~ x/z", "y ~ x %in% z", "y ~ (x + z)^2", "y ~ .", "y ~ x | z",
    "y ~ abs(x)", "y ~ poly(x, 9)", "y ~ C(x)", "y ~ factor(x)", "y ~ offset(x)", "y ~ `x", "y ~ ``", "y ~ `", "y ~ log(x)^2",
    "y ~ x=1",
    "y ~ x > 3", "y ~ ifelse(id == 7, 1, 0)", "y ~ 1/(x - 41.5)", "y ~ x:z:w:v", "y ~ x*z*w*v", "y ~ y", "y ~ log(y)", "y ~ x + x:y",
    "log(y)=1 ~ x", "y ~ x\x00", "y ~ \ud800", "2y ~ x", "y == x", "y ~ x;", "y ~ x # z", "y ~ \u0301", "y ~ x\u200b",
    "y ~ __import__('os').system('true')", "y ~ {x}", "y ~ {{7*7}}", "y ~ ${x}", "y ~ x'; DROP TABLE records; --", 'y ~ "x"',
    "y ~ 'x'",
    "y ~ lambda: 0", "y ~ eval(x)", "y ~ system(x)", "y ~ np.log(x)", "y ~ $(id)", "y ~ <script>", "y ~ x, z", "y ~ [x]",
    "y ~ x\\z", "=cmd|x ~ z",
]  # fmt: skip


@pytest.mark.parametrize("text", GARBAGE)
def test_what_is_no_formula_is_a_mistake(text: str) -> None:
    with pytest.raises(Mistake) as mistake:
        read_formula(text)
    assert len(str(mistake.value)) < 300


LONG = {
    "many terms": "y ~ " + " + ".join(f"x{i}" for i in range(2000)),
    "just too many terms": "y ~ " + " + ".join(f"x{i}" for i in range(MOST_TERMS + 1)),
    "one name": "y ~ " + "x" * 10_000,
    "one quoted name": "y ~ `" + "x " * 5_000 + "`",
    "an open quote": "y ~ `" + "`" * 9_999,
    "spaces": "y ~" + " " * 10_000 + "x",
    "deep nesting": "y ~ " + "log(" * 3000 + "x" + ")" * 3000,
    "nesting within the limit": "y ~ " + "(" * (LONGEST - 10) + "x",
    "one interaction": "y ~ " + "*".join(f"x{i}" for i in range(700)),
    "one product": "y ~ " + ":".join(f"x{i}" for i in range(700)),
    "a word out of place": "y ~ x " + "z" * 3900,
    "a word on both sides": "z" * 1900 + " ~ " + "z" * 1900,
    "powers": "y ~ x" + "^2" * 1900,
}


@pytest.mark.parametrize("name", LONG)
def test_long_and_deep_texts_are_a_mistake_at_once(calls_of, name: str) -> None:
    """The limit guards: a text is read in at most five steps a character, and one that is too long in none."""
    said = []

    def read() -> None:
        with pytest.raises(Mistake) as mistake:
            read_formula(LONG[name])
        said.append(str(mistake.value))

    assert calls_of(read) < 10 * LONGEST
    assert len(said[0]) < 500


def test_the_longest_formula_and_the_most_terms_are_read() -> None:
    assert len(read_formula("y ~ " + "x" * (LONGEST - 4)).terms) == 1
    assert len(read_formula("y ~ " + " + ".join(f"x{i}" for i in range(MOST_TERMS))).terms) == MOST_TERMS


@pytest.mark.parametrize("formula", [None, 7, b"y ~ x", ["y", "x"], Factor("y")])
def test_a_formula_is_a_text(formula: Any) -> None:
    with pytest.raises(Mistake, match="must be a text"):
        python_regression("people", formula)
