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

from dataclasses import dataclass, field
from typing import Any

from ctxzoo.models.ops_linear_encoder import FEATURE_MAPS
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import run_all
from ctxzoo.runs.options import reported
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.text_classification.datasets import tag_of
from ctxzoo.tasks.text_classification.document_training import DocumentSettings, document_run

RECIPE = "document_context_encoder"
DOT = "dot"
KNOWN = (DOT, *FEATURE_MAPS)  # softmax attention, and the feature maps of esa
COMPARED = (DOT, "favor", "learned", "elu")
TINY = {"hidden_size": 8, "num_heads": 2, "num_layers": 1, "inner_size": 8}
RATE = 1e-3
LONGEST = 10_000  # words: more than any document of these sets has


@dataclass
class Settings(DocumentSettings):
    dataset: list[str] = field(default_factory=lambda: ["imdb_blocks"], metadata={"help": "one or more; see above"})
    attentions: list[str] = field(default_factory=lambda: list(COMPARED), metadata={"help": f"of {', '.join(KNOWN)}"})
    name: str = field(default="", metadata={"help": "tells runs with other settings apart"})
    epochs: int = reported(10, "at most")
    patience: int = reported(2, "epochs without better validation accuracy before it stops")
    optimizer: str = reported("adamw", "sgd (momentum 0.9), adam or adamw")
    learning_rate: float | None = reported(RATE)
    halve_after: int = reported(0, "epochs without better accuracy that halve it; 0: never")
    weight_decay: float = reported(1e-2)
    gradient_clip: float = reported(1.0)
    max_length: int = reported(LONGEST, "words to which documents are cut")
    hidden_size: int = 64
    num_heads: int = 4
    num_layers: int = 1
    inner_size: int = 128
    position: str = field(default="sinusoidal", metadata={"help": "none, sinusoidal or rotary"})
    dropout: float = field(default=0.3, metadata={"help": "on words"})
    hidden_dropout: float = field(default=0.1, metadata={"help": "on what a block adds"})

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.attentions:
            if name not in KNOWN:
                raise ValueError(f"attentions: unknown {name!r}; known: {', '.join(KNOWN)}")


def main(settings: Settings) -> None:
    commit = git_commit()
    runs = {
        f"{dataset}, {attention}": [
            document_run(
                settings,
                dataset,
                variant=attention,
                config=config_of(attention, settings),
                learning_rate=RATE,
                tag=tag_of(dataset, settings.name),
                seed=seed,
                recipe=RECIPE,
                commit=commit,
            )
            for seed in settings.seeds
        ]
        for dataset in settings.dataset
        for attention in settings.attentions
    }
    run_all(runs, f"documents: {settings.score} accuracy, mean ± sd over seeds", settings)


def config_of(attention: str, settings: Settings) -> dict[str, Any]:
    fields = ("hidden_size", "num_heads", "num_layers", "inner_size", "position", "dropout", "hidden_dropout")
    own = {"model_type": "ctxzoo_linear_encoder", "feature_map": attention}
    return {
        **({"model_type": "ctxzoo_kernel_encoder", "attention": DOT} if attention == DOT else own),
        **{name: getattr(settings, name) for name in fields},
        **(TINY if settings.tiny else {}),
    }


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
