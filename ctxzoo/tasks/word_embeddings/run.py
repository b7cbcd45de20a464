"""One training of word vectors, from plain settings to results file and checkpoint folder."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from transformers import AutoTokenizer

from ctxzoo.hub.card import CardOptions, build_card, card_example
from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.hub.eval_results import eval_results_files
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.models.tokenization_word import Cutter, WordTokenizer, build_word_tokenizer, word_cutter
from ctxzoo.results.result import RESULTS_DIR, RunResult, write_result_file
from ctxzoo.runs.run import Run
from ctxzoo.runs.spec import RunSpec
from ctxzoo.tasks.word_embeddings.backends import EmbeddingBackend
from ctxzoo.tasks.word_embeddings.card import CARD
from ctxzoo.tasks.word_embeddings.card import CARD as FILL_MASK
from ctxzoo.tasks.word_embeddings.corpus import Corpus, load_corpus
from ctxzoo.tasks.word_embeddings.corpus_lines import CorpusSource
from ctxzoo.tasks.word_embeddings.evaluation import word_prediction_scores
from ctxzoo.tasks.word_embeddings.settings import WordEmbeddingTraining
from ctxzoo.tasks.word_embeddings.trainer_parts import EmbeddingProgress
from ctxzoo.training.process_group import in_first_process
from ctxzoo.training.remaining_time import RemainingTime

ARCHITECTURE = "word_embedding"
NUM_SPECIAL_TOKENS = 2  # padding and mask


@dataclass(frozen=True, kw_only=True)
class WordEmbeddingRun(Run):
    """All that decides one training.

    Attributes:
        recipe, commit: for the results file.
        source: the text.
        test_split: of a dataset, scored at the end; None: nothing is scored.
        test_words: so many of it.
        validation_split: of a dataset, scored too; None: none is.
        pretrained: checkpoint folder or Hub id that the training goes on from, with its vocabulary and sizes.
        named: what the results file calls the source; None: as it is named.
        further: settings that the results file reports beside its own.
        cutter, lower_case, fold_digits, min_count: which words there are.
        config: fields of `WordEmbeddingConfig` beside those of the vocabulary.
        training: how.
        backend: what trains.
        tag, content: see `RunSpec`.
        card_options: What a user says of the card.
        output_dir, results_dir: where to write.
        progress: show a bar.
        tell_time: Whether to print, without a bar, how long the training takes and where it is.
    """

    card: ClassVar[TaskCard] = CARD

    recipe: str
    commit: str
    source: CorpusSource
    test_split: str | None
    test_words: int
    cutter: Cutter
    lower_case: bool
    fold_digits: bool
    min_count: int
    config: dict[str, Any]
    training: WordEmbeddingTraining
    backend: EmbeddingBackend
    validation_split: str | None = None
    pretrained: str | None = None
    named: str | None = None
    further: Mapping[str, Any] = field(default_factory=dict)
    tag: str = ""
    content: str = ""
    card_options: CardOptions = field(default_factory=CardOptions)
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR
    progress: bool = True
    tell_time: bool = False

    @property
    def spec(self) -> RunSpec:
        words = ("cutter", "lower_case", "fold_digits", "min_count")
        return RunSpec(
            recipe=self.recipe,
            architecture=ARCHITECTURE,
            variant=self.config["architecture"],
            dataset=self.named or self.source.name,
            seed=self.training.seed,
            commit=self.commit,
            settings={
                **self.config,
                **{name: getattr(self, name) for name in words},
                **{name: value for name, value in self.training.told().items() if name != "seed"},
                **self.backend.told,
                "test_words": self.test_words,
                **self.further,
            },
            score=self.test_split or self.source.split,
            tag=self.tag,
            content=self.content,
            output_dir=self.output_dir,
            results_dir=self.results_dir,
        )

    def load(self) -> Corpus:
        """The text as ids."""
        if self.pretrained is not None:
            tokenizer = AutoTokenizer.from_pretrained(self.pretrained)
            words = tokenizer.convert_ids_to_tokens(range(NUM_SPECIAL_TOKENS, len(tokenizer)))
            return load_corpus(self.source, tokenizer.backend_tokenizer, words=words)
        cutter = word_cutter(self.lower_case, self.cutter, self.fold_digits)
        return load_corpus(self.source, cutter, min_count=self.min_count)

    def build_tokenizer(self, corpus: Corpus) -> WordTokenizer:
        """Return the tokenizer of the checkpoint, with the corpus's words, cut as they were counted."""
        if self.pretrained is not None:
            given: WordTokenizer = AutoTokenizer.from_pretrained(self.pretrained)
            return given
        return build_word_tokenizer(
            corpus.words,
            lower_case=self.lower_case,
            fold_digits=self.fold_digits,
            cutter=self.cutter,
            mask_token=True,
        )

    def build_model(self, corpus: Corpus) -> WordEmbeddingForMaskedLM:
        """Return the model as training starts from it: drawn with the seed of the training, or the one given."""
        if self.pretrained is not None:
            model: WordEmbeddingForMaskedLM = WordEmbeddingForMaskedLM.from_pretrained(self.pretrained)
            return model
        torch.manual_seed(self.training.seed)
        size = len(corpus.words) + NUM_SPECIAL_TOKENS
        return WordEmbeddingForMaskedLM(
            WordEmbeddingConfig(vocab_size=size, num_special_tokens=NUM_SPECIAL_TOKENS, **self.config)
        )

    def work(self, *, resume: bool) -> None:
        """Train, score and write everything down.

        Raises:
            OSError: the text is not there.
            ValueError: no such split; see also `load_corpus` and `HogwildTrainer`.
            TrainingInterrupted: Ctrl-C; a checkpoint to resume from is there.
            FloatingPointError: the training left the numbers; the message names the rate.
        """
        texts = _scored_texts(self)
        corpus = self.load()
        tokenizer, model = self.build_tokenizer(corpus), self.build_model(corpus)
        name = f"{self.config['architecture']}, seed {self.training.seed}"
        with _shown(name, self.progress, tell_time=self.tell_time and not self.progress) as report:
            reached = self.backend.trainer(model, corpus, self.training, self.spec.folder, report).fit(resume=resume)
        in_first_process(lambda: _finish(self, corpus, model, tokenizer, texts, reached))


def _finish(
    run: WordEmbeddingRun,
    corpus: Corpus,
    model: WordEmbeddingForMaskedLM,
    tokenizer: WordTokenizer,
    texts: Mapping[str, CorpusSource],
    reached: EmbeddingProgress,
) -> None:
    """Score, and write the checkpoint folder and the results file."""
    model.eval()
    scores = {
        f"{split}/{name}": value
        for split, text in texts.items()
        for name, value in word_prediction_scores(model, tokenizer, text.lines(), words=run.test_words).items()
    }
    result = _result(run, corpus, model, reached, scores)
    options = run.card_options
    example = card_example(
        FILL_MASK, result.dataset, model=model, tokenizer=tokenizer, data=corpus, chosen=options.example
    )
    write_checkpoint_folder(
        run.spec.checkpoint,
        model=model,
        tokenizer=tokenizer,
        card=build_card(result, model.config, task=FILL_MASK, example=example, options=options),
        eval_results=eval_results_files(result, FILL_MASK),
    )
    write_result_file(result, run.spec.results_file)


def _scored_texts(run: WordEmbeddingRun) -> dict[str, CorpusSource]:
    """Return split to text of what is scored at the end; a name that is wrong must not wait until then."""
    texts = {}
    for split in filter(None, (run.validation_split, run.test_split)):
        texts[split] = replace(run.source, split=split)
        if not texts[split].has_splits:
            raise ValueError(
                f"{run.source.name} is one text without splits, and test_split is {split!r}; leave it empty"
            )
        next(texts[split].lines(), None)
    return texts


def _result(
    run: WordEmbeddingRun,
    corpus: Corpus,
    model: WordEmbeddingForMaskedLM,
    reached: EmbeddingProgress,
    scores: dict[str, float],
) -> RunResult:
    losses = {f"train/epoch{epoch}/loss": loss for epoch, loss in enumerate(reached.epoch_losses, start=1)}
    numbers = sum(parameter.numel() for parameter in model.parameters())
    return run.spec.result(
        metrics={
            **scores,
            **{name: value for name, value in losses.items() if math.isfinite(value)},
            "words": len(corpus.words),
            "words_read": reached.words,
            "words_per_second": reached.words / max(reached.seconds, 1e-9),
        },
        parameters={"trainable": numbers, "total": numbers},
        fingerprint=corpus.fingerprint,
        seconds=reached.seconds,
    )


@contextmanager
def _shown(name: str, visible: bool, *, tell_time: bool) -> Iterator[Any]:
    """A bar of words with speed, loss and rate, or lines; what it yields is the trainer's `report`."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not visible) as bars:
        bar = bars.add_task(name)
        remaining = RemainingTime("training", "words")

        def report(progress: EmbeddingProgress) -> None:
            speed = progress.words / max(progress.seconds, 1e-9) / 1000
            told = f"{name}: {speed:,.0f}k words/s, loss {progress.loss:.4f}, rate {progress.rate:.4f}"
            if tell_time and progress.words:
                remaining.tell(progress.words, progress.total_words)
            bars.update(bar, total=progress.total_words, completed=progress.words, description=told)

        yield report
