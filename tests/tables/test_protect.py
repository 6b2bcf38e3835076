"""`confide protect`: the same words as in Python, files by their endings, progress and sentences apart from the table."""

import csv
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from confide.cli.main import main
from confide.cli.protect.options import Rules
from confide.cli.protect.source import TableSource
from confide.data import writing
from confide.tables import Table, read_jj, read_ptable, read_tab, write_asc, write_tab

PEOPLE = {
    "region": ["N1"] * 4 + ["N2"] * 3 + ["S"] * 5,
    "sex": list("ffmmfmmffffm"),
    "x": [90, 5, 3, 2, 8, 8, 8, 1, 1, 1, 1, 4],
}


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str


def run(*words) -> Done:
    """Run the command here."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["confide", "protect", *map(str, words)])
        try:
            main()
            status = 0
        except SystemExit as leave:
            status = int(leave.code or 0)
    return Done(status, out.getvalue(), err.getvalue())


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A file of microdata, in the folder where commands run."""
    monkeypatch.chdir(tmp_path)
    with open("people.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(PEOPLE)
        writer.writerows(zip(*PEOPLE.values(), strict=True))
    (tmp_path / "region.hrc").write_text("N\n@N1\n@N2\nS\n")
    return tmp_path / "people.csv"


def read_rows(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(Path(path).read_text(encoding="utf-8"), newline="")))


def same(first: Table, second: Table) -> bool:
    return first.hierarchies == second.hierarchies and first.value.tolist() == second.value.tolist()


def test_options_ask_for_the_same_table_as_python(people):
    source = TableSource([people], by=["region,sex"], of="x", holding="sex", hierarchy=["region=region.hrc"], top="2")
    expected = Table.from_microdata(
        people, by=["region", "sex"], of="x", holding="sex", hierarchies={"region": "region.hrc"}, top=2
    )
    assert same(source.table(), expected)
    assert source.table().contributions.top.shape[1] == 2


def test_variables_given_twice_are_linked_tables(people):
    linked = TableSource([people], by=["region", "sex"]).table()
    assert linked.variables == ("region", "sex")
    assert len(linked) == 4 + 3 - 1


def test_levels_may_be_columns_of_the_file(tmp_path):
    (tmp_path / "t.csv").write_text("town,county\na1,A\na2,A\nb1,B\n")
    table = TableSource([tmp_path / "t.csv"], by=["town"], hierarchy=["town=county"]).table()
    assert table.hierarchies[0].codes == ("Total", "A", "a1", "a2", "B", "b1")


def test_cells_are_asked_for_by_their_columns(tmp_path):
    (tmp_path / "c.csv").write_text("sex,n,v,max,mark\nall,5,30,9,S\nf,2,10,9,U\nm,3,20,8,S\n")
    table = TableSource(
        [tmp_path / "c.csv"], by=["sex"], value="v", frequency="n", top="max", total=["sex=all"], column=["status=mark"]
    ).table()
    assert table.primary.tolist() == [False, True, False]
    assert table.contributions.top.tolist() == [[9], [9], [8]]
    assert Rules(range=50).flag(table).upper_protection.tolist() == [0, 5, 0]


def test_files_of_the_field_say_it_all(people):
    table = Table.from_microdata(PEOPLE, by=["region", "sex"], of="x", hierarchies={"region": "region.hrc"})
    write_tab(table, "t.tab")
    assert same(TableSource([people.with_name("t.tab")]).table(), table)
    write_asc(PEOPLE, "m.asc", keywords={"region": {"HIERCODELIST": "region.hrc"}})
    assert same(TableSource([people.with_name("m.asc")], by=["region,sex"], of="x").table(), table)


def test_rules_are_asked_for_by_their_parameters(people):
    table = TableSource([people], by=["region,sex"], of="x").table()
    rules = Rules(threshold=2, p_percent=10, dominance=["1,85", "2,99"], pq="10,50", all_zero=3)
    assert [type(rule).__name__ for rule in rules._rules()] == [
        "Threshold", "PPercent", "Dominance", "Dominance", "PQ", "AllZero",
    ]  # fmt: skip
    assert rules.flag(table).primary.any()
    assert Rules(p_percent=10).flag(table).primary.sum() > Rules(p_percent=10, waive=["0,1"]).flag(table).primary.sum()
    assert not Rules().flag(table).primary.any()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["adjust", "people.csv"], "Add --by"),
        (["adjust", "nowhere.csv", "--by", "sex"], "There is no file 'nowhere.csv'"),
        (["adjust", "people.csv", "--by", "sec"], "Did you mean 'sex'"),
        (["adjust", "people.csv", "--by", "sex", "--hierarchy", "region.hrc"], "Write name=value"),
        (["adjust", "people.csv", "--by", "sex", "--dominance", "1"], "takes two numbers"),
        (["adjust", "people.csv", "--by", "sex", "--dominance", "one,two"], "takes numbers"),
        (["adjust", "people.csv", "--by", "sex", "--top", "many"], "takes numbers"),
        (["adjust", "people.csv", "--by", "sex", "-o", "t.doc"], "Known endings: .csv"),
        (["adjust", "people.csv", "--by", "sex", "-o", "t.jj"], "keep this one with --working"),
        (["adjust", "people.csv", "--by", "sex", "-o", "nowhere/t.csv"], "cannot be written"),
        (["adjust", "people.csv", "--by", "sex", "--report", "t.pdf"], "Known endings: .html"),
        (
            ["adjust", "people.csv", "--by", "sex", "--working", "t.xlsx"],
            "Known endings: .csv, .parquet, .arrow, .tab, .jj",
        ),
        (["safe", "people.csv", "--by", "sex", "-o", "nowhere/t.csv"], "cannot be written"),
        (["transitions", "--D", "3", "--V", "1"], "Take V of at least 2"),
        (["transitions", "--D", "3", "-o", "t.csv"], "Give both --D and --V"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_and_status_2(people, words, said):
    done = run(*words)
    assert done.status == 2
    assert said in done.err
    assert done.out == ""


def test_adjust_gives_the_nearest_table_that_adds_up(people, tmp_path):
    (tmp_path / "noisy.csv").write_text("sex,n\nTotal,12\nf,7\nm,6\n")
    (tmp_path / "true.csv").write_text("sex,n\nTotal,12\nf,7\nm,5\n")
    done = run("adjust", "noisy.csv", "--by", "sex", "--frequency", "n", "--original", "true.csv", "--D", "3")
    rows = list(csv.DictReader(StringIO(done.out)))
    assert done.status == 0
    assert int(rows[0]["value"]) == int(rows[1]["value"]) + int(rows[2]["value"])
    assert "largest deviation" in done.err


def test_the_table_goes_to_a_file_by_its_ending_and_the_working_table_too(people):
    done = run("adjust", "people.csv", "--by", "region,sex", "-o", "t.parquet", "--working", "t.jj")
    assert (done.status, done.out) == (0, "")
    assert pq.read_table("t.parquet").column_names == ["region", "sex", "value", "mark"]
    assert read_jj("t.jj").value.tolist() == pq.read_table("t.parquet")["value"].to_pylist()
    run("adjust", "people.csv", "--by", "region,sex", "-o", "t.csv", "--working", "t.tab")
    assert read_tab("t.tab").variables == ("region", "sex")


def test_transitions_are_shown_and_written_as_others_read_them(people):
    done = run("transitions", "--D", "3", "--V", "2", "--js", "2", "-o", "p.csv", "--keys", "k.csv")
    assert "    1        .      .  0.667" in done.out
    assert read_ptable("p.csv").transitions().D == 3
    assert people.with_name("k.csv").read_text().startswith("pcv,ckey,pvalue\n1,0,-1\n")


def test_without_a_variance_transitions_say_which_there_are(people):
    assert run("transitions", "--js", "2").out.splitlines()[:2] == ["D,least,greatest", "3,2,3"]


def test_round_gives_multiples_that_add_up(people):
    done = run("round", "people.csv", "--by", "region,sex", "--base", "3")
    values = [int(row["value"]) for row in csv.DictReader(StringIO(done.out))]
    assert done.status == 0
    assert all(value % 3 == 0 for value in values)
    assert values[0] == values[1] + values[2]
    assert "mean" in done.err


def test_safe_gives_microdata_without_small_combinations(people):
    done = run("safe", "people.csv", "--by", "region,sex", "--controlled", "region", "--teaching-seed", "3")
    counts = [int(row["count"]) for row in csv.DictReader(StringIO(done.out))]
    assert done.status == 0
    assert min(counts) >= 3
    assert "SafeBase" in done.err


@pytest.mark.parametrize("command", [["round", "--method", "random"], ["adjust"], ["safe", "--controlled", "1"]])
def test_what_is_drawn_comes_from_a_key_beside_the_data_and_a_teaching_seed_is_marked(people, command):
    words = [command[0], "people.csv", "--by", "region,sex", *command[1:]]
    one, again = run(*words), run(*words)
    key = people.with_name("people.csv.key")
    assert one.status == 0 and one.out == again.out and "not for release" not in one.err
    assert key.stat().st_mode & 0o777 == 0o600 and key.read_text().split()[0] not in one.out + one.err
    assert "not for release" in run(*words, "--teaching-seed", "1").err
    key.chmod(0o644)
    assert run(*words).status == 2 and "chmod 600" in run(*words).err


@pytest.mark.parametrize(
    "words",
    [
        ["suppress", "people.csv", "--by", "sex,region", "--threshold", "2"],
        ["adjust", "people.csv", "--by", "sex"],
        ["round", "people.csv", "--by", "sex"],
        ["safe", "people.csv", "--by", "sex,region", "--controlled", "1"],
        ["transitions", "--D", "3", "--V", "2"],
    ],
)
def test_every_method_writes_its_report(people, words):
    assert run(*words, "--report", "out.html").status == 0
    assert people.with_name("out.html").read_text().startswith("<!doctype html>")


FIRMS = ["firms.csv", "--by", "region,sector", "--of", "turnover", "--threshold", "2", "--p-percent", "10"]


@pytest.fixture
def firms(tmp_path, monkeypatch):
    """Microdata with sole and dominant contributors, in the folder where commands run."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    rows = [(f"r{i % 5}", f"s{(i // 3) % 4}", f"g{i % 40}", 10 + int(rng.pareto(1.0) * 20)) for i in range(120)]
    rows += [("r0", "s4", "solo", 77), ("r1", "s4", "g1", 900), ("r1", "s4", "g2", 3), ("r2", "s4", "g3", 50)]
    lines = ["region,sector,group,turnover", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "firms.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_suppress_publishes_a_pattern_that_passes_its_audit(firms):
    done = run("suppress", *FIRMS, "-o", "t.csv", "--working", "t.tab", "--report", "t.html")
    assert (done.status, done.out) == (0, "")
    assert "audit passed" in done.err
    rows = read_rows("t.csv")
    hidden = [row for row in rows if row["mark"] == "c"]
    assert len(hidden) > 3
    assert all(row["value"] == "" for row in hidden)
    again = run("audit", *FIRMS, "--pattern", "t.csv")
    assert (again.status, again.err) == (0, "")
    assert again.out.endswith("suppressed cells: passed.\n")
    assert "Suppression: turnover by region x sector" in (firms / "t.html").read_text(encoding="utf-8")


def test_suppress_writes_to_the_screen_without_a_file(firms):
    done = run("suppress", *FIRMS)
    assert done.out.startswith("region,sector,value,mark\n")


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_audit_judges_what_was_published_in_any_format(firms, ending):
    assert run("suppress", *FIRMS, "-o", f"t.{ending}").status == 0
    assert run("audit", *FIRMS, "--pattern", f"t.{ending}").status == 0


def test_a_pattern_without_its_secondaries_fails_and_the_cells_are_named(firms):
    flagged = TableSource([firms / "firms.csv"], by=["region,sector"], of="turnover").table()
    flagged = Rules(threshold=2, p_percent=10).flag(flagged)
    write_tab(flagged, "p.tab")
    done = run("audit", "p.tab", "-o", "intervals.csv", "--report", "audit.html")
    assert done.status == 1
    assert "FAILED" in done.out.splitlines()[0]
    assert "region=r0, sector=s4: can be computed" in done.out
    rows = read_rows("intervals.csv")
    assert {row["missed"] for row in rows if (row["region"], row["sector"]) == ("r0", "s4")} == {"upper, lower"}
    page = (firms / "audit.html").read_text(encoding="utf-8")
    assert "too narrow: upper, lower" in page


def test_an_audit_that_its_time_limit_ends_fails_and_says_what_is_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)  # 4,851 cells: seconds on any machine, so a tenth of one is never enough
    rows = np.column_stack([rng.integers(0, size, 4000) for size in (20, 20, 10, 1000)]).tolist()
    (tmp_path / "firms.csv").write_text("\n".join(["a,b,c,v", *(",".join(map(str, row)) for row in rows)]))
    sparse = ("firms.csv", "--by", "a,b,c", "--of", "v", "--threshold", "3")
    done = run("audit", *sparse, "--time-limit", "0.1", "-o", "cells.csv")
    assert done.status == 1
    assert "NOT DECIDED for" in done.out
    assert "Give more time, or fewer attackers" in done.out
    assert any(row["missed"].startswith("not decided: ") for row in read_rows("cells.csv"))
    refused = run("audit", *sparse, "--time-limit", "0")
    assert (refused.status, refused.out) == (2, "")
    assert "--time-limit" in refused.err


def test_a_primary_cell_that_was_published_fails(firms):
    run("suppress", *FIRMS, "-o", "t.csv")
    text = (firms / "t.csv").read_text().replace("r0,s4,,c", "r0,s4,77,")
    (firms / "shown.csv").write_text(text)
    done = run("audit", *FIRMS, "--pattern", "shown.csv")
    assert done.status == 1
    assert "region=r0, sector=s4: is shown" in done.out


def test_a_file_that_cannot_be_written_whole_leaves_the_old_one(firms, monkeypatch):
    (firms / "t.csv").write_text("the old one")

    def full(path, target):
        Path(target).write_text("half of")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(writing.FRAMES, ".csv", full)
    done = run("suppress", *FIRMS, "-o", "t.csv")
    assert done.status != 0
    assert "No space left on device" in done.err
    assert (firms / "t.csv").read_text() == "the old one"
    assert not list(firms.glob("*.partial"))


def test_a_value_that_was_left_beside_its_mark_is_seen(firms):
    run("suppress", *FIRMS, "-o", "t.csv")
    text = (firms / "t.csv").read_text()
    (firms / "left.csv").write_text(text.replace("r0,s4,,c", "r0,s4,77,c"))
    done = run("audit", *FIRMS, "--pattern", "left.csv")
    assert done.status == 1
    assert "region=r0, sector=s4: is shown" in done.out


def test_a_file_with_marks_is_judged_by_them_where_a_rule_marks_more(firms):
    flagged = TableSource([firms / "firms.csv"], by=["region,sector"], of="turnover").table()
    write_tab(flagged.mark(flagged.find(region="r3"), "primary"), "p.tab")
    done = run("audit", "p.tab", "--threshold", "2")
    assert done.status == 1
    assert "region=r0, sector=s4: is shown" in done.out


def test_what_tau_argus_saved_is_judged_with_microdata_and_without(firms):
    run("suppress", *FIRMS, "--working", "t.parquet")
    rows = pq.read_table("t.parquet").to_pylist()
    number = {"safe": 1, "primary": 3, "secondary": 11, "empty": 14}
    lines = [f'"{row["region"]}"," {row["sector"]}",{row["value"]},{number[row["status"]]}\n' for row in rows]
    (firms / "saved.txt").write_text("".join(lines))
    assert run("audit", *FIRMS, "--pattern", "saved.txt").status == 0
    assert run("audit", "saved.txt", "--tau-argus", "--by", "region,sector").status == 0


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("region,sector,value\nr0,s0,1\n", "Name a column mark or status"),
        ("region,sector,mark\nr0,nowhere,c\n", "'sector' has no code 'nowhere'"),
        ("region,sector,mark\nr0,s0,c\n", "says nothing of region=Total, sector=Total"),
        ("region,sector,mark\nr0,s0,perhaps\n", "There is no status 'perhaps'"),
        ("sector,mark\ns0,c\n", "No column called 'region'"),
    ],
)
def test_a_pattern_that_is_not_of_the_table_is_a_mistake(firms, lines, said):
    (firms / "p.csv").write_text(lines)
    done = run("audit", *FIRMS, "--pattern", "p.csv")
    assert done.status == 2
    assert said in done.err


def test_several_files_are_linked_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("act,size,n\nA,1,4\nA,2,3\nB,1,1\nB,2,9\n")
    (tmp_path / "b.csv").write_text("act,town,n\nA,x,5\nA,y,2\nB,x,4\nB,y,6\n")
    source = TableSource([Path("a.csv"), Path("b.csv")], by=["act,size", "act,town"], frequency="n")
    linked = source.table()
    assert linked.variables == ("act", "size", "town")
    assert len(linked) == 9 + 9 - 3
    done = run(
        "suppress", "a.csv", "b.csv", "--by", "act,size", "--by", "act,town", "--frequency", "n", "--threshold", "2"
    )
    assert done.status == 0
    assert done.out.startswith("act,size,town,value,mark\n")


def test_a_description_may_lie_elsewhere(people):
    write_asc(PEOPLE, "m.asc")
    people.with_name("m.rda").rename(people.with_name("other.rda"))
    assert run("round", "m.asc", "--by", "sex").status == 2
    assert run("round", "m.asc", "--by", "sex", "--rda", "other.rda").status == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["one.csv", "--by", "k"], "Give a rule: --threshold 3"),
        (["one.csv", "--by", "k", "--of", "v", "--value", "v"], "--of is for microdata, --value for cells"),
        (["one.csv", "--by", "k", "--no-empty", "--value", "v"], "--no-empty is for microdata"),
        (["one.csv", "--by", "k", "--total", "All", "--threshold", "3"], "--total is for cells"),
        (["one.csv", "--by", "k", "--hierarchy", "v=x.hrc", "--threshold", "3"], "speaks of 'v', which spans no table"),
        (["one.csv", "--by", "k", "--hierarchy", "k=cycle.csv", "--threshold", "3"], "runs in a circle: 'a' -> 'b' -> 'a'"),
        (["one.csv", "--by", "k", "--hierarchy", "k=orphan.csv", "--threshold", "3"], "'zz', which is not in the hierarchy"),
        (["one.csv", "one.csv", "--by", "k", "--by", "v", "--by", "k,v", "--threshold", "3"], "2 files and 3 times --by"),
        (["t.jj", "--by", "k"], "t.jj says itself what it holds. Leave out --by."),
        (["t.jj", "t.jj"], "knows cells by number only"),
        (["sums.csv", "--by", "k", "--frequency", "n", "--threshold", "5"], "k=Total is not the sum of its 2 parts"),
        (["neg.csv", "--by", "k", "--value", "v", "--frequency", "n", "--top", "max", "--dominance", "1,50"], "negative cell k=a"),
        (["published.csv", "--by", "k", "--value", "v", "--column", "status=mark"], "need their true values too"),
        (["empty.csv", "--by", "k", "--threshold", "3"], "empty.csv is empty"),
        (["headed.csv", "--by", "k", "--threshold", "3"], "have no records"),
        (["missing.csv", "--by", "k", "--threshold", "3"], "no code in 'k'"),
        (["one.csv", "--by", "k", "--threshold", "0"], "must be at least 1, not 0"),
        (["one.csv", "--by", "k", "--threshold", "3", "--method", "best"], "There is no method 'best'"),
        (["one.csv", "--by", "k", "--threshold", "3", "--cost", "money"], "There is no cost 'money'"),
        (["nowhere.tab"], "no description nowhere.rda"),
    ],
)  # fmt: skip
def test_bad_input_is_told_in_a_sentence(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    files = {
        "one.csv": "k,v\nx,1\n",
        "cycle.csv": "code,parent\na,b\nb,a\n",
        "orphan.csv": "code,parent\na,zz\nx,\n",
        "t.jj": "0\n1\n0 1 1 s 0 1 0 0 0\n0\n",
        "sums.csv": "k,n\nTotal,9\na,4\nb,6\n",
        "neg.csv": "k,n,v,max\nTotal,9,5,20\na,4,-10,20\nb,5,15,9\n",
        "published.csv": "k,v,mark\nTotal,9,\na,,c\nb,,c\n",
        "empty.csv": "",
        "headed.csv": "k,v\n",
        "missing.csv": "k,v\nx,1\n,2\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = run("suppress", *words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err


def test_one_record_is_suppressed_with_its_total(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.csv").write_text("k,v\nx,1\n")
    done = run("suppress", "one.csv", "--by", "k", "--threshold", "3")
    assert done.status == 0
    assert [row["value"] for row in csv.DictReader(StringIO(done.out))] == ["", ""]


def test_names_of_any_script_and_length_are_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    codes = ["Île-de-France", "北京", "𝒳;y", "x" * 3000]
    rows = [(codes[i % 4], "groß" if i % 3 else "klein") for i in range(40)] + [("北京", "winzig")]
    (tmp_path / "u.csv").write_text("région,Größe\n" + "".join(f'"{a}",{b}\n' for a, b in rows), encoding="utf-8")
    done = run("suppress", "u.csv", "--by", "région,Größe", "--threshold", "2", "-o", "t.csv", "--report", "t.html")
    assert done.status == 0
    assert {row["région"] for row in read_rows("t.csv")} == {"Total", *codes}


def test_negative_contributions_are_judged_by_their_size(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [("a", -900), ("a", 10), ("a", 5), ("b", 30), ("b", 25), ("b", 28), ("c", -20), ("c", -22), ("c", 25)]
    (tmp_path / "n.csv").write_text("k,v\n" + "".join(f"{k},{v}\n" for k, v in rows))
    done = run("suppress", "n.csv", "--by", "k", "--of", "v", "--dominance", "1,75")
    shown = {row["k"]: row["value"] for row in csv.DictReader(StringIO(done.out))}
    assert done.status == 0
    assert shown["a"] == ""


def test_a_person_sees_how_far_the_work_is(firms):
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "confide", "protect", "suppress", *FIRMS, "-o", "t.csv"]
    with open(ours, "rb", buffering=0) as screen:
        done = subprocess.Popen(command, stderr=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"})
        os.close(theirs)
        seen = b""
        with suppress(OSError):  # what Linux says when the other side is closed
            while part := screen.read(4096):
                seen += part
    assert done.wait() == 0
    assert b"Suppressing" in seen
    assert "Suppressing" not in run("suppress", *FIRMS, "-o", "t.csv").err


@pytest.mark.parametrize("command", ["suppress", "audit", "round", "adjust", "safe", "transitions"])
def test_help_teaches_by_an_example(command):
    done = run(command, "--help")
    assert done.status == 0
    assert f"confide protect {command} " in done.out


def test_without_the_extra_suppress_says_what_to_install(people):
    words = ["confide", "protect", "suppress", "people.csv", "--by", "sex", "--threshold", "3"]
    code = f"import sys; sys.modules['highspy'] = None; sys.argv = {words}; from confide.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'confide[tables]'" in done.stderr
