"""Coprivacy: games in which helping others is best for one's own privacy, and keyword search by peers who play them."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
