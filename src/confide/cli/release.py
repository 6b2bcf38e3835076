"""The gate on the command line: a file that was masked earlier or elsewhere is released, or a release is verified."""

from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from confide.cli.described import Encoding, Missing
from confide.cli.mask import read_blanked, say_released
from confide.cli.options import Gate, KeyOptions, names, with_options
from confide.errors import Mistake
from confide.microdata import Manifest, Released, ReleaseGate
from confide.microdata.release.manifest import manifest_path
from confide.sources.columns import typed

__all__ = ["release"]


@with_options(KeyOptions, Gate)
def release(
    drawing: KeyOptions,
    gate: Gate,
    file: Annotated[Path, typer.Argument(help="The masked file, or with --verify a released one.", metavar="FILE")],
    output: Annotated[
        Path | None, typer.Argument(help="The released file, by its ending: csv, parquet or arrow.", metavar="OUT")
    ] = None,
    original: Annotated[Path | None, typer.Option(help="The confidential file that FILE was made of.")] = None,
    missing: Missing = None,
    encoding: Encoding = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check that FILE is what its manifest says.")] = False,
) -> None:
    """Release a masked file: what it betrays beside its values is taken out, and a manifest tells what was done.

    Takes out identifiers, index, order of records, unused categories, surplus decimals and metadata; refuses values that
    masking left; reads the written bytes back. 'confide mask' ends in it: use this for files masked elsewhere or --as-is.
    Nothing is written over a file that is there, unless you say --replace.

    \b
    Example: confide release masked.csv public.parquet --original survey.csv --identifiers person_id
    Example: confide release --verify public.parquet
    """
    if verify:
        _verify(file, output)
        return
    if output is None or original is None:
        raise Mistake(
            "Say where the released file goes, and of which it was made.",
            suggestions=["As in: confide release masked.csv public.csv --original survey.csv"],
        )
    if output.resolve() in (file.resolve(), original.resolve()):
        raise Mistake(f"The released file would replace {str(output)!r}.", suggestions=["Name another file."])
    steps = Manifest.read(file).steps if manifest_path(file).exists() else ()
    tables = [_numbers(read_blanked(one, missing or (), encoding)) for one in (file, original)]
    gated = ReleaseGate(
        tables[1], key=drawing.chosen(original, over=output), identifiers=names(gate.identifiers), keep=names(gate.keep)
    )
    say_released(gated.write(Released((tables[0],), {}, steps), output, replace=gate.replace), output.parent)


def _verify(file: Path, output: Path | None) -> None:
    if output is not None:
        raise Mistake("With --verify, name one file.")
    manifest = Manifest.read(file)
    manifest.check(file)
    typer.echo(f"{file} is what its manifest says: {manifest.records:,} records, SHA-256 {manifest.sha256}.")


def _numbers(table: pa.Table) -> pa.Table:
    """Text that is numbers as numbers; codes such as 007 stay text."""
    return pa.table({name: typed(table[name]).column for name in table.column_names})
