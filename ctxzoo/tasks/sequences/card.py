"""Session recommendation and next event: their metrics, limits and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from ctxzoo.hub.card_facts import make_sample_facts
from ctxzoo.hub.card_parts import Snippets, format_repo_id_line
from ctxzoo.hub.task_card import Metric, TaskCard
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.results.result import RunResult
from ctxzoo.tasks.sequences.experiments import LONGEST_LIST
from ctxzoo.tasks.sequences.kinds import HISTORIES, SESSIONS, TIMES, SequenceKind

LISTED = 3  # things that the programs of a card show
GAPS = (0.0, 1.0, 1.5)  # of the times of the example, in the model's unit
DRAWN_ITEMS, DRAWN_EVENTS = 40, 60  # of drift.png and time_kernel.png
LOADED_WITHOUT_PACKAGE = """\
from transformers import AutoConfig
from transformers.dynamic_module_utils import get_class_from_dynamic_module

# It runs code of the repository: read it first, and name its commit as `revision` in both calls.
config = AutoConfig.from_pretrained(repo, trust_remote_code=True)
head = next(where for name, where in config.auto_map.items() if name.endswith("{head}"))
model = get_class_from_dynamic_module(head, repo).from_pretrained(repo)"""


DIVIDED = {  # what a card says of the way in which a user's own data was divided
    "time": "divided by time: the last tenth of all {things} is test, the tenth before it validation; each is "
    "predicted from all that came before in its {one}.",
    "leave_one_out": "divided by leaving out: the last of the {things} of each {one} is test, the one before it "
    "validation.",
}
RANKED = {"recall": "recall", "mrr": "MRR", "ndcg": "NDCG"}  # scores of lists, and what readers see


def _add_metrics_of_known_targets(first_scores: Mapping[str, Metric], things: str) -> dict[str, Metric]:
    """Return the metrics to show, lists of other lengths behind the usual ones, with the loss and with the scores over
    known targets alone.
    """
    others = {
        f"{name}_at_{k}": Metric(name, f"{title}@{k}")
        for k in range(1, LONGEST_LIST + 1)
        for name, title in RANKED.items()
    }
    scores = {**first_scores, **{name: one for name, one in others.items() if name not in first_scores}}
    known_metrics = {
        f"{name}_known": Metric(score.hub_type, f"{score.name}, known {things} alone", is_score=False)
        for name, score in scores.items()
    }
    return {**scores, "nll": Metric("loss", "negative log-likelihood (nats)", is_score=False), **known_metrics}


class SequenceCard(TaskCard):
    """What is written about a model of sequences.

    Attributes:
        kind: Kind of sequence: sessions of items, or histories of timed events.
        function: Name of the prediction function, in the problem's package and as a method of the model, such as
            "recommend".
        package: Import path of the problem's package, named in example code.
        head: Ending of the class name of the model head, such as "ForNextItem".
    """

    kind: ClassVar[SequenceKind]
    function: ClassVar[str]
    package: ClassVar[str]
    head: ClassVar[str]

    def describe_data(self, result: RunResult) -> Iterable[str]:
        """Yield lines on the longest history that a prediction sees, and on targets unknown to the training."""
        longest = result.settings.get("max_length")
        if longest:
            yield f"a prediction sees the last {longest} {self.kind.things} of its {self.kind.one} at most."
        divided = DIVIDED.get(result.settings.get("split", ""))
        if divided:
            yield divided.format(things=self.kind.things, one=self.kind.one)
        least = [result.settings.get(name, 1) for name in ("min_item_count", "min_session_length")]
        if max(least) > 1:
            yield (
                f"left out of the training data: {self.kind.things} that stand there fewer than {least[0]} times, and "
                f"{self.kind.several} of fewer than {least[1]}, until neither was left."
            )
        metrics, split = result.metrics, result.split
        unknown = int(metrics.get(f"{split}/unknown_targets", 0))
        if unknown:
            are_misses = any(name.endswith("_known") for name in metrics)
            yield (
                f"{unknown:,} of the {int(metrics[f'{split}/targets']):,} {self.kind.things} to predict in {split} are "
                "not in the training, or nothing known is before them: they "
                f"{'are misses' if are_misses else 'are left out of the scores'}."
            )

    def build_snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        """Return the example programs of a model card."""
        *input_names, output_name = self.example_keys
        first, *other_lines = (f"{name} = {example[name]}" for name in input_names)
        first_line = f"{first}  # names of {self.kind.things}, as in the training data"
        shown, arguments = "print([name for name, probability in {}" + f"[:{LISTED}]])", ", ".join(input_names)
        with_package = shown.format(f"{self.function}(repo, {arguments})")
        without_package = shown.format(f"model.{self.function}({arguments})")
        return Snippets(
            example="\n".join((format_repo_id_line(repo_id), first_line, *other_lines)),
            with_package=f"from {self.package} import {self.function}\n\n{with_package}\n# {example[output_name]}",
            without_package=f"{LOADED_WITHOUT_PACKAGE.format(head=self.head)}\n{without_package}",
        )

    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what comes next after an example's history, and the history, under the keys in `example_keys`."""
        names = model.config.get_row_names()
        arguments: list[list[Any]] = [[names[min(row, len(names)) - 1] for row in inputs["history"]]]
        if TIMES in self.example_keys:
            arguments.append([gap * model.config.time_unit for gap in GAPS[: len(arguments[0])]])
        predictions = getattr(model, self.function)(*arguments)[:LISTED]
        return dict(zip(self.example_keys, (*arguments, [name for name, _ in predictions]), strict=True))

    def format_example(self, example: Mapping[str, Any]) -> list[str]:
        """Return a line with a history and the names predicted after it."""
        found = ", ".join(example[self.example_keys[-1]])
        return [f"after the {self.kind.things} {example['history']}: {found}"]

    def describe_config(self, config: Any) -> Iterable[str]:
        """Return what `ctxzoo info` prints of a config beside its fields."""
        named = "" if getattr(config, self.kind.names_argument, None) is None else ", with their names"
        yield f"{self.kind.things}: {len(config.get_row_names()):,}{named}"


def _find_longest_sequence(data: Any) -> Any:
    """Return the longest sequence of validation, or of train without validation data."""
    return max(data.sequences("validation" if "validation" in data.splits else "train"), key=len)


class SessionRecommendationCard(SequenceCard):
    name = "session-recommendation"
    pipeline_at = "ctxzoo.tasks.sequences.prediction:SessionPipeline"
    title = "session recommendation"
    predictions = "recommendations"
    intended = (
        "Recommending from the items of its training to a session that has just begun, and comparing models "
        "of sessions."
    )
    not_intended = (
        "Items that it was not trained on, and users whose earlier sessions ought to count: it knows the "
        "running one alone."
    )
    kind, function, head = SESSIONS, "recommend", "ForNextItem"
    package = "ctxzoo.tasks.session_recommendation"
    metrics: ClassVar = _add_metrics_of_known_targets(
        {
            "recall_at_20": Metric("recall", "recall@20"),
            "mrr_at_20": Metric("mrr", "MRR@20"),
            "recall_at_10": Metric("recall", "recall@10"),
            "mrr_at_10": Metric("mrr", "MRR@10"),
        },
        "items",
    )
    headline = ("recall_at_20", "mrr_at_20")
    results_note = (
        "In percent, over every item of every session but the first, ranked among all items from those before it: how "
        "often it is among the k highest scores (also called hit rate), and the means of 1 / rank (MRR) and of 1 / "
        "log2(1 + rank) (NDCG), 0 beyond k. Items with the same score stand before the right one."
    )
    curves = ("recall_at_20", "mrr_at_20", "nll")
    drawn: ClassVar = {"recall_at_20": "recall@20 (%)", "mrr_at_20": "MRR@20 (%)"}
    sample = make_sample_facts("people who look through shelves of things, mostly in one order")
    own_example: ClassVar = {"history": [1, 2, 3]}
    example_keys = ("history", "recommended")

    def list_identity_rows(self, config: ZooConfig) -> list[list[str]]:
        """Return the rows of the first table of a model card, from the config."""
        return [
            ["task", "which item comes next in a session"],
            ["input", "`input_ids` (batch, steps), items from 1 in the order of time; names by `recommend`"],
        ]

    def describe_limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        """Return sentences of a model card on the limits of the model."""
        yield "It knows the items of its training data by their names, and no others; a new item needs a new training."
        yield "It knows a person by one session alone, and neither the time between items nor what they are about."
        yield (
            "It was trained on what people came to next, not on what would have served them: what is popular, and what "
            "stood beside it in a list, is recommended more."
        )

    def draw_figures(self, task: Any, data: Any, example: Mapping[str, Any], folder: Path) -> None:
        """Draw drift.png, the drift gate along the longest session of validation, where the model has such a gate."""
        from ctxzoo.tasks.sequences.pictures import draw_drift

        if getattr(task.model.config, "version", 1) != 1:
            history = [
                task.model.config.get_row_name(row) for row in _find_longest_sequence(data)[:DRAWN_ITEMS].tolist()
            ]
            draw_drift(task.model, history, folder / "drift.png")


class NextEventCard(SequenceCard):
    name = "next-event"
    pipeline_at = "ctxzoo.tasks.sequences.prediction:EventPipeline"
    title = "next event"
    predictions = "events"
    intended = "Predicting which event comes next in a history of events at times, and comparing encodings of time."
    not_intended = "Events that it was not trained on, and when the next event comes: it tells which alone."
    kind, function, head = HISTORIES, "next_events", "ForNextEvent"
    package = "ctxzoo.tasks.next_event"
    metrics: ClassVar = _add_metrics_of_known_targets(
        {
            "recall_at_1": Metric("accuracy", "recall@1"),
            "recall_at_5": Metric("recall", "recall@5"),
            "recall_at_20": Metric("recall", "recall@20"),
            "mrr_at_20": Metric("mrr", "MRR@20"),
        },
        "events",
    )
    headline = ("recall_at_1", "mrr_at_20")
    results_note = (
        "In percent, over every event of every history but the first, ranked among all kinds of events from those "
        "before it and their times: how often it is among the k highest scores, and the means of 1 / rank (MRR) and "
        "of 1 / log2(1 + rank) (NDCG), 0 beyond k. Events with the same score stand before the right one."
    )
    curves = ("recall_at_1", "mrr_at_20", "nll")
    drawn: ClassVar = {"recall_at_1": "recall@1 (%)", "mrr_at_20": "MRR@20 (%)"}
    sample = make_sample_facts("people who care for plants, whose pauses say what comes next")
    own_example: ClassVar = {"history": [1, 2, 1]}
    example_keys = ("history", TIMES, "next")

    def list_identity_rows(self, config: ZooConfig) -> list[list[str]]:
        """Return the rows of the first table of a model card, from the config."""
        read = "`input_ids` (batch, steps), events from 1; `timestamps` (batch, steps) float64, which do not fall"
        return [["task", "which event comes next in a history of events at times"], ["input", read]]

    def describe_limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        """Return sentences of a model card on the limits of the model."""
        yield "It knows the kinds of events of its training data by their names, and no others."
        yield "It says which event comes next, not when."
        yield "Times must be in the unit of the training data: a clock that runs otherwise means something else to it."

    def draw_figures(self, task: Any, data: Any, example: Mapping[str, Any], folder: Path) -> None:
        """Draw time_kernel.png, the kernel of LSTE over the longest history of validation, where the model has one."""
        from ctxzoo.tasks.sequences.pictures import draw_time_kernel

        if task.model.config.position == "lste":
            history = _find_longest_sequence(data)
            events = [task.model.config.get_row_name(row) for row in history.events[:DRAWN_EVENTS].tolist()]
            draw_time_kernel(task.model, events, history.times[:DRAWN_EVENTS].tolist(), folder / "time_kernel.png")


SESSION_CARD, EVENT_CARD = SessionRecommendationCard(), NextEventCard()
