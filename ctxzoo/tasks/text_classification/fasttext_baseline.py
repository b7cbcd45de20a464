"""fastText (Joulin et al. 2017) as a scikit-learn classifier of texts, with its own defaults or tuned by itself."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import train_test_split

from ctxzoo.models.tokenization_word import Cutter, cut_words, word_cutter

LABEL = "__label__"
HELD_OUT = 0.1


class FastText(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """fastText's supervised classifier on texts that are lower-cased and cut into words.

    Args:
        autotune_seconds: how long it searches its settings, on a stratified tenth of the texts that it is then not
            fitted on; 0: its defaults.
        threads: of its training; with more than one no two fits are the same.
        cutter: the pre-tokenizer, see `build_word_tokenizer`.
    """

    def __init__(self, autotune_seconds: int = 0, threads: int = 1, cutter: Cutter = "whitespace") -> None:
        self.autotune_seconds = autotune_seconds
        self.threads = threads
        self.cutter = cutter

    def fit(self, X: Sequence[str], y: npt.ArrayLike) -> FastText:
        """Fit it to texts X and their labels y (rows,).

        Raises:
            ImportError: fasttext is not installed.
        """
        fasttext = _import_fasttext()
        labels = np.asarray(y)
        self.classes_ = np.unique(labels)
        lines = [f"{LABEL}{label} {line}" for label, line in zip(labels.tolist(), self._lines(X), strict=True)]
        # fastText reads lines in their order, once in each epoch, and datasets often stand label by label.
        lines = [lines[row] for row in np.random.default_rng(0).permutation(len(lines))]
        with tempfile.TemporaryDirectory() as folder:
            options: dict[str, Any] = {"thread": self.threads, "verbose": 0}
            if self.autotune_seconds:
                of_line = [line.partition(" ")[0] for line in lines]
                fewest = min(Counter(of_line).values())
                lines, held_out = train_test_split(
                    lines, test_size=HELD_OUT, random_state=0, stratify=of_line if fewest > 1 else None
                )
                options |= {
                    "autotuneValidationFile": _written(Path(folder, "held_out.txt"), held_out),
                    "autotuneDuration": self.autotune_seconds,
                }
            self.model_ = fasttext.train_supervised(_written(Path(folder, "train.txt"), lines), **options)
        rows = self.model_.f.getInputMatrix(), self.model_.f.getOutputMatrix()
        self.num_weights_ = int(sum(np.asarray(matrix).size for matrix in rows))
        return self

    def predict(self, X: Sequence[str]) -> npt.NDArray[Any]:
        """Return the label (rows,) of each text."""
        # Not `model.predict`, which NumPy 2 refuses.
        found = self.model_.f.multilinePredict([f"{line}\n" for line in self._lines(X)], 1, -1.0, "strict")[0]
        return np.array([self.classes_.dtype.type(labels[0].removeprefix(LABEL)) for labels in found])

    def _lines(self, texts: Sequence[str]) -> list[str]:
        backend = word_cutter(lower_case=True, cutter=self.cutter)
        return [" ".join(cut_words(backend, text)) for text in texts]


def _written(file: Path, lines: Sequence[str]) -> str:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(file)


def _import_fasttext() -> Any:
    try:
        import fasttext
    except ImportError as error:
        raise ImportError("the baseline fastText needs: pip install fasttext-wheel") from error
    return fasttext
