"""What `confide check` finds, and that it finds nothing where nothing is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import confide
from confide.answering.service import Finding
from confide.answering.service import check as check_site
from confide.errors import Mistake

RNG = np.random.default_rng(5)
ROWS = 1500
TABLE = pa.table(
    {
        "id": np.arange(ROWS),
        "sex": RNG.choice(["f", "m"], ROWS),
        "ill": RNG.choice(["no", "yes"], ROWS, p=[0.02, 0.98]),
        "grade": RNG.choice(list("abcd"), ROWS),
        "town": RNG.choice([f"t{i}" for i in range(500)], ROWS),
        "income": RNG.integers(0, 1000, ROWS),
    }
)
HEAD = "title = 'People of a town'\nsource = 'A register'\nperiod = '2025'\nunit = 'id'\n"
SEX = "[variables.sex]\nlabel = 'Sex of person'\nrole = 'key'\n[variables.sex.codes]\nf = 'F'\nm = 'M'\n"
GRADE = "[variables.grade]\nlabel = 'Grade reached'\nrole = 'confidential'\n[variables.grade.codes]\n" + "".join(
    f"{code} = '{code.upper()}'\n" for code in "abcd"
)
ILL = "[variables.ill]\nlabel = 'Illness'\nrole = 'confidential'\n[variables.ill.codes]\nno = 'No'\nyes = 'Yes'\n"
TOWN = "[variables.town]\nlabel = 'Town of birth'\n[variables.town.codes]\n" + "".join(
    f"t{i} = 'T'\n" for i in range(500)
)
INCOME = "[variables.income]\nlabel = 'Yearly income'\nkind = 'numeric'\nminimum = 0\n"

DROP_Q = "preset = 'drop-q'\n"

Check = Callable[..., list[Finding]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """The findings for a site with this catalog and these lines in its policy."""

    def run(catalog: str, policy: str = "", **options: Any) -> list[Finding]:
        site = tmp_path / "site"
        site.mkdir()
        if policy:  # before the data, which are protected as it says
            (site / "policy.toml").write_text(policy)
        confide.add(TABLE, site, name="people", catalog=catalog)
        return check_site(site, **options)

    return run


def texts(findings: list[Finding], kind: str) -> list[str]:
    return [finding.text for finding in findings if finding.kind == kind]


@pytest.mark.parametrize("policy", ["preset = 'standard'\n", DROP_Q])
def test_a_sound_site_has_notes_only(check: Check, policy: str) -> None:
    findings = check(HEAD + SEX + GRADE + INCOME + "cutpoints = [300, 600]\n", policy)
    assert {finding.kind for finding in findings} == {"note"}
    assert any("declared as local" in text for text in texts(findings, "note"))
    assert any("at most (by 'grade')" in text for text in texts(findings, "note")) == (policy == DROP_Q)


def test_what_is_missing_is_said(check: Check) -> None:
    catalog = (
        "title = 'people'\n"
        + SEX.replace("'Sex of person'", "'sex'")
        + INCOME.replace("minimum = 0", "cutpoints = [9]")
    )
    missing = " ".join(texts(check(catalog), "missing"))
    for words in (
        "no source",
        "no period",
        "title is still the name",
        "no unit",
        "no label: 'sex'.",
        "no variable is confidential",
        "no declared minimum",
        "'income'",
    ):
        assert words in missing


def test_numbers_without_cutpoints_are_unanswerable_unless_recoded(check: Check) -> None:
    assert any("no cutpoints" in t and "'income'" in t for t in texts(check(HEAD + SEX + INCOME), "unanswerable"))


def test_recodes_make_a_number_answerable(check: Check) -> None:
    recode = "[variables.wide]\nlabel = 'Wide'\nof = 'income'\ncutpoints = [500]\n"
    assert not texts(check(HEAD + SEX + INCOME + recode), "unanswerable")


def test_a_table_that_is_refused_is_unanswerable(check: Check) -> None:
    assert [t for t in texts(check(HEAD + SEX + TOWN), "unanswerable") if "'town' is refused (tables." in t]


def test_a_class_that_holds_nearly_all_is_risky(check: Check) -> None:
    risky = texts(check(HEAD + SEX + GRADE + ILL, DROP_Q + "[tables]\nclass_disclosure = false"), "risky")
    assert len(risky) == 1 and "by 'ill' discloses with probability 0.2" in risky[0]


@pytest.mark.parametrize(("policy", "kind"), [(DROP_Q, "risky"), ("preset = 'standard'\n", "note")])
def test_cutpoints_that_cut_across_each_other_are_risky_unless_the_cross_is_judged(
    check: Check, policy: str, kind: str
) -> None:
    income = INCOME + "cutpoints = [300, 600]\n[variables.wide]\nlabel = 'W'\nof = 'income'\ncutpoints = {}\n"
    catalog = HEAD + SEX + GRADE + income.format("[300, 500]")
    assert {found.kind for found in check(catalog, policy) if "slivers" in found.text} == {kind}


def test_cutpoints_inside_one_another_are_not(check: Check) -> None:
    income = INCOME + "cutpoints = [300, 600]\n[variables.wide]\nlabel = 'W'\nof = 'income'\ncutpoints = [600]\n"
    assert not texts(check(HEAD + SEX + GRADE + income), "risky")


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (DROP_Q + "[universe]\ndecide_on = 'true'", "universe.decide_on"),
        (DROP_Q + "[counts]\nmechanism = 'none'", "counts.mechanism"),
        (DROP_Q + "[totals]\nmechanism = 'none'", "totals.mechanism"),
        (DROP_Q + "[universe]\ncomplement = false", "universe.complement"),
        (DROP_Q + "[drop]\nk = 0", "drop.k"),
        ("[universe]\ndecide_on = 'true'", "universe.decide_on"),
        ("[counts]\nmechanism = 'none'", "counts.mechanism"),
        ("[records]\nnoise = 0.0", "records.noise"),
        ("[tables]\ncross = false", "tables.cross"),
    ],
)
def test_each_weakness_of_a_policy_is_risky(check: Check, policy: str, words: str) -> None:
    risky = texts(check(HEAD + SEX + GRADE, policy), "risky")
    assert len(risky) == 1 and words in risky[0]


def test_an_open_policy_needs_to_be_allowed_and_is_risky_all_over(check: Check, tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="protects nothing"):
        check(HEAD + SEX, "preset = 'open'")
    assert len(texts(check_site(tmp_path / "site", allow_open=True), "risky")) == 7


def test_long_lists_are_cut_and_findings_come_by_kind(check: Check) -> None:
    numbers = "".join(f"[variables.n{i}]\nof = 'income'\ncutpoints = [{i}]\n" for i in range(1, 3))
    labels = "".join(f"[variables.{n}]\n[variables.{n}.codes]\n{c}" for n, c in PLAIN.items())
    findings = check("[variables.income]\nkind = 'numeric'\n" + numbers + labels)
    assert any("and 1 more" in text for text in texts(findings, "missing"))
    order = ["missing", "risky", "unanswerable", "note"]
    assert [f.kind for f in findings] == sorted((f.kind for f in findings), key=order.index)


PLAIN = {
    "sex": "f = 'F'\nm = 'M'\n",
    "ill": "no = 'No'\nyes = 'Yes'\n",
    "grade": "a = 'A'\nb = 'B'\nc = 'C'\nd = 'D'\n",
    "town": "".join(f"t{i} = 'T'\n" for i in range(500)),
}


def test_nothing_is_recorded(check: Check, tmp_path: Path) -> None:
    check(HEAD + SEX + GRADE)
    ledger = tmp_path / "site" / "ledger.jsonl"
    assert not ledger.exists() or not ledger.read_text()


def test_a_site_that_does_not_open_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="no site"):
        check_site(tmp_path / "nowhere")
