"""Classes of words for Lightning, the scores of a tagger on a split, and its tags of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForTokenClassification, PreTrainedModel

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import skip_or_raise
from ctxzoo.data.row_stream import LINES, Row, RowStream, build_row_stream
from ctxzoo.data.text_columns import TextsOfRows
from ctxzoo.data.text_encoding import count_filling_rows, group_alike
from ctxzoo.hub.classification_facts import get_label_names
from ctxzoo.metrics.spans import SpanScores
from ctxzoo.models.ops_bilstm_tagger import BIO, recognise_scheme
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.models.tokenization_word import WordTokenizer
from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
from ctxzoo.tasks.token_classification.reader import TAG_COLUMNS
from ctxzoo.tasks.token_classification.sources import COLUMN_FILES, TOKENS, UNIVERSAL, read_tag_file
from ctxzoo.training.classification import ClassificationScores, ClassificationTask
from ctxzoo.training.scoring import load_task, load_tokenizer, score_splits
from ctxzoo.training.task import select_model_inputs


class TagScores(ClassificationScores):
    """The scores of `ClassificationScores` over words and, where tags are those of spans, of `SpanScores`.

    Args:
        tags: Names of the tags, in the order of their numbers.
    """

    def __init__(self, tags: Sequence[str]) -> None:
        super().__init__(len(tags))
        self.spans = None if recognise_scheme(tags) is None else SpanScores(tags)

    def compute(self) -> dict[str, float]:
        spans = {} if self.spans is None else self.spans.compute()
        return {**super().compute(), **spans}


class TokenClassificationTask(ClassificationTask):
    """Trains and scores any tagger of the zoo: one label for each word.

    A batch holds `labels`, (B, n) class numbers, -100 at padding and at words that do not count; the model gives logits
    (B, n, labels). Losses and scores are means over the words that count, of a batch and of the whole split. Where tags
    are those of spans, as B-PER and O, `span_f1` and the other scores of `SpanScores` are there too. Arguments and
    errors: see `ClassificationTask`.
    """

    auto_class = AutoModelForTokenClassification

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        smoothing = self.hparams["label_smoothing"]
        if self._has_crf and smoothing:
            raise ValueError(
                f"label_smoothing={smoothing} beside crf=True: a CRF has no smoothing; set label_smoothing=0 "
                "or crf=False"
            )

    def build_label_fields(self, pretrained: str, label_names: Sequence[str]) -> dict[str, Any]:
        fields = super().build_label_fields(pretrained, label_names)
        theirs = getattr(AutoConfig.from_pretrained(pretrained), "scheme", None)
        if theirs is None:
            return fields
        scheme = recognise_scheme(label_names)
        kept = theirs if theirs in ("IOB1", "IOB2") else "IOB2"  # of BIO, which names do not tell apart
        return {**fields, "scheme": kept if scheme == BIO else scheme}

    @property
    def _has_crf(self) -> bool:
        return bool(getattr(self.model.config, "crf", False))

    def compute_training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        if not self._has_crf:
            return super().compute_training_loss(batch)
        loss: torch.Tensor = self.model(**select_model_inputs(batch)).loss
        return loss

    def select_labelled_logits(self, logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        counts = labels != IGNORED
        return logits[counts], labels[counts]

    def build_scores(self) -> TagScores:
        return TagScores(get_label_names(self.model.config))

    def update_scores(self, scores: Any, batch: dict[str, torch.Tensor], split: str) -> None:
        logits, labels = self._compute_model_output(batch).logits.float(), batch["labels"]
        scores.update(*self.select_labelled_logits(logits, labels))
        if scores.spans is not None:
            scores.spans.update(logits.argmax(dim=2), labels, labels != IGNORED)


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: Any = None,
    data_dir: str | None = None,
    tag_column: str | None = None,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Score a tagger on a split; of a checkpoint the same numbers that its recipe wrote.

    Args:
        checkpoint: Checkpoint to score, a folder or Hub id with model and tokenizer, or a loaded model.
        dataset: Data to score on: a Hub id, folder or file, or "sample" (generated sentences).
        split: Name of the split, such as "test".
        tokenizer: Tokenizer for a model passed as an object; default: the one saved in the checkpoint.
        data_dir, tag_column: Folder of datasets, and name of the column of tags, as in `TokenClassificationDataModule`.
        batch_size, precision, accelerator: Number of examples in a batch, precision (such as "32-true") and kind of
            device (such as "cpu"), as Lightning takes them.
        progress: Whether a progress bar is shown.

    Returns:
        Name to score, named as in `TokenClassificationTask` without the split's name in front; percentages but for
        `nll` (nats) and numbers of spans.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: a sentence has a tag that the model does not have, unless it is left out with `--skip_bad`; no such
            split; a checkpoint of another problem; a model without its tokenizer.
    """
    task = load_task(TokenClassificationTask, checkpoint)
    data = TokenClassificationDataModule(
        dataset,
        data_dir=data_dir,
        tag_column=tag_column,
        eval_batch_size=batch_size,
        tokenizer=load_tokenizer(checkpoint, tokenizer),
        known_labels=get_label_names(task.model.config),
        divide=False,
    )
    data.setup()
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]


class TagAnswers:
    """The answers of a tagger to rows of a user's file: lists `tokens`, or texts, which its tokenizer cuts.

    Args:
        model: Tagging model, which runs on the device where its weights are.
        tokenizer: Tokenizer that the model was trained with.
        batch_size: Number of sentences in a batch.
    """

    def __init__(self, model: Any, tokenizer: WordTokenizer, *, batch_size: int = 32) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.work = partial(tag_sentences, model, tokenizer, batch_size=batch_size)
        self.texts_of = TextsOfRows(None)
        self.rows = self.words = 0

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer | None]:
        """Return the answers to rows, in their order; None for a row that is left out."""
        column = TOKENS if TOKENS in rows[0] else ""
        if column:
            sentences = [self._read_tokens(row, f"{stream.name}, row {self.rows + n}") for n, row in enumerate(rows)]
        else:
            texts = self.texts_of(rows, stream.name, stream.kind == LINES)
            sentences = [None if text is None else self.tokenizer.split_into_words(text) for text in texts]
            column = self.texts_of.names[0]
        tagged = iter(self.tag_and_count([sentence for sentence in sentences if sentence]))
        answers: list[Answer | None] = []
        for row, sentence in zip(rows, sentences, strict=True):
            answers.append(_build_answer(next(tagged), row, self.rows, column) if sentence else None)
            self.rows += 1
        return answers

    def tag_and_count(self, sentences: Sequence[list[str]]) -> list[list[dict[str, Any]]]:
        """Tag sentences as `tag_sentences` does, and count their words."""
        tagged = self.work(sentences)
        self.words += sum(map(len, tagged))
        return tagged

    def _read_tokens(self, row: Row, location: str) -> list[str] | None:
        words = row.get(TOKENS)
        if (
            isinstance(words, list)
            and words
            and all(isinstance(word, str) and len(word.split()) == 1 for word in words)
        ):
            return words
        message = f"{location}: {str(words)[:60]!r} in {TOKENS!r}; expected a list of words without blanks in them"
        skip_or_raise(location, TextFormatError(message))
        return None


def tag_sentences(
    model: Any, tokenizer: WordTokenizer, sentences: Sequence[list[str]], *, batch_size: int = 32
) -> list[list[dict[str, Any]]]:
    """Tag sentences; return for each word `word`, its most probable `tag`, the `score`, and all `probabilities`."""
    names = get_label_names(model.config)
    tagged: list[list[dict[str, Any]]] = [[]] * len(sentences)
    lengths = np.array([len(sentence) for sentence in sentences], np.int64)
    with in_evaluation_mode(model):
        for rows, length in group_alike(np.argsort(-lengths, kind="stable"), lengths, lambda _: batch_size):
            filling = [["a"] * length] * count_filling_rows(len(rows))
            batch = [*(sentences[row] for row in rows), *filling]
            words = tokenizer(batch, is_split_into_words=True, padding=True)
            inputs = {name: torch.tensor(words[name], device=model.device) for name in tokenizer.model_input_names}
            probabilities = model(**inputs).logits.float().softmax(dim=2).cpu()
            for row, of_words in zip(rows.tolist(), probabilities, strict=False):  # behind them is filling
                tagged[row] = [
                    {
                        "word": word,
                        "tag": names[int(of_tags.argmax())],
                        "score": float(of_tags.max()),
                        "probabilities": dict(zip(names, of_tags.tolist(), strict=True)),
                    }
                    for word, of_tags in zip(sentences[row], of_words, strict=False)
                ]
    return tagged


def stream_conll_sentences(file: Path, kind: str | None) -> RowStream | None:
    """Return the sentences of a CoNLL or CoNLL-U file; None for a file of another kind.

    Args:
        file: Path of the file; the lines of a .txt file are plain sentences, unless `kind` says otherwise.
        kind: File format, "conll" or "conllu"; None: recognized by the file's suffix.
    """
    by_name = file.suffix.lower() in {*COLUMN_FILES, UNIVERSAL} - {".txt"} and kind is None
    if not file.is_file() or not (by_name or kind in ("conll", "conllu")):
        return None
    return build_row_stream(str(file), read_tag_file(file, kind=None if kind is None else f".{kind}"))


def _build_answer(words: Sequence[dict[str, Any]], row: Row, number: int, column: str) -> Answer:
    gold = [name for name in TAG_COLUMNS if isinstance(row.get(name), list)]
    cells = [
        {
            "sentence": number,
            "position": position,
            "word": word["word"],
            **{name: row[name][position] for name in gold},
            "predicted_tag": word["tag"],
            "predicted_probability": word["score"],
            **{f"probability_{name}": value for name, value in word["probabilities"].items()},
        }
        for position, word in enumerate(words)
    ]
    fields = {"predicted_tags": "tag", "predicted_probabilities": "score", "probabilities": "probabilities"}
    return Answer(
        fields={name: [word[key] for word in words] for name, key in fields.items()},
        cells=cells,
        alone=[{name: value for name, value in word.items() if name != "probabilities"} for word in words],
        replaced=frozenset({column, *gold}),
    )
