"""Any engine as one that has further classes, made of those it stores: see `confide.model.catalog.derivation`."""
