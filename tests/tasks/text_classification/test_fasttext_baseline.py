"""fastText as a classifier: what it is told, and what its answers mean. The library is not needed for most of it."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ctxzoo.tasks.text_classification.linear import FastText, build_linear_baseline, count_weights


class Stub:
    """Stands for the library: remembers its files, and answers with the label of the training line it knows best."""

    def __init__(self) -> None:
        self.files: dict[str, list[str]] = {}
        self.options: dict[str, Any] = {}

    def train_supervised(self, file: str, **options: Any) -> SimpleNamespace:
        self.options = options
        self.files["train"] = Path(file).read_text().splitlines()
        if "autotuneValidationFile" in options:
            self.files["held_out"] = Path(options["autotuneValidationFile"]).read_text().splitlines()
        labels = {line.split()[1]: line.split()[0] for line in self.files["train"]}

        def answer(lines: list[str], *_: Any) -> tuple[list[list[str]], list[list[float]]]:
            return [[labels[line.split()[0]]] for line in lines], [[1.0]] * len(lines)

        matrices = {"getInputMatrix": lambda: np.zeros((5, 3)), "getOutputMatrix": lambda: np.zeros((2, 3))}
        return SimpleNamespace(f=SimpleNamespace(multilinePredict=answer, **matrices))


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    library = Stub()
    monkeypatch.setitem(sys.modules, "fasttext", library)  # type: ignore[arg-type]
    return library


def test_texts_are_cut_and_labels_come_back(stub: Stub) -> None:
    model = FastText(pre_tokenizer="english").fit(["Good, really.", "bad?"], [3, 7])
    assert sorted(stub.files["train"]) == ["__label__3 good , really .", "__label__7 bad ?"]
    found = model.predict(["BAD films", "good ones"])
    assert found.tolist() == [7, 3]
    assert found.dtype.kind == "i"
    assert model.num_weights_ == 21


def test_lines_do_not_stand_label_by_label(stub: Stub) -> None:
    FastText().fit([f"w{number}" for number in range(40)], [0] * 20 + [1] * 20)
    labels = [line.split()[0] for line in stub.files["train"]]
    assert sum(one != other for one, other in pairwise(labels)) > 10


def test_what_it_is_tuned_on_it_is_not_fitted_on(stub: Stub) -> None:
    texts = [f"w{number}" for number in range(40)]
    FastText(autotune_seconds=9, threads=3).fit(texts, [0, 1] * 20)
    train, held_out = stub.files["train"], stub.files["held_out"]
    assert len(held_out) == 4
    assert sorted(line.split()[1] for line in train + held_out) == sorted(texts)
    assert sum(line.startswith("__label__1") for line in held_out) == 2  # as many of each label
    assert stub.options["autotuneDuration"] == 9
    assert stub.options["thread"] == 3


def test_it_stands_among_the_linear_baselines(stub: Stub) -> None:
    model = build_linear_baseline("fasttext").fit(["a", "b"], np.array([0, 1]))
    assert count_weights(model) == 21
    assert build_linear_baseline("fasttext_autotuned")[-1].autotune_seconds == 60


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fasttext", None)
    with pytest.raises(ImportError, match="pip install fasttext-wheel"):
        FastText().fit(["a", "b"], [0, 1])
