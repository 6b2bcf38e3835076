"""What the columns of a data file look like, what a draft makes of each, and why."""
