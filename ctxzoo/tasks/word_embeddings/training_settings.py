"""Training of word vectors on running text: the paper's settings, and one training made of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ctxzoo.models.tokenization_word import Cutter
from ctxzoo.results.result import RESULTS_DIR
from ctxzoo.tasks.word_embeddings.backends import (
    EmbeddingBackend,
    NumbaBackend,
    TorchBackend,
    choose_backend_name,
)
from ctxzoo.tasks.word_embeddings.corpus_lines import CorpusSource
from ctxzoo.tasks.word_embeddings.run import WordEmbeddingRun
from ctxzoo.tasks.word_embeddings.settings import CUSTOMS, WordEmbeddingTraining

SAMPLE_MIN_COUNT = 2


@dataclass
class WordVectorSettings:
    """Options of a recipe that trains word vectors.

    The defaults are those of Ling et al. (2015), or of docs/models/word_embedding.md where it is silent.
    """

    dataset: str = field(
        default="ctxzoo-data/wikipedia_en_2015", metadata={"help": "Hub id, folder, text file, or sample"}
    )
    column: str = field(default="text", metadata={"help": "of a dataset"})
    split: str = field(default="train", metadata={"help": "of a dataset"})
    test_split: str = field(default="test", metadata={"help": "of a dataset, for the perplexity; empty: none"})
    test_words: int = field(default=5000, metadata={"help": "of it that are predicted"})
    data_dir: str | None = field(default=None, metadata={"help": "folder of datasets; default: $CTXZOO_DATA"})
    architecture: list[str] = field(
        default_factory=lambda: ["attention_cbow"], metadata={"help": f"of {', '.join(CUSTOMS)}"}
    )
    name: str = field(default="", metadata={"help": "tells runs with other settings from those of the paper"})
    seeds: list[int] = field(default_factory=lambda: [0], metadata={"help": "one training each"})
    word_dim: int = field(default=50, metadata={"help": "d"})
    window: list[int] = field(default_factory=lambda: [20], metadata={"help": "b; one training each"})
    word_logits: bool = field(default=True, metadata={"help": "attention_cbow: K"})
    position_logits: bool = field(default=True, metadata={"help": "attention_cbow: s"})
    logit_rank: int = field(default=0, metadata={"help": "attention_cbow: rank of K; 0: a full table"})
    min_count: int = field(default=10, metadata={"help": "occurrences that a word needs; the paper's text: 41"})
    cutter: Cutter = "english"
    lower_case: bool = True
    fold_digits: bool = field(default=True, metadata={"help": "every digit becomes 0"})
    epochs: int = 2
    negative_samples: int = field(default=10, metadata={"help": "N"})
    subsampling: float = field(
        default=0.0, metadata={"help": "fraction above which words are thinned, 0.001 in word2vec; 0: none"}
    )
    learning_rate: float | None = field(default=None, metadata={"help": "default: customary for the architecture"})
    logit_learning_rate: float | None = field(
        default=None, metadata={"help": "of K and s; default: the same; 0: even weights"}
    )
    schedule: str | None = field(default=None, metadata={"help": "constant or linear"})
    random_window: bool | None = field(default=None, metadata={"help": "half width drawn from 1..b for each centre"})
    input_gradient: str | None = field(default=None, metadata={"help": "of cbow: exact or word2vec"})
    shared_noise: bool = field(default=False, metadata={"help": "16 centres share their noise words: faster"})
    backend: str | None = field(
        default=None, metadata={"help": "numba, or torch: for GPUs and several devices; default: numba if installed"}
    )
    threads: int = field(default=1, metadata={"help": "numba: one and a seed give the same vectors each time"})
    batch_size: int = field(default=1024, metadata={"help": "torch: words of the text"})
    num_workers: int = field(default=0, metadata={"help": "torch: processes that build batches"})
    accelerator: str = field(default="auto", metadata={"help": "torch: cpu, gpu, ... as Lightning names them"})
    devices: str = field(default="1", metadata={"help": "torch: a step sums the batches of all"})
    precision: str = field(default="32-true", metadata={"help": "torch: 32-true or bf16-mixed"})
    tiny: bool = field(default=False, metadata={"help": "small vectors, one pass: does it run?"})
    resume: bool = field(default=False, metadata={"help": "keep finished runs, go on where others stopped"})
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR
    progress: bool = True

    def __post_init__(self) -> None:
        for architecture in self.architecture:
            if architecture not in CUSTOMS:
                raise ValueError(f"architecture: unknown {architecture!r}; known: {', '.join(CUSTOMS)}")
        if "attention_cbow" in self.architecture and not (self.word_logits or self.position_logits):
            raise ValueError(
                "--word_logits false and --position_logits false leave no attention; for even weights, all else as it "
                "is, give --logit_learning_rate 0"
            )
        if self.tiny:
            self.word_dim, self.window, self.epochs, self.test_words = 8, [2], 1, 200
        if self.dataset == "sample":
            self.test_split, self.min_count = "", SAMPLE_MIN_COUNT
        self.backend = choose_backend_name(self.backend)

    def build_backend(self) -> EmbeddingBackend:
        if self.backend == "numba":
            return NumbaBackend(self.threads)
        names = ("batch_size", "num_workers", "accelerator", "devices", "precision")
        return TorchBackend(**{name: getattr(self, name) for name in names})


def word_vector_run(
    settings: WordVectorSettings, architecture: str, window: int, seed: int, *, recipe: str, commit: str
) -> WordEmbeddingRun:
    """Return one training.

    Args:
        settings: of the recipe.
        architecture, window: of those that the settings name.
        seed, recipe, commit: for the results file.
    """
    config = {"architecture": architecture, "word_dim": settings.word_dim, "window": window}
    if architecture == "attention_cbow":
        config |= {name: getattr(settings, name) for name in ("word_logits", "position_logits", "logit_rank")}
    names = (
        *("epochs", "negative_samples", "subsampling", "learning_rate", "logit_learning_rate", "schedule"),
        *("random_window", "input_gradient", "shared_noise"),
    )
    training = WordEmbeddingTraining.customary(
        architecture, seed=seed, **{name: getattr(settings, name) for name in names}
    )
    return WordEmbeddingRun(
        recipe=recipe,
        commit=commit,
        source=CorpusSource(settings.dataset, settings.column, settings.split, settings.data_dir),
        test_split=settings.test_split or None,
        test_words=settings.test_words,
        cutter=settings.cutter,
        lower_case=settings.lower_case,
        fold_digits=settings.fold_digits,
        min_count=settings.min_count,
        config=config,
        training=training,
        backend=settings.build_backend(),
        tag="-".join(part for part in (f"b{window}", settings.name) if part),
        output_dir=settings.output_dir,
        results_dir=settings.results_dir,
        progress=settings.progress,
    )
