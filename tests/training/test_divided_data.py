"""Data of training rows alone: every DataModule divides it by itself, as `ctxzoo train` does."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest

from ctxzoo.data.checked_data import CheckedDataModule
from ctxzoo.data.own_splits import OwnSplits
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.regression.data import RegressionDataModule
from ctxzoo.tasks.regression.reader import RegressionRows
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.token_classification.experiments import build_paper_experiment, set_corpus
from ctxzoo.tasks.token_classification.problem import TOKEN_CLASSIFICATION
from tests.support.own_data import write_reviews, write_tags
from tests.support.own_trainings import own_experiment
from tests.support.plain_trainers import LIGHTNING_PROBLEMS, plain_trainer, scores_and_rows, tiny_run, with_data
from tests.support.problem_files import FILES, numbers, questions, reviews

pytestmark = pytest.mark.usefixtures("own_cache")

each_problem = pytest.mark.parametrize("problem", LIGHTNING_PROBLEMS)


def module(problem: str, path: Path, **options: Any) -> Any:
    """The DataModule of a problem on a file, ready."""
    one = LIGHTNING_PROBLEMS[problem]
    data = type(one.build_data_module(own_experiment(one, "sample")))(
        str(path), **{**FILES[problem].options, **options}
    )
    data.prepare_data()
    data.setup()
    return data


def trained_on(problem: str, path: Path) -> tuple[ExperimentRun, OwnSplits]:
    """What `ctxzoo train --tiny` runs on a file, and how it has divided it."""
    return tiny_run(LIGHTNING_PROBLEMS[problem], path.parent / "runs", str(path))


def contents(data: CheckedDataModule[Any], split: str) -> list[str]:
    """The rows of a split, each as text."""
    checked = data.load_checked_data()
    rows = checked.splits[split]
    if isinstance(rows, RegressionRows):
        return [str(row) for row in np.column_stack([rows.features, rows.targets]).tolist()]
    if not isinstance(rows, datasets.Dataset):
        named = zip(rows.legislators, rows.bills, rows.votes, strict=True)
        return [f"{checked.legislators[one]} {checked.bills[bill]} {vote}" for one, bill, vote in named]
    kept = [name for name in sorted(rows.column_names) if name != "file"]  # `ctxzoo train` keeps no documents
    return [str({name: row[name] for name in kept}) for row in rows]


def seen(loader: Any) -> int:
    return sum(len(batch["row"]) for batch in loader)


@each_problem
def test_a_file_is_divided_as_ctxzoo_train_divides_it(problem: str, tmp_path: Path) -> None:
    path = FILES[problem].write(tmp_path)
    with collect_reading_notes() as notes:
        data = module(problem, path)
    run, splits = trained_on(problem, path)
    theirs = run.build_data()
    parts = {split: contents(data, split) for split in data.splits}
    assert {split: contents(theirs, split) for split in theirs.load_checked_data().splits} == parts
    assert sorted(parts) == ["test", "train", "validation"]
    assert splits.lines[0].replace(path.name, f"note: {path}", 1) in notes.format_lines()
    assert "drawn from train" in splits.lines[0]
    whole = module(problem, path, divide=False)
    assert data.fingerprint == whole.fingerprint
    assert set(data.content_hashes()) == {"train"}
    rows = sorted(row for part in parts.values() for row in part)
    assert rows == sorted(contents(whole, "train"))
    for one, other in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert set(parts[one]).isdisjoint(parts[other])
    for loader in (data.train_dataloader(), data.val_dataloader(), data.test_dataloader(), data.predict_dataloader()):
        assert seen(loader) > 0


@each_problem
def test_all_rows_are_for_training_without_division(problem: str, tmp_path: Path) -> None:
    path = FILES[problem].write(tmp_path)
    with collect_reading_notes() as notes:
        data = module(problem, path, divide=False)
    assert "test" not in data.splits
    assert not any("drawn from train" in line for line in notes.format_lines())
    with pytest.raises(
        ValueError, match=r"gives no 'test' rows; .*, or 10 or more training rows alone and divide=True"
    ):
        data.predict_dataloader()


@each_problem
def test_evaluate_reads_all_rows_of_a_file(problem: str, tmp_path: Path) -> None:
    """Also those of a model that was trained on some of them."""
    path = FILES[problem].write(tmp_path)
    run, _ = trained_on(problem, path)
    data = run.build_data()
    data.setup()
    model = run.build_task(data, 1).model
    evaluate = import_module(f"ctxzoo.tasks.{problem.replace('-', '_')}").evaluate
    with collect_reading_notes() as notes:
        assert evaluate(model, str(path), "train", tokenizer=data.tokenizer, accelerator="cpu", progress=False)
    assert not any("drawn from train" in line for line in notes.format_lines())


@each_problem
def test_too_few_rows_stay_together(problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = FILES[problem].write(tmp_path)
    monkeypatch.setattr("ctxzoo.data.own_splits.LEAST_ROWS", 1_000)
    with collect_reading_notes() as notes:
        data = module(problem, path)
    assert data.splits == ("train",)
    assert contents(data, "train") == contents(module(problem, path, divide=False), "train")
    assert "all of them in train, too few to draw validation and test from: 1000 or more" in str(notes.format_lines())
    assert data.val_dataloader() == []
    assert seen(data.train_dataloader()) > 0
    with pytest.raises(ValueError, match="gives no 'test' rows"):
        data.test_dataloader()


def test_documents_and_contexts_are_on_one_side(tmp_path: Path) -> None:
    path = write_tags(tmp_path / "documents.conll", 60, documents=20)
    sentences, (run, _) = module("token-classification", path), trained_on("token-classification", path)
    assert contents(sentences, "test") == contents(run.build_data(), "test")
    documents = [set(sentences.load_checked_data().splits[split]["file"]) for split in sentences.splits]
    assert sum(map(len, documents)) == len(set.union(*documents)) == 20
    asked = module("question-answering", questions(tmp_path))
    contexts = [set(asked.load_checked_data().splits[split]["context"]) for split in asked.splits]
    assert sum(map(len, contexts)) == len(set.union(*contexts)) == 18


def test_a_text_of_one_line_is_divided_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text(" ".join(f"word{number % 7000}" for number in range(20_000)))
    data, (run, _) = module("language-modelling", path), trained_on("language-modelling", path)
    whole = contents(module("language-modelling", path, divide=False), "train")
    parts = {split: contents(data, split) for split in ("train", "validation", "test")}
    assert [len(part) for part in parts.values()] == [16, 2, 2]
    assert [*parts["train"], *parts["validation"], *parts["test"]] == whole
    assert parts["test"] == contents(run.build_data(), "test")


@pytest.mark.parametrize("said", [{"folds": 4}, {"dev_share": 0.2}, {"dev_share": 0.0}, {"dev_block": 5}])
def test_what_a_splitting_says_counts(said: dict[str, Any], tmp_path: Path) -> None:
    path = reviews(tmp_path)
    data, before = (
        TextClassificationDataModule.from_options(str(path), **said, divide=divide) for divide in (True, False)
    )
    for one in (data, before):
        one.setup()
    assert {split: data.rows(split).tolist() for split in data.splits} == {
        split: before.rows(split).tolist() for split in before.splits
    }


def test_a_split_number_counts(tmp_path: Path) -> None:
    data = RegressionDataModule(str(numbers(tmp_path)), split_number=3)
    data.setup()
    assert list(data.load_checked_data().splits) == ["train"]
    assert data.splits == ("train", "validation", "test")


def test_splits_that_are_there_are_left_as_they_are(tmp_path: Path) -> None:
    """With a test split of its own, validation is drawn as before."""
    (tmp_path / "d").mkdir()
    for split in ("train", "test"):
        write_reviews(tmp_path / "d" / f"{split}.csv", 40)
    data, before = (TextClassificationDataModule(str(tmp_path / "d"), divide=divide) for divide in (True, False))
    for one in (data, before):
        one.setup()
    assert {split: data.rows(split).tolist() for split in data.splits} == {
        split: before.rows(split).tolist() for split in before.splits
    }
    assert len(data.rows("test")) == 40


def test_a_rare_label_is_told(tmp_path: Path) -> None:
    path = write_reviews(tmp_path / "rows.csv", 40)
    path.write_text(path.read_text() + "the lamp is odd,other\n")
    with collect_reading_notes() as notes:
        module("text-classification", path)
    said = "1 text, all in train: it is neither validated nor tested; add some, or correct it where it is a slip"
    assert f"note: {path}, label 'other': {said}" in notes.format_lines()


def test_the_brown_corpus_is_cut_by_file_as_its_page_says() -> None:
    corpora = [
        TOKEN_CLASSIFICATION.build_data_module(set_corpus(build_paper_experiment(), name))
        for name in ("brown_pos", "ptb_sample")
    ]
    assert [one.divide for one in corpora] == [False, True]


@pytest.mark.parametrize("problem", ["text-classification", "session-recommendation"])
def test_one_file_trains_tests_and_predicts(problem: str, tmp_path: Path) -> None:
    path = FILES[problem].write(tmp_path)
    run, _ = trained_on(problem, path)
    run = with_data(run, path)
    found = scores_and_rows(run, plain_trainer(tmp_path, devices=1))
    assert found["scores"]
    assert found["validated"]
    assert len(set(found["rows"])) == len(found["rows"]) > 0
