"""What `ctxzoo train text-classification` makes of a request: rows, settings, runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from transformers import AutoConfig

import ctxzoo  # noqa: F401  registers the architectures
from ctxzoo.data.own_splits import OwnRows
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.runs.own_data import choose_base_experiment, parse_train_command
from ctxzoo.tasks.text_classification import data as data_module
from ctxzoo.tasks.text_classification.experiments import SEARCH_SPACE
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION as TEXTS
from ctxzoo.tasks.text_classification.splitting import draw_rows_of_every_label
from tests.support.own_data import write_reviews
from tests.support.own_trainings import config_of

KINDS = [
    (settings, architecture, variant)
    for settings in ("default", "paper")
    for architecture in TEXTS.list_architectures()
    if settings == "default" or architecture in ("contextualizer", "lama", "text_baseline")
    for variant in TEXTS.get_variants(architecture)
]


def read(path: Path, **files: str) -> OwnRows:
    return TEXTS.read_user_data(choose_base_experiment(TEXTS).copy_with(dataset=str(path)), files, path.parent)


def written(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(("text,label", *rows)) + "\n", encoding="utf-8")
    return path


def test_texts_that_stand_again_with_another_label_are_counted(tmp_path: Path) -> None:
    data = written(tmp_path / "a.csv", "one,pos", "ONE ,neg", "two,pos", "two,pos", "three,neg")
    test = written(tmp_path / "b.csv", "three,pos", "four,neg")
    told = "texts stand there again with another label, each read as it is; correct those that are slips"
    for changes, where, number in (({}, f"{data}", 2), ({"test": str(test)}, f"{data}, {test}", 4)):
        with collect_reading_notes() as notes:
            assert read(data, **changes).labels is not None
        assert notes.noted == {(where, told): number}


def test_equal_texts_are_one_group_in_all_files(tmp_path: Path) -> None:
    mine = written(tmp_path / "mine.csv", "good day,p", "bad day,n", "Good  day,p")
    tests = written(tmp_path / "test.csv", "GOOD DAY,n", "new,p")
    rows = read(mine, test=str(tests))
    first, second, third = rows.groups["train"].tolist()
    assert first == third != second
    assert rows.groups["test"].tolist()[0] == first
    assert rows.splits["test"].features["label"].names == ["n", "p"]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (("10", "2", "2", "-1"), ["-1", "2", "10"]),
        (("0", "1", "1", "0"), ["0", "1"]),
        (("true", "false", "true", "true"), ["false", "true"]),
        (("b", "a", "b", "a"), ["a", "b"]),
    ],
)
def test_labels_are_whole_numbers_truth_values_or_names(
    labels: tuple[str, ...], names: list[str], tmp_path: Path
) -> None:
    rows = read(written(tmp_path / "a.csv", *(f"t {i},{label}" for i, label in enumerate(labels))))
    assert list(rows.label_names) == names
    assert rows.labels is not None
    assert [names[label] for label in rows.labels] == list(labels)


def test_a_folder_of_files_named_after_splits_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    written(tmp_path / "data" / "train.csv", "a b,p", "c d,n")
    written(tmp_path / "data" / "test.csv", "e f,p")
    rows = read(tmp_path / "data")
    assert {name: len(split) for name, split in rows.splits.items()} == {"train": 2, "test": 1}


@pytest.mark.parametrize(("settings", "architecture", "variant"), KINDS)
def test_every_setting_makes_a_model(settings: str, architecture: str, variant: str) -> None:
    usual = TEXTS.get_settings(settings, architecture, variant)
    sizes = {"model_type": f"ctxzoo_{architecture}", "vocab_size": 30, "num_labels": 3}
    for one in (usual, TEXTS.make_tiny(usual)):
        TEXTS.check(one)
        whole = config_of(one)
        config = AutoConfig.for_model(**sizes, **whole)
        assert all(getattr(config, name) == value for name, value in whole.items())
    assert config_of(TEXTS.make_tiny(usual))["word_dim"] == 8
    space = TEXTS.build_search_space(usual)
    assert "learning_rate" in space
    assert set(space) <= {*SEARCH_SPACE, "learning_rate"}
    assert "wide_cost" in space or not usual.start.values()["wide"]


def test_an_architecture_without_a_recipe_for_texts_has_no_settings_of_a_paper() -> None:
    with pytest.raises(ValueError, match=r"no settings of a paper for beta_lstm on texts, .* try --settings default"):
        TEXTS.get_settings("paper", "beta_lstm", "bibeta5")


def test_settings_of_the_papers_are_those_of_their_recipes() -> None:
    lama = TEXTS.get_settings("paper", "lama", "lama").settings()
    told = {name: lama[name] for name in ("optimizer", "learning_rate", "halve_after", "epochs", "word2vec_dim")}
    assert told == {"optimizer": "sgd", "learning_rate": 0.05, "halve_after": 2, "epochs": 50, "word2vec_dim": 100}
    sentences = TEXTS.get_settings("paper", "contextualizer", "recurrent").settings()
    told = {name: sentences[name] for name in ("optimizer", "learning_rate", "batch_size", "decay", "eval_context")}
    assert told == {
        **{"optimizer": "adam", "learning_rate": 1e-3, "batch_size": 64, "decay": False},
        "eval_context": "redraw",
    }
    assert lama["folds"] is sentences["folds"] is None


def test_the_default_is_the_named_architecture_and_another_has_its_first_variant() -> None:
    assert choose_base_experiment(TEXTS).model.variant == "cnn"
    assert choose_base_experiment(TEXTS, architecture="lama").model.variant == "lama"
    line = parse_train_command(TEXTS, ["--data", "a.csv", "--learning_rate", "0.5", "--max_length", "7"])
    assert (line.experiment.optimizer.learning_rate, line.experiment.data.values()["max_length"]) == (0.5, 7)


def test_tiny_fits_what_is_linear_to_a_thousand_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, np.ndarray]] = []

    def record_rows(counts: Any, labels: np.ndarray, *_: object, **__: object) -> SimpleNamespace:
        seen.append((counts.shape[0], labels))
        return SimpleNamespace(choice=None)

    monkeypatch.setattr(data_module, "fit_wide_part", record_rows)
    write_reviews(tmp_path / "many.csv", 1500, labels=("yes", "no", "so"))
    tiny = TEXTS.make_tiny(choose_base_experiment(TEXTS)).copy_with(dataset=str(tmp_path / "many.csv"))
    data = TEXTS.build_data_module(tiny)
    data.setup()
    data.fit_wide_part(("train",), [0])
    ((rows, labels),) = seen
    assert (rows, len(labels), set(labels.tolist())) == (1000, 1000, {0, 1, 2})
    assert tiny.settings()["wide_rows"] == 1000
    assert choose_base_experiment(TEXTS).settings()["wide_rows"] is None


def test_drawn_rows_have_every_label_and_are_different_with_another_seed() -> None:
    labels = np.array([0] * 500 + [1, 2])
    drawn = [draw_rows_of_every_label(labels, 20, seed) for seed in (0, 0, 1)]
    assert all(len(rows) == len(set(rows.tolist())) == 20 for rows in drawn)
    assert all(set(labels[rows].tolist()) == {0, 1, 2} for rows in drawn)
    assert drawn[0].tolist() == drawn[1].tolist() != drawn[2].tolist()
