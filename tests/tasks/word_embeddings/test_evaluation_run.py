"""Evaluations of word vectors by name, and the results files that they leave."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ctxzoo.cli.main import EMBEDDING_TASKS
from ctxzoo.results.result import read_result
from ctxzoo.runs.run import execute
from ctxzoo.tasks.token_classification.experiments import build_paper_experiment
from ctxzoo.tasks.word_embeddings import evaluations as embedding_tasks
from ctxzoo.tasks.word_embeddings.evaluation_run import (
    EmbeddingRun,
    EmbeddingSource,
    EmbeddingTaggerRun,
    build_embedding_tagger_run,
)
from ctxzoo.tasks.word_embeddings.evaluations import (
    HEADINGS,
    TASKS,
    Evaluation,
    EvaluationOptions,
    check_task_names,
    format_score_rows,
)
from ctxzoo.training.run_folder import LOCK, RunLockedError, lock_run_files
from tests.support.word_vector_files import WORDS, small_vectors, write_checkpoint, write_test_sets, write_vectors


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_test_sets(tmp_path_factory.mktemp("sets")))


def run_of(path: Path, task: str, data_dir: str, tmp_path: Path, name: str = "", seed: int = 3) -> EmbeddingRun:
    return EmbeddingRun(
        source=EmbeddingSource(path=str(path), seed=seed, name=name),
        task=task,
        evaluation=TASKS[task],
        options=EvaluationOptions(data_dir=data_dir, restarts=2, threads=1),
        recipe="embedding_evaluation",
        commit="0123abc",
        results_dir=str(tmp_path / "results"),
        output_dir=str(tmp_path / "runs"),
    )


def test_every_task_gives_scores_metrics_and_lines(data_dir: str) -> None:
    options = EvaluationOptions(data_dir=data_dir, restarts=2)
    metrics = {}
    for name, task in TASKS.items():
        found = task.run(small_vectors(), options)
        metrics[name] = found.metrics
        lines = format_score_rows(name, found)
        assert lines
        assert all(len(line) == len(HEADINGS) and line[0] == name for line in lines)
        assert found.fingerprint
    induction = metrics["pos_induction"]
    assert induction["all/upos/states"] == 5
    assert induction["all/pos_tags/coverage"] == pytest.approx(100 * 5 / 6)
    restarts = [induction[f"all/upos/restart{number}/v_measure"] for number in range(2)]
    assert induction["all/upos/v_measure_median"] == pytest.approx(sum(restarts) / 2)
    assert induction["all/upos/v_measure_lowest"] == min(restarts)
    assert metrics["similarity"]["test/pets/coverage"] == 75
    assert abs(metrics["similarity"]["test/other/spearman"]) == pytest.approx(100)
    assert metrics["analogy"]["test/semantic/accuracy"] == metrics["analogy"]["test/capitals/accuracy"] == 100
    assert metrics["sentiment"]["test/accuracy"] == 100
    means = {name for name in metrics["sentiment_means"] if name.endswith("accuracy") and name.startswith("test/")}
    assert means == {f"test/{name}/accuracy" for name in ("plain", "unit", "weighted", "unit_weighted")}


def test_what_is_not_defined_is_shown_as_a_dash_and_left_out(data_dir: str) -> None:
    found = TASKS["similarity"].run(small_vectors(["good"]), EvaluationOptions(data_dir=data_dir))
    assert set(found.metrics) == {"test/pets/coverage", "test/other/coverage"}
    assert [line[2] for line in format_score_rows("similarity", found)] == ["–", "–"]


def test_the_results_file_of_a_checkpoint(tmp_path: Path, data_dir: str) -> None:
    path = write_checkpoint(tmp_path / "run" / "checkpoint", small_vectors(), window=5)
    run = run_of(path, "sentiment", data_dir, tmp_path, name="subsampled")
    shown: list[Evaluation] = []
    result = execute(replace(run, show=shown.append))
    assert len(shown) == 1
    file = tmp_path / "results" / "embedding_evaluation" / "attention_cbow-b5-seed3-subsampled-sentiment.json"
    assert run.results_file == file
    assert [one.name for one in file.parent.iterdir()] == [file.name]
    written = read_result(file)
    assert (written.architecture, written.variant) == ("word_embedding", "attention_cbow-b5")
    assert (written.dataset, written.split, written.seed) == ("SetFit/sst2", "test", 3)
    assert written.metrics["test/accuracy"] == result.metrics["test/accuracy"] == 100
    expected = {"architecture": "attention_cbow", "window": 5, "name": "subsampled", "task": "sentiment"}
    assert written.settings.items() >= {**expected, "vectors": "run", "fold_digits": False}.items()
    assert written.parameters["total"] == len(WORDS) * 6


def test_the_results_file_of_a_file_has_its_name(tmp_path: Path, data_dir: str) -> None:
    run = run_of(write_vectors(tmp_path / "plain.6d.txt", small_vectors()), "analogy", data_dir, tmp_path)
    result = execute(run)
    assert run.results_file.name == "plain.6d-seed3-analogy.json"
    assert (result.architecture, result.settings["architecture"], result.settings["window"]) == (
        "word_vectors",
        "word_vectors",
        None,
    )


def test_resume_keeps_what_has_the_same_settings_and_vectors(tmp_path: Path, data_dir: str) -> None:
    path = tmp_path / "v.txt"
    write_vectors(path, small_vectors())
    shown: list[Evaluation] = []
    first = execute(run_of(path, "similarity", data_dir, tmp_path))
    again = execute(replace(run_of(path, "similarity", data_dir, tmp_path), show=shown.append), resume=True)
    assert not shown
    assert again.created == first.created
    write_vectors(path, small_vectors(seed=1))
    changed = execute(replace(run_of(path, "similarity", data_dir, tmp_path), show=shown.append), resume=True)
    assert shown
    assert changed.settings["vectors_fingerprint"] != first.settings["vectors_fingerprint"]


def test_names_of_tasks() -> None:
    assert tuple(TASKS) == EMBEDDING_TASKS
    check_task_names(["similarity", "sentiment"])
    with pytest.raises(
        ValueError, match=r"unknown task 'tagging'; known: pos_induction, similarity, analogy, sentiment"
    ):
        check_task_names(["tagging"])
    assert embedding_tasks.POS_TAGS == ("upos", "pos_tags")


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, data_dir: str) -> None:
    path = write_vectors(tmp_path / "v.txt", small_vectors())
    with pytest.raises(ValueError, match="cannot be part of a file name"):
        execute(run_of(path, "similarity", data_dir, tmp_path, name="a/b"))


def test_a_second_evaluation_of_the_same_is_told_who_is_at_it(tmp_path: Path, data_dir: str) -> None:
    path = write_vectors(tmp_path / "v.txt", small_vectors())
    run, other = (run_of(path, task, data_dir, tmp_path) for task in ("similarity", "analogy"))
    run.folder.mkdir(parents=True)
    with lock_run_files(run.folder / LOCK, "--output_dir"):
        with pytest.raises(RunLockedError, match=r"v-seed3-similarity belongs to another run, process \d+"):
            execute(run)
        assert not run.results_file.exists()
        execute(other)
    execute(run)
    assert run.results_file.exists()


def tagging_of(path: Path, name: str = "", seed: int = 3) -> EmbeddingTaggerRun:
    source = EmbeddingSource(path=str(path), seed=seed, name=name)
    return build_embedding_tagger_run(
        source, build_paper_experiment().copy_with(recipe="embedding_evaluation", commit="0123abc")
    )


def test_it_tells_which_vectors_it_starts_from(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "run" / "checkpoint", small_vectors(), window=5)
    run = tagging_of(path, "rate0.2")
    assert run.results_file.as_posix() == (
        "runs/results/embedding_evaluation/attention_cbow-b5-rate0.2-ptb_sample-test-seed3-pos_tags.json"
    )
    assert (run.experiment.start.word_vectors, run.build_data().seed, run.trainer.seed) == (str(path), 3, 3)
    told = {"architecture": "attention_cbow", "window": 5, "name": "rate0.2", "task": "pos_tagging", "vectors": "run"}
    assert run.settings.items() >= {**told, "word_vectors": "attention_cbow-b5-rate0.2", "epochs": 50}.items()
    assert "fold_digits" in run.settings
    assert run.settings["fold_digits"] is True  # that of the tagger


def test_other_vectors_of_the_same_name_are_another_run(tmp_path: Path) -> None:
    path = tmp_path / "plain.6d.txt"
    first = tagging_of(write_vectors(path, small_vectors()))
    again = tagging_of(write_vectors(path, small_vectors()))
    other = tagging_of(write_vectors(path, small_vectors(seed=1)))
    assert first.variant == other.variant == "plain.6d"
    assert first.settings == again.settings
    assert first.settings != other.settings  # so that --resume trains anew
