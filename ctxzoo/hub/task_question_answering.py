"""Extractive question answering: its metrics, limits, programs and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ctxzoo.data.squad_batches import EVALUATION_LIMITS
from ctxzoo.evaluation.plots import plot_similarity
from ctxzoo.hub.card_facts import sample_facts
from ctxzoo.hub.card_snippets import Snippets, repo_line, shown_prediction, text_assignment
from ctxzoo.hub.inspection import untrained_positions
from ctxzoo.hub.task_facts import Metric, TaskFacts
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.pipeline_question_answering import QuestionAnsweringPipeline

if TYPE_CHECKING:
    from ctxzoo.data.squad_datamodule import SquadDataModule
    from ctxzoo.training.question_answering_task import QuestionAnsweringTask

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


def _identity(config: ZooConfig) -> list[list[str]]:
    return [["task", "extractive question answering, SQuAD " + str(getattr(config, "squad_version", "2.0"))]]


def _limits(config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
    if getattr(config, "squad_version", "2.0") == "1.1":
        yield "It was trained on answerable questions only and always answers, also where the text holds no answer."
    elif "NoAns_f1" in metrics and "HasAns_f1" in metrics:
        yield (
            f"Measured: F1 {metrics['HasAns_f1']:.2f} on answerable and {metrics['NoAns_f1']:.2f} on unanswerable "
            f"questions; it is right about which of the two a question is in {metrics.get('AvNA', 0):.2f} % of cases."
        )
    best = max((metrics[name] for name in ("f1", "f1_at_threshold") if name in metrics), default=None)
    if best is not None and best <= metrics.get("always_no_answer", -1):
        yield (
            f"Its F1 of {best:.2f} is not above the {metrics['always_no_answer']:.2f} of a reader that never answers: "
            "use the spans, not its choice of whether to answer."
        )
    if hasattr(config, "max_answer_length"):
        yield f"Answers are at most {config.max_answer_length} words long."
    places = getattr(config, "trained_positions", None)
    trained = "" if places is None else f"trained on texts of up to {places - 1} words and "
    yield f"It was {trained}scored on up to {EVALUATION_LIMITS.context}; the pipeline reads longer ones in windows."
    untrained = untrained_positions(config)
    if untrained is not None:
        yield f"Position rows {untrained[0]} to {untrained[1]} were never trained: expect less from words beyond them."


def _snippets(example: Mapping[str, Any], repo_id: str) -> Snippets:
    context = text_assignment("context", example["context"])
    shown = shown_prediction(example, ("score", "start", "end", "answer", "no_answer_score"))
    return Snippets(
        example=f"{repo_line(repo_id)}\nquestion = {example['question']!r}\n{context}",
        with_package=WITH_PACKAGE,
        without_package=WITHOUT_PACKAGE,
        as_pipeline=f"{AS_PIPELINE}\n# {shown!r}",
    )


def _predict(model: Any, tokenizer: Any, inputs: Mapping[str, str]) -> dict[str, Any]:
    reader = QuestionAnsweringPipeline(model=model, tokenizer=tokenizer)
    answer: dict[str, Any] = reader(question=inputs["question"], context=inputs["context"])
    return answer


def _split_example(data: SquadDataModule, split: str) -> dict[str, Any]:
    """The first answerable question of a split."""
    rows = data.texts(split)
    row = next((place for place, answers in enumerate(rows["answers"]) if answers["text"]), 0)
    question, context, answers = (rows[row][name] for name in ("question", "context", "answers"))
    return {"question": question, "context": context, "gold": answers["text"]}


def _example_lines(example: Mapping[str, Any]) -> list[str]:
    answer = example["answer"] or "(no answer)"
    gold = f"   (gold: {' | '.join(example['gold'])})" if "gold" in example else ""
    return [f"question: {example['question']}", f"answer:   {answer}{gold}"]


def _draw_attention(
    task: QuestionAnsweringTask, data: SquadDataModule, example: Mapping[str, Any], folder: Path
) -> None:
    """attention.png: S of the example as a picture, its answer marked."""
    inputs = data.tokenizer(
        example["question"], example["context"], return_tensors="pt", return_offsets_mapping=True, truncation=False
    ).to(task.model.device)
    offsets = inputs.pop("offset_mapping")[0].tolist()
    question_offsets = data.tokenizer(example["question"], return_offsets_mapping=True)["offset_mapping"]
    with torch.inference_mode():
        attentions = task.model(**inputs, output_attentions=True).attentions
    # The logarithm of S1 differs from S by a constant for each context word, which the figure's softmax takes out
    # again.
    similarity = attentions[0][0].float().clamp(min=1e-30).log().cpu().numpy()
    answer = [
        place
        for place, (begin, end) in enumerate(offsets)
        if place > 0 and begin < example["end"] and end > example["start"]
    ]
    plot_similarity(
        similarity[1:, 1:],
        [example["context"][begin:end] for begin, end in offsets[1:]],
        [example["question"][begin:end] for begin, end in question_offsets],
        folder / "attention.png",
        title=f"{task.model.config.model_type}: which question words each context word attends to",
        highlight=(answer[0] - 1, answer[-1] - 1) if answer else None,
    )


QUESTION_ANSWERING = TaskFacts(
    pipeline_tag="question-answering",
    auto_model="AutoModelForQuestionAnswering",
    title="question answering",
    predictions="answers",
    metrics=METRICS,
    results_note=(
        "Percentages unless said otherwise, over the whole split, with the rules of the official SQuAD script."
    ),
    curves=("nll", "exact", "f1", "span_exact", "span_f1", "no_answer_auc"),
    drawn={"f1": "F1", "exact": "EM"},
    sample=sample_facts("paragraphs of invented facts with questions about them, a third of them without an answer"),
    example_keys=("question", "context", "answer", "score"),
    identity=_identity,
    limits=_limits,
    snippets=_snippets,
    pipeline_note="It reads long texts in windows and gives character positions:",
    call="question=..., context=...",
    split_example=_split_example,
    predict=_predict,
    example_lines=_example_lines,
    draw_figures=_draw_attention,
)
