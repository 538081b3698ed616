"""Every statistic once more from its definition: plain loops over units and votes, fractions."""

from fractions import Fraction
from itertools import permutations


def votes_of(units, at):
    """The votes of one unit toward the longer answer, one entry per annotator."""
    counts = units.votes_longer[at], units.votes_tie[at], units.votes_shorter[at]
    return [vote for vote, count in zip((Fraction(1), Fraction(1, 2), Fraction(0)), counts)
            for _ in range(int(count))]


def subset_scores(units, score4):
    """Scores y of the units in L and in S, as (question_id, y)."""
    longer, shorter = [], []
    for at, label in enumerate(units.label):
        y = Fraction(int(score4[at]), 4)
        if label == 1:
            longer.append((int(units.question_id[at]), y))
        elif label == -1:
            shorter.append((int(units.question_id[at]), y))
    return longer, shorter


def mean(values):
    values = list(values)
    return sum(values) / Fraction(len(values))


def gap(units, score4):
    """r_L - r_S as a fraction."""
    longer, shorter = subset_scores(units, score4)
    return mean(y for _, y in longer) - mean(y for _, y in shorter)


def lean(units, score4):
    """(r_L + r_S) / 2 - 1/2 as a fraction."""
    longer, shorter = subset_scores(units, score4)
    return (mean(y for _, y in longer) + mean(y for _, y in shorter)) / 2 - Fraction(1, 2)


def weighted_rates(rows):
    """r_L and r_S of (label, verdict, weight) rows."""
    rates = []
    for side in (1, 0):
        kept = [(verdict, weight) for label, verdict, weight in rows if label == side]
        rates.append(sum(v * w for v, w in kept) / sum(w for _, w in kept))
    return rates


def leave_one_out(units, score4=None):
    """(label, verdict, weight) of every ordered pair of different annotators of one unit.

    The verdict is the first annotator's, or the judge's where scores are given.
    """
    rows = []
    for at in range(len(units)):
        votes = votes_of(units, at)
        n = len(votes)
        for i, j in permutations(range(n), 2):
            if votes[j] != Fraction(1, 2):
                verdict = votes[i] if score4 is None else Fraction(int(score4[at]), 4)
                rows.append((votes[j], verdict, Fraction(1, n * (n - 1))))
    return rows


def human_gap(units):
    longer, shorter = weighted_rates(leave_one_out(units))
    return longer - shorter


def human_lean(units):
    return sum(weighted_rates(leave_one_out(units))) / 2 - Fraction(1, 2)


def gap_matched(units, score4):
    longer, shorter = weighted_rates(leave_one_out(units, score4))
    return longer - shorter


def lean_matched(units, score4):
    return sum(weighted_rates(leave_one_out(units, score4))) / 2 - Fraction(1, 2)


def stratified_gap(units, score4, stratum):
    """Mean of the gaps within strata, weights n_L n_S / (n_L + n_S); None without any."""
    total, weights = Fraction(0), Fraction(0)
    for which in sorted(set(stratum)):
        sides = {1: [], -1: []}
        for at, label in enumerate(units.label):
            if stratum[at] == which and label:
                sides[int(label)].append(Fraction(int(score4[at]), 4))
        n_longer, n_shorter = len(sides[1]), len(sides[-1])
        if n_longer and n_shorter:
            weight = Fraction(n_longer * n_shorter, n_longer + n_shorter)
            total += weight * (mean(sides[1]) - mean(sides[-1]))
            weights += weight
    return total / weights if weights else None
