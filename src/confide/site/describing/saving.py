"""The description of a data set as a custodian mends it: read, changed by field, and saved if it can be used."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from confide.engines.duckdb.store import read_store_facts
from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset
from confide.site.coding.encode import catalog_mark, roles_mark
from confide.site.describing.document import TomlDocument
from confide.site.folder import Folder, described, must_be_datasets, write_whole
from confide.site.ledger import record_act
from confide.site.locking import alone
from confide.site.profiling.kept import KeptProfile, read_kept_profile
from confide.site.serving import serving_process
from confide.site.vintages import split_level

__all__ = ["ChangedField", "Description", "DescriptionFile", "FieldMistake"]


class FieldMistake(Mistake):
    """A mistake in one field of a form."""

    def __init__(self, field: str, mistake: Mistake) -> None:
        super().__init__(mistake.message, suggestions=mistake.suggestions)
        self.field = field


@dataclass(frozen=True)
class ChangedField:
    """A field of a form, and what it changes in `dataset.toml`."""

    field: str
    change: Callable[[TomlDocument], None]


@dataclass(frozen=True)
class Description:
    """What `dataset.toml` says at a moment; `mark` tells the text from every other."""

    dataset: Dataset
    document: TomlDocument
    mark: str


@dataclass(frozen=True)
class DescriptionFile:
    """The `dataset.toml` of a data set.

    Promise: what is saved is what was there but for the fields that changed, and can be read; otherwise nothing is written.
    """

    folder: Folder
    name: str

    def __post_init__(self) -> None:
        must_be_datasets(self.folder, [self.name])

    def read(self) -> Description:
        """What stands there now; a Mistake if it cannot be used."""
        text = self._text()
        dataset = self._read(text)
        return Description(dataset, TomlDocument.of(text, what=self._what), sha256(text.encode()).hexdigest()[:16])

    def save(self, changes: Sequence[ChangedField], *, mark: str) -> bool:
        """Make the changes, if the text is still the one that `mark` tells; gives whether it says something else now.

        Every Mistake is a `FieldMistake`, of the field `base` if no other is to blame.
        """
        try:
            with alone(self.folder.home(self.name), doing=f"loading or describing {self.name!r}"):
                changed = self._save(changes, mark)
        except FieldMistake:
            raise
        except Mistake as mistake:
            raise FieldMistake("base", mistake) from None
        if changed:
            record_act(self.folder.ledger, "description changed", dataset=self.name)
        return changed

    def _save(self, changes: Sequence[ChangedField], mark: str) -> bool:
        now = self.read()
        if now.mark != mark:
            what = f"{self._what} was changed since you opened this page."
            raise FieldMistake("base", Mistake(what, suggestions=["Open the page again, and make your changes there."]))
        try:
            text = self._changed(now.document, changes)
        except FieldMistake:
            raise
        except Mistake as mistake:
            raise FieldMistake(self._culprit(now.document, changes), mistake) from None
        if text == self._text():
            return False
        write_whole(self.folder.catalog(self.name), text)
        return True

    def next_step(self) -> str:
        """What must be done before the description is in force: a command, or nothing."""
        now, place = self.folder.dataset(self.name), f"{self.folder.path} {split_level(self.name)[0]}"
        store = self.folder.store(self.name)
        facts = read_store_facts(store) if store.exists() else None
        if facts is None or facts.catalog != catalog_mark(now):
            return f"confide ingest FILE {place}"
        if facts.records and facts.roles != roles_mark(now):
            return f"confide records {place} --renew"
        return f"confide reload {self.folder.path}" if serving_process(self.folder.path) else ""

    def profile(self) -> KeptProfile:
        """What was seen in the data when the description was drafted; nothing if somebody wrote it."""
        return read_kept_profile(self.folder.kept_profile(self.name))

    @property
    def _what(self) -> str:
        return f"dataset.toml of {self.name!r}"

    def _text(self) -> str:
        file = self.folder.catalog(self.name)
        try:
            return file.read_bytes().decode("utf-8")  # with the ends of its lines as they are
        except (OSError, UnicodeDecodeError):
            raise Mistake(f"{file} cannot be read as UTF-8 text.") from None

    def _read(self, text: str) -> Dataset:
        home, (people, level) = self.folder.home(self.name), split_level(self.name)
        own = self.folder.catalog(self.name)

        def read_file(file: str) -> str:
            if home / file == own:
                return text
            try:
                return (home / file).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                raise Mistake(f"{home / file} cannot be read as UTF-8 text.") from None

        found = described(read_file("dataset.toml"), name=people, inside=home, read_file=read_file)
        return found.above if level and found.above else found

    def _changed(self, document: TomlDocument, changes: Sequence[ChangedField]) -> str:
        changed = document.copy()
        for each in changes:
            try:
                each.change(changed)
            except Mistake as mistake:
                raise FieldMistake(each.field, mistake) from None
        text = changed.text()
        self._read(text)
        return text

    def _culprit(self, document: TomlDocument, changes: Sequence[ChangedField]) -> str:
        """The field with which the text stops being one that can be used: without changes it can, with all it cannot."""
        good, bad = 0, len(changes)
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                self._changed(document, changes[:middle])
                good = middle
            except Mistake:
                bad = middle
        return changes[good].field
