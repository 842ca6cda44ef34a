"""Reports that measure a distribution and a channel against a budget, and export the result.

The measuring code reads only the channel's matrix and does not know how the channel was designed.
"""

from __future__ import annotations

from sanitize.report._columns import column_distributions as column_distributions
from sanitize.report._columns import column_utilities as column_utilities
from sanitize.report._columns import share_beyond_chance as share_beyond_chance
from sanitize.report._columns import with_columns as with_columns
from sanitize.report._columns import with_relations as with_relations
from sanitize.report._curve import TradeoffCurve as TradeoffCurve
from sanitize.report._curve import TradeoffPoint as TradeoffPoint
from sanitize.report._document import LEFT_OUT as LEFT_OUT
from sanitize.report._document import NOTE_FORMAT as NOTE_FORMAT
from sanitize.report._document import Audience as Audience
from sanitize.report._document import OptimalityForm as OptimalityForm
from sanitize.report._document import claims as claims
from sanitize.report._document import grave as grave
from sanitize.report._document import release_note as release_note
from sanitize.report._dossier import Material as Material
from sanitize.report._dossier import dossier as dossier
from sanitize.report._facts import POOLED as POOLED
from sanitize.report._facts import SEEDED_NOTE as SEEDED_NOTE
from sanitize.report._facts import PartLeakage as PartLeakage
from sanitize.report._facts import ReleaseFacts as ReleaseFacts
from sanitize.report._facts import ReplacedValues as ReplacedValues
from sanitize.report._facts import Section as Section
from sanitize.report._facts import Shortage as Shortage
from sanitize.report._guesses import found_by_released_rows as found_by_released_rows
from sanitize.report._headline import ALONE as ALONE
from sanitize.report._headline import COLUMNS as COLUMNS
from sanitize.report._headline import LEDGER as LEDGER
from sanitize.report._headline import PROMISES as PROMISES
from sanitize.report._headline import RELATIONS as RELATIONS
from sanitize.report._headline import SYNTHETIC as SYNTHETIC
from sanitize.report._headline import USELESS_BELOW as USELESS_BELOW
from sanitize.report._headline import VERDICT_TOLERANCE as VERDICT_TOLERANCE
from sanitize.report._headline import WHOLES as WHOLES
from sanitize.report._headline import Lack as Lack
from sanitize.report._headline import State as State
from sanitize.report._headline import release_kind as release_kind
from sanitize.report._html import render_template as render_template
from sanitize.report._judgement import AttackResult as AttackResult
from sanitize.report._judgement import ClaimVerdict as ClaimVerdict
from sanitize.report._judgement import Judgement as Judgement
from sanitize.report._judgement import attack_sentence as attack_sentence
from sanitize.report._report import LeakageReport
from sanitize.report._report import attach_report as attach_report
from sanitize.report._report import report_of as report_of
from sanitize.report._saved import MeasureForm as MeasureForm
from sanitize.report._verdict import as_estimates as as_estimates
from sanitize.report._verdict import measure_worst_case as measure_worst_case
from sanitize.report._views import ReportViews as ReportViews
from sanitize.report._views import badge as badge

__all__ = ["LeakageReport"]
