"""A small set of judgments in the published schema; every text in it was invented for the tests.

Seven questions of two turns, three answer models, three annotators who agree: 42 units.
"""

from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lengthmirror.dataset import digest

MODELS = ("heron", "otter", "wren")
ANNOTATORS = ("author_1", "expert_1", "expert_2")
UNANIMOUS_TIE = (7, 2, "heron", "otter")

# Per question: first question, follow-up question, and sentences that an answer is made of.
TOPICS = (
    ("How do I keep basil alive?", "And in winter?",
     "Water it when the soil feels dry.", "Pinch off the flowers so that leaves keep coming.",
     "Give it six hours of sun."),
    ("Why is the sky red at dusk?", "Is it so on Mars?",
     "Light crosses more air when the sun is low.", "The blue part is scattered away first.",
     "Dust makes it redder still."),
    ("Name a use of a paper clip.", "Name one more.",
     "It opens the tray of a phone.", "Unbent, it reaches into the little hole beside the tray.",
     "Push gently until you feel the spring give way."),
    ("What is 15 times 12?", "Show how.",
     "It is 180.", "Ten times twelve is 120 and five times twelve is 60.",
     "Added together they make 180, as they should."),
    ("Write a line about rain.", "Make it sad.",
     "Rain taps the tin roof.", "It keeps the time that nobody else keeps.",
     "By noon the street is a river of umbrellas."),
    ("Is a tomato a fruit?", "Who decides?",
     "Yes, in botany.", "It grows from the flower and holds the seeds.",
     "In the kitchen it passes for a vegetable all the same."),
    ("How long to boil an egg?", "At high altitude?",
     "Seven minutes for a soft yolk.", "Start counting when the water boils again.",
     "Then cool it under the tap so that it peels well."),
)


def conversations() -> dict[tuple[int, str], list[dict]]:
    """Four messages by (question_id, model); who writes most changes from question to question."""
    result = {}
    for question_id, (first, follow_up, *sentences) in enumerate(TOPICS, start=1):
        for place, model in enumerate(MODELS):
            answers = [" ".join(sentences[:1 + (place + question_id + turn) % len(sentences)])
                       for turn in (1, 2)]
            texts = (first, answers[0], follow_up, f"{answers[1]} So says {model}.")
            result[question_id, model] = [
                {"content": text, "role": role}
                for text, role in zip(texts, ("user", "assistant") * 2)]
    return result


def human_rows() -> list[dict]:
    """Three votes per unit: in two units of three for the longer answer, else for the shorter."""
    return [row for number, unit in enumerate(_units()) for row in _votes(number, unit)]


def gpt4_rows() -> list[dict]:
    """One published verdict per unit, every other one stored with its models swapped."""
    rows = []
    for number, unit in enumerate(_units()):
        winner = ("model_a", "tie (inconsistent)", "model_b", "tie")[number % 4]
        row = _row(unit, "gpt4_pair", winner)
        rows.append(swapped(row) if number % 2 else row)
    return rows


def swapped(row: dict) -> dict:
    """The same judgment with its two models in the other order."""
    other = {"a": "b", "b": "a"}
    result = {**row, **{f"{name}_{other[side]}": row[f"{name}_{side}"]
                        for name in ("model", "conversation") for side in other}}
    if row["winner"] in ("model_a", "model_b"):
        result["winner"] = f"model_{other[row['winner'][-1]]}"
    return result


def write_splits(folder: Path, human: list[dict], gpt4_pair: list[dict]) -> Path:
    """Writes both splits as parquet files of the published schema."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("human", human), ("gpt4_pair", gpt4_pair)):
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    return folder


def dataset_toml(human: list[dict], gpt4_pair: list[dict],
                 repository: str = "invented/small") -> str:
    """A config/dataset.toml whose row counts and digests are those of the rows."""
    lines = ["schema = 1", f'repository = "{repository}"', f'revision = "{"0" * 40}"',
             'licence = "CC0-1.0"', 'source = "invented for the tests"']
    for name, rows in (("human", human), ("gpt4_pair", gpt4_pair)):
        labels = [{key: value for key, value in row.items() if "conversation" not in key}
                  for row in rows]
        lines += [f"[split.{name}]", f"rows = {len(rows)}", f'label_sha256 = "{digest(labels)}"',
                  f'content_sha256 = "{digest(rows)}"']
    return "\n".join(lines) + "\n"


def _units() -> list[tuple[int, int, str, str]]:
    return [(question_id, turn, *models) for question_id in range(1, len(TOPICS) + 1)
            for turn in (1, 2) for models in combinations(MODELS, 2)]


def _votes(number: int, unit: tuple) -> list[dict]:
    texts, (question_id, turn, first, second) = conversations(), unit
    of_turn = 1 if turn == 1 else 3
    length_a, length_b = (len(texts[question_id, model][of_turn]["content"])
                          for model in (first, second))
    for_a = (length_a > length_b) == (number % 3 != 2)
    winner = "tie" if unit == UNANIMOUS_TIE else "model_a" if for_a else "model_b"
    rows = [_row(unit, annotator, winner) for annotator in ANNOTATORS]
    return [rows[0], swapped(rows[1]), rows[2]]


def _row(unit: tuple, judge: str, winner: str) -> dict:
    texts, (question_id, turn, first, second) = conversations(), unit
    return {"question_id": question_id, "model_a": first, "model_b": second, "winner": winner,
            "judge": judge, "conversation_a": texts[question_id, first],
            "conversation_b": texts[question_id, second], "turn": turn}
