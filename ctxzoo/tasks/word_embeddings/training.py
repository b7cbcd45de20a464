"""`ctxzoo train word-embeddings`: what it trains on which text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from ctxzoo.data.formats import SAMPLE, SPLITS, TextFormatError
from ctxzoo.data.own_splits import Loaded, OwnRows, OwnSplits, group_numbers, text_key
from ctxzoo.data.reading_notes import note
from ctxzoo.data.sources import DatasetFileError, load_splits, resolve_dataset
from ctxzoo.data.text_columns import names_of
from ctxzoo.data.text_files import NOT_LINES
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.own_training import OwnTraining
from ctxzoo.runs.preset import Preset
from ctxzoo.runs.training_request import PAPER, TrainingRequest, gathered
from ctxzoo.runs.tuning import Trial
from ctxzoo.tasks.word_embeddings.backends import EmbeddingBackend, NumbaBackend, TorchBackend, choose_backend_name
from ctxzoo.tasks.word_embeddings.card import CARD
from ctxzoo.tasks.word_embeddings.corpus import LONGEST_SENTENCE
from ctxzoo.tasks.word_embeddings.corpus_lines import TEXT, CorpusSource, refuse_columns
from ctxzoo.tasks.word_embeddings.default_settings import ARCHITECTURE, SEARCH_SPACE, VARIANT, default_preset
from ctxzoo.tasks.word_embeddings.run import WordEmbeddingRun
from ctxzoo.tasks.word_embeddings.settings import CUSTOMS, WordEmbeddingTraining
from ctxzoo.tasks.word_embeddings.training_settings import WordVectorSettings

HELD_OUT = 0.05  # of the lines, for each of validation and test
TORCH_BATCH = 1024
LINES_AT_ONCE = 10_000
TINY_SIZES = {"word_dim": 8, "window": 2}
NO_TEXT = (*NOT_LINES, ".jsonl")


class WordVectorTraining(OwnTraining):
    """What `ctxzoo train` does for word embeddings."""

    card: ClassVar[TaskCard] = CARD
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = "perplexity"
    lower_is_better = True
    kept_with_checkpoint = OwnTraining.kept_with_checkpoint | {"test_words"}
    predicted = '--text "... [MASK] ..."'
    called = '"... [MASK] ..."'

    def variants(self, architecture: str) -> Sequence[str]:
        return tuple(CUSTOMS)

    def variant_of(self, config: Any) -> str:
        architecture: str = config.architecture
        return architecture

    def preset(self, settings: str, architecture: str, variant: str) -> Preset:
        return paper_preset(variant) if settings == PAPER else default_preset(variant)

    def tiny(self, preset: Preset) -> Preset:
        config = {**preset.config, **TINY_SIZES} if preset.config else {}
        data = {**preset.data, "min_count": 1} if "min_count" in preset.data else preset.data
        return replace(
            preset, config=config, data=data, task={**preset.task, "epochs": 1}, run={**preset.run, "test_words": 200}
        )

    def read(self, request: TrainingRequest, scratch: Path) -> OwnRows:
        splits, _ = gathered(request, lambda source: _load(source, request, scratch))
        return OwnRows(
            splits=splits,
            groups=group_numbers({name: map(text_key, split[TEXT]) for name, split in splits.items()}),
            unit="lines",
            together="equal lines",
            held_out=HELD_OUT,
        )

    def run(
        self, request: TrainingRequest, preset: Preset, splits: OwnSplits, trial: Trial | None = None
    ) -> WordEmbeddingRun:
        spec = self.spec(request, preset, splits, trial)
        own = ("init_from", "rows", "tiny")
        words = {**default_preset(VARIANT).data, **preset.data}
        return WordEmbeddingRun(
            recipe=spec.recipe,
            commit=spec.commit,
            source=CorpusSource(str(splits.folder)),
            validation_split="validation" if spec.score == "test" else None,
            test_split=spec.score,
            test_words=preset.run["test_words"],
            **words,
            config={"architecture": spec.variant, **preset.config},
            training=WordEmbeddingTraining(
                **preset.task, seed=request.seed, max_minutes=None if trial is None else trial.minutes
            ),
            backend=_backend(request),
            pretrained=request.init_from,
            named=request.name,
            further={name: spec.settings[name] for name in own if name in spec.settings},
            tag=spec.tag,
            content=spec.content,
            card_options=request.card,
            output_dir=request.output_dir,
            results_dir=request.results_dir,
            progress=request.progress and trial is None,
            tell_time=trial is None,
        )


def paper_preset(variant: str) -> Preset:
    """Return the settings of the paper's recipe for one of the architectures of `CUSTOMS`."""
    told = WordVectorSettings()
    of_training = {one.name for one in fields(WordEmbeddingTraining)} & {one.name for one in fields(WordVectorSettings)}
    given = {name: getattr(told, name) for name in sorted(of_training)}
    return Preset(
        architecture=ARCHITECTURE,
        variant=variant,
        config={"word_dim": told.word_dim, "window": told.window[0]},
        data={name: getattr(told, name) for name in ("cutter", "lower_case", "fold_digits", "min_count")},
        task={
            **CUSTOMS[variant]._asdict(),
            **{name: value for name, value in given.items() if value is not None},
        },
        run={"test_words": told.test_words},
    )


def _load(source: str, request: TrainingRequest, scratch: Path) -> Loaded:
    """Return the lines of each split of a source that are not blank, on the disk."""
    path = Path(resolve_dataset(source, request.data_dir))
    if path.is_file() and path.suffix.lower() in NO_TEXT:
        raise DatasetFileError(
            f"{path} is a {path.suffix} file; expected running text, a sentence or a paragraph in each line (.txt, "
            "also packed as .gz, .zst or .bz2), or a folder or Hub id with a column of texts"
        )
    names: Sequence[str] = ("train",)
    if path.is_file() or source == SAMPLE:
        refuse_columns(source, request.columns["text_column"])
    else:
        loaded = load_splits(source, request.data_dir, sample=True)
        names = [name for name in SPLITS if name in loaded]
        if not names:
            raise TextFormatError(f"dataset {source!r} has the splits {sorted(loaded)}; expected one of {list(SPLITS)}")
    column = names_of(request.columns["text_column"]) or TEXT
    splits = {}
    for name in names:
        text = CorpusSource(source, column, name, request.data_dir)
        where = f"{source}, split {name!r}" if len(names) > 1 else source
        splits[name] = _mapped(text.lines(), scratch / f"{len(list(scratch.iterdir()))}.arrow", where)
        if not len(splits[name]):
            raise TextFormatError(f"{source} holds no text; expected a sentence or a paragraph in each line")
    return splits, dict.fromkeys(splits, source)


def _mapped(lines: Iterable[str], file: Path, where: str) -> datasets.Dataset:
    """Write the lines that are not blank into a file, and return them as rows that are read from there.

    Lines of more than 1,000 words come as several rows, cut where sentences of a corpus are cut: so a text without line
    ends can be divided.
    """
    schema = pa.schema({TEXT: pa.string()})
    cut = blank = 0

    def parts() -> Iterable[str]:
        nonlocal cut, blank
        for line in lines:
            if not line.strip():
                blank += 1
                continue
            words = line.split(" ") if line.count(" ") >= LONGEST_SENTENCE else [line]
            for start in range(0, len(words), LONGEST_SENTENCE):
                cut += len(words) > 1
                yield " ".join(words[start : start + LONGEST_SENTENCE])

    kept = (part for part in parts() if part.strip())
    with pa.ipc.new_stream(str(file), schema) as stream:
        while some := list(islice(kept, LINES_AT_ONCE)):
            stream.write_batch(pa.record_batch([pa.array(some, pa.string())], schema=schema))
    note(where, f"lines of up to {LONGEST_SENTENCE:,} words, cut from longer ones", cut)
    note(where, "blank lines, left out", blank)
    return datasets.Dataset.from_file(str(file))


def _backend(request: TrainingRequest) -> EmbeddingBackend:
    """Return the compiled loops, or PyTorch where they are not installed or a device is named that they cannot use."""
    name = choose_backend_name(None if request.accelerator in ("auto", "cpu") else "torch")
    if name == "numba":
        return NumbaBackend(request.threads)
    devices = "1" if request.devices == "auto" else request.devices
    return TorchBackend(batch_size=TORCH_BATCH, accelerator=request.accelerator, devices=devices)
