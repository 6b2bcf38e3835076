"""Topics of terms: taxonomies, WordNet, and levels."""

import sys
from pathlib import Path

import pytest

from confide import Mistake
from confide.querylogs import QueryLog, Taxonomy, WordNet, classify, with_hyponyms, wordnet


def written(folder: Path, text: str) -> Path:
    (folder / "topics.csv").write_text(text)
    return folder / "topics.csv"


def test_a_taxonomy_is_read_and_searched_by_stems(tmp_path):
    topics = Taxonomy.read(
        written(tmp_path, "id,parent,name,words\n1,,Sports,\n2,1,Football,goal referee\n3,,Music,\n")
    )
    assert topics.paths(["footballing", "Goals", "music", "tea"], 5) == [[("1", "2")], [("1", "2")], [("3",)], []]


def test_the_best_topics_come_first_and_no_more_than_asked_for():
    topics = Taxonomy(
        parents=dict.fromkeys("abc"), names={"a": "tea coffee water milk", "b": "tea", "c": "tea tea time"}, words={}
    )
    best = topics.paths(["tea"], 3)[0]
    assert len(best) == 3 and best[-1] == ("a",)
    assert topics.paths(["tea"], 1)[0] == best[:1]


def test_words_that_full_text_search_reads_as_its_own_are_terms():
    topics = Taxonomy(parents={"a": None}, names={"a": "and near or not"}, words={})
    assert topics.paths(["near", "or", '"', "NOT"], 1) == [[("a",)], [("a",)], [], [("a",)]]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("id,parent,name\n1,2,a\n2,1,b\n", "circle"),
        ("id,parent,name\n1,9,a\n", "not in the hierarchy"),
        ("id,parent,name\n", "no records"),
        ("id,name\n1,a\n", "no column 'parent'"),
        ("id,parent,name\n1,,a\n1,,b\n", "id of its own"),
    ],
)
def test_a_taxonomy_that_is_none_is_a_mistake(text, complaint, tmp_path):
    with pytest.raises(Mistake, match=complaint):
        Taxonomy.read(written(tmp_path, text))


def test_spaces_around_ids_do_not_matter(tmp_path):
    topics = Taxonomy.read(written(tmp_path, "id,parent,name\n1 ,,Sports\n2, 1,Football\n"))
    assert topics.paths(["football"], 1) == [[("1", "2")]]


def test_an_empty_taxonomy_is_a_mistake():
    with pytest.raises(Mistake, match="empty"):
        Taxonomy(parents={}, names={}, words={})


def test_hyponyms_of_a_name_are_among_its_words(wordnet_files):
    nouns = WordNet.read(wordnet_files)
    topics = with_hyponyms(Taxonomy(parents={"1": None}, names={"1": "The Animals"}, words={"1": "zoo"}), nouns)
    assert topics.words["1"].split() == ["zoo", "animal", "dog", "domestic", "dog", "cat"]
    assert topics.paths(["cats", "musician"], 5) == [[("1",)], []]


def test_hypernyms_are_topics_below_the_group_of_a_noun(wordnet_files):
    nouns = WordNet.read(wordnet_files)
    assert nouns.paths(["cats", "tea"], 5) == [
        [("group 05", "00000001", "00000003"), ("group 18", "00000005", "00000004")],
        [],
    ]
    assert nouns.paths(["cat"], 1) == [[("group 05", "00000001", "00000003")]]


def test_without_wordnet_a_mistake_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "wn", None)
    monkeypatch.setattr(wordnet, "PLACES", ())
    with pytest.raises(Mistake, match=r"confide\[logs\]"):
        WordNet.installed()


def test_lines_are_counted_by_level_and_few_are_warned_of():
    topics = Taxonomy(parents={"1": None, "2": "1"}, names={"1": "tea", "2": "green"}, words={})
    log = QueryLog.of(list("aabc"), ["tea", "tea", "green tea", "car"])
    found = classify(log, topics)
    assert found.shares.tolist() == [0.75, 0.25] and found.classified.tolist() == [True, True, False]
    assert [warning[:10] for warning in found.warnings] == ["On level 2"]
    assert classify(log, topics, levels=1).shares.tolist() == [0.75]


def test_a_term_counts_once_for_a_topic_that_several_of_its_best_lie_under():
    topics = Taxonomy(parents={"1": None, "2": "1", "3": "1"}, names={"1": "x", "2": "tea", "3": "tea"}, words={})
    found = classify(QueryLog.of(["a"], ["tea tea"]), topics)
    assert sorted(found.topics.toarray()[0].tolist()) == [2, 2, 2]


def test_a_classifier_of_ones_own_needs_one_method():
    class ByLength:
        def paths(self, terms, best):
            return [[(f"{len(term)} letters",)] for term in terms]

    found = classify(QueryLog.of(list("ab"), ["tea", "soup"]), ByLength())
    assert found.shares.tolist() == [1.0] and found.topics.shape == (2, 2)
