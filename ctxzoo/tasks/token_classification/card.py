"""Token classification: its metrics, limits and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ctxzoo.hub.card_facts import make_sample_facts
from ctxzoo.hub.card_parts import Snippets, format_code_span, format_repo_id_line, format_text_assignment
from ctxzoo.hub.classification_facts import CURVES, DRAWN, METRICS, describe_calibration, get_label_names
from ctxzoo.hub.task_card import LabelTable, Metric, TaskCard, describe_vocabulary
from ctxzoo.models.configuration_base import ZooConfig

if TYPE_CHECKING:
    from transformers import TokenClassificationPipeline

    from ctxzoo.results.result import RunResult
    from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule

WITH_PACKAGE = """\
import ctxzoo  # registers the architecture
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(repo)
model = AutoModelForTokenClassification.from_pretrained(repo)
with torch.no_grad():
    logits = model(**tokenizer(text, return_tensors="pt")).logits
print(" ".join(model.config.id2label[tag] for tag in logits[0].argmax(dim=1).tolist()))"""

WITHOUT_PACKAGE = """\
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

options = {"trust_remote_code": True, "revision": "main"}  # better: the commit whose code you have read
tokenizer = AutoTokenizer.from_pretrained(repo, **options)
model = AutoModelForTokenClassification.from_pretrained(repo, **options)
with torch.no_grad():
    logits = model(**tokenizer(text, return_tensors="pt")).logits
print(logits.softmax(dim=2))  # for each word one probability for each tag of model.config.id2label"""

AS_PIPELINE = """\
from transformers import pipeline

tagger = pipeline("token-classification", model=repo, trust_remote_code=True)
print(" ".join(word["entity"] for word in tagger(text, ignore_labels=[])))"""


# Of tags of spans alone, as B-PER and O.
SPAN_METRICS = {
    "span_f1": Metric("f1", "span F1"),
    "span_precision": Metric("precision", "span precision"),
    "span_recall": Metric("recall", "span recall"),
}


class TokenClassificationCard(TaskCard):
    name = "token-classification"
    pipeline_tag = "token-classification"
    pipeline_at = "transformers:TokenClassificationPipeline"
    title = "token classification"
    predictions = "tags"
    intended = "Tagging the words of texts of the kind that it was trained on, and comparing word vectors or taggers."
    not_intended = "Texts of another language, and steps whose results depend on rare words being tagged right."
    metrics = MappingProxyType({**METRICS, **SPAN_METRICS})
    headline = ("accuracy", "macro_f1")
    results_note = (
        "Percentages unless said otherwise, over all words of the split. Macro F1 is the mean over the tags; of the "
        "calibration error, 0 is best."
    )
    curves = (*CURVES, "span_f1")
    drawn = DRAWN
    sample = make_sample_facts(
        "short sentences with parts of speech, in which many words are a noun or a verb by the words before them"
    )
    example_keys = ("text", "tags")
    pipeline_note = "It gives the most probable tag of each word and its probability:"
    call = '"..."'
    trains_word_vectors = True

    def list_identity_rows(self, config: ZooConfig) -> list[list[str]]:
        """Return the rows of the first table of a model card, from the config."""
        return [
            ["task", "token classification, one tag for each word"],
            ["tags", ", ".join(map(format_code_span, get_label_names(config)))],
        ]

    def choose_headline(self, metrics: Mapping[str, float]) -> tuple[str, ...]:
        has_spans = any(name.endswith("/span_f1") for name in metrics)
        return ("span_f1", "accuracy") if has_spans else self.headline

    def list_label_tables(self, result: RunResult) -> list[LabelTable]:
        metrics, split, start = result.metrics, result.split, f"{result.split}/spans_"
        labels = sorted(name.removeprefix(start) for name in metrics if name.startswith(start))
        rows = [
            [
                label,
                *(f"{metrics[f'{split}/{name}_{label}']:.2f}" for name in SPAN_METRICS),
                f"{metrics[start + label]:,.0f}",
            ]
            for label in labels
        ]
        headings = ["spans", "F1", "precision", "recall", "number"]
        return [LabelTable(f"each label, {split}", [headings, *rows])] if rows else []

    def describe_limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        """Return sentences of a model card on the limits of the model."""
        yield (
            "Its tokenizer cuts running text into words and signs by one rule, which may differ from how its training "
            "data are cut: where words must be those, give lists of them (`is_split_into_words=True`)."
        )
        yield f"It always gives one of its {config.num_labels} tags, also to words of another language."
        yield from describe_calibration(metrics, "tag")

    def build_snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        """Return the example programs of a model card."""
        return Snippets(
            example=f"{format_repo_id_line(repo_id)}\n{format_text_assignment('text', example['text'])}",
            with_package=WITH_PACKAGE,
            without_package=WITHOUT_PACKAGE,
            as_pipeline=f"{AS_PIPELINE}\n# {example['tags']}",
        )

    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, str]) -> dict[str, Any]:
        (words,) = tag_texts(self.build_pipeline(model, tokenizer), [inputs["text"]])
        return {"tags": " ".join(word["tag"] for word in words)}

    def parse_example(self, text: str) -> dict[str, Any]:
        return {"text": text}

    def make_builtin_example(self, model: Any, tokenizer: Any) -> dict[str, Any]:
        return {"text": "These are words of your own ."}

    def pick_split_example(self, data: TokenClassificationDataModule, split: str) -> dict[str, Any]:
        """Return the first sentence of a split."""
        sentence = data.texts(split)[int(data.rows(split)[0])]
        gold = " ".join(data.label_names[label] for label in sentence["labels"])
        return {"text": " ".join(sentence["tokens"]), "gold": gold}

    def format_example(self, example: Mapping[str, Any]) -> list[str]:
        lines = [f"text: {example['text']}", f"tags: {example['tags']}"]
        return [*lines, f"gold: {example['gold']}"] if "gold" in example else lines

    def describe_config(self, config: ZooConfig) -> Iterable[str]:
        """Return what `ctxzoo info` prints of a config beside its fields."""
        return describe_vocabulary(config)


def tag_texts(
    tagger: TokenClassificationPipeline, texts: list[str], *, batch_size: int = 32
) -> list[list[dict[str, Any]]]:
    """Return for each text in order `word` as it is written, its most probable `tag` and the probability `score`.

    Words are what the tokenizer of the pipeline gives.
    """
    predictions = tagger(texts, batch_size=batch_size, ignore_labels=[])  # by default it keeps the tag "O" to itself
    return [
        [
            {"word": text[word["start"] : word["end"]], "tag": word["entity"], "score": float(word["score"])}
            for word in words
        ]
        for text, words in zip(texts, predictions, strict=True)
    ]


CARD = TokenClassificationCard()
