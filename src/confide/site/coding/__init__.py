"""From microdata and their catalog to coded records."""
