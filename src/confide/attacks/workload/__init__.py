"""What an honest analyst gets: stated questions, how many are answered, and how far the answers are from the truth."""
