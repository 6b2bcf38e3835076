"""Options that several commands share: what is drawn from, and how a masked file leaves."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from confide.data.release_key import ReleaseKey
from confide.errors import Mistake
from confide.microdata.release.manifest import manifest_path

__all__ = ["Gate", "KeyOptions", "names", "option", "with_options"]


def option(help: str, *names: str) -> Any:
    """An option of a command, with its help."""
    return typer.Option(*names, help=help)


@dataclass(frozen=True)
class KeyOptions:
    """What everything that is drawn at random comes from: a key in a private file, or, for teaching, a plain number."""

    key: Annotated[
        Path | None,
        option(
            "The private file with the key that all is drawn from; made if there is none. If not given: IN.key beside IN."
        ),
    ] = None
    teaching_seed: Annotated[
        int | None, option("A number in the place of the key, for tests and teaching: the result is not for release.")
    ] = None

    def chosen(self, *data: Path, over: Path | None = None) -> ReleaseKey:
        """The key for these data, made if need be; beside the first of them, where whoever reads it reads them as well.

        If a release is to go `over` another, none is made: it would not be that one's.
        """
        if self.teaching_seed is not None:
            if self.key is not None:
                raise Mistake("Give --key or --teaching-seed, not both.")
            return ReleaseKey.taught(self.teaching_seed)
        place = self.key or data[0].with_name(f"{data[0].name}.key")
        if over is not None and manifest_path(over).exists() and not place.exists():
            raise Mistake(
                f"{str(over)!r} is there already, drawn from a key, and there is no key {place}.",
                suggestions=["Give its key; or, if nobody has it, remove the file first."],
            )
        return ReleaseKey.kept(place, *data)


@dataclass(frozen=True)
class Gate:
    """How a masked file leaves."""

    identifiers: Annotated[str | None, option("Columns to take out because they identify, with commas.")] = None
    keep: Annotated[
        str | None, option("Columns that stay although each record has a value of its own, with commas.")
    ] = None
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a released file that was drawn from the same key.")
    ] = False


def with_options(*kinds: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these kinds; its first parameters are filled with one object of each."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command).parameters.values())[len(kinds) :]
        shared = [(each, kind) for kind in kinds for each in fields(kind)]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [
            inspect.Parameter(
                each.name, keyword, annotation=each.type,
                default=inspect.Parameter.empty if each.default is MISSING else each.default,
            )
            for each, _ in shared
        ]  # fmt: skip
        parameters += [one.replace(kind=keyword) for one in own]

        def run(**given: Any) -> None:
            objects = [kind(**{each.name: given.pop(each.name) for each in fields(kind)}) for kind in kinds]
            command(*objects, **given)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return decorate


def names(text: str | None) -> list[str]:
    """Names with commas between them."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]
