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

from dataclasses import dataclass, field
from typing import Any

from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.text_classification.datasets import tag_of
from ctxzoo.tasks.text_classification.document_training import RATE, DocumentSettings, document_run

RECIPE = "document_lama"
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
TINY = {"recurrent_size": 6, "classifier_size": 16}
TINY_BASELINE = {"attention_size": 8, "num_filters": 8}


@dataclass
class Settings(DocumentSettings):
    dataset: list[str] = field(default_factory=lambda: ["reuters8"], metadata={"help": "one or more; see above"})
    model: list[str] = field(default_factory=lambda: list(MODELS), metadata={"help": f"of {', '.join(MODELS)}"})
    name: str = field(default="", metadata={"help": "tells runs with other settings from those of the paper"})
    recurrent_size: int = field(default=50, metadata={"help": "h of each direction"})
    classifier_size: int = field(default=512, metadata={"help": "hidden layer of the classifier; 0: none"})
    classifier_dropout: float = 0.4
    heads: int = field(default=15, metadata={"help": "m of LAMA"})
    rank: int = field(default=1, metadata={"help": "k of LAMA's heads"})
    logit_scale: float = field(default=1.0, metadata={"help": "of LAMA's logits"})
    l2_normalize: bool = field(default=True, metadata={"help": "of LAMA's logits over the heads"})
    append_pooled: bool = field(default=False, metadata={"help": "LAMA: mean and maximum of the states too"})
    linear_mean: bool = field(default=False, metadata={"help": "LAMA: scores also linear in the mean of the words"})
    ngram_order: int = field(default=1, metadata={"help": "LAMA: hashed n-grams up to this many words, in that mean"})
    ngram_buckets: int = field(default=0, metadata={"help": "rows of the word table for hashed n-grams"})
    naive_bayes: float = field(
        default=0.0,
        metadata={"help": "LAMA: start as naive Bayes, whose class scores are so far apart; 0: start at random"},
    )
    embedding_dropout: float = field(default=0.0, metadata={"help": "on the words"})
    hidden_dropout: float = field(default=0.0, metadata={"help": "LAMA: on the states"})

    def __post_init__(self) -> None:
        super().__post_init__()
        for model in self.model:
            if model not in MODELS:
                raise ValueError(f"model: unknown {model!r}; known: {', '.join(MODELS)}")
        if (self.ngram_buckets or self.naive_bayes) and not self.linear_mean:
            raise ValueError("--ngram_buckets and --naive_bayes need --linear_mean, the only part that reads n-grams")


def main(settings: Settings) -> None:
    commit = git_commit()
    runs = {
        f"{dataset}, {model}": [
            document_run(
                settings,
                dataset,
                variant=model,
                config=config_of(model, settings),
                data=ngrams_of(settings) if model in LamaConfig.variants else {},
                learning_rate=RATES.get(model, RATE),
                naive_bayes=settings.naive_bayes if model in LamaConfig.variants else 0.0,
                tag=tag_of(dataset, settings.name),
                seed=seed,
                recipe=RECIPE,
                commit=commit,
            )
            for seed in settings.seeds
        ]
        for dataset in settings.dataset
        for model in settings.model
    }
    run_all(runs, f"documents: {settings.score} accuracy, mean ± sd over seeds", settings)


def ngrams_of(settings: Settings) -> dict[str, Any]:
    """Return the arguments of the tokenizer that concern n-grams."""
    if not settings.ngram_buckets:
        return {}
    return {"ngram_order": settings.ngram_order, "ngram_buckets": settings.ngram_buckets}


def config_of(model: str, settings: Settings) -> dict[str, Any]:
    shared: dict[str, Any] = {
        "recurrent_size": settings.recurrent_size,
        "classifier_size": settings.classifier_size,
        "classifier_dropout": settings.classifier_dropout,
    }
    if model in LamaConfig.variants:
        own = {
            "model_type": "ctxzoo_lama",
            "num_heads": settings.heads,
            "rank": settings.rank,
            "logit_scale": settings.logit_scale,
            "learn_logit_scale": False,  # an option of earlier code, which results files tell
            "l2_normalize": settings.l2_normalize,
            "append_pooled": settings.append_pooled,
            **({"linear_mean": True, "ngram_buckets": settings.ngram_buckets} if settings.linear_mean else {}),
            "embedding_dropout": settings.embedding_dropout,
            "hidden_dropout": settings.hidden_dropout,
            **LamaConfig.variants[model],
        }
        return {**shared, **own, **(TINY if settings.tiny else {})}
    own = {
        "model_type": "ctxzoo_text_baseline",
        "position_dim": 0,
        "embedding_bound": 0.1,
        **({"dropout": settings.embedding_dropout} if settings.embedding_dropout else {}),
        **TextBaselineConfig.variants[ROWS[model]],
        "pooled_dropout": 0.0,  # dropout is in the classifier
    }
    if settings.tiny:
        own |= {**TINY, **TINY_BASELINE, **({"transformer_size": 16, "num_heads": 2} if model == "te" else {})}
    return {**shared, **own}


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
