"""Attention in linear time on whole documents: ESA's feature maps beside softmax attention, no word cut off.

    python recipes/document_context_encoder.py                             four kinds of attention on IMDB
    python recipes/document_context_encoder.py --attentions dot learned --seeds 0 1 2
    python recipes/document_context_encoder.py --dataset sample --tiny     no network needed
    python recipes/document_context_encoder.py --score validation          to choose settings: test is left alone
    python recipes/document_context_encoder.py --resume                    finished runs are kept, the others go on

Datasets are those of recipes/document_lama.py, whose words, word2vec and validation documents these are. The vector of
a document is the mean of its words behind the last block. --name tells runs with other settings apart. A YAML file of
settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from functools import partial

from ctxzoo.models.ops_linear_encoder import FEATURE_MAPS
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.text_classification.experiments import (
    build_document_experiment,
    set_document_dataset,
    set_word2vec_size,
)
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION

DOT = "dot"
KNOWN = (DOT, *FEATURE_MAPS)  # softmax attention, and the feature maps of linear attention
LONGEST = 10_000  # words: more than any document of these sets has
BASE = build_document_experiment(
    "linear_encoder",
    "favor",
    **{"hidden_size": 64, "num_heads": 4, "num_layers": 1, "inner_size": 128, "position": "sinusoidal"},
    **{"dropout": 0.3, "hidden_dropout": 0.1},
).copy_with(
    recipe="document_context_encoder",
    **{"epochs": 10, "patience": 2, "optimizer": "adamw", "learning_rate": 1e-3, "halve_after": 0},
    **{"weight_decay": 1e-2, "gradient_clip": 1.0, "max_length": LONGEST},
)


def main(
    experiment: Experiment,
    dataset: Sequence[str] = ("imdb_blocks",),
    attentions: Sequence[str] = (DOT, "favor", "learned", "elu"),
    seeds: Sequence[int] = (0,),
    word2vec: bool = True,
) -> None:
    """Train and score encoders with every attention on every document dataset and seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of document datasets, such as reuters8 or imdb, or any other Hub id, folder or file.
        attentions: Names of attentions: dot, or a feature map of linear attention.
        seeds: Seeds of all random draws; each gives a run of its own.
        word2vec: Whether word embeddings start from word2vec trained on the training documents.
    """
    on_data = {name: set_word2vec_size(set_document_dataset(experiment, name), word2vec=word2vec) for name in dataset}
    rows = [(f"{name}, {one}", set_attention(on_data[name], one)) for name in dataset for one in attentions]
    title = f"documents: {experiment.score} accuracy, mean ± sd over seeds"
    run_rows(partial(ExperimentRun, TEXT_CLASSIFICATION), rows, seeds, title)


def set_attention(experiment: Experiment, attention: str) -> Experiment:
    """Return the experiment with the encoder and options of an attention, a name in `KNOWN`."""
    if attention == DOT:
        return experiment.copy_with(architecture="kernel_encoder", variant=DOT, feature_map=None, row=DOT)
    return experiment.copy_with(feature_map=attention, row=attention)


SHORT = {"variant": "attentions", "vectors": "word_vectors"}
STUDY = Study(main, TEXT_CLASSIFICATION, BASE, SHORT, {"attentions": KNOWN})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
