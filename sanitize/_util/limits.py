"""Limits on sizes: one constant for each meaning, used everywhere."""

# Cells of a distribution of (S, X), or of pairs of rows: a gigabyte. Far fewer rows than cells would say little about
# them.
JOINT_CELLS = 1 << 27
# Entries of a matrix, or of one stage, that a caller requests: 256 MB of doubles. A larger request is a mistake.
DENSE_CELLS = 1 << 25
# Entries of a channel that is built or measured as one dense matrix of 64-bit numbers: 128 MB, because several such
# matrices are in memory at a time.
CHANNEL_CELLS = 1 << 24
# Entries of an array that a loop over blocks allocates at a time: 32 MB of doubles. The loop then costs little, and
# several threads still fit in memory.
BLOCK_CELLS = 1 << 22
# Rows whose intermediate arrays stay in the cache: each takes at most half a megabyte.
BLOCK_ROWS = 1 << 16
# Rows that are looked up together: arrays of 128 kB leave room for the look-up table in a fast cache.
LOOKUP_ROWS = 1 << 14
# Fewer rows than this are processed directly, because preparing look-up tables would cost more than it saves.
FEW_ROWS = 1 << 12
# Bytes of codes that are kept in memory while a file is read, so that a file of some million rows is decoded once;
# codes beyond this are read again.
KEPT_BYTES = 1 << 26
# Lines of look-up tables in one SQL statement; a longer statement is too large to send to a database.
SQL_LINES = 1 << 17
# Levels of nesting that are read from a user's file: more than any form has, and too few to exhaust Python's stack.
NESTING = 20
# Average rows per combination of values from which the joint distribution of combinations is worth learning. With
# fewer, most combinations have less than the ten rows of MIN_COUNT and would be pooled.
TUPLE_ROWS = 5
# exp overflows slightly above this, and below its negative the result loses precision.
LARGEST_EXPONENT = 700.0
# Levels in nats are cut off here, because an infinite one has no exponential. From about 43 on, the smaller probability
# is a single unit of 2**-62 anyway.
LARGEST_LEVEL = 1000
# Bound of a log-lift, in nats, from which on it is ignored: looser bounds bind only next to empty cells, where the loss
# is below e**-25.
LOOSEST = 25.0
