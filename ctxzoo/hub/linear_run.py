"""One linear baseline on one fold, from plain settings to results file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, f1_score

from ctxzoo.data.text_datamodule import TextClassificationDataModule
from ctxzoo.evaluation.environment import command_line, hardware, peak_memory_mb, public_dataset, versions
from ctxzoo.evaluation.linear_baselines import linear_baseline, number_of_weights
from ctxzoo.evaluation.results import RunResult, finished_result, result_path, write_result
from ctxzoo.training.trainer import check_writable

ARCHITECTURE = "linear"


@dataclass(frozen=True, kw_only=True)
class LinearRun:
    """All that decides one run, in values that can be sent to another process.

    Attributes:
        recipe, seed, fold, commit: for the results file; the seed is that of the folds.
        variant: a name that `linear_baseline` knows.
        dataset, data_dir, folds: as in `TextClassificationDataModule`.
        results_dir: where to write.
    """

    recipe: str
    variant: str
    dataset: str
    folds: int
    fold: int
    seed: int
    commit: str
    data_dir: str | None = None
    results_dir: str = "results"

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the result, as the results file tells it."""
        pipeline = " ".join(repr(linear_baseline(self.variant)).split())
        return {"folds": self.folds, "trained_on": "train and validation", "pipeline": pipeline}

    @property
    def results_file(self) -> Path:
        """What the finished run leaves."""
        return result_path(
            self.results_dir,
            recipe=self.recipe,
            variant=self.variant,
            dataset=self.dataset,
            split="test",
            seed=self.seed,
            fold=self.fold,
        )


def fit_linear_baseline(run: LinearRun, *, resume: bool = False) -> RunResult:
    """Fit on the fold's whole training part, score on its test part, write the results file.

    The folds are those of the neural models with the same seed. What these hold out as `validation` to pick their best
    epoch is trained on here: nothing is picked.

    Args:
        run: what to do.
        resume: return the results of a finished run with the same settings.

    Raises:
        OSError: the results folder cannot be written.
    """
    done = finished_result(run.results_file, run.settings) if resume else None
    if done is not None:
        return done
    check_writable(Path(run.results_dir))
    data = TextClassificationDataModule(
        run.dataset, data_dir=run.data_dir, folds=run.folds, fold=run.fold, fold_seed=run.seed, min_word_count=1
    )
    data.setup()
    train = np.sort(np.concatenate([data.rows("train"), data.rows("validation")]))
    # Without predefined splits all parts are rows of the same texts.
    texts = data.texts("train")
    training, testing = texts.select(train), texts.select(data.rows("test"))
    started = time.perf_counter()
    model = linear_baseline(run.variant).fit(training["text"][:], training["label"][:])
    seconds = time.perf_counter() - started
    predicted = model.predict(testing["text"][:])
    scores = {
        "accuracy": accuracy_score(testing["label"][:], predicted),
        "macro_f1": f1_score(testing["label"][:], predicted, average="macro", zero_division=0.0),
    }
    weights = number_of_weights(model)
    result = RunResult(
        recipe=run.recipe,
        architecture=ARCHITECTURE,
        variant=run.variant,
        dataset=public_dataset(run.dataset),
        split="test",
        fold=run.fold,
        seed=run.seed,
        metrics={f"test/{name}": 100.0 * float(value) for name, value in scores.items()},
        settings=run.settings,
        parameters={"trainable": weights, "total": weights},
        command=command_line(),
        commit=run.commit,
        data={"source": public_dataset(run.dataset), "fingerprint": data.fingerprint},
        hardware=hardware(),
        versions=versions(),
        wall_seconds=seconds,
        peak_memory_mb=peak_memory_mb(),
    )
    write_result(result, run.results_dir)
    return result
