from . import (
    accounting as accounting,
    anonymity as anonymity,
    hamming as hamming,
    individual as individual,
    notions as notions,
    tradeoff as tradeoff,
)
