"""One training of word vectors, from its experiment to results file and checkpoint folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from transformers import AutoTokenizer

from ctxzoo.hub.card import CardOptions, build_card, make_card_example
from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.hub.eval_results import build_eval_results_files
from ctxzoo.hub.push import push_folder
from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.models.tokenization_word import WordTokenizer, build_pre_tokenizer, build_word_tokenizer
from ctxzoo.results.result import RunResult, write_result_file
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.finish import print_summary
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.word_embeddings.card import CARD
from ctxzoo.tasks.word_embeddings.corpus import Corpus, load_corpus
from ctxzoo.tasks.word_embeddings.corpus_lines import TEXT, CorpusSource, refuse_columns_of_plain_text
from ctxzoo.tasks.word_embeddings.evaluation import score_word_prediction
from ctxzoo.tasks.word_embeddings.settings import WordEmbeddingTraining
from ctxzoo.tasks.word_embeddings.trainer_parts import EmbeddingProgress
from ctxzoo.training.process_group import is_first_process, run_in_first_process
from ctxzoo.training.remaining_time import RemainingTime
from ctxzoo.word_vectors.exchange import save_word2vec_text
from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors

NUM_SPECIAL_TOKENS = 2  # padding and mask
CHECKPOINT = "last.safetensors"  # of the compiled loops
VECTORS = "vectors.txt"  # in the folder of a run, for other programs
RANKS = (30, 60, 120, 240, 480)  # of the words, by frequency, whose neighbours are shown
NEIGHBOURS = 5  # of each


def train_word_embeddings(run: ExperimentRun, scored_splits: Sequence[str], *, resume: bool) -> None:
    """Train and score word embeddings, and write checkpoint folder and results file.

    Args:
        run: Training run of a word embedding model.
        scored_splits: Names of the splits that are scored after training.
        resume: Whether an interrupted training continues from its last checkpoint.

    Raises:
        OSError: the text is not there.
        ValueError: no such split; see also `load_corpus`, `HogwildTrainer` and `TorchEmbeddingTrainer`.
        TrainingInterrupted: Ctrl-C; a checkpoint to resume from is there.
        FloatingPointError: the training left the numbers; the message names the rate.
    """
    experiment = run.experiment
    texts = _open_scored_splits(experiment, scored_splits)
    corpus = load_experiment_corpus(experiment)
    tokenizer, model = build_tokenizer(experiment, corpus), build_model(experiment, corpus)
    name, progress = f"{experiment.model.variant}, seed {experiment.seed}", experiment.run.progress
    has_bar = progress and is_first_process(experiment.trainer.world_size)
    with _show_progress(name, has_bar, tell_time=experiment.run.tell_time and not progress) as report:
        reached = _build_trainer(experiment, model, corpus, run.folder, report).fit(resume=resume)
    run_in_first_process(lambda: _score_and_save(run, corpus, model, tokenizer, texts, reached))


def build_training_settings(experiment: Experiment) -> WordEmbeddingTraining:
    """Build the settings of the trainer from an experiment."""
    values = {**experiment.values(), "max_minutes": experiment.run.minutes}
    return WordEmbeddingTraining(**{one.name: values[one.name] for one in fields(WordEmbeddingTraining)})


def build_corpus_source(experiment: Experiment, split: str | None = None) -> CorpusSource:
    """Return the source of an experiment's text, or of another split of it."""
    data: Any = experiment.data
    if data.rows:
        return CorpusSource(experiment.source, split=split or "train")
    return CorpusSource(data.dataset, data.text_column or TEXT, split or data.split, experiment.run.data_dir)


def load_experiment_corpus(experiment: Experiment) -> Corpus:
    """Return the text as word ids; a training that continues keeps the checkpoint's words. Raises as `load_corpus`."""
    data: Any = experiment.data
    text, start = build_corpus_source(experiment), experiment.start.checkpoint
    if not text.has_splits:
        refuse_columns_of_plain_text(text.name, data.text_column)
    if start is None:
        pre_tokenizer = build_pre_tokenizer(data.lower_case, data.pre_tokenizer, data.fold_digits)
        return load_corpus(text, pre_tokenizer, min_count=data.min_count)
    tokenizer = AutoTokenizer.from_pretrained(start)
    words = tokenizer.convert_ids_to_tokens(range(NUM_SPECIAL_TOKENS, len(tokenizer)))
    return load_corpus(text, tokenizer.backend_tokenizer, words=words)


def build_tokenizer(experiment: Experiment, corpus: Corpus) -> WordTokenizer:
    """Return a tokenizer for the corpus's words; the checkpoint's one if a training continues."""
    data: Any = experiment.data
    if experiment.start.init_from is not None:
        given: WordTokenizer = AutoTokenizer.from_pretrained(experiment.start.checkpoint)
        return given
    cut = {"lower_case": data.lower_case, "fold_digits": data.fold_digits, "pre_tokenizer": data.pre_tokenizer}
    return build_word_tokenizer(corpus.words, **cut, mask_token=True)


def build_model(experiment: Experiment, corpus: Corpus) -> WordEmbeddingForMaskedLM:
    """Return the model before training: with random weights from the seed, or the checkpoint to continue from."""
    if experiment.start.init_from is not None:
        model: WordEmbeddingForMaskedLM = WordEmbeddingForMaskedLM.from_pretrained(experiment.start.checkpoint)
        return model
    torch.manual_seed(experiment.seed)
    size = len(corpus.words) + NUM_SPECIAL_TOKENS
    config = {"architecture": experiment.model.variant, **experiment.model.get_config_changes()}
    return WordEmbeddingForMaskedLM(
        WordEmbeddingConfig(vocab_size=size, num_special_tokens=NUM_SPECIAL_TOKENS, **config)
    )


def _build_trainer(
    experiment: Experiment,
    model: WordEmbeddingForMaskedLM,
    corpus: Corpus,
    folder: Path,
    report: Callable[[EmbeddingProgress], None],
) -> Any:
    """Build the trainer of the backend in use: compiled loops, or torch."""
    run: Any = experiment.run
    training = build_training_settings(experiment)
    if run.backend == "numba":
        from ctxzoo.tasks.word_embeddings.hogwild_trainer import HogwildTrainer

        checkpoint = folder / CHECKPOINT
        return HogwildTrainer(model, corpus, training, threads=run.threads, checkpoint=checkpoint, report=report)
    from ctxzoo.tasks.word_embeddings.torch_trainer import TorchEmbeddingTrainer

    return TorchEmbeddingTrainer(
        model,
        corpus,
        training,
        folder=folder,
        batch_size=experiment.data.batch_size,
        num_workers=run.num_workers,
        accelerator=run.accelerator,
        devices=run.devices,
        num_nodes=run.num_nodes,
        strategy=run.strategy,
        precision=experiment.trainer.precision,
        report=report,
    )


def _score_and_save(
    run: ExperimentRun,
    corpus: Corpus,
    model: WordEmbeddingForMaskedLM,
    tokenizer: WordTokenizer,
    sources: Mapping[str, CorpusSource],
    progress: EmbeddingProgress,
) -> None:
    """Score, write the checkpoint folder and the results file, and say where they are."""
    model.eval()
    words = run.experiment.values()["test_words"]
    scores = {
        f"{split}/{name}": value
        for split, text in sources.items()
        for name, value in score_word_prediction(model, tokenizer, text.lines(), words=words).items()
    }
    options = run.card_options or CardOptions()
    result = _build_result(run, corpus, model, progress, scores)
    example = make_card_example(
        CARD, result.dataset, model=model, tokenizer=tokenizer, data=corpus, example=options.example
    )
    checkpoint = write_checkpoint_folder(
        run.checkpoint,
        model=model,
        tokenizer=tokenizer,
        card=build_card(result, model.config, task=CARD, example=example, options=options),
        eval_results=build_eval_results_files(result, CARD),
    )
    write_result_file(result, run.results_file)
    if scores:
        print_summary(result, run)
    else:
        print(f"checkpoint {run.checkpoint}")
    if run.experiment.data.rows and run.experiment.score == "test":  # of a user, and no trial of a search
        for line in write_and_describe_vectors(read_word_vectors(checkpoint), run.folder / VECTORS):
            print(line)
    if (push_to := run.experiment.run.push_to) is not None:
        print(f"pushed: {push_folder(checkpoint, push_to)}")


def write_and_describe_vectors(vectors: WordVectors, file: Path) -> Iterator[str]:
    """Write vectors in the text format of word2vec; return lines on where they are and which words are near.

    Args:
        vectors: Vectors of words, the most frequent first.
        file: Path of the file to write.

    Yields:
        A line on the file, and one for each of some words with the nearest words and their cosines.
    """
    save_word2vec_text(vectors, file)
    size = file.stat().st_size / 1e6
    yield f"vectors    {file} (text of word2vec, {len(vectors):,} words of {vectors.dim} numbers, {size:.1f} MB)"
    words = [word for word in vectors.words if word.isalpha()]
    shown = [words[rank] for rank in RANKS if rank < len(words)] or words[: len(RANKS)]
    if len(vectors) > NEIGHBOURS:
        yield f"nearest neighbours of {len(shown)} of the words, by cosine:"
        for word in shown:
            near = vectors.most_similar([word], top=NEIGHBOURS)
            yield f"    {word}: {', '.join(f'{other} {cosine:.2f}' for other, cosine in near)}"


def _open_scored_splits(experiment: Experiment, split_names: Sequence[str]) -> dict[str, CorpusSource]:
    """Open the texts of the splits that are scored at the end; raise an error for wrong names before training."""
    texts = {split: build_corpus_source(experiment, split) for split in split_names}
    for split, text in texts.items():
        if not text.has_splits:
            raise ValueError(f"{text.name} is one text without splits, and test_split is {split!r}; leave it empty")
        next(text.lines(), None)
    return texts


def _build_result(
    run: ExperimentRun,
    corpus: Corpus,
    model: WordEmbeddingForMaskedLM,
    progress: EmbeddingProgress,
    scores: dict[str, float],
) -> RunResult:
    """Build the result of a training from its scores, its progress and the size of its model."""
    losses = {f"train/epoch{epoch}/loss": loss for epoch, loss in enumerate(progress.epoch_losses, start=1)}
    numbers = sum(parameter.numel() for parameter in model.parameters())
    return run.build_result(
        metrics={
            **scores,
            **{name: value for name, value in losses.items() if math.isfinite(value)},
            "words": len(corpus.words),
            "words_read": progress.words,
            "words_per_second": progress.words / max(progress.seconds, 1e-9),
        },
        parameters={"trainable": numbers, "total": numbers},
        fingerprint=corpus.fingerprint,
        seconds=progress.seconds,
    )


@contextmanager
def _show_progress(name: str, show_bar: bool, *, tell_time: bool) -> Iterator[Any]:
    """Show a progress bar or lines; yield the function `report` that the trainer calls with its progress."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not show_bar) as bars:
        bar = bars.add_task(name)
        remaining = RemainingTime("training", "words")

        def report(progress: EmbeddingProgress) -> None:
            """Show speed, loss and learning rate on the progress bar, and now and then the remaining time."""
            speed = progress.words / max(progress.seconds, 1e-9) / 1000
            message = f"{name}: {speed:,.0f}k words/s, loss {progress.loss:.4f}, rate {progress.rate:.4f}"
            if tell_time and progress.words:
                remaining.print_if_due(progress.words, progress.total_words)
            bars.update(bar, total=progress.total_words, completed=progress.words, description=message)

        yield report
