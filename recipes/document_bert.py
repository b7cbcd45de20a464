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

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from transformers import AutoConfig

from ctxzoo.data.files import refuse_missing_path
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.text_classification.experiments import TextModel, build_document_experiment, set_document_dataset
from ctxzoo.tasks.text_classification.problem import PretrainedEncoder

ENCODER = PretrainedEncoder()
BASE = build_document_experiment("text_baseline", "mean").copy_with(
    recipe="document_bert",
    **{"epochs": 10, "patience": 0, "optimizer": "adam", "learning_rate": 5e-6, "weight_decay": 0.0},
    **{"halve_after": 0, "gradient_clip": 1.0, "word2vec_dim": 0, "processes": 1},
)


def main(
    experiment: Experiment,
    dataset: Sequence[str] = ("reuters8",),
    encoder: str = "google-bert/bert-base-uncased",
    seeds: Sequence[int] = (0,),
) -> None:
    """Train and score a pretrained encoder on every document dataset with every seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of document datasets, such as reuters8 or imdb, or any other Hub id, folder or file.
        encoder: Pretrained text encoder, a Hub id or folder.
        seeds: Seeds of all random draws; each gives a run of its own.
    """
    refuse_missing_path(encoder, "model")
    architecture = AutoConfig.from_pretrained(encoder).model_type
    variant = Path(encoder).resolve().name
    one = replace(experiment, model=TextModel(architecture=architecture, variant=variant))
    rows = [(f"{name}, {variant}", set_document_dataset(one, name).copy_with(init_from=encoder)) for name in dataset]
    title = f"documents: {experiment.score} accuracy, mean ± sd over seeds"
    run_rows(partial(ExperimentRun, ENCODER), rows, seeds, title)


STUDY = Study(main, ENCODER, BASE, {"model": "encoder"})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
