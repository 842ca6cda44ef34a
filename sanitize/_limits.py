"""How large things may become: one number for each meaning, wherever that meaning is used."""

# Entries of a channel that is made as one dense matrix of 64-bit integers: 128 MB.
CHANNEL_CELLS = 1 << 24
# Entries of an array that a loop over blocks makes at a time: 32 MB of doubles.
BLOCK_CELLS = 1 << 22
# exp overflows a little above this.
LARGEST_EXPONENT = 700.0
