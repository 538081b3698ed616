"""The registered decision rule: intervals to facts, facts to one class (section 7).

Equivalence is shown by an interval inside a margin, never by a non-significant test.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import InvalidStatistic
from .intervals import Estimate, Interval

if TYPE_CHECKING:
    from .rule import DecisionRule


@dataclass(frozen=True)
class Facts:
    """What the intervals of one judge show; all that the rule looks at.

    Attributes:
        eq0: the 1 - 2 alpha interval of G is inside delta_0.
        eqH: that of D is inside delta_h.
        lean_inside: that of the lean is inside delta_b.
        lean, g, g_adj, D: pos, neg or ns, the side of 0 on which the 1 - alpha interval lies.
    """
    eq0: bool
    eqH: bool
    lean_inside: bool
    lean: str
    g: str
    g_adj: str
    D: str

    @property
    def gap(self) -> str:
        """The sign of G where the length-adjusted G agrees, else ns."""
        return self.g if self.g == self.g_adj else "ns"


def facts_of(gap: Estimate, gap_adjusted: Estimate, lean: Estimate, shortfall: Estimate,
             rule: "DecisionRule") -> Facts:
    """Reads the facts off the intervals of one judge."""
    return Facts(
        eq0=inside(gap.ci90, rule.delta_0), eqH=inside(shortfall.ci90, rule.delta_h),
        lean_inside=inside(lean.ci90, rule.delta_b), lean=sign(lean.ci95), g=sign(gap.ci95),
        g_adj=sign(gap_adjusted.ci95), D=sign(shortfall.ci95))


def classify(facts: Facts, rule: "DecisionRule") -> str:
    """The class of the first registered clause whose facts all hold.

    Raises:
        InvalidStatistic: no clause holds.
    """
    for clause in rule.clauses:
        if all(getattr(facts, name) == value for name, value in clause.when):
            return clause.outcome
    raise InvalidStatistic(f"no registered clause covers {facts}.")


def inside(interval: Interval, margin: float) -> bool:
    """-margin < low and high < margin, strictly."""
    return -margin < interval.low and interval.high < margin


def sign(interval: Interval) -> str:
    """pos, neg or ns: the side of 0 on which the whole interval lies."""
    if interval.low > 0:
        return "pos"
    return "neg" if interval.high < 0 else "ns"


def smallest_margin(interval: Interval) -> float:
    """The margin above which the interval is inside."""
    return max(-interval.low, interval.high)


def is_borderline(gap: Estimate, gap_adjusted: Estimate, lean: Estimate, shortfall: Estimate,
                  rule: "DecisionRule", distance: float) -> bool:
    """An endpoint that a clause can depend on lies within ``distance`` of its boundary."""
    margins = (gap, rule.delta_0), (shortfall, rule.delta_h), (lean, rule.delta_b)
    signs = gap, gap_adjusted, lean, shortfall
    gaps = [abs(endpoint - boundary) for estimate, margin in margins
            for endpoint in estimate.ci90 for boundary in (-margin, margin)]
    gaps += [abs(endpoint) for estimate in signs for endpoint in estimate.ci95]
    return min(gaps) <= distance
