"""BERT, or another pretrained encoder, on documents: a row of Table 3 of Mehta, Rangwala and Ramakrishnan (2019).

    python recipes/document_bert.py                                    google-bert/bert-base-uncased on Reuters-8
    python recipes/document_bert.py --dataset reuters8 imdb --seeds 0 1 2 --precision bf16-mixed
    python recipes/document_bert.py --dataset sample --model FOLDER    no network needed
    python recipes/document_bert.py --resume                           finished runs are kept, the others go on

Datasets are those of recipes/document_lama.py. The model is a Hub id, or a folder that holds model and tokenizer; its
classification head is new. Ten epochs and Adam at 5e-6 are the paper's; batches of 32, documents cut to 512 tokens and
gradients to a norm of 1 are ours. The epoch with the best validation accuracy is kept. --name tells runs with other
settings from these.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from ctxzoo.data.files import refuse_missing_path
from ctxzoo.results.environment import git_commit, public_name
from ctxzoo.runs.many import run_all
from ctxzoo.runs.options import reported, reported_settings
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.runs.settings import ClassificationSettings
from ctxzoo.tasks.text_classification.datasets import document_dataset, tag_of
from ctxzoo.tasks.text_classification.document_training import DEV_SEED
from ctxzoo.tasks.text_classification.run import PretrainedRun

RECIPE = "document_bert"


@dataclass
class Settings(ClassificationSettings):
    dataset: list[str] = field(default_factory=lambda: ["reuters8"], metadata={"help": "one or more; see above"})
    model: str = field(default="google-bert/bert-base-uncased", metadata={"help": "Hub id or folder"})
    name: str = field(default="", metadata={"help": "tells runs with other settings from those above"})
    epochs: int = reported(10)
    batch_size: int = reported(32)
    learning_rate: float = reported(5e-6)
    gradient_clip: float = reported(1.0)
    max_length: int = reported(512, "tokens to which documents are cut")
    processes: int = field(default=1, metadata={"help": "runs worked on at once; 0: one for each core"})

    def __post_init__(self) -> None:
        if self.tiny:
            self.epochs, self.max_length = 1, 32


def main(settings: Settings) -> None:
    commit = git_commit()
    refuse_missing_path(settings.model, "model")
    architecture = AutoConfig.from_pretrained(settings.model).model_type
    variant = Path(settings.model).resolve().name
    runs = {
        f"{dataset}, {variant}": [
            run_of(settings, dataset, seed, architecture=architecture, variant=variant, commit=commit)
            for seed in settings.seeds
        ]
        for dataset in settings.dataset
    }
    run_all(runs, f"documents: {settings.score} accuracy, mean ± sd over seeds", settings)


def run_of(
    settings: Settings, dataset: str, seed: int, *, architecture: str, variant: str, commit: str
) -> PretrainedRun:
    chosen = texts_of(dataset)
    task = {
        "optimizer": "adam",
        "learning_rate": settings.learning_rate,
        "label_smoothing": settings.label_smoothing,
    }
    decisive = {
        **reported_settings(settings),
        "pretrained": public_name(settings.model),
        **{name: value for name, value in chosen.items() if name != "dataset"},
        **task,
    }
    spec = settings.spec(
        recipe=RECIPE,
        architecture=architecture,
        variant=variant,
        dataset=chosen["dataset"],
        seed=seed,
        commit=commit,
        settings=decisive,
        tag=tag_of(dataset, settings.name),
    )
    return PretrainedRun(
        spec=spec,
        pretrained=settings.model,
        data={
            **chosen,
            "max_length": settings.max_length,
            "data_dir": settings.data_dir,
            "fold_seed": DEV_SEED,
            "batch_size": settings.batch_size,
            "eval_batch_size": 64,
            "seed": seed,
        },
        task=task,
        trainer=settings.trainer(seed, epochs=settings.epochs, gradient_clip=settings.gradient_clip),
    )


def texts_of(dataset: str) -> dict[str, Any]:
    """Return the arguments of a dataset; the encoder cuts texts itself, and `cutter` only counts for `min_words`."""
    chosen = document_dataset(dataset)
    if "min_words" not in chosen:
        chosen.pop("cutter", None)
    return chosen


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
