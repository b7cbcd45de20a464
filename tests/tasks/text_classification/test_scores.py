"""Texts without a known word: counted, and told apart from those that a model can read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ctxzoo.runs.run import execute
from ctxzoo.tasks.text_classification.task import TextScores
from tests.support.classifier_runs import classifier_run

LOGITS = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 0.0], [1.0, 4.0]])
LABELS = torch.tensor([0, 1, 1, 1])


def test_the_accuracy_of_texts_with_a_known_word() -> None:
    scores = TextScores(2)
    known = torch.tensor([True, False, True, False])
    scores.update_texts(LOGITS[:3], LABELS[:3], known[:3])
    scores.update_texts(LOGITS[3:], LABELS[3:], known[3:])  # none of this batch
    found = scores.compute()
    assert (found["accuracy"], found["known_accuracy"], found["known_share"]) == (75.0, 50.0, 50.0)


@pytest.mark.parametrize("known", [True, False])
def test_where_all_texts_are_alike_there_is_nothing_to_tell_apart(known: bool) -> None:
    scores = TextScores(2)
    scores.update_texts(LOGITS, LABELS, torch.full((4,), known))
    assert sorted(scores.compute()) == ["accuracy", "calibration_error", "macro_f1", "nll"]


def test_a_run_tells_both_of_its_test_texts(tmp_path: Path) -> None:
    lines = [f"{'good film' if row % 3 else f'rare{row}'},{row % 2}" for row in range(120)]
    (tmp_path / "texts.csv").write_text("\n".join(["text,label", *lines]))
    run = classifier_run(tmp_path, dataset=str(tmp_path / "texts.csv"), folds=2, fold=0, tiny=False)
    data = run.build_data()
    data.setup()
    texts = data.texts("test").select(data.rows("test"))["text"][:]
    known = np.array([bool(data.tokenizer(text)["input_ids"]) for text in texts])
    assert 0 < known.mean() < 1
    metrics = execute(run).metrics
    assert metrics["test/known_share"] == pytest.approx(100 * known.mean(), rel=1e-5)
    # All texts without a known word get the same label.
    labels = data.labels("test")
    unread = [100 * float((labels[~known] == label).mean()) for label in (0, 1)]
    share = known.mean()
    rest = (metrics["test/accuracy"] - share * metrics["test/known_accuracy"]) / (1 - share)
    assert min(abs(rest - one) for one in unread) < 0.01
