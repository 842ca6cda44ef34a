from . import (
    analyze as analyze,
    attack as attack,
    verify as verify,
)
