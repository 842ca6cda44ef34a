from . import (
    alphabet as alphabet,
    binning as binning,
    bounds as bounds,
    budgets as budgets,
    capacity as capacity,
    channel as channel,
    confidence as confidence,
    conversions as conversions,
    joint as joint,
    lifts as lifts,
    measures as measures,
    repeats as repeats,
)
