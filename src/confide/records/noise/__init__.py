"""Noise of confidential numbers: the factors that are drawn, and their balance over large groups."""
