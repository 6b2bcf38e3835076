"""Confide: analyse confidential microdata without seeing it."""

from confide.client import Answer, Site
from confide.client import open_site as open
from confide.errors import Denied, Fault, Mistake, Refused
from confide.site.ingest import add, ingest

__all__ = ["Answer", "Denied", "Fault", "Mistake", "Refused", "Site", "add", "ingest", "open"]
__version__ = "0.1.0"
