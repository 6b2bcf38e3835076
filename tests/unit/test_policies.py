"""The policies of a site: every one that was in force is kept, a draft does nothing, and enforcing is whole or not at all."""

from dataclasses import replace
from pathlib import Path

import pytest

from confide.errors import Fault, Mistake
from confide.model.policy import PRESETS, Policy
from confide.site.folder import Folder, create_folder
from confide.site.policies import compare, keep, kept, preset_name
from confide.site.policy_drafts import Drafts, PolicyDraft
from confide.site.state import FileState

STANDARD = PRESETS["standard"]


def drafts(folder: Folder) -> Drafts:
    return Drafts(folder, FileState())


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = create_folder(tmp_path / "site")
    (made.path / "people").mkdir()
    made.catalog("people").write_text("")
    return made


def version(number: int, gamma: int) -> Policy:
    return replace(STANDARD, version=number, universe=replace(STANDARD.universe, gamma=gamma))


def test_a_policy_is_kept_once_while_it_is_in_force_and_again_when_it_comes_back(folder: Folder) -> None:
    for policy in (STANDARD, STANDARD, version(2, 40), version(2, 40), STANDARD):
        keep(folder, policy)
    assert [each.policy for each in kept(folder)] == [STANDARD, version(2, 40), STANDARD]
    assert [each.number for each in kept(folder)] == [1, 2, 3]


def test_what_is_kept_has_every_field_so_that_later_presets_change_nothing(folder: Folder) -> None:
    keep(folder, STANDARD)
    [file] = (folder.path / "policies").iterdir()
    assert "gamma = 0" in file.read_text() and "per_minute" in file.read_text()


def test_more_than_nine_policies_stay_in_order(folder: Folder) -> None:
    for number in range(1, 13):
        keep(folder, version(number, number))
    assert [each.policy.version for each in kept(folder)] == list(range(1, 13))


def test_a_kept_policy_that_cannot_be_read_is_left_out_and_what_is_none_is_not_touched(folder: Folder) -> None:
    keep(folder, STANDARD)
    places = folder.path / "policies"
    (places / "0002-20260101T000000Z.toml").write_text("[nothing")
    (places / "0003-99999999T999999Z.toml").write_text("")
    (places / "notes.toml").write_text("mine")
    (places / "0004-20260101T000000Z.toml").write_bytes(b"\xff")
    assert [each.number for each in kept(folder)] == [1]
    keep(folder, version(2, 40))
    assert [each.number for each in kept(folder)] == [1, 5]


def test_a_draft_is_kept_apart_from_the_policy_in_force(folder: Folder) -> None:
    before = (folder.path / "policy.toml").read_bytes()
    assert drafts(folder).read() is None
    drafts(folder).save(PolicyDraft(version(2, 40), "standard"))
    assert drafts(folder).read() == PolicyDraft(version(2, 40), "standard")
    assert (folder.path / "policy.toml").read_bytes() == before


def test_enforcing_puts_the_draft_in_force_and_keeps_the_policy_before(folder: Folder) -> None:
    drafts(folder).save(PolicyDraft(replace(PRESETS["tablebuilder"], version=2), "tablebuilder"))
    assert drafts(folder).enforce().title == "tablebuilder, version 2"
    assert folder.policy() == replace(PRESETS["tablebuilder"], version=2) and preset_name(folder) == "tablebuilder"
    assert [each.policy for each in kept(folder)] == [STANDARD] and drafts(folder).read() is None


def test_there_is_nothing_to_enforce_without_a_draft(folder: Folder) -> None:
    with pytest.raises(Mistake, match="There is no draft"):
        drafts(folder).enforce()
    folder.draft().write_text("[universe]\ngamma = -1\n")
    before = (folder.path / "policy.toml").read_bytes()
    with pytest.raises(Mistake, match="universe.gamma"):
        drafts(folder).enforce()
    assert (folder.path / "policy.toml").read_bytes() == before and folder.draft().exists()


def test_a_full_disk_leaves_policy_and_draft_as_they_were(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts(folder).save(PolicyDraft(version(2, 40), "standard"))
    before = (folder.path / "policy.toml").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(Fault, match="No space"):
        drafts(folder).enforce()
    assert (folder.path / "policy.toml").read_bytes() == before and drafts(folder).read() is not None


def test_a_draft_that_is_not_text_is_a_mistake(folder: Folder) -> None:
    folder.draft().write_bytes(b"\xff\xfe")
    with pytest.raises(Mistake, match="UTF-8"):
        drafts(folder).read()


def test_a_comparison_names_every_field_that_differs_and_no_other() -> None:
    after = replace(version(2, 40), models=replace(STANDARD.models, suppressed=("age",)), name="other")
    assert [change.field for change in compare(STANDARD, after)] == [
        "name",
        "version",
        "universe.gamma",
        "models.suppressed",
    ]
    assert compare(after, after) == []


# ---- a data set's own


def own(folder: Folder, text: str) -> Policy:
    folder.own("people").write_text(text)
    return folder.policy("people")


def test_a_data_set_without_a_policy_of_its_own_follows_the_site(folder: Folder) -> None:
    assert folder.follows("people") and folder.policy("people") == folder.policy() == STANDARD
    assert preset_name(folder, name="people") == "site"


@pytest.mark.parametrize("preset", ["", "preset = 'site'\n"])
def test_a_few_fields_of_its_own_stand_over_the_site_s(folder: Folder, preset: str) -> None:
    (folder.path / "policy.toml").write_text("version = 3\n[quota]\nper_day = 7\n[output]\ndigits = 6\n")
    found = own(folder, preset + "[output]\ndigits = 2\n")
    assert (found.quota.per_day, found.output.digits, folder.policy().output.digits) == (7, 2, 6)
    assert found.title == "standard for people, version 3" and found.mark != folder.policy().mark
    assert preset_name(folder, name="people") == "site"


def test_a_whole_policy_of_its_own_takes_nothing_from_the_site(folder: Folder) -> None:
    (folder.path / "policy.toml").write_text("version = 3\n[quota]\nper_day = 7\n")
    assert own(folder, "preset = 'tablebuilder'\n") == PRESETS["tablebuilder"]
    assert preset_name(folder, name="people") == "tablebuilder"


def test_what_a_data_set_would_have_under_another_policy_of_the_site(folder: Folder) -> None:
    draft = version(2, 40)
    assert folder.policy("people", site=draft) == draft
    own(folder, "[output]\ndigits = 2\n")
    tried = folder.policy("people", site=draft)
    assert (tried.universe.gamma, tried.output.digits, tried.version) == (40, 2, 2)
    own(folder, "preset = 'tablebuilder'\n")
    assert folder.policy("people", site=draft) == PRESETS["tablebuilder"]


WRONG = {
    "[universe]\ngama = 3\n": "Did you mean 'gamma'?",
    "[universe]\ngamma = -3\n": "universe.gamma must be at least 0",
    "[univers]\ngamma = 3\n": "Did you mean 'universe'?",
    "preset = 'strict'\n": "No preset called 'strict'",
    "[universe": "not valid TOML",
    "version = 0\n": "version a whole number",
    "name = 3\n": "name must be text",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_in_a_data_set_s_policy_names_its_file(folder: Folder, text: str) -> None:
    with pytest.raises(Mistake) as mistake:
        own(folder, text)
    assert str(folder.own("people")) in str(mistake.value) and WRONG[text] in str(mistake.value)
    assert folder.policy() == STANDARD


def test_a_data_set_s_policy_that_is_not_text_is_a_mistake(folder: Folder) -> None:
    folder.own("people").write_bytes(b"\xff\xfe")
    with pytest.raises(Mistake, match=r"people.policy\.toml cannot be read as UTF-8"):
        folder.policy("people")


def test_the_site_s_own_policy_cannot_start_from_itself(folder: Folder) -> None:
    (folder.path / "policy.toml").write_text("preset = 'site'\n")
    with pytest.raises(Mistake, match="No preset called 'site'"):
        folder.policy()


def test_a_data_set_that_is_not_there_has_no_policy_and_no_draft(folder: Folder) -> None:
    with pytest.raises(Mistake, match=r"no data set called 'peple'\. Did you mean 'people'"):
        folder.policy("peple")
    (folder.path / "gone").mkdir()
    folder.draft("gone").write_text("version = 2\n")
    with pytest.raises(Mistake, match=r"gone.draft\.toml is for no data set: there is none called 'gone'"):
        drafts(folder).enforce(name="gone")


def test_drafts_and_history_stand_beside_the_policy_they_belong_to(folder: Folder) -> None:
    drafts(folder).save(PolicyDraft(version(5, 40), "site"), name="people")
    assert drafts(folder).read() is None and folder.draft("people").parent == folder.own("people").parent
    after = drafts(folder).enforce(name="people")
    assert after == version(5, 40) == folder.policy("people") and folder.policy() == STANDARD
    assert [each.policy for each in kept(folder, name="people")] == [STANDARD] and kept(folder) == []
    keep(folder, after, name="people")
    assert [each.preset for each in kept(folder, name="people")] == ["site", "site"]
    assert drafts(folder).read(name="people") is None


@pytest.mark.parametrize("name", [None, "people"])
@pytest.mark.parametrize(("drafted", "enforced"), [(1, 4), (3, 4), (4, 4), (9, 9)])
def test_enforcing_raises_the_version_unless_the_draft_s_is_higher(
    folder: Folder, name: str | None, drafted: int, enforced: int
) -> None:
    (folder.path / "policy.toml").write_text("version = 3\n")
    drafts(folder).save(PolicyDraft(version(drafted, 40), "standard"), name=name)
    assert drafts(folder).enforce(name=name).version == enforced == folder.policy(name).version


def test_a_draft_of_a_data_set_that_cannot_be_read_names_its_file(folder: Folder) -> None:
    folder.draft("people").write_text("[universe]\ngama = 3\n")
    with pytest.raises(Mistake, match=r"The draft cannot be used.*people.draft\.toml.*gama"):
        drafts(folder).enforce(name="people")
    assert folder.follows("people")
