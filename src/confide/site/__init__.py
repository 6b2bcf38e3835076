"""What a custodian keeps: the site's folder, drafting descriptions of data files, ingesting them."""
