"""A site's folder: where everything stands, and reading what the custodian wrote there.

mysite/policy.toml  draft.toml  policies/  secret  login.secret  access.toml  ledger.jsonl  site.toml
mysite/people/dataset.toml  people/profile.html  people/profile.json  people/vintages.json
mysite/people/vintages/1/records.duckdb  records.columns  safe.parquet  truth.parquet  records.json  cohorts.parquet  stand_ins.parquet
                         source.json
mysite/people/households/dataset.toml  people/vintages/1/households/    if there is a level of households above it
mysite/reviews/    results that wait for a custodian
mysite/workspaces/ variables and questions that people keep for themselves
mysite/projects/NAME.toml    if a project has a policy of its own
mysite/people/policy.toml  people/draft.toml  people/policies/    if the data set has a policy of its own
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from confide.data.private import only_mine
from confide.data.replacing import replacing
from confide.errors import Fault, Mistake, nearest
from confide.model.catalog.dataset import Dataset
from confide.model.catalog.level import read_level
from confide.model.catalog.toml import read_dataset
from confide.model.policy import LONGEST_NAME, Policy, preset_policy, read_policy, write_policy
from confide.site.access import Reach, declare
from confide.site.secret import Secret, create_secret, read_secret
from confide.site.vintages import Vintage, above, parse, place, read_vintages, split_level

__all__ = ["Folder", "Papers", "check_name", "create_folder", "described", "must_be_datasets", "write_whole"]

RESERVED = {
    "about",
    "api",
    "charts",
    "custodian",
    "docs",
    "health",
    "jobs",
    "login",
    "logout",
    "metrics",
    "policies",
    "project",
    "projects",
    "ready",
    "reviews",
    "workspace",
    "workspaces",
    "secret",
    "static",
}
"""Names that mean something else in an address or in the folder."""


@dataclass(frozen=True)
class Papers:
    """What a custodian writes and reads of a site: policies, access, the ledger. Neither data nor the secret."""

    path: Path

    @property
    def ledger(self) -> Path:
        return self.path / "ledger.jsonl"

    @property
    def access(self) -> Path:
        return self.path / "access.toml"

    def project(self, name: str) -> Path:
        """Where a project's own policy stands, if it has one."""
        return self.path / "projects" / f"{name}.toml"

    def draft(self, name: str | None = None) -> Path:
        """Where the draft of the site's policy, or of that of a data set, is kept."""
        return self.home(name) / "draft.toml"

    def home(self, name: str | None = None) -> Path:
        """The folder of the site's policy, or of a data set's own, with its draft and its history; a level above shares it."""
        return self.path if name is None else self.path / parse(split_level(name)[0])[0]

    def own(self, name: str) -> Path:
        """Where a data set's own policy stands, if it has one."""
        return self.home(name) / "policy.toml"

    def follows(self, name: str) -> bool:
        """Whether the policy of a data set is the site's."""
        return not self.own(name).exists()

    def policy(self, name: str | None = None, *, site: Policy | None = None) -> Policy:
        """The policy of the site, or of a data set: its own, or the site's if it has none.

        With `site`, what the data set's would be if that were the site's.
        """
        if not self.names():
            raise Mistake(
                f"The site {str(self.path)!r} has no data sets.", suggestions=["Add one: confide init FILE -o PATH."]
            )
        must_be_datasets(self, () if name is None else (name,))
        base = site or read_policy(self._text(self.path / "policy.toml"))
        if name is None or self.follows(name):
            return base
        return self.read_own(self._text(self.own(name)), name, site=base)

    def read_own(self, text: str, name: str, *, site: Policy, file: Path | None = None) -> Policy:
        """The policy that a text describes as a data set's own; a Mistake names the file it is from.

        Without a name it is called after the site's and the data set, so that answers tell them apart.
        """
        base = replace(site, name=f"{site.name} for {split_level(name)[0]}"[:LONGEST_NAME])
        try:
            return read_policy(text, site=base)
        except Mistake as mistake:
            what = f"{file or self.own(name)} cannot be used. {mistake.message}"
            raise Mistake(what, suggestions=mistake.suggestions) from None

    def names(self) -> list[str]:
        """The data sets of the site, with the levels above them, as people.households is one above people."""
        if not self.path.is_dir():
            raise Mistake(
                f"There is no site at {str(self.path)!r}.", suggestions=["Make one: confide init FILE -o PATH."]
            )
        names = [file.parent.name for file in self.path.glob("*/dataset.toml")]
        return sorted([*names, *(above(name, level) for name in names for level in levels_in(self.path / name))])

    def catalog(self, name: str) -> Path:
        return self.home(name) / split_level(name)[1] / "dataset.toml"

    def _text(self, file: Path) -> str:
        try:
            return file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise Mistake(f"{file} is missing.") from None
        except (OSError, UnicodeDecodeError):
            raise Mistake(f"{file} cannot be read as UTF-8 text.") from None


@dataclass(frozen=True)
class Folder(Papers):
    """All files of a site."""

    def secret(self) -> Secret:
        return read_secret(self.path / "secret")

    @property
    def login_secret_file(self) -> Path:
        return self.path / "login.secret"

    def login_secret(self) -> str:
        """What the site shows its provider of logins to be known; nothing if it has no such secret."""
        file = self.login_secret_file
        return self._text(file).strip() if file.exists() else ""

    def dataset(self, name: str) -> Dataset:
        """What is declared of a data set: of the newest vintage as it stands now, of an older one as it was ingested."""
        return self.read_dataset(name)[0]

    def read_dataset(self, name: str, *, as_loaded: bool = False) -> tuple[Dataset, dict[str, str]]:
        """The same, with the texts that it was read from, by the names of their files; or of the newest as it was ingested."""
        people, level = split_level(name)
        inside = self.records(people) if as_loaded or self.is_older(name) else self.home(name)
        texts: dict[str, str] = {}

        def read_file(file: str) -> str:
            return texts.setdefault(file, self._text(inside / file))

        found = described(read_file("dataset.toml"), name=people, inside=inside, read_file=read_file)
        if level and (found.above is None or found.above.name != name):
            raise Mistake(f"{inside / level / 'dataset.toml'} is missing.")
        return (found.above if level and found.above else found), texts

    def vintages(self, name: str) -> list[Vintage]:
        """The versions of a data set, the oldest first. Records that stand beside `dataset.toml` are one without a name."""
        return read_vintages(self.home(name))

    def is_older(self, name: str) -> bool:
        """Whether a name stands for a vintage that is not the newest."""
        vintage, known = parse(name)[1], self.vintages(name)
        return bool(vintage) and not (known and known[-1].name == vintage)

    def records(self, name: str) -> Path:
        """The folder with the records of a data set: of the newest vintage, or of the one that is named."""
        (_, vintage), level, known = parse(name), split_level(name)[1], self.vintages(name)
        if not vintage:
            return (place(self.home(name), known[-1]) if known else self.home(name)) / level
        for each in known:
            if each.name == vintage:
                return place(self.home(name), each) / level
        names = [each.name for each in known]
        hint = nearest(vintage, names) or [f"There are {', '.join(names)}."] if names else []
        raise Mistake(f"{parse(name)[0]!r} has no vintage {vintage[:60]!r}.", suggestions=hint)

    def profile(self, name: str) -> Path:
        """What was seen in the data when the description was drafted, for the custodian."""
        return self.catalog(name).with_name("profile.html")

    def kept_profile(self, name: str) -> Path:
        """The same for the page on which the description is mended."""
        return self.catalog(name).with_name("profile.json")

    def store(self, name: str) -> Path:
        return self.records(name) / "records.duckdb"

    def base(self, name: str) -> Path:
        return self.records(name) / "safe.parquet"

    def truth(self, name: str) -> Path:
        """The true records, where the store has protected ones. No answer needs them: they may be kept elsewhere."""
        return self.records(name) / "truth.parquet"

    def report(self, name: str) -> Path:
        """What protecting the records did, for the custodian."""
        return self.records(name) / "records.json"


def levels_in(inside: Path) -> list[str]:
    """The levels above a data set that are described in the folder of its description, each in one of its own."""
    return sorted(file.parent.name for file in inside.glob("*/dataset.toml"))


def described(text: str, *, name: str, inside: Path, read_file: Callable[[str], str]) -> Dataset:
    """The data set that a text describes, with the level above it that is described beside it."""
    people, levels = read_dataset(text, name=name, read_file=read_file), levels_in(inside)
    if len(levels) > 1:
        raise Mistake(f"{inside} describes {len(levels)} levels above {name!r}: {', '.join(levels)}. There may be one.")
    for level in levels:
        check_name(level)

        def beside(file: str, level: str = level) -> str:
            return read_file(f"{level}/{file}")

        return read_level(beside("dataset.toml"), people, name=above(name, level), read_file=beside)[1]
    return people


def create_folder(path: Path, *, preset: str = "standard") -> Folder:
    """A site's folder with a policy and a secret; what is there already stays. A new site is local.

    A site that has data sets or was asked already is not new: its lost `access.toml` must not come back as `local`.
    """
    policy, folder = preset_policy(preset), Folder(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        if not (path / "policy.toml").exists():
            write_whole(path / "policy.toml", write_policy(policy, preset=preset))
        if not folder.names() and not folder.ledger.exists() and not folder.access.exists():
            declare(folder.access, Reach.LOCAL)
        if not (path / "secret").exists():
            create_secret(path / "secret")
    except OSError as error:
        raise Mistake(f"The site cannot be made at {str(path)!r} ({error.strerror}).") from None
    return folder


def must_be_datasets(papers: Papers, names: Iterable[str]) -> None:
    """A Mistake if one of these names no data set of a site."""
    known = papers.names()
    for name in names:
        if name not in known:
            hint = nearest(name, known) or ["There are " + ", ".join(known) + "."]
            raise Mistake(f"There is no data set called {name[:60]!r}.", suggestions=hint)


def write_whole(file: Path, text: str) -> None:
    """Write a text whole or not at all."""
    try:
        with only_mine(), replacing(file) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Fault(
            f"{file} could not be written ({error.strerror}).", suggestions=["Check that the disk has room."]
        ) from None


def check_name(name: str) -> None:
    """A data set's name stands in addresses, so it is made of letters, digits, _ and - only."""
    if name.lower() in RESERVED:
        raise Mistake(
            f"{name!r} cannot name a data set: a page of every site is at that address.",
            suggestions=[f"Use --name, as in --name my_{name}."],
        )
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,59}", name):
        raise Mistake(
            f"{name[:60]!r} cannot name a data set.",
            suggestions=["Use --name with letters, digits, _ and -, beginning with a letter."],
        )
