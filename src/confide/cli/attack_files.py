"""Attacks on a released file on the command line."""

from collections.abc import Callable, Sequence
from functools import partial
from json import dumps
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt
import typer

from confide.attacks.files.trying import attack_file
from confide.attacks.result import Result
from confide.cli.described import Encoding, Missing
from confide.cli.measure import read_file, read_method
from confide.cli.options import names
from confide.cli.terminal import working, write
from confide.errors import Mistake

__all__ = ["attack_file_command", "read_bytes"]

FAILED = 4
"""The exit status when an attack gets more than it may."""


def attack_file_command(
    original: Annotated[
        Path, typer.Argument(help="The file before masking: CSV, Parquet, SPSS, ...", metavar="ORIGINAL")
    ],
    released: Annotated[Path, typer.Option(help="The file to be released; the same columns.")],
    keys: Annotated[str, typer.Option(help="What an intruder may know, with commas: age,sex,region.")],
    confidential: Annotated[str | None, typer.Option(help="What must not be learnt, with commas: income.")] = None,
    method: Annotated[str | None, typer.Option(help="How it was masked, as rank-swapping:p=15.")] = None,
    by: Annotated[str | None, typer.Option(help="The strata it was masked by, with commas.")] = None,
    identifier: Annotated[str | None, typer.Option(help="The column that says which records belong together.")] = None,
    holdout: Annotated[Path | None, typer.Option(help="Records that the file was not made from.")] = None,
    only: Annotated[str | None, typer.Option(help="Some attacks, with commas: rank-windows,row-order.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of all random draws.")] = 0,
    fail_above: Annotated[
        float | None, typer.Option(help="Exit status 4 if an attack has more lift than this.")
    ] = None,
    missing: Missing = None,
    encoding: Encoding = None,
    json: Annotated[Path | None, typer.Option(help="Write the results here as well.")] = None,
) -> None:
    """Attack a file before it is released, as an intruder would. True figures: for the custodian.

    The intruder knows the keys of their targets, all of the released file, and the method if you name it; neither the seed
    nor the original, which is used for scoring alone.

    Exit status: 0, or 4 if an attack has more lift than --fail-above, 2 your mistake.

    Example: confide attack-file survey.csv --released public.csv --keys age,sex --confidential income
    """
    read = partial(read_file, missing=missing or (), encoding=encoding)
    with working("Attacking"):
        found = attack_file(
            read(original), read_bytes(released, read),
            keys=names(keys), confidential=names(confidential), method=read_method(method), by=names(by),
            identifier=identifier, holdout=None if holdout is None else read(holdout),
            seed=seed, only=None if only is None else names(only),
        )  # fmt: skip
        write(as_text(found), None)
        if json is not None:
            write(dumps([each.as_dict() for each in found], ensure_ascii=False), json)
    if fail_above is not None and any(each.lift > fail_above for each in found):
        raise typer.Exit(FAILED)


def read_bytes(path: Path, read: Callable[[Path], pa.Table] = read_file) -> pa.Table:
    """A released file with all that its bytes carry: of Parquet the dictionaries and the metadata too."""
    if path.suffix.lower() != ".parquet":
        return read(path)
    try:
        texts = [f.name for f in pq.read_schema(path) if pt.is_string(f.type) or pt.is_large_string(f.type)]
        return pq.read_table(path, read_dictionary=texts)
    except (OSError, pa.ArrowInvalid):
        raise Mistake(f"{str(path)!r} cannot be read as Parquet.") from None


def as_text(found: Sequence[Result]) -> str:
    """The attacks as a table, those that apply; then what they do, and why the others do not apply."""
    rows = [["attack", "", "targets", "claimed", "right", "success", "guess", "others"]]
    rows += [_row(each) for each in found if each.applies]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = ["  ".join(_aligned(row, widths)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    said = [f"{each.attack}: {' '.join([each.words, *each.notes])}" for each in found if each.applies]
    left = [f"{each.attack}: not tried. {each.stopped}" for each in found if not each.applies]
    return "\n".join([*lines, "", *said, *([""] if left else []), *left, "", CLOSING]) + "\n"


CLOSING = "Computed from the original file: for the custodian, not for publication."


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        text.ljust(width) if place < 2 else text.rjust(width)
        for place, (text, width) in enumerate(zip(row, widths, strict=True))
    ]


def _row(found: Result) -> list[str]:
    shares = [
        f"{100 * share:.1f} %" if share is not None else "" for share in (found.success, found.guess, found.others)
    ]
    return [
        found.attack,
        found.code,
        *(f"{number:,}" for number in (found.targets, found.claimed, found.right)),
        *shares,
    ]
