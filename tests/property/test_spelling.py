"""One request, several spellings: each is read back as it was written, and nonsense is a Mistake."""

import json
import string
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.model.choices import LEVELS, CoefficientErrors, CorrelationMethod, Extra
from confide.model.definition.definition import (
    AgainstCutpoint,
    AllHold,
    Cut,
    Definition,
    InCodes,
    NotHeld,
    OneHolds,
    OwnClass,
    as_definitions,
)
from confide.model.formula import Factor, Formula, Transform, read_variable, write_variable
from confide.model.request import (
    CorrelationRequest,
    ErrorMeasure,
    Family,
    Measure,
    RegressionRequest,
    Request,
    TableRequest,
    kinds,
)
from confide.model.universe import Piece, Universe
from confide.spelling.curl import read_curl, write_curl
from confide.spelling.json import listed, read_request, write_request
from confide.spelling.python import read_python, write_python
from confide.spelling.r import read_r, write_r
from confide.spelling.url import read_query, read_url, write_query, write_url
from confide.spelling.where import read_names, read_piece, read_where, write_names, write_piece
from confide.spelling.words import read_words, write_words

HOSTILE = st.sampled_from(",;=\\'\"&?#%+/.- \u00a0\n\t\r\0{}[]()<>_Té日🙂\u202e\u0301") | st.characters(codec="utf-8")
codes = st.text(HOSTILE, min_size=1, max_size=8)
names = codes.filter(lambda text: text.strip() != "")
"""What a catalog allows: codes are not empty, names of variables not blank."""


pieces = st.dictionaries(names, st.lists(codes, min_size=1, max_size=3), min_size=1, max_size=3).map(Piece.of)
universes = st.lists(pieces, max_size=3).map(lambda several: Universe(tuple(several)))


plain = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(
    lambda text: text.isprintable() and bool(text.strip()) and text[0] not in "=+-@"
)
"""What an analyst may call things of their own."""
numbers = st.decimals(-1000, 1000, places=2)
statements = st.builds(InCodes, names, st.lists(codes, min_size=1, max_size=3).map(tuple)) | st.builds(
    AgainstCutpoint, names, st.sampled_from(["<", "<=", ">", ">="]), numbers
)
clauses = st.recursive(
    statements,
    lambda inner: (
        st.builds(NotHeld, inner)
        | st.builds(AllHold, st.lists(inner, min_size=2, max_size=3).map(tuple))
        | st.builds(OneHolds, st.lists(inner, min_size=2, max_size=3).map(tuple))
    ),
    max_leaves=4,
)
own_classes = st.lists(
    st.builds(OwnClass, plain, plain, clauses), min_size=1, max_size=3, unique_by=lambda one: one.code
).map(tuple)
cuts = st.builds(Cut, names, st.lists(numbers, min_size=1, max_size=3).map(tuple))
definitions = st.lists(
    st.builds(Definition, plain, plain, clauses | own_classes | cuts), max_size=2, unique_by=lambda one: one.name
).map(lambda several: as_definitions(tuple(several)))


@st.composite
def tables(draw: st.DrawFn) -> TableRequest:
    by = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    split = draw(st.integers(0, len(by)))
    measure = tuple(draw(st.lists(st.sampled_from(list(Measure)), min_size=1, unique=True)))
    of = draw(names) if any(m.of_variable for m in measure) else None
    over = draw(names.filter(lambda name: name != of)) if Measure.RATIO in measure else None
    asked = TableRequest(draw(names), tuple(by[:split]), tuple(by[split:]), draw(universes), measure, of, over=over)
    asked = replace(asked, define=draw(definitions))
    if "=" not in by[0] and draw(st.booleans()):
        return replace(asked, index=f"{by[0]}={draw(codes)}")
    kinds = list(ErrorMeasure)
    errors = draw(st.lists(st.sampled_from(kinds), unique=True)) if kinds else []
    asked = replace(asked, percent=draw(st.sampled_from([None, *asked.shares])), error=tuple(errors))
    intervals = LEVELS if errors or (asked.percent and Measure.COUNT in measure) else ()
    return replace(asked, interval=draw(st.sampled_from([None, *intervals])))


@st.composite
def formulas(draw: st.DrawFn) -> Formula:
    chosen = draw(st.lists(names | st.sampled_from(["log", "age", "x.y"]), min_size=2, max_size=5, unique=True))
    transforms = st.sampled_from(list(Transform))
    some_codes = st.lists(codes, min_size=1, max_size=3).map(tuple)
    response = draw(
        st.builds(Factor, st.just(chosen[0]), transforms) | st.builds(Factor, st.just(chosen[0]), codes=some_codes)
    )
    factors = st.builds(Factor, st.sampled_from(chosen[1:]), transforms)
    terms = st.lists(factors, min_size=1, max_size=3).map(tuple)
    return Formula(response, tuple(draw(st.lists(terms, min_size=1, max_size=4))))


extras = st.lists(st.sampled_from(list(Extra)), unique=True).map(lambda some: tuple(e for e in Extra if e in some))
regressions = (
    st.builds(
        RegressionRequest,
        names,
        formulas(),
        universes,
        st.sampled_from([family for family in Family if family is not Family.SURVIVAL]),
        define=definitions,
    )
    | st.builds(
        RegressionRequest,
        names,
        formulas(),
        universes,
        st.sampled_from([Family.GAUSSIAN, Family.BINOMIAL, Family.POISSON]),
        errors=st.sampled_from(list(CoefficientErrors)),
        define=definitions,
    )
    | st.builds(
        RegressionRequest,
        names,
        formulas(),
        universes,
        st.just(Family.BINOMIAL),
        extras,
        st.none() | formulas(),
        define=definitions,
    )
    | st.builds(
        lambda dataset, formula, event, reference: (
            RegressionRequest(
                dataset,
                replace(formula, response=Factor(formula.response.variable, reference=reference)),
                family=Family.MULTINOMIAL if event is None else Family.SURVIVAL,
                event=event,
            )
            if event is None or reference is None
            else RegressionRequest(dataset, formula, family=Family.SURVIVAL, event=event)
        ),
        names,
        formulas(),
        st.none() | st.builds(Factor, names, codes=st.lists(codes, min_size=1, max_size=3).map(tuple)),
        st.none() | codes,
    )
)
AMBIGUOUS = st.sampled_from(
    ["log(age)", "age^2", "age**2", "`age`", "log", "log()", "square( x )", "net income (log)", "``"]
)
"""Names that look like something else in a correlation."""
correlated = st.lists(
    st.builds(Factor, names | AMBIGUOUS, st.sampled_from(list(Transform))),
    min_size=2,
    max_size=4,
    unique_by=lambda factor: factor.variable,
)
correlations = st.builds(
    lambda dataset, factors, where, method: CorrelationRequest(
        dataset, tuple(map(write_variable, factors)), where, method
    ),
    names,
    correlated,
    universes,
    st.sampled_from(list(CorrelationMethod)),
)
requests = tables() | regressions | correlations


@given(names | AMBIGUOUS, st.sampled_from(list(Transform)))
def test_a_variable_of_a_correlation_is_read_as_written(name: str, transform: Transform) -> None:
    factor = Factor(name, transform)
    assert read_variable(write_variable(factor)) == factor


@given(names.filter(lambda name: not set(name) & set("`^*(")))
def test_the_plain_name_of_a_variable_stays_its_spelling(name: str) -> None:
    assert read_variable(name) == Factor(name) and write_variable(Factor(name)) == name


@pytest.mark.parametrize(
    ("text", "variable", "transform"),
    [
        ("log(income)", "income", Transform.LOG),
        ("sqrt( income )", "income", Transform.SQRT),
        ("income^2", "income", Transform.SQUARE),
        ("income ** 2", "income", Transform.SQUARE),
        ("square(`net income`)", "net income", Transform.SQUARE),
        ("log(net income)", "net income", Transform.LOG),
        ("income (net)", "income (net)", Transform.NONE),
        ("Income(net)", "Income(net)", Transform.NONE),
    ],
)
def test_transformations_in_a_correlation_are_written_as_in_a_formula(
    text: str, variable: str, transform: Transform
) -> None:
    request = read_url(f"people/correlation?variables=age&variables={quote(text)}")
    assert isinstance(request, CorrelationRequest)
    assert request.factors == (Factor("age"), Factor(variable, transform))
    assert request.names == ("age", variable)


@given(requests)
def test_json_is_read_as_written(request: Request) -> None:
    assert read_request(json.loads(json.dumps(write_request(request)))) == request


@given(requests)
def test_an_address_is_read_as_written(request: Request) -> None:
    assert read_url(write_url(request)) == request
    assert read_url("https://host/site/" + write_url(request, ending=".csv")) == request
    assert all(character in string.printable and not character.isspace() for character in write_url(request))


@given(requests)
def test_a_query_is_read_as_written(request: Request) -> None:
    assert read_query(request.dataset, write_query(request), type(request)) == request


@pytest.mark.parametrize("token", [False, True])
@given(requests)
def test_r_is_read_as_written(token: bool, request: Request) -> None:
    assert read_r(write_r(request, site="http://[::1]:8000", token=token)) == request


@pytest.mark.parametrize("token", [False, True])
@given(requests)
def test_a_curl_command_is_read_as_written(token: bool, request: Request) -> None:
    assert read_curl(write_curl(request, site="https://host:8000", token=token)) == request


@pytest.mark.parametrize(
    "text", ["", "curl", "curl --get", "curl --get '", "curl http://x/people/table.csv", "wget --get x"]
)
def test_what_is_no_curl_command_is_a_mistake(text: str) -> None:
    with pytest.raises(Mistake):
        read_curl(text)


@pytest.mark.parametrize("text", ["", "request()", 'request("http://x/people")', "table <- 7"])
def test_what_is_no_r_is_a_mistake(text: str) -> None:
    with pytest.raises(Mistake):
        read_r(text)


@given(requests)
@example(CorrelationRequest("people", ("--where=a", "-x")))
def test_command_line_words_are_read_as_written(request: Request) -> None:
    words = write_words(request)
    assert read_words(words, type(request)) == request
    apart = [part for word in words[1:] for part in (word.split("=", 1) if word.startswith("--") else [word])]
    assert read_words([words[0], *apart], type(request)) == request


@given(regressions | correlations)
def test_only_options_begin_with_a_dash(request: Request) -> None:
    first, *options = write_words(request)[1:]
    assert not first.startswith("-") and all(word.startswith("--") for word in options)


@given(requests, names)
def test_python_is_read_as_written(request: Request, site: str) -> None:
    text = write_python(request, site=site)
    assert read_python(text) == request
    assert "\n" not in text


@given(requests)
def test_the_order_of_words_in_a_universe_does_not_matter(request: Request) -> None:
    turned = [{c.variable: c.codes[::-1] for c in piece.conditions[::-1]} for piece in request.where.pieces[::-1]]
    assert read_where(turned) == request.where
    assert read_where([write_piece(piece) for piece in request.where.pieces]) == request.where


@given(st.lists(names, max_size=4))
@example([" a"])
@example(["a\\ ", "\\"])
def test_names_are_read_as_written_with_spaces_around_them_if_they_have_any(listed: list[str]) -> None:
    assert read_names(write_names(listed)) == tuple(listed)


def test_spaces_that_nobody_meant_do_not_count() -> None:
    assert read_names(" sex , region ") == ("sex", "region")
    assert read_piece(" sex = f ; age=20-29, 30-39") == read_piece("sex=f;age=20-29,30-39")


GARBAGE = st.text(HOSTILE | st.sampled_from(list("tablerowscount=&?~+:*^(`")), max_size=40)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | GARBAGE
    | st.sampled_from(["table", "mean", "y ~ x", "poisson"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(GARBAGE, inner, max_size=3),
    max_leaves=8,
)
KEYS = {
    "table": st.sampled_from(["ask", "dataset", "rows", "columns", "where", "measure", "of"]),
    "regression": st.sampled_from(["ask", "dataset", "formula", "where", "family"]),
    "correlation": st.sampled_from(["ask", "dataset", "variables", "where", "method"]),
}


def only_mistakes(read: Any, *given: Any) -> None:
    try:
        found = read(*given)
    except Mistake as mistake:
        assert str(mistake)
    else:
        assert isinstance(found, Request | Universe | Piece | tuple)


@settings(max_examples=200)
@given(GARBAGE, st.lists(GARBAGE, max_size=4), PLAIN)
def test_nonsense_is_a_mistake_and_nothing_else(text: str, words: list[str], value: Any) -> None:
    for read in (read_url, read_python, read_piece, read_names):
        only_mistakes(read, text)
    for ask, kind in kinds().items():
        only_mistakes(read_url, f"people/{ask}?" + text)
        only_mistakes(lambda *given, kind=kind: read_words(*given, kind), words)
        only_mistakes(lambda *given, kind=kind: read_words(*given, kind), ["people", *(f"--{word}" for word in words)])
    for query in ([("formula", text)], [("formula", "y ~ x"), ("family", text)]):
        only_mistakes(lambda *given: read_query(*given, RegressionRequest), "people", query)
    only_mistakes(read_where, value)
    only_mistakes(read_request, value)
    only_mistakes(
        lambda *given: read_query(*given, TableRequest), "people", [("where", text), *((word, text) for word in words)]
    )


@pytest.mark.parametrize("ask", KEYS)
def test_requests_of_the_wrong_kind_are_a_mistake(ask: str) -> None:
    @settings(max_examples=200)
    @given(st.dictionaries(KEYS[ask], PLAIN), st.lists(PLAIN, max_size=2))
    def reading(raw: dict[str, Any], first: list[Any]) -> None:
        only_mistakes(read_request, {"ask": ask, **raw})
        named = [f"{key}={value!r}" for key, value in raw.items() if key not in ("ask", "dataset")]
        only_mistakes(read_python, f"confide.open('s')['d'].{ask}({', '.join([*map(repr, first), *named])})")

    reading()


@pytest.mark.parametrize(
    "text",
    [
        "confide.open('s')['d'].table(rows=__import__('os').getcwd())",
        "confide.open('s')['d'].table(**{'rows': 'a'})",
        "confide.open('s')['d'].table('a')",
        "confide.open('s')['d'].drop(rows='a')",
        "confide.open('s')['d'].regression(formula='y ~ x')",
        "confide.open('s')['d'].regression('y ~ x', 'z')",
        "confide.open('s')['d'].regression(str('y ~ x'))",
        "confide.open('s')['d'].correlation()",
        "confide.open('s')[0].table(rows='a')",
        "(" * 300 + ")" * 300,
        "confide.open('s')['d'].table(rows='a', where=" + "[" * 200 + "]" * 200 + ")",
        "confide.open('s')['d'].table(rows='a', where={'b': {1: 2}})",
        "confide.open('s')['d'].table(rows='a', where={('b',): ['c']})",
        "confide.open('s')['d'].table(rows='a', rows='b')",
        "-" * 100_000 + "1",
    ],
)
def test_python_is_read_without_being_run(text: str) -> None:
    with pytest.raises(Mistake):
        read_python(text)


@pytest.mark.parametrize(
    "address, said",
    [
        ("people/regression", "Expected a variable instead of 'the end' in the formula."),
        ("people/regression?formula=y~x&formula=y~z", "'formula' may stand only once."),
        ("people/regression?formula=y~x&family=binomal", "There is no family 'binomal'. Did you mean 'binomial'?"),
        ("people/regression?formula=y~x&columns=a", "Unknown parameter 'columns'."),
        ("people/correlation?variables=a", "A correlation needs two or more variables, each named once."),
        ("people/correlation?variables=a,log(a)", "A correlation needs two or more variables, each named once."),
        ("people/median?of=a", f"'people/median' is not the address of a {listed(kinds())}."),
    ],
)
def test_what_is_wrong_in_an_address_is_said(address: str, said: str) -> None:
    with pytest.raises(Mistake) as info:
        read_url(address)
    assert str(info.value) == said


@pytest.mark.parametrize("level", [95, "95"])
def test_the_level_of_an_interval_may_be_a_number_in_python_and_in_json(level: Any) -> None:
    asked = read_request({"ask": "table", "dataset": "d", "rows": ["sex"], "percent": "total", "interval": level})
    assert isinstance(asked, TableRequest) and asked.interval == "95"
    assert read_python(f"confide.open('s')['d'].table(rows='sex', percent='total', interval={level!r})") == asked
    with pytest.raises(Mistake, match="must be a text"):
        read_request({"ask": "table", "dataset": "d", "rows": ["sex"], "percent": "total", "interval": True})
