"""What rounding of doubles may leave: one number for each meaning, wherever that meaning is used."""

# Probabilities sum to 1 when they do up to this.
PROBABILITY_SUM = 1e-9
# In place of a divisor that rounding makes 0.
SMALLEST_POSITIVE = 1e-300
