"""Commands for who looks after a site: its data, policies, people, ledger, and serving it."""
