"""Protected records: from a data file to what a site answers from. Whoever is exposed exchanges a key, numbers get noise."""
