"""Invariants of p-values, Holm's adjustment and the random stream."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lengthmirror.decision import inside, sign
from lengthmirror.gap import sign_flip_p
from lengthmirror.intervals import (
    bootstrap_estimate,
    equivalence_p,
    holm_adjusted,
    two_sided_bootstrap_p,
)
from lengthmirror.resampling import BOOTSTRAP, resample_counts, sign_matrix
from lengthmirror.rule import SignFlipRule

from ..strategies import PROPERTIES, REPLICATES, replicates_of

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)
CONTRAST = hnp.arrays(float, st.integers(1, 12), elements=st.integers(-8, 8).map(float))
FLIPS = SignFlipRule(199, 1e-9)


@given(REPLICATES, st.sampled_from([0.0, 0.1, 0.125, 0.25, 0.5, 1.0]))
@PROPERTIES
def test_equivalence_p_lies_between_its_bounds(replicates, margin):
    """p lies in [1/(B+1), 1] and falls with the margin."""
    p = equivalence_p(replicates, margin)
    assert 1 / (len(replicates) + 1) <= p <= 1
    assert equivalence_p(replicates, margin + 0.1) <= p


@given(replicates_of(st.just(199)),
       st.sampled_from([0.05, 0.125, 0.25, 0.5, 0.6]))
@PROPERTIES
def test_equivalence_p_agrees_with_the_interval(replicates, margin):
    """p <= alpha exactly when the 1 - 2 alpha interval is strictly inside the margin."""
    found = bootstrap_estimate(0.0, replicates, 0.05)
    assert (equivalence_p(replicates, margin) <= 0.05) == inside(found.ci90, margin)


@given(REPLICATES)
@PROPERTIES
def test_two_sided_p_lies_between_its_bounds_and_has_no_side(replicates):
    """p lies in [2/(B+1), 1] or is 1, and negating the replicates leaves it."""
    p = two_sided_bootstrap_p(replicates)
    assert min(1, 2 / (len(replicates) + 1)) <= p <= 1
    assert two_sided_bootstrap_p(-replicates) == p


@given(replicates_of(st.just(199)))
@PROPERTIES
def test_two_sided_p_agrees_with_the_interval(replicates):
    """p <= alpha exactly when 0 is outside the 1 - alpha interval."""
    found = bootstrap_estimate(0.0, replicates, 0.05)
    assert (two_sided_bootstrap_p(replicates) <= 0.05) == (sign(found.ci95) != "ns")


@given(P_VALUES)
@PROPERTIES
def test_holm_never_lowers_a_p_value_or_leaves_the_unit_interval(p_values):
    """Adjusted p-values are at least the raw ones, at most n times them, at most 1."""
    adjusted = holm_adjusted(p_values)
    assert (adjusted >= np.array(p_values) - 1e-15).all()
    assert (adjusted <= np.minimum(1, len(p_values) * np.array(p_values)) + 1e-12).all()


@given(P_VALUES)
@PROPERTIES
def test_holm_keeps_the_order(p_values):
    """A smaller p-value never has a larger adjusted one."""
    adjusted = holm_adjusted(p_values)[np.argsort(p_values, kind="stable")]
    assert (np.diff(adjusted) >= 0).all()


@given(P_VALUES, st.integers(0, 7), st.floats(0, 1))
@PROPERTIES
def test_holm_is_monotone_in_each_p_value(p_values, at, factor):
    """Lowering one p-value raises no adjusted one."""
    lower = list(p_values)
    lower[at % len(lower)] *= factor
    assert (holm_adjusted(lower) <= holm_adjusted(p_values) + 1e-15).all()


@given(st.permutations(range(5)), st.lists(st.floats(0, 1), min_size=5, max_size=5, unique=True))
@PROPERTIES
def test_holm_ignores_the_order_of_the_judges(order, p_values):
    """Adjusted p-values belong to their judge, wherever it stands."""
    shuffled = holm_adjusted([p_values[at] for at in order])
    assert shuffled.tolist() == holm_adjusted(p_values)[list(order)].tolist()


@given(CONTRAST)
@PROPERTIES
def test_sign_flip_p_lies_between_its_bounds(contrast):
    """p is at least 1/(P+1), never 0, and at most 1."""
    assert 1 / 200 <= sign_flip_p(contrast, 3, FLIPS) <= 1


@given(CONTRAST)
@PROPERTIES
def test_sign_flip_p_has_no_side_and_no_scale(contrast):
    """Negating or doubling the contrast leaves its p-value."""
    p = sign_flip_p(contrast, 3, FLIPS)
    assert sign_flip_p(-contrast, 3, FLIPS) == p
    assert sign_flip_p(2 * contrast, 3, FLIPS) == p


@given(CONTRAST)
@PROPERTIES
def test_sign_flip_p_of_balanced_contrasts_is_one(contrast):
    """A contrast that sums to 0 is as extreme as any of its flips."""
    assert sign_flip_p(np.concatenate([contrast, -contrast]), 3, FLIPS) == 1


@given(st.integers(0, 2 ** 40), st.integers(1, 40), st.integers(1, 40))
@PROPERTIES
def test_every_replicate_draws_as_many_questions_as_there_are(seed, n_resamples, n_clusters):
    """Rows of the resample counts sum to Q, and signs are 1 or -1."""
    counts = resample_counts(seed, BOOTSTRAP, n_resamples, n_clusters)
    assert (counts.sum(axis=1) == n_clusters).all()
    assert (counts >= 0).all()
    assert set(np.unique(sign_matrix(seed, "signflip", n_resamples, n_clusters))) <= {-1, 1}


@given(st.integers(0, 2 ** 40), st.integers(1, 30), st.integers(1, 30), st.integers(1, 20))
@PROPERTIES
def test_more_replicates_begin_with_the_same_rows(seed, n_resamples, more, n_clusters):
    """Adding replicates changes none of the earlier ones."""
    first = resample_counts(seed, BOOTSTRAP, n_resamples, n_clusters)
    longer = resample_counts(seed, BOOTSTRAP, n_resamples + more, n_clusters)
    assert np.array_equal(longer[:n_resamples], first)
