"""Arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["AllowOpen", "DataFile", "DataSet", "DatasetName", "SiteFolder", "SitePlace", "TableName", "Token"]

SiteFolder = Annotated[Path, typer.Argument(help="The site's folder.", metavar="SITE")]
SitePlace = Annotated[str, typer.Argument(help="The site's folder, or its address (http://...).", metavar="SITE")]
DataFile = Annotated[
    str,
    typer.Argument(
        help="CSV, Parquet, Arrow, DuckDB, SPSS, Stata or SAS; a folder of Parquet files, a Delta table; or "
        "a PostgreSQL, as postgresql://host/name.",
        metavar="FILE",
    ),
]
TableName = Annotated[str | None, typer.Option("--table", help="Which table of a DuckDB file, or of a PostgreSQL.")]
DatasetName = Annotated[str, typer.Argument(help="The data set.", metavar="DATASET")]
DataSet = Annotated[str | None, typer.Option("--data", help="Of this data set; of the site if not given.")]
Token = Annotated[str | None, typer.Option(envvar="CONFIDE_TOKEN", help="For a site that asks for one.")]
AllowOpen = Annotated[bool, typer.Option("--allow-open", help="Run a policy that protects nothing (for teaching).")]
