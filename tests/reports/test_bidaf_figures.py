"""The curves of BiDAF over training, from results files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

import ctxzoo
from ctxzoo.results.result import write_result_file
from reports.bidaf_figures import Settings, draw_attention, draw_curves
from tests.support.recipe_here import recipe_here
from tests.support.result_tables import make_run

READER = str(Path(ctxzoo.__file__).parents[1] / "model_cards" / "bidaf-squad")
PLACE: dict[str, Any] = {"epochs": 8, "optimizer": "adadelta", "word_vectors": "wiki2015_cbow.100d"}


def test_means_over_seeds_by_model_and_epoch(tmp_path: Path) -> None:
    runs = [("baseline", 1, 0.122474, 50.0), ("baseline", 2, 0.122474, 54.0), ("baseline", 3, 0.172774, 99.0)]
    for number, (variant, seed, start, score) in enumerate(runs):
        metrics = {f"validation/epoch{e}/{n}": score + e for e in range(1, 9) for n in ("exact", "f1", "nll")}
        run = make_run(variant, seed, metrics=metrics, settings={**PLACE, "product_start": start})
        write_result_file(run, tmp_path / "results" / f"{number}.json")
    made = recipe_here(tmp_path, "--results", "results", "--only", "curves", name="bidaf_figures")
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "runs" / "bidaf_figures"
    with (folder / "curves.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[1] == ["baseline", "2", "1", "53.0", "53.0", "53.0"]
    assert len(rows) == 9
    assert (folder / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_a_frame_is_around_the_answer_and_the_shades_are_the_attention(tmp_path: Path, drawn: list[Figure]) -> None:
    question, context = "when did ada write the book ?", "ada wrote the book in 1843 ."
    table = draw_attention(Settings(reader=READER, question=question, context=context), tmp_path)
    pipeline = ctxzoo.pipeline(READER)
    inputs = pipeline.tokenizer([question], [context], return_tensors="pt")
    with torch.no_grad():
        output = pipeline.model(**inputs, output_attentions=True)
    left, right = drawn[0].axes
    shades, ends = (np.asarray(axes.images[0].get_array()) for axes in (left, right))
    assert shades.sum(axis=0) == pytest.approx(np.full(7, 100))  # of each question word, over the paragraph
    assert shades == pytest.approx(100 * output.attentions[1][0, :, 1:].numpy(), abs=1e-4)
    assert ends[:, 0] == pytest.approx(100 * output.start_logits[0].softmax(0).numpy(), abs=1e-4)
    frame = left.lines[0].get_ydata()
    framed = [str(row[0]) for place, row in enumerate(table[1:]) if min(frame) < place < max(frame)]
    assert " ".join(framed) == pipeline(question=question, context=context)["answer"] == "1843"
    assert table[0] == ["word", *question.split(), "first word", "last word"]
    assert [row[0] for row in table[1:]] == ["(no answer)", *context.split()]


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="BilstmTaggerForTokenClassification; expected a BiDAF"):
        draw_attention(Settings(reader=str(Path(READER).parent / "tagger-ewt")), tmp_path)


def test_nothing_to_draw_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds none of recipes/squad_bidaf\.py"):
        draw_curves(Settings(results=str(tmp_path)), tmp_path)
