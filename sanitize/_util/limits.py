"""Limits on sizes: one constant for each meaning, used everywhere."""

# Cells of a distribution of (S, X), or of pairs of rows: a gigabyte. Far fewer rows than cells would say little about
# them.
JOINT_CELLS = 1 << 27
# Entries of a matrix, or of one stage, that a caller requests: 256 MB of doubles. A larger request is a mistake.
DENSE_CELLS = 1 << 25
# Entries of a channel that is built or measured as one dense matrix of 64-bit numbers: 128 MB.
CHANNEL_CELLS = 1 << 24
# Entries of an array that a loop over blocks allocates at a time: 32 MB of doubles.
BLOCK_CELLS = 1 << 22
# Rows whose intermediate arrays stay in the cache; with fewer, the calls themselves take the time.
BLOCK_ROWS = 1 << 16
# Rows that are looked up together, so that they stay in a fast cache.
LOOKUP_ROWS = 1 << 14
# Fewer rows than this are processed directly, because preparing look-up tables would cost more than it saves.
FEW_ROWS = 1 << 12
# Bytes of codes that are kept in memory while a file is read; codes beyond this are read again.
KEPT_BYTES = 1 << 26
# Lines of look-up tables in one SQL statement; a longer statement is too large to send to a database.
SQL_LINES = 1 << 17
# Levels of nesting that are read from a user's file: no form needs more, and
# reading very deep ones could end the process.
NESTING = 20
# Average rows per combination of values from which the joint distribution of combinations is worth learning.
TUPLE_ROWS = 5
# exp overflows slightly above this, and below its negative the result loses precision.
LARGEST_EXPONENT = 700.0
# Level in nats beyond which the smaller probability is a single unit of 2**-62.
LARGEST_LEVEL = 1000
# Bound of a log-lift, in nats, from which on it is ignored: looser bounds bind only next to empty cells, where the loss
# is below e**-25.
LOOSEST = 25.0
