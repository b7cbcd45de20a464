"""The toy classifier as a registered architecture with data, checkpoint and results of its own.

`python -m tests.support.toy_classifier <data> <output> [key=value …]` trains it for an epoch as a program.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch

from ctxzoo.hub.card import build_card
from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.hub.eval_results import build_eval_results_files
from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.results.result import RunResult
from ctxzoo.tasks.text_classification.card import CARD as TEXT_CLASSIFICATION
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.task import SequenceClassificationTask
from ctxzoo.training.classification import label_fields
from ctxzoo.training.trainer import TrainerSettings, build_trainer
from tests.support.toy.case import TOY
from tests.support.toy.configuration_toy import ToyConfig
from tests.support.toy.modeling_toy import ToyForSequenceClassification
from tests.support.toy.package import registered

LABELS = ["bad", "fair", "good"]
WORDS = [f"w{number}" for number in range(18)]
TEXT = "w1 w2 is w3\n\"w4\" 'w5' \\ $w6 w7 " + "w8 w9 w10 " * 12


@contextmanager
def registered_toy() -> Iterator[None]:
    """The toy is one of the zoo's architectures, with facts for its cards."""
    with registered(ToyConfig, TOY.model_classes):
        yield


def toy_data(folder: Path, *, train: int = 30, validation: int = 21, test: int = 14, **options: Any) -> Any:
    """Texts of 1 to 9 random words with random labels, the last label rare; written to `folder` once, set up."""
    generator = np.random.default_rng(0)
    for split, size in {"train": train, "validation": validation, "test": test}.items():
        file = folder / "texts" / f"{split}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        labels = [LABELS[number % 2 if number % 7 else 2] for number in range(size)]
        texts = [" ".join(generator.choice(WORDS, generator.integers(1, 10))) for _ in range(size)]
        if not file.exists():
            with file.open("w", newline="") as opened:
                csv.writer(opened).writerows([("text", "label"), *zip(texts, labels, strict=True)])
    defaults: dict[str, Any] = {"min_word_count": 1, "batch_size": 8, "eval_batch_size": 4}
    data = TextClassificationDataModule.from_options(str(folder / "texts"), **{**defaults, **options})
    data.prepare_data()
    data.setup()
    return data


def toy_config(data: Any) -> dict[str, Any]:
    """A config for the data, a plain dict."""
    values: dict[str, Any] = ToyConfig(**data.model_sizes(), **label_fields(data.label_names)).to_dict()
    return values


def toy_tokenizer() -> Any:
    return build_word_tokenizer(WORDS)


def toy_model(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return ToyForSequenceClassification(ToyConfig(vocab_size=len(WORDS) + 1, **label_fields(LABELS))).eval()


def toy_result(**changes: Any) -> RunResult:
    result = RunResult(
        recipe="texts_toy",
        architecture="toy",
        variant="plain",
        dataset="someone/reviews",
        split="test",
        fold=None,
        seed=1,
        metrics={
            "test/accuracy": 71.25,
            "test/macro_f1": 62.5,
            "test/calibration_error": 8.125,
            "test/nll": 0.75,
            "validation/accuracy": 73.0,
            "epochs": 3,
        },
        settings={"epochs": 3, "tiny": False},
        parameters={"trainable": 123, "total": 456},
        command="python recipes/texts_toy.py --dataset someone/reviews",
        commit="0123abc",
        data={"source": "someone/reviews", "fingerprint": "test 00ff"},
        hardware={"cpu": "Some CPU", "cores": 2, "memory_gb": 15.6, "gpus": []},
        versions={"python": "3.11.2", "torch": "2.13.0"},
        wall_seconds=60.0,
        peak_memory_mb=900.0,
        created="2026-01-31T12:00:00+00:00",
    )
    return replace(result, **changes)


def write_toy(folder: Path, data: Any = None, seed: int = 0) -> Path:
    """The checkpoint folder of the toy, for the labels and words of `data` if given."""
    model, tokenizer = toy_model(seed), toy_tokenizer()
    if data is not None:
        model, tokenizer = SequenceClassificationTask(model_config=toy_config(data)).model, data.tokenizer
    card = build_card(
        toy_result(), model.config, task=TEXT_CLASSIFICATION, example={"text": TEXT, "label": "good", "score": 0.625}
    )
    return write_checkpoint_folder(
        folder,
        model=model,
        tokenizer=tokenizer,
        card=card,
        eval_results=build_eval_results_files(toy_result(), TEXT_CLASSIFICATION),
    )


def train(data_folder: Path, output: Path, *, learning_rate: float = 0.01, eval_batch_size: int = 4, **settings: Any):
    """One epoch on the CPU; returns trainer, task and data."""
    torch.set_num_threads(1)
    lightning.seed_everything(1, verbose=False)
    data = toy_data(data_folder, eval_batch_size=eval_batch_size)
    task = SequenceClassificationTask(model_config=toy_config(data), learning_rate=learning_rate)
    quiet = {"accelerator": "cpu", "devices": 1, "tensorboard": False, "progress": False, "precision": "32-true"}
    trainer = build_trainer(
        TrainerSettings(**{**quiet, "epochs": 1, "ema_decay": 0.0, **settings}), output, "validation/accuracy"
    )
    trainer.fit(task, data)
    return trainer, task, data


if __name__ == "__main__":
    changes = {key: json.loads(value) for key, value in (item.split("=", 1) for item in sys.argv[3:])}
    with registered_toy():
        train(Path(sys.argv[1]), Path(sys.argv[2]), **changes)
