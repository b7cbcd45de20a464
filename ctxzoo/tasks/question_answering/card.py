"""Extractive question answering: its metrics, limits, programs and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from ctxzoo.hub.card_facts import make_sample_facts
from ctxzoo.hub.card_parts import (
    Snippets,
    format_card_table,
    format_prediction,
    format_repo_id_line,
    format_text_assignment,
)
from ctxzoo.hub.task_card import Metric, TaskCard, describe_vocabulary
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.results.result import RunResult
from ctxzoo.tasks.question_answering.batches import EVALUATION_LIMITS
from ctxzoo.tasks.question_answering.figures import plot_similarity

if TYPE_CHECKING:
    from ctxzoo.tasks.question_answering.data import SquadDataModule
    from ctxzoo.tasks.question_answering.task import QuestionAnsweringTask


@dataclass(frozen=True)
class PaperRow:
    """One line of the paper's results: F1 and EM in percent, None where the paper has no number."""

    variant: str
    split: str
    f1: float | None
    exact: float | None


# Patel (2022): SQuAD 2.0, the halves of the official development set that the CS224N course calls dev and test.
PAPER = (
    PaperRow("baseline", "dev", 60.55, 57.10),
    PaperRow("sinusoidal", "dev", 58.20, 54.80),
    PaperRow("learned", "dev", 60.91, 57.92),
    PaperRow("learned_attention", "dev", 52.19, 52.19),
    PaperRow("learned_char3", "dev", 63.42, 60.31),
    PaperRow("learned_char7", "dev", 64.57, 61.49),
    PaperRow("learned_char9", "dev", None, None),
    PaperRow("learned_char7", "test", 62.53, 59.56),
)
# Datasets whose test questions are those of the paper's table, or the whole of which these are a half.
PAPER_DATASETS = ("rajpurkar/squad_v2",)
METRICS = {
    "exact": Metric("exact_match", "exact match"),
    "f1": Metric("f1", "F1"),
    "exact_at_threshold": Metric("exact_match", "exact match at the tuned no-answer threshold"),
    "f1_at_threshold": Metric("f1", "F1 at the tuned no-answer threshold"),
    "HasAns_exact": Metric("exact_match", "exact match, answerable questions"),
    "HasAns_f1": Metric("f1", "F1, answerable questions"),
    "NoAns_f1": Metric("f1", "F1, unanswerable questions"),
    "span_exact": Metric("exact_match", "exact match of the best span, answerable questions"),
    "span_f1": Metric("f1", "F1 of the best span, answerable questions"),
    "AvNA": Metric("accuracy", "answer against no answer"),
    "no_answer_auc": Metric("roc_auc", "AUC of the no-answer score (0 to 1)"),
    "always_no_answer": Metric("f1", "a reader that never answers", is_score=False),
    "nll": Metric("loss", "negative log-likelihood (nats)", is_score=False),
}

WITH_PACKAGE = """\
import ctxzoo  # registers the architecture
import torch
from ctxzoo.models.ops_answer import decode_answers
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(repo)
model = AutoModelForQuestionAnswering.from_pretrained(repo)
inputs = tokenizer(question, context, return_tensors="pt", return_offsets_mapping=True)
offsets = inputs.pop("offset_mapping")[0]
with torch.no_grad():
    outputs = model(**inputs)
best = decode_answers(outputs, inputs["attention_mask"], model.config.max_answer_length)
print(context[offsets[best.starts[0], 0] : offsets[best.ends[0], 1]])  # the best span"""

WITHOUT_PACKAGE = """\
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

options = {"trust_remote_code": True, "revision": "main"}  # better: the commit whose code you have read
tokenizer = AutoTokenizer.from_pretrained(repo, **options)
model = AutoModelForQuestionAnswering.from_pretrained(repo, **options)
with torch.no_grad():
    outputs = model(**tokenizer(question, context, return_tensors="pt"))
print(outputs.start_logits.softmax(dim=1))  # one probability for each word; position 0 stands for "no answer\""""

AS_PIPELINE = """\
from transformers import pipeline

reader = pipeline("question-answering", model=repo, trust_remote_code=True)
print(reader(question=question, context=context))"""


def find_untrained_positions(config: ZooConfig) -> tuple[int, int] | None:
    """Return the first and last position whose learned embedding no training example used.

    It is None if there is no such row, or if the checkpoint does not say what training reached (`trained_positions`).
    """
    trained = getattr(config, "trained_positions", None)
    if trained is None or getattr(config, "position_embedding", None) != "learned":
        return None
    rows = int(config.max_position_embeddings)
    return (trained, rows - 1) if rows > trained else None


class QuestionAnsweringCard(TaskCard):
    name = "question-answering"
    pipeline_tag = "question-answering"
    pipeline_at = "ctxzoo.models.pipeline_question_answering:QuestionAnsweringPipeline"
    title = "question answering"
    predictions = "answers"
    intended = "Finding where a given text answers a question, with a reader who sees the text beside the answer."
    not_intended = "Questions whose answer is not in the text, and answers that nobody checks against it."
    metrics = METRICS
    headline = ("f1", "exact")
    results_note = (
        "Percentages unless said otherwise, over the whole split, with the rules of the official SQuAD script."
    )
    curves = ("nll", "exact", "f1", "span_exact", "span_f1", "no_answer_auc")
    drawn: ClassVar = {"f1": "F1", "exact": "EM"}
    sample = make_sample_facts(
        "paragraphs of invented facts with questions about them, a third of them without an answer"
    )
    example_keys = ("question", "context", "answer", "score")
    pipeline_note = "It reads long texts in windows and gives character positions:"
    call = "question=..., context=..."

    def list_identity_rows(self, config: ZooConfig) -> list[list[str]]:
        """Return the rows of the first table of a model card, from the config."""
        return [["task", "extractive question answering, SQuAD " + str(getattr(config, "squad_version", "2.0"))]]

    def format_variant(self, result: RunResult) -> str:
        """Return the variant with the model's extensions, if it has any."""
        extensions = ", ".join(result.settings.get("extensions") or [])
        return super().format_variant(result) + (f" with {extensions}" if extensions else "")

    def describe_comparability(self, result: RunResult) -> str:
        """Return a table of the paper's scores beside a result on the paper's data; otherwise an empty text."""
        if result.dataset not in PAPER_DATASETS or result.architecture != "bidaf":
            return ""
        rows = [
            [row.variant, row.split, *("–" if value is None else f"{value:.2f}" for value in (row.f1, row.exact))]
            for row in PAPER
        ]
        rows = [row for row in rows if row[0] == result.variant]
        return format_card_table(["paper (Patel 2022)", "course split", "F1", "EM"], rows) if rows else ""

    def describe_data(self, result: RunResult) -> Iterable[str]:
        """Yield a line on the rows that the last part of the training saw."""
        if result.settings.get("finish_source"):
            yield f"the last part of the training saw rows of source `{result.settings['finish_source']}` only."

    def describe_limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        """Return sentences of a model card on the limits of the model."""
        if getattr(config, "squad_version", "2.0") == "1.1":
            yield "It was trained on answerable questions only and always answers, also where the text holds no answer."
        elif "NoAns_f1" in metrics and "HasAns_f1" in metrics:
            yield (
                f"Measured: F1 {metrics['HasAns_f1']:.2f} on answerable and {metrics['NoAns_f1']:.2f} on unanswerable "
                "questions; it is right about which of the two a question is in "
                f"{metrics.get('AvNA', 0):.2f} % of cases."
            )
        best = max((metrics[name] for name in ("f1", "f1_at_threshold") if name in metrics), default=None)
        if best is not None and best <= metrics.get("always_no_answer", -1):
            yield (
                f"Its F1 of {best:.2f} is not above the {metrics['always_no_answer']:.2f} of a reader that never "
                "answers: use the spans, not its choice of whether to answer."
            )
        if hasattr(config, "max_answer_length"):
            yield f"Answers are at most {config.max_answer_length} words long."
        positions = getattr(config, "trained_positions", None)
        trained = "" if positions is None else f"trained on texts of up to {positions - 1} words and "
        yield f"It was {trained}scored on up to {EVALUATION_LIMITS.context}; the pipeline reads longer ones in windows."
        untrained = find_untrained_positions(config)
        if untrained is not None:
            first, last = untrained
            yield f"Position rows {first} to {last} were never trained: expect less from words beyond them."

    def build_snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        """Return the example programs of a model card."""
        context = format_text_assignment("context", example["context"])
        output = format_prediction(example, ("score", "start", "end", "answer", "no_answer_score"))
        return Snippets(
            example=f"{format_repo_id_line(repo_id)}\nquestion = {example['question']!r}\n{context}",
            with_package=WITH_PACKAGE,
            without_package=WITHOUT_PACKAGE,
            as_pipeline=f"{AS_PIPELINE}\n# {output!r}",
        )

    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, str]) -> dict[str, Any]:
        """Answer the question of a card's example by the pipeline of transformers."""
        reader = self.build_pipeline(model, tokenizer)
        answer: dict[str, Any] = reader(question=inputs["question"], context=inputs["context"])
        return answer

    def parse_example(self, text: str) -> dict[str, Any]:
        """Split the text of `--example` at its first "|" into question and context."""
        question, between, context = text.partition("|")
        if not (between and question.strip() and context.strip()):
            raise ValueError(f'--example {text!r}: expected a question and its context, as "Who came? | Anna came."')
        return {"question": question.strip(), "context": context.strip()}

    def make_builtin_example(self, model: Any, tokenizer: Any) -> dict[str, Any]:
        """Return a question and a context for a card without data."""
        return {"question": "Where is the lamp?", "context": "The lamp is on the table, beside the window."}

    def pick_split_example(self, data: SquadDataModule, split: str) -> dict[str, Any]:
        """Return the first answerable question of a split."""
        rows = data.texts(split)
        row = next((number for number, answers in enumerate(rows["answers"]) if answers["text"]), 0)
        question, context, answers = (rows[row][name] for name in ("question", "context", "answers"))
        return {"question": question, "context": context, "gold": answers["text"]}

    def format_example(self, example: Mapping[str, Any]) -> list[str]:
        """Return two lines: the question and the predicted answer, with the gold answers."""
        answer = example["answer"] or "(no answer)"
        gold = f"   (gold: {' | '.join(example['gold'])})" if "gold" in example else ""
        return [f"question: {example['question']}", f"answer:   {answer}{gold}"]

    def describe_config(self, config: ZooConfig) -> Iterable[str]:
        """Return what `ctxzoo info` prints of a config beside its fields."""
        yield from describe_vocabulary(config)
        untrained = find_untrained_positions(config)
        if untrained is not None:
            first, last = untrained
            yield f"position rows {first} to {last} were never trained (training contexts end before them)"

    def draw_figures(
        self, task: QuestionAnsweringTask, data: SquadDataModule, example: Mapping[str, Any], folder: Path
    ) -> None:
        """Draw attention.png, the similarity of the example's question and context words."""
        inputs = data.tokenizer(
            example["question"], example["context"], return_tensors="pt", return_offsets_mapping=True, truncation=False
        ).to(task.model.device)
        offsets = inputs.pop("offset_mapping")[0].tolist()
        question_offsets = data.tokenizer(example["question"], return_offsets_mapping=True)["offset_mapping"]
        with torch.inference_mode():
            attentions = task.model(**inputs, output_attentions=True).attentions
        # The logarithm of S1 differs from S by a constant for each context word, which the figure's softmax removes.
        similarity = attentions[0][0].float().clamp(min=1e-30).log().cpu().numpy()
        answer = [
            index
            for index, (begin, end) in enumerate(offsets)
            if index > 0 and begin < example["end"] and end > example["start"]
        ]
        plot_similarity(
            similarity[1:, 1:],
            [example["context"][begin:end] for begin, end in offsets[1:]],
            [example["question"][begin:end] for begin, end in question_offsets],
            folder / "attention.png",
            title=f"{task.model.config.model_type}: which question words each context word attends to",
            highlight=(answer[0] - 1, answer[-1] - 1) if answer else None,
        )


CARD = QuestionAnsweringCard()
