"""LAMA and its baselines on documents: the rows of Table 3 of Mehta, Rangwala and Ramakrishnan (2019), and beyond.

    python recipes/document_lama.py                                    all models on Reuters-8
    python recipes/document_lama.py --dataset imdb --model lama_ctx --seeds 0 1 2
    python recipes/document_lama.py --dataset sample --model lama --epochs 5       no network needed
    python recipes/document_lama.py --model lama_ctx --optimizer adamw --learning_rate 0.001 --name adamw
    python recipes/document_lama.py --resume                           finished runs are kept, the others go on

Datasets: reuters8, imdb, imdb_blocks (its validation in blocks of neighbouring reviews), yelp, yelp_long (its reviews
of more than 118 words), news_aggregator, sample; or any Hub id, folder or file. Settings are the paper's, or those of
docs/models/lama.md where it is silent; --name tells runs with other settings from them. A YAML file of settings may
come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from functools import partial
from typing import Any

from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.text_classification.experiments import (
    build_document_experiment,
    replace_with_text_baseline,
    set_document_dataset,
    set_word2vec_size,
)
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION

# The names in the paper's table, and ours.
ROWS = {
    "san": "self_attentive",
    "single_head": "bilinear_attention",
    "bigru": "bigru",
    "cnn": "cnn",
    "te": "transformer_1024",
    "avg": "mean",
}
MODELS = (*LamaConfig.variants, *ROWS)
RATES = {"san": 0.01, "cnn": 0.01, "te": 0.01}  # 0.05 is too high: docs/models/lama.md
BASE = build_document_experiment(
    "lama",
    "lama",
    **{"recurrent_size": 50, "num_heads": 15, "rank": 1, "classifier_size": 512, "classifier_dropout": 0.4},
    **{"logit_scale": 1.0, "l2_normalize": True, "append_pooled": False},
    **{"embedding_dropout": 0.0, "hidden_dropout": 0.0},
).copy_with(recipe="document_lama")


def main(
    experiment: Experiment,
    dataset: Sequence[str] = ("reuters8",),
    models: Sequence[str] = MODELS,
    seeds: Sequence[int] = (0,),
    learning_rate: float | None = None,
    word2vec: bool = True,
) -> None:
    """Train and score LAMA and its baselines on every document dataset with every seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of document datasets, such as reuters8 or imdb, or any other Hub id, folder or file.
        models: Names of models: LAMA's variants, or the paper's baselines.
        seeds: Seeds of all random draws; each gives a run of its own.
        learning_rate: Peak learning rate of the optimizer; null: the one chosen for the model.
        word2vec: Whether word embeddings start from word2vec trained on the training documents.
    """
    on_data = {name: set_word2vec_size(set_document_dataset(experiment, name), word2vec=word2vec) for name in dataset}
    rows = [(f"{name}, {one}", set_model(on_data[name], one, learning_rate)) for name in dataset for one in models]
    title = f"documents: {experiment.score} accuracy, mean ± sd over seeds"
    run_rows(partial(ExperimentRun, TEXT_CLASSIFICATION), rows, seeds, title)


def set_model(experiment: Experiment, model: str, learning_rate: float | None) -> Experiment:
    """Return the experiment with one of `MODELS`; options that only LAMA has are dropped for others."""
    rate = learning_rate or RATES.get(model, experiment.optimizer.learning_rate)
    shared: Any = experiment.model
    if model in LamaConfig.variants:
        ngrams = {} if experiment.data.values()["ngram_buckets"] else {"ngram_order": 1}
        return experiment.copy_with(variant=model, learning_rate=rate, linear_mean=shared.linear_mean or None, **ngrams)
    sizes = ("word_dim", "recurrent_size", "classifier_size", "classifier_dropout")
    values = {"position_dim": 0, "embedding_bound": 0.1, **{name: getattr(shared, name) for name in sizes}}
    if shared.freeze_embeddings is not None:
        values["freeze_embeddings"] = shared.freeze_embeddings
    if shared.embedding_dropout:
        values["dropout"] = shared.embedding_dropout
    one = experiment.copy_with(learning_rate=rate, ngram_order=1, ngram_buckets=0, naive_bayes=0.0)
    # Dropout on the vector of a text is in the classifier.
    return replace_with_text_baseline(one, ROWS[model], model, values, pooled_dropout=0.0)


SHORT = {"variant": "models", "model": "models", "heads": "num_heads", "vectors": "word_vectors"}
STUDY = Study(main, TEXT_CLASSIFICATION, BASE, SHORT, {"models": MODELS})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
