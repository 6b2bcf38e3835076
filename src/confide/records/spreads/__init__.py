"""How far totals, means and standard deviations of protected records are from the true ones, measured at ingest."""
