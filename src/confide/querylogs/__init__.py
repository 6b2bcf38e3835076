"""k-anonymous query logs by semantic microaggregation: reading, topics, clusters, release, utility."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
