"""Next event: its metrics, limits and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from ctxzoo.hub.card_facts import sample_facts
from ctxzoo.hub.card_parts import Snippets, repo_line
from ctxzoo.hub.task_card import Metric, TaskCard
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.results.result import RunResult
from ctxzoo.tasks.next_event.kernel_picture import draw_time_kernel
from ctxzoo.training.next_item_scores import unknown_targets_sentence

EXAMPLE = (1, 2, 1)  # rows of the events whose names are the history of a card's programs
GAPS = (0.0, 1.0, 1.5)  # of the times of the example, in the model's unit
LISTED = 3  # events that the programs of a card show
DRAWN = 60  # events of time_kernel.png

WITH_PACKAGE = f"""\
from ctxzoo.tasks.next_event import next_events

print([name for name, probability in next_events(repo, history, timestamps)[:{LISTED}]])"""

WITHOUT_PACKAGE = f"""\
from transformers import AutoConfig
from transformers.dynamic_module_utils import get_class_from_dynamic_module

# It runs code of the repository: read it first, and name its commit as `revision` in both calls.
config = AutoConfig.from_pretrained(repo, trust_remote_code=True)
head = next(where for name, where in config.auto_map.items() if name.endswith("ForNextEvent"))
model = get_class_from_dynamic_module(head, repo).from_pretrained(repo)
print([name for name, probability in model.next_events(history, timestamps)[:{LISTED}]])"""


class NextEventCard(TaskCard):
    name = "next-event"
    title = "next event"
    predictions = "events"
    metrics: ClassVar = {
        "recall_at_1": Metric("accuracy", "recall@1"),
        "recall_at_5": Metric("recall", "recall@5"),
        "recall_at_20": Metric("recall", "recall@20"),
        "mrr_at_20": Metric("mrr", "MRR@20"),
        "nll": Metric("loss", "negative log-likelihood (nats)", is_score=False),
        "recall_at_1_known": Metric("accuracy", "recall@1, known events alone", is_score=False),
        "recall_at_5_known": Metric("recall", "recall@5, known events alone", is_score=False),
        "recall_at_20_known": Metric("recall", "recall@20, known events alone", is_score=False),
        "mrr_at_20_known": Metric("mrr", "MRR@20, known events alone", is_score=False),
    }
    headline = ("recall_at_1", "mrr_at_20")
    results_note = (
        "In percent, over every event of every history but the first, ranked among all kinds of events from those "
        "before it and their times: how often it is among the k highest scores, and the mean of 1 / rank, 0 beyond k. "
        "Events with the same score stand before the right one."
    )
    curves = ("recall_at_1", "mrr_at_20", "nll")
    drawn: ClassVar = {"recall_at_1": "recall@1 (%)", "mrr_at_20": "MRR@20 (%)"}
    sample = sample_facts("people who care for plants, whose pauses say what comes next")
    own_example: ClassVar = {"history": list(EXAMPLE)}
    example_keys = ("history", "timestamps", "next")

    def identity(self, config: ZooConfig) -> list[list[str]]:
        return [
            ["task", "which event comes next in a history of events at times"],
            [
                "input",
                "`input_ids` (batch, steps), events from 1; `timestamps` (batch, steps) float64, which do not fall",
            ],
        ]

    def data_lines(self, result: RunResult) -> Iterable[str]:
        longest = result.settings.get("max_length")
        if longest:
            yield f"a prediction sees the last {longest} events of its history at most."
        yield from unknown_targets_sentence(result.metrics, result.split, "events")

    def limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        yield "It knows the kinds of events of its training data by their names, and no others."
        yield "It says which event comes next, not when."
        yield "Times must be in the unit of the training data: a clock that runs otherwise means something else to it."

    def snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        history = f"history = {example['history']}  # names of events, as in the training data"
        told = f"{history}\ntimestamps = {example['timestamps']}"
        return Snippets(
            example=f"{repo_line(repo_id)}\n{told}",
            with_package=f"{WITH_PACKAGE}\n# {example['next']}",
            without_package=WITHOUT_PACKAGE,
        )

    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the names of the likeliest next events, `next`, after `history` and `timestamps` of the example."""
        names = model.config.names()
        history = [names[min(row, len(names)) - 1] for row in inputs["history"]]
        times = [gap * model.config.time_unit for gap in GAPS[: len(history)]]
        found = model.next_events(history, times)[:LISTED]
        return {"history": history, "timestamps": times, "next": [name for name, _ in found]}

    def example_lines(self, example: Mapping[str, Any]) -> list[str]:
        return [f"after the events {example['history']}: {', '.join(example['next'])}"]

    def draw_figures(self, task: Any, data: Any, example: Mapping[str, Any], folder: Path) -> None:
        """Draw time_kernel.png, the kernel of LSTE over the longest history of validation, where the model has one."""
        if task.model.config.position != "lste":
            return
        history = max(data.sequences("validation" if "validation" in data.splits else "train"), key=len)
        events = [task.model.config.name_of(row) for row in history.events[:DRAWN].tolist()]
        times = history.times[:DRAWN].tolist()
        draw_time_kernel(task.model, events, times, folder / "time_kernel.png")

    def info_lines(self, config: ZooConfig) -> Iterable[str]:
        named = "" if getattr(config, "event_names", None) is None else ", with their names"
        yield f"events: {config.vocab_size - 1:,}{named}"


CARD = NextEventCard()
