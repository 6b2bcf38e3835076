"""A plan: the steps by which a file is masked, as text that can be kept, read again, and run again.

A plan holds no secret. Each step draws from a key of its own, made from the key of the release and what the step is, so
that taking one out (undo) leaves what the others draw as it was.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confide.data.release_key import ReleaseKey, chosen_key
from confide.errors import Mistake, nearest
from confide.microdata.description import KEYS, FileDescription, read_text
from confide.microdata.released import Released, StepDone, frame_of
from confide.microdata.step import PlanStep, ReadFile, known_keys, toml
from confide.model.toml import parse_toml

__all__ = ["Plan", "PlanStep"]

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Plan:
    """Steps, one after the other, and what is known of the columns: their roles, and which hold codes.

    >>> import pyarrow as pa
    >>> plan = Plan.parse('''
    ... [[step]]
    ... method = "rounding"
    ... base = 100
    ... columns = ["income"]
    ... ''')
    >>> plan.protect(pa.table({"income": [1049, 1051]})).frame["income"].to_pylist()
    [1000, 1100]
    >>> Plan.parse(plan.text()) == plan
    True
    """

    steps: tuple[PlanStep, ...]
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    categorical: tuple[str, ...] = ()
    """Columns whose numbers are codes, where a file is read by the plan."""
    ordered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The codes of columns that have an order, from the lowest, where a file is read by the plan."""

    @classmethod
    def read(cls, path: str | Path) -> "Plan":
        """The plan of a file; files that it names are looked for beside it."""
        text = read_text(Path(path))
        try:
            return cls.parse(text, read_file=lambda name: read_text(Path(path).parent / name))
        except Mistake as mistake:
            raise Mistake(f"In {Path(path).name}: {mistake.message}", suggestions=mistake.suggestions) from None

    @classmethod
    def parse(cls, text: str, *, read_file: ReadFile | None = None) -> "Plan":
        """The plan that a TOML text describes. Without `read_file` it may not name other files."""
        raw = parse_toml(text, what="The plan")
        known_keys(raw, (*KEYS, "step"), "the plan")
        steps = raw.get("step")
        if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
            raise Mistake("A plan has one [[step]] or more.")
        reading = read_file or _no_files
        read = []
        for number, step in enumerate(steps, 1):
            with _naming(number, of=len(steps)):
                read.append(PlanStep.read(step, read_file=reading))
        described = FileDescription.of(raw, reading)
        return cls(tuple(read), described.roles, described.categorical, described.ordered)

    def text(self) -> str:
        """The plan as TOML, with hierarchies in full."""
        roles = "".join(f"{toml(role)} = {toml(names)}\n" for role, names in self.roles.items())
        about = {"categorical": self.categorical, "ordered": self.ordered}
        codes = [f"{key} = {toml(value)}\n" for key, value in about.items() if value]
        return "\n".join([*codes, *([f"[roles]\n{roles}"] if roles else []), *(step.text() for step in self.steps)])

    def protect(
        self,
        frame: Any,
        *,
        key: ReleaseKey | None = None,
        teaching_seed: int | None = None,
        progress: Progress | None = None,
    ) -> Released:
        """The frame after all steps, which draw from `key`; the report has an entry for each."""
        given = self._key(key, teaching_seed)
        self._check(frame_of(frame).names)
        frames, reports = (frame_of(frame).given,), []
        steps: list[StepDone] = []
        for number, step in enumerate(self.steps, 1):
            share, own = _share(progress, number - 1, len(self.steps)), self._own(number, given)
            with _naming(number, step.method.word(), of=len(self.steps)):
                done = [self._run(step, frame, own, share) for frame in frames]
            frames = tuple(frame for one in done for frame in one.replicates)
            reports.append({"method": step.method.word(), "columns": self.columns(step), **done[0].report})
            steps += done[0].steps
        return Released(frames, {"steps": reports}, tuple(steps))

    def _key(self, key: ReleaseKey | None, teaching_seed: int | None) -> ReleaseKey | None:
        if key is None and teaching_seed is None and not any(step.method.draws for step in self.steps):
            return None
        return chosen_key("The plan", key, teaching_seed)

    def _own(self, number: int, key: ReleaseKey | None) -> ReleaseKey | None:
        """The key of a step; a method draws by what it is, so only one that comes again needs another."""
        before = [step.method for step in self.steps[: number - 1]].count(self.steps[number - 1].method)
        return key.under("again", before) if key is not None and before else key

    def columns(self, step: PlanStep) -> tuple[str, ...]:
        """The columns that a step masks, by name or by their role."""
        if step.role is None:
            return step.columns
        if step.role not in self.roles:
            hint = nearest(step.role, self.roles) or ["Name its columns under [roles], or a dataset."]
            raise Mistake(f"No column has the role {step.role!r}.", suggestions=hint)
        return self.roles[step.role]

    def _run(self, step: PlanStep, frame: Any, key: ReleaseKey | None, progress: Progress) -> Released:
        return step.method.protect(
            frame, columns=self.columns(step), by=step.by, weight=step.weight, household=step.household,
            key=key, progress=progress,
        )  # fmt: skip

    def _check(self, names: Sequence[str]) -> None:
        """A Mistake before the work begins, if a step names a column that is not there."""
        for number, step in enumerate(self.steps, 1):
            with _naming(number, step.method.word(), of=len(self.steps)):
                for name in (*self.columns(step), *step.by, step.weight, step.household, *step.method.reads):
                    if name is not None and name not in names:
                        raise Mistake(f"No column called {name!r}.", suggestions=nearest(name, map(str, names)))


def _no_files(name: str) -> str:
    raise Mistake(f"The plan names a file, {name!r}, and is not itself in one.", suggestions=["Read it from a file."])


@contextmanager
def _naming(number: int, word: str = "", *, of: int) -> Iterator[None]:
    """Say in which step a Mistake was made, if there are several."""
    try:
        yield
    except Mistake as error:
        where = f"Step {number}{word and f' ({word})'}: " if of > 1 else ""
        raise Mistake(where + error.message, suggestions=error.suggestions) from None


def _share(progress: Progress | None, before: int, of: int) -> Progress:
    return lambda share: None if progress is None else progress((before + share) / of)
