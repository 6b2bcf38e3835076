"""The pages of `confide describe`: one browser, nothing half-written, mistakes at their fields, hostile words escaped."""

import html
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

import confide
from confide.web.describing.fields import CODES

LONG = 120
HOSTILE = "<script>alert(1)</script>\"'&"


class Custodian:
    """The browser in which a description is open."""

    def __init__(self, described: Any) -> None:
        self.described = described
        self.client = httpx.Client(base_url=described.url, timeout=LONG, follow_redirects=True)
        assert self.client.get(described.address).status_code == 200

    def fields(self, address: str) -> dict[str, str]:
        """The fields of the form on a page, as a browser would send them."""
        page = self.client.get(address).text
        found = {}
        for tag in re.findall(r"<input[^>]*>", page):
            name, value = re.search(r' name="([^"]*)"', tag), re.search(r' value="([^"]*)"', tag)
            if name:
                found[name[1]] = html.unescape(value[1] if value else "")
        for name, text in re.findall(r'<textarea[^>]* name="([^"]*)"[^>]*>\n(.*?)</textarea>', page, re.S):
            found[name] = html.unescape(text)
        for name, options in re.findall(r'<select[^>]* name="([^"]*)"[^>]*>(.*?)</select>', page, re.S):
            found[name] = re.findall(r'value="([^"]*)" selected', options)[0]
        return found

    def send(self, address: str, /, **changed: str) -> httpx.Response:
        """Send the form of a page with some of its fields changed; an underscore between words stands for a hyphen before a number."""
        fields = self.fields(address) | {re.sub(r"_(\d+)$", r"-\1", name): value for name, value in changed.items()}
        return self.client.post(address.partition("?")[0], data=fields)


Opening = Callable[[Path, str], Custodian]


@pytest.fixture
def describe(describe_here: Callable[[Path, str], Any]) -> Iterator[Opening]:
    """Open descriptions in browsers that close with the test."""
    opened: list[Custodian] = []

    def opening(site: Path, name: str) -> Custodian:
        opened.append(Custodian(describe_here(site, name)))
        return opened[-1]

    yield opening
    for each in opened:
        each.client.close()


@pytest.fixture
def custodian(survey: Path, describe: Opening) -> Custodian:
    return describe(survey, "people")


def test_the_address_opens_one_browser_and_no_second(custodian: Custodian) -> None:
    described, before = custodian.described, custodian.described.text
    with httpx.Client(base_url=described.url, timeout=LONG) as other:
        for address in (described.address, "/open?token=x", "/open", "/", "/variable?name=sex"):
            answer = other.get(address)
            assert answer.status_code == 403 and "sex" not in answer.text and "set-cookie" not in answer.headers, (
                address
            )
        bearer = {"Authorization": f"Bearer {described.token}"}
        assert other.get("/", headers=bearer).status_code == 403
        fields = custodian.fields("/") | {"label-0": "stolen"}
        assert other.post("/", data=fields).status_code == 403
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"X-Forwarded-For": "127.0.0.1"}):
            assert custodian.client.get("/", headers=headers).status_code in (403, 421), headers
    assert custodian.client.post("/", data=fields | {"csrf": "x"}).status_code == 403
    assert custodian.client.post("/", content=b"x=" + b"a" * 300_000).status_code == 413
    assert custodian.client.put("/", data=fields).status_code == 405
    assert custodian.client.get("/nowhere").status_code == 404
    assert custodian.client.get("/variable?name=six").status_code == 404
    assert described.text == before


def test_every_page_carries_the_headers_and_is_kept_by_nobody(custodian: Custodian) -> None:
    for address in ("/", "/variable?name=age", "/nowhere"):
        headers = custodian.client.get(address).headers
        assert headers["cache-control"] == "no-store" and "default-src 'none'" in headers["content-security-policy"]


def test_saving_what_is_there_changes_no_byte(custodian: Custodian) -> None:
    before = custodian.described.text
    for address in ("/", "/variable?name=sex", "/variable?name=work", "/variable?name=age"):
        answer = custodian.send(address)
        assert answer.status_code == 200, address
        assert custodian.described.text == before, address


def test_labels_and_roles_are_set_for_all_at_once(custodian: Custodian) -> None:
    answer = custodian.send("/", title="People of Norland", label_0=HOSTILE, role_1="confidential")
    assert "Saved in dataset.toml" in answer.text and "--renew" in answer.text
    assert "<script>alert" not in answer.text and html.escape(HOSTILE, quote=False)[:20] in answer.text
    dataset = custodian.described.file.read().dataset
    assert dataset.title == "People of Norland" and dataset.variables["sex"].label == HOSTILE
    assert dataset.variables["work"].role == "confidential" and "# was key: " in custodian.described.text


def test_codes_are_labelled_merged_and_grouped(custodian: Custodian, survey: Path) -> None:
    codes = [code.code for code in custodian.described.file.read().dataset.variables["work"].codes or ()]
    baker, nurse = codes.index("baker"), codes.index("nurse")
    changed = {f"into-{nurse}": "baker", f"words-{baker}": "Bakers", "missing": "unknown", "added": "smith"}
    answer = custodian.send("/variable?name=work", **changed)
    assert "confide ingest FILE" in answer.text, answer.text
    work = custodian.described.file.read().dataset.variables["work"]
    assert {code.code: code.label for code in work.codes or ()}["baker"] == "Bakers"
    assert work.codes is not None and work.codes.codes[work.codes.places["baker"]].synonyms == ("nurse",)
    assert "smith" in work.codes and work.codes.codes[-1].missing
    rows = custodian.fields("/variable?name=work")
    groups = {f"group-{key.removeprefix('code-')}": "trade" for key in rows if key.startswith("code-")}
    groups[f"group-{codes.index('clerk')}"] = "office"
    last = len(work.codes) - 1
    answer = custodian.send("/variable?name=work", **groups | {f"group-{last}": "", "level": "field"})
    assert answer.status_code == 200, answer.text
    dataset = custodian.described.file.read().dataset
    assert [v.name for v in dataset.chain("work")] == ["work", "field"]
    assert list(dataset.variables["field"].codes.names) == ["trade", "office", "unknown"]  # type: ignore[union-attr]
    rows = 60
    table = {"sex": ["f", "m", "F", "m"] * rows, "work": ["baker", "clerk", "nurse", "<b>\u202e&\"'"] * rows}
    confide.ingest(pa.table(table | {"age": [n % 90 for n in range(4 * rows)]}), survey, name="people")
    assert custodian.described.file.next_step() == ""


def test_what_was_hidden_is_shown_once_its_codes_are_listed(survey: Path, describe: Opening) -> None:
    file = survey / "people" / "dataset.toml"
    file.write_text(file.read_text() + '\n[variables.stratum]\nrole = "identifier"   # a stratum\n')
    here = describe(survey, "people")
    before = here.described.text
    answer = here.send("/variable?name=stratum", role="key")
    assert answer.status_code == 422 and "declares no codes" in answer.text and here.described.text == before
    assert here.send("/variable?name=stratum", role="key", added="a\nb").status_code == 200
    stratum = here.described.file.read().dataset.variables["stratum"]
    assert stratum.classifies and stratum.codes is not None and stratum.codes.names == ("a", "b")
    assert here.described.text.endswith('role = "key"   # was identifier: a stratum\ncodes = { a = "a", b = "b" }\n')


def test_numbers_get_cutpoints_and_a_recode(custodian: Custodian) -> None:
    level = {"level": "age_broad", "level_label": "Age, two classes", "level_cutpoints": "40"}
    assert custodian.send("/variable?name=age", cutpoints="20, 40 60", missing='""\n-9', **level).status_code == 200
    variables = custodian.described.file.read().dataset.variables
    assert variables["age"].cutpoints == (20, 40, 60) and variables["age"].missing == ("", "-9")
    assert variables["age_broad"].cutpoints == (40,) and variables["age_broad"].of == "age"
    assert "minimum = 0\n" in custodian.described.text


@pytest.mark.parametrize(
    ("address", "changed", "field", "words"),
    [
        ("/", {"label-1": " "}, "label-1", "needs a label"),
        ("/", {"role-0": "boss"}, "role-0", "is no role"),
        ("/", {"title": "\u202e"}, "title", "cannot be seen"),
        ("/", {"name-0": "nobody"}, "label-0", "no section of its own"),
        ("/", {"base": "x"}, "base", "was changed since"),
        ("/variable?name=sex", {"label": "a" * 301}, "label", "longer than 300"),
        ("/variable?name=sex", {"into-0": "z"}, "into-0", "no code"),
        ("/variable?name=sex", {"added": "m"}, "added", "already"),
        ("/variable?name=sex", {"added": "_T"}, "added", "reserved"),
        ("/variable?name=sex", {"spellings-0": "m"}, "spellings-0", "declared twice"),
        ("/variable?name=sex", {"level": "work"}, "level", "already"),
        ("/variable?name=sex", {"group-0": "x"}, "level", "needs a name"),
        ("/variable?name=age", {"cutpoints": "10, ten"}, "cutpoints", "is no number"),
        ("/variable?name=age", {"cutpoints": "20, 10"}, "cutpoints", "must increase"),
        ("/variable?name=age", {"cutpoints": "10.5"}, "cutpoints", "more decimals"),
        ("/variable?name=age", {"level": "broad", "level_cutpoints": ""}, "level_cutpoints", "needs cutpoints"),
    ],
)
def test_a_mistake_stands_at_its_field_and_nothing_is_written(
    custodian: Custodian, address: str, changed: dict[str, str], field: str, words: str
) -> None:
    before = custodian.described.text
    answer = custodian.send(address, **changed)
    assert answer.status_code == 422 and f'href="#{field}"' in answer.text, answer.text
    assert words in html.unescape(answer.text) and custodian.described.text == before
    if field != "base":
        assert f'id="{field}-error"' in answer.text and 'aria-invalid="true"' in answer.text
    for name, value in changed.items():
        assert html.escape(value.strip(), quote=True).replace("&#x27;", "&#39;") in answer.text, name


def test_long_lists_of_codes_are_on_several_pages(tmp_path: Path, describe: Opening) -> None:
    rows = 30 * (CODES + 50)
    table = pa.table({"place": [f"p{n % (CODES + 50):03}" for n in range(rows)], "sex": ["f", "m", "m"] * (rows // 3)})
    confide.add(table, tmp_path / "site", name="d")
    here = describe(tmp_path / "site", "d")
    before = here.described.text
    page = here.client.get(f"/variable?name=place&from={CODES}").text
    assert "p200" in page and ">p199<" not in page and "codes_file" in page
    assert here.send(f"/variable?name=place&from={CODES}", words_0="Two hundred").status_code == 200
    changed = [line for line in here.described.text.split("\n") if line not in before.split("\n")]
    assert changed == ['p200 = "Two hundred"']


def test_codes_in_a_file_are_shown_and_stay(survey: Path, describe: Opening) -> None:
    (survey / "people" / "work.csv").write_text("code,label\nbaker,Bakers\nclerk,Clerks\n")
    text = '[variables.sex]\nlabel = "Sex"\ncodes = { f = "F", m = "M" }\n\n'
    (survey / "people" / "dataset.toml").write_text(text + '[variables.work]\ncodes_file = "work.csv"\n')
    (survey / "people" / "profile.json").unlink()
    here = describe(survey, "people")
    page = here.client.get("/variable?name=work")
    assert "Bakers" in page.text and 'name="words-0"' not in page.text and "No distribution is kept" in page.text
    assert here.send("/variable?name=work", label="Work").status_code == 200
    assert here.described.text == text + '[variables.work]\ncodes_file = "work.csv"\nlabel = "Work"\n'


def test_the_command_prints_the_address_and_at_the_end_what_to_do(survey: Path) -> None:
    words = [sys.executable, "-c", "from confide.cli.main import main; main()", "describe", str(survey), "people"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None and process.stdout is not None
        line = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/open\?token=\S+", line)
        assert address, line
        with httpx.Client(timeout=LONG, follow_redirects=True) as client:
            page = client.get(address[0])
            assert "Describe people" in page.text
            fields = dict(re.findall(r'name="(csrf|base)"[^>]* value="([^"]*)"', page.text))
            form = fields | {"name": "age", "cutpoints": "30"}
            assert client.post(f"{page.url.scheme}://{page.url.netloc.decode()}/variable", data=form).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG) == 0
        assert process.stdout.read() == f"Next: confide ingest FILE {survey} people\n"


def test_what_cannot_be_described_is_a_mistake(survey: Path, tmp_path: Path) -> None:
    def told(*words: str) -> tuple[int, str]:
        run = [sys.executable, "-c", "from confide.cli.main import main; main()", "describe", *words]
        done = subprocess.run(run, capture_output=True, text=True, timeout=LONG, check=False)
        return done.returncode, done.stderr

    assert told(str(tmp_path / "none"), "people")[0] == 2
    status, words = told(str(survey), "poeple")
    assert status == 2 and "people" in words
    (survey / "people" / "dataset.toml").write_text("[variables.a]\nrol = 1\n")
    status, words = told(str(survey), "people")
    assert status == 2 and "Unknown key 'rol'" in words
    shutil.rmtree(survey)
