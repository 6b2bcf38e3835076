"""What the recorded questions together tell of small sets of units: for the custodian, and for a limit on it."""
