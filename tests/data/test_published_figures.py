"""Figures that others published about these judgments, from the committed unit table alone."""

import numpy as np


def test_the_longer_conversation_wins_as_published(pairs):
    """Of the decided votes on conversations of unequal length, 0.6811 of 2562 are for the longer.

    Every vote of every annotator counts in both turns; the length is that of both answers.
    """
    votes_a, votes_b = (getattr(pairs, f"votes_{side}_expert")
                        + getattr(pairs, f"votes_{side}_author") for side in "ab")
    longer_a = pairs.chars_conversation_a > pairs.chars_conversation_b
    longer_b = pairs.chars_conversation_a < pairs.chars_conversation_b
    decided = int((votes_a + votes_b)[longer_a | longer_b].sum())
    for_longer = int(votes_a[longer_a].sum() + votes_b[longer_b].sum())
    assert (for_longer, decided, round(for_longer / decided, 4)) == (1745, 2562, 0.6811)


def first_turn_votes(pairs):
    """Votes of experts for a and for b in turn 1, int64 [rows, 2]."""
    votes = np.column_stack([pairs.votes_a_expert, pairs.votes_b_expert])
    return votes * (pairs.turn == 1)[:, None]


def test_gpt4_agrees_with_experts_as_published(pairs):
    """Turn 1, neither verdict a tie of any kind: GPT-4 and an expert agree in 0.846 of 859."""
    votes = first_turn_votes(pairs)
    verdicts = np.column_stack([pairs.gpt4_verdict == "model_a", pairs.gpt4_verdict == "model_b"])
    agreeing = int((votes * verdicts).sum())
    decided = int(votes[verdicts.any(axis=1)].sum())
    assert (agreeing, decided, round(agreeing / decided, 3)) == (727, 859, 0.846)


def test_experts_agree_with_each_other_as_published(pairs):
    """Turn 1, neither verdict a tie: two experts of one unit agree in 0.810 of 479 pairs."""
    votes = first_turn_votes(pairs)
    agreeing = int((votes * (votes - 1) // 2).sum())
    total = votes.sum(axis=1)
    decided = int((total * (total - 1) // 2).sum())
    assert (agreeing, decided, round(agreeing / decided, 3)) == (388, 479, 0.81)
