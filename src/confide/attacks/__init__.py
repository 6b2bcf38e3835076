"""The intruder: attacks on a site, on files and on tables, and what an honest analyst gets. One attack a module."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
