"""Publishing tables: which cells say too much, and how they are protected.

Names are imported when they are first used, as `__init__.pyi` says where each lives: the server needs a few of them and
must not wait for solvers.
"""

from typing import Any

from lazy_loader import attach_stub

from confide.errors import Mistake

_load, __dir__, __all__ = attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as missing:
        if missing.name != "highspy":
            raise
        raise Mistake(f"'tables.{name}' needs the extra 'tables': pip install 'confide[tables]'.") from None
