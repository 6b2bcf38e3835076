"""What a custodian keeps: the site's folder, reading data files, drafting their description, ingesting them."""
