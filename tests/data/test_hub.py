"""The hub's way in: ``datasets`` at the pinned revision, checked like a local folder."""

import copy

import pytest

from lengthmirror.dataset import ENVIRONMENT_VARIABLE, TextDiffers, load_judgments
from lengthmirror.errors import InvalidDataset

from .small_judgments import write_splits
from .test_dataset import config_for

datasets = pytest.importorskip("datasets")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Keeps the library's cache and progress bars out of the way, and the network out of reach."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def repository(tmp_path, human, gpt4_pair):
    """A local folder in the layout of the published repository."""
    folder = write_splits(tmp_path / "repository" / "data", human, gpt4_pair)
    for name in ("human", "gpt4_pair"):
        (folder / f"{name}.parquet").rename(folder / f"{name}-00000-of-00001.parquet")
    files = "".join(f"  - split: {name}\n    path: data/{name}-*\n"
                    for name in ("human", "gpt4_pair"))
    (folder.parent / "README.md").write_text(
        f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n")
    return folder.parent


def test_both_splits_load_through_datasets(tmp_path, human, gpt4_pair):
    """Loaded through the library, the rows are those of the files."""
    config = config_for(human, gpt4_pair, str(repository(tmp_path, human, gpt4_pair)))
    judgments = load_judgments(config, None)
    assert judgments.human == human and judgments.gpt4_pair == gpt4_pair
    assert judgments.content_matches == {"human": True, "gpt4_pair": True}


def test_pinned_revision_is_the_one_asked_for(human, gpt4_pair, monkeypatch):
    """Repository, revision and split reach the library as they are registered."""
    asked = []

    def load_dataset(*arguments, **options):
        asked.append((arguments, options))
        raise ConnectionError
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    config = config_for(human, gpt4_pair)
    with pytest.raises(InvalidDataset):
        load_judgments(config, None)
    assert asked == [((config.repository,), {"revision": config.revision, "split": "human"})]


def test_cached_copy_with_other_labels_is_an_error(tmp_path, human, gpt4_pair):
    """Whatever revision the library fell back to: labels that are not registered are an error."""
    folder = repository(tmp_path, human[:-1] + human[:1], gpt4_pair)
    config = config_for(human, gpt4_pair, str(folder))
    with pytest.raises(InvalidDataset, match="^the labels of the human split"):
        load_judgments(config, None)


def test_cached_copy_with_another_text_is_a_warning(tmp_path, human, gpt4_pair):
    """Whatever revision the library fell back to: another text is told."""
    changed = copy.deepcopy(gpt4_pair)
    changed[0]["conversation_a"][1]["content"] = "Not what was said."
    config = config_for(human, gpt4_pair, str(repository(tmp_path, human, changed)))
    with pytest.warns(TextDiffers, match="of the gpt4_pair split differ"):
        assert load_judgments(config, None).content_matches == {"human": True, "gpt4_pair": False}


@pytest.mark.parametrize("defect", ["no such repository", "no such split", "damaged file"])
def test_unusable_repository_is_one_sentence(tmp_path, human, gpt4_pair, defect):
    """A repository that cannot be loaded is one sentence that names the local way instead."""
    folder = repository(tmp_path, human, gpt4_pair)
    if defect == "no such split":
        (folder / "README.md").write_text("")
        (folder / "data/human-00000-of-00001.parquet").unlink()
    elif defect == "damaged file":
        (folder / "data/human-00000-of-00001.parquet").write_bytes(b"PAR1 damaged")
    config = config_for(human, gpt4_pair,
                        "invented/absent" if defect == "no such repository" else str(folder))
    with pytest.raises(InvalidDataset, match=f"cannot be loaded from the hub .*--data or "
                                             f"{ENVIRONMENT_VARIABLE}") as caught:
        load_judgments(config, None)
    assert "\n" not in str(caught.value)


def test_missing_column_names_the_repository(tmp_path, human, gpt4_pair):
    """A published table without a column it should have is an error that names the repository."""
    without = [[{key: value for key, value in row.items() if key != "judge"} for row in rows]
               for rows in (human, gpt4_pair)]
    folder = repository(tmp_path, *without)
    with pytest.raises(InvalidDataset, match="repository has no column 'judge'"):
        load_judgments(config_for(human, gpt4_pair, str(folder)), None)


def test_splits_with_different_columns_are_one_sentence(tmp_path, human, gpt4_pair):
    """Files that the library cannot put together are one sentence too."""
    without = [{key: value for key, value in row.items() if key != "judge"} for row in human]
    folder = repository(tmp_path, without, gpt4_pair)
    with pytest.raises(InvalidDataset, match=r"cannot be loaded from the hub \(DatasetGeneration"):
        load_judgments(config_for(human, gpt4_pair, str(folder)), None)
