"""Attacks on tables that were published."""
