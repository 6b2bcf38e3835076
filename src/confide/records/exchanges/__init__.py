"""Who exchanges which key with whom: the exposed, and as many of the others as small cells need."""
