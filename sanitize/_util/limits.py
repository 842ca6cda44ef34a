"""Limits on sizes: one constant for each meaning, used everywhere."""

# Cells of a distribution of (S, X), or of pairs of rows: a gigabyte. A distribution of more cells than rows says
# nothing anyway.
JOINT_CELLS = 1 << 27
# Entries of a matrix, or of one stage, that somebody asks for by name: 256 MB of doubles. Larger ones are a mistake.
DENSE_CELLS = 1 << 25
# Entries of a channel that is made, or measured, as one dense matrix of 64-bit numbers: 128 MB.
CHANNEL_CELLS = 1 << 24
# Entries of an array that a loop over blocks makes at a time: 32 MB of doubles.
BLOCK_CELLS = 1 << 22
# Rows whose intermediate arrays stay in the cache.
BLOCK_ROWS = 1 << 16
# Rows that are looked up together, so that they stay near the processor.
LOOKUP_ROWS = 1 << 14
# Fewer rows are worked on as they are: preparing for many would cost more than it saves.
FEW_ROWS = 1 << 12
# Bytes of codes that are kept while a file is read; what is beyond is read again.
KEPT_BYTES = 1 << 26
# Lines of the look-up tables of one SQL statement: a channel of more is no text to send to a database.
SQL_LINES = 1 << 17
# Levels of nesting that are read from somebody's file.
NESTING = 20
# Rows that a combination of values has on average where a joint distribution of combinations is worth learning.
TUPLE_ROWS = 5
# exp overflows a little above this, and of its negative no double has full precision.
LARGEST_EXPONENT = 700.0
# Levels, in nats, beyond which one unit of 2**-62 is all that the odds leave.
LARGEST_LEVEL = 1000
# Bounds of log-lifts, in nats, from which on nothing is asked: looser ones bind beside empty cells only, where the loss
# is below e**-25.
LOOSEST = 25.0
