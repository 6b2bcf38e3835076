"""Risk and utility of released files: single measures in `risk` and `utility`, all of them in a `report`."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
