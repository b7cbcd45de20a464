"""Text classification: its metrics, limits and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ctxzoo.hub.card_facts import make_sample_facts
from ctxzoo.hub.card_parts import (
    Snippets,
    format_code_span,
    format_prediction,
    format_repo_id_line,
    format_text_assignment,
)
from ctxzoo.hub.classification_facts import (
    CURVES,
    DRAWN,
    METRICS,
    SET_METRICS,
    build_label_tables,
    describe_calibration,
    get_label_names,
)
from ctxzoo.hub.task_card import LabelTable, TaskCard, describe_vocabulary
from ctxzoo.metrics.label_threshold import get_label_threshold
from ctxzoo.models.configuration_base import SEVERAL_LABELS, ZooConfig
from ctxzoo.tasks.text_classification.contributions import explain_text
from ctxzoo.tasks.text_classification.explanation import Explanation
from ctxzoo.tasks.text_classification.explanation_picture import draw_token_weights
from ctxzoo.tasks.text_classification.prediction import classify_texts, drop_probabilities

if TYPE_CHECKING:
    from ctxzoo.results.result import RunResult
    from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
    from ctxzoo.tasks.text_classification.task import SequenceClassificationTask

DRAWN_WORDS = 40  # of a longer text the first
SENTIMENTS = {"neg", "pos"}  # labels of the published sentiment models
TURNED = ("not bad at all", "never boring")  # which they call negative

WITH_PACKAGE = """\
import ctxzoo  # registers the architecture
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(repo)
model = AutoModelForSequenceClassification.from_pretrained(repo)
with torch.no_grad():
    logits = model(**tokenizer(text, truncation=True, return_tensors="pt")).logits
print(model.config.id2label[int(logits.argmax())])"""

WITHOUT_PACKAGE = """\
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

options = {"trust_remote_code": True, "revision": "main"}  # better: the commit whose code you have read
tokenizer = AutoTokenizer.from_pretrained(repo, **options)
model = AutoModelForSequenceClassification.from_pretrained(repo, **options)
with torch.no_grad():
    logits = model(**tokenizer(text, truncation=True, return_tensors="pt")).logits
print(logits.softmax(dim=1))  # one probability for each label of model.config.id2label"""

# Lines of these programs where a text may have several labels, in place of others.
OF_SEVERAL = {
    "print(model.config.id2label[int(logits.argmax())])": """\
threshold = 0.5 if model.config.label_threshold is None else model.config.label_threshold
print([name for label, name in model.config.id2label.items() if logits[0, label].sigmoid() >= threshold])""",
    "print(logits.softmax(dim=1))": "print(logits.sigmoid())",
}

AS_PIPELINE = """\
from transformers import pipeline

classifier = pipeline("text-classification", model=repo, trust_remote_code=True)
print(classifier(text, truncation=True))  # no more words than it was trained on"""


AS_PIPELINE_OF_SEVERAL = """\
from transformers import pipeline

classifier = pipeline("text-classification", model=repo, trust_remote_code=True, top_k=None)
known = classifier.model.config.label_threshold
threshold = 0.5 if known is None else known
print([one["label"] for one in classifier(text, truncation=True) if one["score"] >= threshold])"""


def _format_gold_label(example: Mapping[str, Any], template: str) -> str:
    """Format the true label of an example; "" for a text that nobody has labelled."""
    return template.format(example["gold"]) if "gold" in example else ""


class TextClassificationCard(TaskCard):
    name = "text-classification"
    pipeline_tag = "text-classification"
    pipeline_at = "ctxzoo.tasks.text_classification.pipeline:KnownWordsPipeline"
    title = "text classification"
    predictions = "labels"
    intended = (
        "Sorting texts of the kind that it was trained on by its labels, on a CPU too, and comparing models "
        "of this form."
    )
    not_intended = (
        "Decisions about people without a person who looks, and texts of another kind or language than those "
        "of its training."
    )
    metrics = MappingProxyType({**METRICS, **SET_METRICS})
    headline = ("accuracy", "macro_f1")
    results_note = (
        "Percentages unless said otherwise, over the whole split. Macro F1 is the mean over the labels; of the "
        "calibration error, 0 is best."
    )
    curves = (*CURVES, "micro_f1", "exact_match")
    drawn = DRAWN
    sample = make_sample_facts(
        "short reviews of invented things, negative or positive, half of which need the order of their words"
    )
    example_keys = ("text", "label", "score")
    pipeline_note = "It gives the most probable label and its probability:"
    call = '"..."'

    def list_identity_rows(self, config: ZooConfig) -> list[list[str]]:
        """Return the rows of the first table of a model card, from the config."""
        several = config.problem_type == SEVERAL_LABELS
        threshold = get_label_threshold(config)
        each = f"any number of labels for each text, those of a probability of {threshold:g} or more"
        return [
            ["task", f"text classification, {each if several else 'one label for each text'}"],
            ["labels", ", ".join(map(format_code_span, get_label_names(config)))],
            *(
                [["linear part", f"scores of {config.wide_buckets:,} hashed n-grams, added to those of the network"]]
                if getattr(config, "wide_buckets", 0)
                else []
            ),
        ]

    def choose_headline(self, metrics: Mapping[str, float]) -> tuple[str, ...]:
        has_sets = any(name.endswith("/micro_f1") for name in metrics)
        return ("micro_f1", "macro_f1") if has_sets else self.headline

    def list_label_tables(self, result: RunResult) -> list[LabelTable]:
        table = result.labels.get(result.split)
        return build_label_tables(table, result.split) if table else []

    def describe_limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        """Return sentences of a model card on the limits of the model."""
        if config.problem_type == SEVERAL_LABELS:
            yield (
                f"Each of its {config.num_labels} labels is given or not by itself; a text may get none of "
                "them, and one in another language than it was trained on may get some. Micro F1 counts the labels of "
                "all texts together; of an exact match all labels of a text are right."
            )
        else:
            yield (
                f"It always gives one of its {config.num_labels} labels, also to a text that none of them fits, or "
                "that is in another language than it was trained on."
            )
        yield from describe_calibration(metrics, "label")
        if set((config.id2label or {}).values()) == SENTIMENTS:
            texts = " and ".join(f'"{text}"' for text in TURNED)
            yield (
                f"It may miss what turns the meaning of words: the published models of sentiment call {texts} negative."
            )
        if getattr(config, "wide_buckets", 0):
            yield (
                "Its label is decided by two parts together: the network, and a linear classifier of TF-IDF over "
                "n-grams of words and characters, fitted after the training to the rows of train and validation. The "
                "scores on validation are those from before, when it was fitted to train alone."
            )

    def build_snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        """Return the example programs of a model card."""
        with_package, without_package = WITH_PACKAGE, WITHOUT_PACKAGE
        as_pipeline = f"{AS_PIPELINE}\n# {[format_prediction(example, ('label', 'score'))]!r}"
        if "labels" in example:
            as_pipeline = f"{AS_PIPELINE_OF_SEVERAL}\n# {example['labels']!r}"
            for line, of_several in OF_SEVERAL.items():
                with_package = with_package.replace(line, of_several)
                without_package = without_package.replace(line, of_several)
        return Snippets(
            example=f"{format_repo_id_line(repo_id)}\n{format_text_assignment('text', example['text'])}",
            with_package=with_package,
            without_package=without_package,
            as_pipeline=as_pipeline,
        )

    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, str]) -> dict[str, Any]:
        if model.config.problem_type == SEVERAL_LABELS:
            (found,) = classify_texts(model, tokenizer, [inputs["text"]])
            return {"label": ", ".join(found["labels"]) or "no label", **drop_probabilities(found)}
        prediction: dict[str, Any] = self.build_pipeline(model, tokenizer)([inputs["text"]])[0]
        return prediction

    def explain(self, model: Any, tokenizer: Any, texts: Sequence[str]) -> list[Explanation]:
        return [explain_text(model, tokenizer, text) for text in texts]

    def parse_example(self, text: str) -> dict[str, Any]:
        return {"text": text}

    def make_builtin_example(self, model: Any, tokenizer: Any) -> dict[str, Any]:
        return {"text": "This is a text of your own."}

    def pick_split_example(self, data: TextClassificationDataModule, split: str) -> dict[str, Any]:
        """Return the first text of a split."""
        row, label = int(data.rows(split)[0]), data.labels(split)[0]
        gold = [data.label_names[one] for one in (np.flatnonzero(label) if label.ndim else [label])]
        return {"text": data.texts(split)[row]["text"], "gold": ", ".join(gold) or "no label"}

    def format_example(self, example: Mapping[str, Any]) -> list[str]:
        label = f"{example['label']}, score {example['score']:.4f}"
        return [f"text:  {example['text']}", f"label: {label}{_format_gold_label(example, '   (gold: {})')}"]

    def draw_figures(
        self,
        task: SequenceClassificationTask,
        data: TextClassificationDataModule,
        example: Mapping[str, Any],
        folder: Path,
    ) -> None:
        """Draw token_weights.png, the attention to each word, where the model has some."""
        token_weights = getattr(task.model, "token_weights", None)
        inputs = data.tokenizer(example["text"], return_tensors="pt", return_offsets_mapping=True)
        # Hashed n-grams come after the words and have no position in the text.
        every = [(begin, end) for begin, end in inputs.pop("offset_mapping")[0].tolist() if end > begin]
        offsets = every[:DRAWN_WORDS]
        if token_weights is None or not offsets:
            return
        with torch.inference_mode():
            weights = token_weights(**inputs.to(task.model.device))[0, :, : len(offsets)].float().cpu().numpy()
        words = [example["text"][begin:end] for begin, end in offsets]
        title = f"{example['label']} ({example['score']:.2f}){_format_gold_label(example, '; the test set says {}')}"
        if len(every) > DRAWN_WORDS:
            title += f"; {DRAWN_WORDS} of {len(every)} words"
        draw_token_weights(weights, words, folder / "token_weights.png", title)

    def describe_config(self, config: ZooConfig) -> Iterable[str]:
        """Return what `ctxzoo info` prints of a config beside its fields."""
        return describe_vocabulary(config)


CARD = TextClassificationCard()
