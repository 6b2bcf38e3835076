"""Drafts of descriptions of data, for a custodian to read and mend."""
