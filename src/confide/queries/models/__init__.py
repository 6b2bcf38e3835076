"""Models and correlations: fitted from sums, never from records, and rounded before they leave."""
