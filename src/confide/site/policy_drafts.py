"""The drafts of policies: of the site, and of its data sets. None is in force until it is put there.

mysite/draft.toml  people/draft.toml, or the state where several machines serve the site
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from confide.errors import Mistake
from confide.model.policy import SITE, Policy, write_policy
from confide.model.toml import parse_toml
from confide.site.documents import DRAFTS, documents_of
from confide.site.folder import Papers, write_whole
from confide.site.policies import keep, preset_of, read_as
from confide.site.state import State, open_state

__all__ = ["Drafts", "PolicyDraft", "open_drafts", "policy_text", "read_tried"]


@dataclass(frozen=True)
class PolicyDraft:
    """A policy that is not in force."""

    policy: Policy
    preset: str


class Drafts:
    """The drafts of a site. Other processes may write meanwhile. All is of the site unless a data set is named."""

    def __init__(self, papers: Papers, state: State) -> None:
        self._papers, self._documents = papers, documents_of(papers.path, DRAFTS, state)

    def has(self, *, name: str | None = None) -> bool:
        """Whether there is a draft, of whatever kind."""
        return self._content(name) is not None

    def read(self, *, name: str | None = None) -> PolicyDraft | None:
        """The draft of a policy, if there is one."""
        file, content = self._papers.draft(name), self._content(name)
        if content is None:
            return None
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise Mistake(f"{file} cannot be read as UTF-8 text.") from None
        try:
            return PolicyDraft(read_as(self._papers, text, name=name, file=file), preset_of(text, name))
        except Mistake as mistake:
            what = f"The draft cannot be used. {mistake}"
            raise Mistake(what, suggestions=["Mend draft.toml, or discard it."]) from None

    def save(self, draft: PolicyDraft, *, name: str | None = None) -> None:
        """Keep a draft, with all its fields written out. The policy in force stays."""
        self._write(write_policy(draft.policy, preset=draft.preset), name)

    def discard(self, *, name: str | None = None) -> None:
        """Have no draft any more."""
        if self.has(name=name):
            self._write("", name)

    def enforce(self, *, name: str | None = None) -> Policy:
        """Put the draft in force: it becomes `policy.toml`, and the policy before it is kept.

        Its version is one more than that of the policy before, unless the draft's is higher already. Of two who do it at once
        one puts the draft in force, and the other is told.
        """
        self._must_be_known(name)
        with self._documents.alone():
            return self._enforce(name)

    def _enforce(self, name: str | None) -> Policy:
        papers = self._papers
        before, draft = papers.policy(name), self.read(name=name)
        if draft is None:
            raise Mistake(
                f"There is no draft at {str(papers.draft(name))!r}.",
                suggestions=["Write one in the browser first.", f"The policy in force is {before.title}."],
            )
        after = replace(draft.policy, version=max(draft.policy.version, before.version + 1))
        keep(papers, before, name=name)
        write_whole(papers.home(name) / "policy.toml", write_policy(after, preset=draft.preset))
        self.discard(name=name)
        return after

    def _must_be_known(self, name: str | None) -> None:
        """A draft may be left over from a data set that was taken away."""
        if name is not None and name not in self._papers.names() and self.has(name=name):
            raise Mistake(f"{self._papers.draft(name)} is for no data set: there is none called {name[:60]!r}.")

    def _content(self, name: str | None) -> bytes | None:
        return self._documents.read(self._document(name))

    def _write(self, text: str, name: str | None) -> None:
        self._documents.write(self._document(name), text.encode(), old=self._content(name))

    def _document(self, name: str | None) -> str:
        return self._papers.draft(name).relative_to(self._papers.path).with_suffix("").as_posix()


@contextmanager
def open_drafts(papers: Papers) -> Iterator[Drafts]:
    """The drafts of a site, for a command."""
    with closing(open_state(papers.path)) as state:
        yield Drafts(papers, state)


def policy_text(papers: Papers, file: Path) -> str:
    """The text of a file with a policy. A draft of the site is first brought to what it is at all its machines."""
    if file.resolve().is_relative_to(papers.path.resolve()):
        with closing(open_state(papers.path)) as state:
            documents_of(papers.path, DRAFTS, state).take_in()
    return file.read_text(encoding="utf-8")


def read_tried(papers: Papers, file: Path, *, name: str) -> Policy:
    """The policy of a file that is tried on a data set, a draft of its own or of the site's or any other: it starts from the
    site's if it says so (`preset = "site"`).
    """
    text = policy_text(papers, file)
    try:
        own = parse_toml(text, what=file.name).get("preset") == SITE
    except Mistake:
        own = False
    return read_as(papers, text, name=name if own else None, file=file)
