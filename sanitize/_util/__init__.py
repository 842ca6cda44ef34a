"""What every room may use: checks, limits, tolerances, formatting, noise; it knows no table and no channel."""
