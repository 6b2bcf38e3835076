"""Publishing files: masking methods, one a module, all under one contract."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
