"""The intruder: attacks on a site, on files and on tables, and what an honest analyst gets. One attack a module."""
