"""The truth, for choosing targets, for scoring, and for sites without the target. Attacks cannot import it."""
