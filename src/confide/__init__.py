"""Confide: analyse confidential microdata without seeing it.

Its names are imported when they are first used: `__init__.pyi` says where each lives.
"""

from lazy_loader import attach_stub

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
