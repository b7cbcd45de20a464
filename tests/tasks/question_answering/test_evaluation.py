"""Scores of a saved reader: the same for every batch size, its own threshold, both versions of SQuAD."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.cli.main import main
from ctxzoo.data.rows import build_row_stream
from ctxzoo.metrics import SquadV2
from ctxzoo.tasks.question_answering.card import CARD
from ctxzoo.tasks.question_answering.prediction import QuestionAnswers
from ctxzoo.tasks.question_answering.squad_json import read_questions
from ctxzoo.tasks.question_answering.task import evaluate
from tests.support.squad_files import squad_references, write_squad_file
from tests.support.tiny_checkpoint import write_tiny

THRESHOLD = 0.25


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("reader") / "tuned", no_answer_threshold=THRESHOLD)


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_squad_file(tmp_path_factory.mktemp("squad") / "test.json", 12)


def score(checkpoint: Path, file: Path, tmp_path: Path, **options: Any) -> dict[str, float]:
    return evaluate(str(checkpoint), str(file), cache_dir=str(tmp_path), accelerator="cpu", progress=False, **options)


@pytest.mark.slow
def test_batch_size_does_not_matter(reader: Path, questions: Path, tmp_path: Path) -> None:
    one, many = (score(reader, questions, tmp_path, batch_size=size) for size in (1, 64))
    assert one == pytest.approx(many, abs=1e-4)
    assert one["total"] == 12


@pytest.mark.slow
def test_threshold_is_the_model_s_unless_given(reader: Path, questions: Path, tmp_path: Path) -> None:
    own, same, never = (
        score(reader, questions, tmp_path, no_answer_threshold=threshold) for threshold in (None, THRESHOLD, 0.0)
    )
    assert own == same
    assert never["f1_at_threshold"] == pytest.approx(never["always_no_answer"], abs=1e-4)
    assert own["f1_at_threshold"] != pytest.approx(never["f1_at_threshold"], abs=1e-4)


@pytest.mark.slow
def test_scores_are_those_of_the_predictions(reader: Path, questions: Path, tmp_path: Path) -> None:
    answers, rows = QuestionAnswers(CARD.load_pipeline(str(reader))), read_questions(questions)
    texts = {
        answer.key: answer.alone for answer in answers(rows, build_row_stream("questions", rows)) if answer is not None
    }
    odds = answers.no_answer_scores
    metric = SquadV2()
    metric.update(
        [{"id": i, "prediction_text": text, "no_answer_probability": odds[i]} for i, text in texts.items()],
        squad_references(questions),
    )
    counted, scores = metric.compute(), score(reader, questions, tmp_path)
    assert scores["f1_at_threshold"] == pytest.approx(counted["f1"], abs=1e-4)
    assert scores["exact_at_threshold"] == pytest.approx(counted["exact"], abs=1e-4)
    assert scores["no_answer_auc"] == pytest.approx(counted["no_answer_auc"], abs=1e-4)


@pytest.mark.slow
def test_reader_of_squad_1_1_answers_everything(tmp_path: Path) -> None:
    checkpoint = write_tiny(tmp_path / "reader", squad_version="1.1")
    file = write_squad_file(tmp_path / "test.json", 12, answerable_only=True)
    scores = score(checkpoint, file, tmp_path / "cache")
    assert scores["AvNA"] == 100.0
    assert scores["f1"] == pytest.approx(scores["span_f1"], abs=1e-4)
    assert "NoAns_total" not in scores


def test_thresholds_that_are_no_probability(reader: Path, questions: Path) -> None:
    for threshold, error in (("0.5", TypeError), (1.5, ValueError), (float("nan"), ValueError)):
        with pytest.raises(error, match=f"no_answer_threshold must be .*, got {threshold!r}"):
            evaluate(str(reader), str(questions), no_answer_threshold=threshold, progress=False)
        rows = read_questions(questions)
        answers: Any = QuestionAnswers(CARD.load_pipeline(str(reader)), no_answer_threshold=threshold)
        with pytest.raises(error, match=f"no_answer_threshold must be .*, got {threshold!r}"):
            answers(rows, build_row_stream("q", rows))


def test_offsets_that_a_training_moves_are_moved_for_scores_too(
    reader: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = write_squad_file(tmp_path / "test.json", 3)
    wrong = tmp_path / "wrong" / "test.json"
    wrong.parent.mkdir()
    content = json.loads(right.read_text())
    answers = [one for article in content["data"] for one in article["paragraphs"][0]["qas"][0]["answers"]]
    answers[0]["answer_start"] += 1
    wrong.write_text(json.dumps(content))
    command = ["evaluate", str(reader), "--dataset"]
    assert main([*command, str(wrong)]) != 0
    assert "correct answer_start (or set --fix_answer_start to yes)" in capsys.readouterr().err
    assert main([*command, str(wrong), "--fix_answer_start", "yes", "--output", str(tmp_path / "moved.json")]) == 0
    assert "1 offset of answers, moved to the nearest occurrence" in capsys.readouterr().err
    assert main([*command, str(right), "--output", str(tmp_path / "right.json")]) == 0
    moved, plain = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("moved", "right"))
    assert moved["metrics"] == plain["metrics"]


def test_unknown_split(reader: Path, questions: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no split 'dev'; it has \['test'\]"):
        evaluate(str(reader), str(questions), "dev", cache_dir=str(tmp_path), progress=False)
