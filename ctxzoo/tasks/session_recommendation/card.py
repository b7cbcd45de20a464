"""Session recommendation: its metrics, limits and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from ctxzoo.hub.card_facts import sample_facts
from ctxzoo.hub.card_parts import Snippets, repo_line
from ctxzoo.hub.task_card import Metric, TaskCard
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.results.result import RunResult
from ctxzoo.tasks.session_recommendation.drift_picture import draw_drift
from ctxzoo.training.next_item_scores import unknown_targets_sentence

EXAMPLE = (1, 2, 3)  # rows of the items whose names are the history of a card's programs
LISTED = 3  # items that the programs of a card show
DRAWN = 40  # steps of drift.png

WITH_PACKAGE = f"""\
from ctxzoo.tasks.session_recommendation import recommend

print([name for name, probability in recommend(repo, history)[:{LISTED}]])"""

WITHOUT_PACKAGE = f"""\
from transformers import AutoConfig
from transformers.dynamic_module_utils import get_class_from_dynamic_module

# It runs code of the repository: read it first, and name its commit as `revision` in both calls.
config = AutoConfig.from_pretrained(repo, trust_remote_code=True)
head = next(where for name, where in config.auto_map.items() if name.endswith("ForNextItem"))
model = get_class_from_dynamic_module(head, repo).from_pretrained(repo)
print([name for name, probability in model.recommend(history)[:{LISTED}]])"""


class SessionRecommendationCard(TaskCard):
    name = "session-recommendation"
    title = "session recommendation"
    predictions = "recommendations"
    metrics: ClassVar = {
        "recall_at_20": Metric("recall", "recall@20"),
        "mrr_at_20": Metric("mrr", "MRR@20"),
        "recall_at_10": Metric("recall", "recall@10"),
        "mrr_at_10": Metric("mrr", "MRR@10"),
        "nll": Metric("loss", "negative log-likelihood (nats)", is_score=False),
        "recall_at_20_known": Metric("recall", "recall@20, known items alone", is_score=False),
        "mrr_at_20_known": Metric("mrr", "MRR@20, known items alone", is_score=False),
        "recall_at_10_known": Metric("recall", "recall@10, known items alone", is_score=False),
        "mrr_at_10_known": Metric("mrr", "MRR@10, known items alone", is_score=False),
    }
    headline = ("recall_at_20", "mrr_at_20")
    results_note = (
        "In percent, over every item of every session but the first, ranked among all items from those before it: how "
        "often it is among the k highest scores, and the mean of 1 / rank, 0 beyond k. Items with the same score stand "
        "before the right one."
    )
    curves = ("recall_at_20", "mrr_at_20", "nll")
    drawn: ClassVar = {"recall_at_20": "recall@20 (%)", "mrr_at_20": "MRR@20 (%)"}
    sample = sample_facts("people who look through shelves of things, mostly in one order")
    own_example: ClassVar = {"history": list(EXAMPLE)}
    example_keys = ("history", "recommended")

    def identity(self, config: ZooConfig) -> list[list[str]]:
        return [
            ["task", "which item comes next in a session"],
            ["input", "`input_ids` (batch, steps), items from 1 in the order of time; names by `recommend`"],
        ]

    def data_lines(self, result: RunResult) -> Iterable[str]:
        longest = result.settings.get("max_length")
        if longest:
            yield f"a prediction sees the last {longest} items of its session at most."
        yield from unknown_targets_sentence(result.metrics, result.split, "items")

    def limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        yield "It knows the items of its training data by their names, and no others; a new item needs a new training."
        yield "It knows a person by one session alone, and neither the time between items nor what they are about."
        yield (
            "It was trained on what people came to next, not on what would have served them: what is popular, and what "
            "stood beside it in a list, is recommended more."
        )

    def snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        return Snippets(
            example=f"{repo_line(repo_id)}\nhistory = {example['history']}  # names of items, as in the training data",
            with_package=f"{WITH_PACKAGE}\n# {example['recommended']}",
            without_package=WITHOUT_PACKAGE,
        )

    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the likeliest next items, `recommended`, and the `history` of the model's first items before them."""
        names = model.config.names()
        history = [names[min(row, len(names)) - 1] for row in inputs["history"]]
        return {"history": history, "recommended": [name for name, _ in model.recommend(history)[:LISTED]]}

    def example_lines(self, example: Mapping[str, Any]) -> list[str]:
        return [f"after the items {example['history']}: {', '.join(example['recommended'])}"]

    def draw_figures(self, task: Any, data: Any, example: Mapping[str, Any], folder: Path) -> None:
        """Draw drift.png, the drift gate along the longest session of validation, where the model has such a gate."""
        if getattr(task.model.config, "version", 1) == 1:
            return
        session = max(data.sequences("validation" if "validation" in data.splits else "train"), key=len)
        history = [task.model.config.name_of(row) for row in session[:DRAWN].tolist()]
        draw_drift(task.model, history, folder / "drift.png")

    def info_lines(self, config: ZooConfig) -> Iterable[str]:
        named = "" if getattr(config, "item_names", None) is None else ", with their names"
        yield f"items: {config.num_items:,}{named}"


CARD = SessionRecommendationCard()
