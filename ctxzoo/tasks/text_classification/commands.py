"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for classifiers of texts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxzoo.tasks.commands import (
    TEXT,
    Option,
    TaskCommands,
    check_text_or_file,
    how_to_score,
    positive,
    write_json,
)

if TYPE_CHECKING:
    from transformers import TextClassificationPipeline

    from ctxzoo.models.tokenization_word import WordTokenizer


class TextClassificationCommands(TaskCommands):
    title = "text classification"
    train_options = (
        Option("text_column", "default: text or the like"),
        Option("label_column", "default: label or the like"),
        Option("max_length", "cut texts to so many known words", positive),
        Option("min_word_count", "occurrences in the training texts that a word needs", positive),
        Option("word_vectors", "start from these: file, checkpoint folder or Hub id"),
        Option("linear", "a linear model beside the scores; default: yes", choices=("yes", "no")),
    )
    evaluate_options = (
        Option("text_column", "default: text or the like"),
        Option("label_column", "default: label or the like"),
        Option("folds", "of the cross-validation that the checkpoint is from", positive),
        Option("fold", "which of them, from 0", int),
        Option("fold_seed", "of the folds", int),
        Option("max_length", "cut texts to so many known words", positive),
    )
    predict_options = (
        TEXT,
        Option("explain", "page (.html), or picture of one text (.png), of which words count", Path),
    )

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        from ctxzoo.runs.train_own_data import request_of, train_own_data
        from ctxzoo.tasks.text_classification.training import ClassifierTraining

        settings = {name: value for name, value in own.items() if name != "linear"}
        request = request_of(options, settings, columns=("text_column", "label_column"))
        train_own_data(ClassifierTraining(linear=own["linear"] != "no"), request)

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.tasks.text_classification.evaluation import evaluate

        given = {name: value for name, value in own.items() if value is not None}
        return evaluate(options.checkpoint, options.dataset, options.split, **how_to_score(options), **given)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        text, page = own["text"], own["explain"]
        check_text_or_file(options, text)
        if options.file is not None and options.output is None and page is None:
            raise ValueError("--file needs --output, the JSON file to write, or --explain, the page")
        if page is not None:
            _check_explanation_file(page)

        from ctxzoo.data.text_files import read_text_lines
        from ctxzoo.tasks.text_classification.card import CARD
        from ctxzoo.tasks.text_classification.known_words import count_known_words, no_known_word_note

        texts = [text] if options.file is None else read_text_lines(options.file)
        classifier = CARD.load_pipeline(options.checkpoint)
        unknown = no_known_word_note(count_known_words(classifier.tokenizer, texts))
        for note in (left_out_note(classifier.tokenizer, texts), unknown):
            if note is not None:
                print(f"ctxzoo: {note}", file=sys.stderr)
        if page is not None:
            _explain(classifier, texts, page)
        if text is not None or options.output is not None:
            predictions = classify_texts(classifier, texts, batch_size=options.batch_size)
        if options.file is None:
            print(json.dumps(predictions[0], ensure_ascii=False))
            return
        if options.output is not None:
            write_json(options.output, predictions)
        files = [str(file) for file in (options.output, page) if file is not None]
        print(f"{len(texts)} labels: {', '.join(files)}")


def classify_texts(
    classifier: TextClassificationPipeline, texts: list[str], *, batch_size: int = 32
) -> list[dict[str, Any]]:
    """Return the most probable `label` of each text and its probability `score`, in their order.

    Texts are cut at the `word_limit` of the tokenizer, where it has one; those that are longer also have
    `words_left_out`, the number of known words behind it. Those without a known word have `no_known_word`.
    """
    limited = classifier.tokenizer.word_limit is not None
    predictions: list[dict[str, Any]] = classifier(texts, batch_size=batch_size, truncation=limited)
    for prediction, number in zip(predictions, words_left_out(classifier.tokenizer, texts), strict=True):
        if number:
            prediction["words_left_out"] = number
    return predictions


def words_left_out(tokenizer: WordTokenizer, texts: list[str]) -> list[int]:
    """Count the known words of each text behind the limit of the tokenizer, which its model does not read."""
    if tokenizer.word_limit is None:
        return [0] * len(texts)
    found: list[int] = tokenizer(texts, truncation=True, return_overflowing_tokens=True)["num_truncated_tokens"]
    return found


def left_out_note(tokenizer: WordTokenizer, texts: list[str]) -> str | None:
    """Write a note on texts that are longer than the limit of the tokenizer; None where none is."""
    numbers = [number for number in words_left_out(tokenizer, texts) if number]
    if not numbers:
        return None
    return (
        f"the model reads the first {tokenizer.word_limit:,} words that it knows: {sum(numbers):,} behind them were "
        f"left out, in {len(numbers):,} of {len(texts):,} texts"
    )


def _check_explanation_file(file: Path) -> None:
    if file.suffix not in (".html", ".png"):
        raise ValueError(f"--explain is {str(file)!r}; expected a name that ends in .html (page) or .png (picture)")
    if not file.parent.is_dir():
        raise ValueError(f"--explain is {str(file)!r}, but there is no folder {str(file.parent)!r}; make it first")


def _explain(classifier: TextClassificationPipeline, texts: Sequence[str], file: Path) -> None:
    """Write the page, or the picture, of which words count."""
    from ctxzoo.tasks.text_classification.explanation import explain_text
    from ctxzoo.tasks.text_classification.explanation_page import write_explanation_page
    from ctxzoo.tasks.text_classification.explanation_picture import draw_explanation

    if file.suffix == ".png" and len(texts) != 1:
        raise ValueError(f"--explain is {str(file)!r}, a picture of one text, but there are {len(texts)}; take .html")
    explanations = [explain_text(classifier.model, classifier.tokenizer, text) for text in texts]
    if file.suffix == ".png":
        draw_explanation(explanations[0], file)
    else:
        write_explanation_page(explanations, file)


COMMANDS = TextClassificationCommands()
