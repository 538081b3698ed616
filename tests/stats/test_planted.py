"""Every planted judge, through a written logits table like a real judge's, gets its class."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lengthmirror import planted
from lengthmirror.analysis import gpt4_row, humans_row, rung_row
from lengthmirror.inputs import Registration, load_inputs
from lengthmirror.manifest import NAME, unit_table_entry, update_manifest
from lengthmirror.pairs import SCHEMA, write_pairs
from lengthmirror.study import load_study

SEED, SLUG = 20261129, "smollm2-135m"
JUDGES = {
    "length only": (planted.always_longer, "LENGTH_PREFERENCE"),
    "brevity only": (planted.always_shorter, "BREVITY_PREFERENCE"),
    "slot A only": (planted.always_slot_a, "NO_PREFERENCE"),
    "independent coin": (planted.noisy_length(0.5, SEED), "NO_PREFERENCE"),
    "copy of the human label": (planted.human_copy, "EXCEEDS_HUMAN"),  # circular by construction
    "anti-human": (planted.anti_human, "INVERSE"),
    "noisy length": (planted.noisy_length(0.8, SEED), "LENGTH_PREFERENCE"),
    "graded length": (planted.graded_length(1, SEED), "LENGTH_PREFERENCE"),
    "half length, half GPT-4": (planted.mixture(planted.always_longer, planted.gpt4, 0.5, SEED),
                                "PARTIAL_TRACKING"),
    "GPT-4": (planted.gpt4, "QUALITY_TRACKING"),
    "length under a slot bias": (planted.biased_to_slot_a(planted.always_longer, 2),
                                 "NO_PREFERENCE"),
}


@pytest.fixture(scope="module")
def study(request):
    """The registered study."""
    root = request.config.rootpath
    return load_study(root / "preregistration", root / "config")


@pytest.fixture(scope="module")
def rows(study, request, tmp_path_factory):
    """The row of each planted judge, and of the references."""
    table = pq.read_table(request.config.rootpath / "artifacts/pairs.parquet")
    return all_rows(study, table.to_pylist(), tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def mirrored_rows(study, request, tmp_path_factory):
    """The same with the answer models renamed so that every unit's two answers swap sides."""
    table = pq.read_table(request.config.rootpath / "artifacts/pairs.parquet")
    units = [mirrored(row) for row in table.to_pylist()]
    return all_rows(study, units, tmp_path_factory.mktemp("mirrored"))


def all_rows(study, units, folder):
    path = folder / "pairs.parquet"
    write_pairs(path, units)
    update_manifest(folder / NAME, "pairs", "unit_table", unit_table_entry(
        study, path, len(units), {"human": True, "gpt4_pair": True}, "0" * 64))
    inputs = load_inputs(study, folder, Registration(study.digest, "verified", True))
    rows = {"gpt4-published": gpt4_row(inputs), "humans": humans_row(inputs)}
    for name, (margins, _) in JUDGES.items():
        planted.plant(folder, study, inputs.pairs, SLUG, margins)
        rows[name] = rung_row(load_inputs(study, folder, inputs.registration), SLUG)
    return rows


def mirrored(row):
    """The unit under names that sort the other way round: a becomes b everywhere."""
    other = {"a": "b", "b": "a"}
    result = {}
    for name in SCHEMA.names:
        parts = name.split("_")
        result[name] = row["_".join(other.get(part, part) for part in parts)]
    result["model_a"], result["model_b"] = (reversed_name(row[f"model_{side}"]) for side in "ba")
    result["gpt4_verdict"] = {"model_a": "model_b", "model_b": "model_a"}.get(
        row["gpt4_verdict"], row["gpt4_verdict"])
    result["prompt_sha256_ab"], result["prompt_sha256_ba"] = (row["prompt_sha256_ba"],
                                                              row["prompt_sha256_ab"])
    return result


def reversed_name(name):
    """A name that sorts before another exactly when the old one sorted after it."""
    return "".join(chr(0x2000 - ord(character)) for character in name) + "\uffff"


@pytest.mark.parametrize("name", JUDGES)
def test_a_planted_judge_gets_its_class(name, rows):
    """The frozen rule gives the class that follows from how the judge was made."""
    assert rows[name]["class"] == JUDGES[name][1]


@pytest.mark.parametrize("name", JUDGES)
def test_the_mirror_image_gives_identical_results(name, rows, mirrored_rows):
    """Swapping the names of the answers changes no number, to the bit."""
    assert mirrored_rows[name] == rows[name]


@pytest.mark.parametrize("name", ["gpt4-published", "humans"])
def test_the_mirror_image_of_a_reference_is_identical(name, rows, mirrored_rows):
    """The reference rows do not depend on the names of the answers either."""
    assert mirrored_rows[name] == rows[name]


def test_the_mirror_swaps_every_unit(study, request):
    """The mirror image has other rows: no unit keeps its first answer."""
    table = pq.read_table(request.config.rootpath / "artifacts/pairs.parquet").to_pylist()
    for row in table:
        image = mirrored(row)
        assert image["model_a"] < image["model_b"]
        assert image["model_a"] == reversed_name(row["model_b"])
        assert image["chars_a"] == row["chars_b"]
    assert pa.Table.from_pylist([mirrored(row) for row in table], schema=SCHEMA)


def test_slot_a_only_gives_exactly_one_half_twice(rows):
    """A judge that looks at the position alone has r_long 0.5 in both subsets."""
    row = rows["slot A only"]
    assert [row["r_long"][subset]["estimate"] for subset in ("longer", "shorter")] == [0.5, 0.5]
    assert (row["slot_a_share"], row["position_consistency"]["estimate"]) == (1, 0)
    assert row["flags"]["position_dominated"]


def test_length_only_has_a_gap_of_exactly_zero(rows):
    """Always the longer answer: r_long 1 in both subsets and an interval of zero width."""
    row = rows["length only"]
    assert row["gap"] == {"estimate": 0, "ci95": [0, 0], "ci90": [0, 0]}
    assert (row["lean"]["estimate"], row["slot_a_share"]) == (0.5, 0.5)
    assert row["flags"]["excess_length_lean"] and not row["flags"]["position_dominated"]


def test_copy_of_the_human_label_has_a_gap_of_exactly_one(rows):
    """Copying the label is G = 1 by construction, and an exact tie on each net-zero unit."""
    row = rows["copy of the human label"]
    assert row["gap"]["estimate"] == 1
    assert row["exact_ties"] == 2 * (1242 - 873 - 308)


def test_gpt4_as_a_judge_equals_the_published_row(rows):
    """Verdicts that arrive as logits and as a published column give the same statistics."""
    judge, published = rows["GPT-4"], rows["gpt4-published"]
    for name in ("class", "r_long", "gap", "gap_adjusted", "gap_within", "lean", "human_gap",
                 "gap_matched", "shortfall", "excess_lean", "sign_flip_p"):
        assert judge[name] == published[name]
    assert judge["flags"]["excess_length_lean"]


def test_a_judge_blind_to_position_is_the_same_debiased(rows):
    """Where both orderings agree everywhere, debiasing the order changes nothing."""
    for name in ("length only", "anti-human", "GPT-4"):
        row = rows[name]
        assert row["order_debiased"] == {key: row[key] for key in row["order_debiased"]}


def test_order_debiasing_finds_what_position_hides(rows):
    """Slot A on every prompt is no preference; the averaged margin shows the length preference."""
    row = rows["length under a slot bias"]
    assert row["slot_a_share"] == 1 and row["flags"]["position_dominated"]
    assert row["order_debiased"]["class"] == "LENGTH_PREFERENCE"
    assert row["order_debiased"]["r_long"]["shorter"]["estimate"] == 1


@pytest.mark.parametrize("name, share", [("independent coin", 0.5), ("noisy length", 0.8)])
def test_random_judges_draw_each_ordering_alone(name, share, rows):
    """The two orderings agree as often as two independent draws do, within 4 standard errors."""
    expected, found = share ** 2 + (1 - share) ** 2, rows[name]["position_consistency"]
    error = (expected * (1 - expected) / found["n"]) ** 0.5
    assert abs(found["estimate"] - expected) < 4 * error


def test_option_mass_of_a_planted_judge_is_one(rows):
    """A planted judge puts all its probability on the two options."""
    assert all(rows[name]["option_mass"]["mean"] == pytest.approx(1, abs=1e-6) for name in JUDGES)
