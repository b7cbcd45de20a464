"""Vote prediction: its metrics, limits and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ctxzoo.hub.card_facts import make_sample_facts
from ctxzoo.hub.card_parts import Snippets, format_repo_id_line, format_text_assignment
from ctxzoo.hub.task_card import Metric, TaskCard
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.ops_vote import NEW_BILL
from ctxzoo.results.result import RunResult

TEXT = "A bill to provide for the repair of roads and bridges, and for other purposes."
LISTED = 3  # legislators that the programs of a card show

WITH_PACKAGE = f"""\
from ctxzoo.tasks.vote_prediction import predict_votes

print([(name, round(yea, 4)) for name, yea in predict_votes(repo, text, bill)[:{LISTED}]])"""

WITHOUT_PACKAGE = f"""\
from transformers import AutoConfig
from transformers.dynamic_module_utils import get_class_from_dynamic_module

# It runs code of the repository: read it first, and name its commit as `revision` in both calls.
config = AutoConfig.from_pretrained(repo, trust_remote_code=True)
head = next(where for name, where in config.auto_map.items() if name.endswith("ForVotePrediction"))
model = get_class_from_dynamic_module(head, repo).from_pretrained(repo)
print([(name, round(yea, 4)) for name, yea in model.predict_votes(text, bill)[:{LISTED}]])"""


class VotePredictionCard(TaskCard):
    name = "vote-prediction"
    pipeline_at = "ctxzoo.tasks.vote_prediction.prediction:VotePipeline"
    title = "vote prediction"
    predictions = "votes"
    intended = "Studying how legislators of its training vote, from the votes of others and the text of a bill."
    not_intended = "Forecasts on which money or a reputation depends, and statements on what a legislator believes."
    metrics: ClassVar = {
        "accuracy": Metric("accuracy", "accuracy"),
        "log_likelihood": Metric("log_likelihood", "log-likelihood of a vote (nats)", decimals=4),
        "rmse": Metric("rmse", "root of the mean squared error", decimals=4),
        "mae": Metric("mae", "mean absolute error", decimals=4),
        "calibration_error": Metric("calibration_error", "expected calibration error", decimals=4),
    }
    headline = ("accuracy", "log_likelihood")
    results_note = (
        "Over the votes of the split, each of which counts alike: accuracy in percent; the others of the probability "
        "of a yea, whose calibration is taken in 15 bins. Log-likelihoods are better when higher, errors when lower. "
        "**Measured with known votes**: what a model reads of a bill is how others voted on it, by the votes of the "
        "training, and its text, where it reads texts. `ctxzoo evaluate` does so by itself where the data has a split "
        "`train`; elsewhere `--known FILE` gives such votes, to `ctxzoo predict` too. Without known votes "
        "(`--known none`) a model that reads them is less accurate."
    )
    curves = ("accuracy", "log_likelihood")
    drawn: ClassVar = {"accuracy": "accuracy (%)", "log_likelihood": "log-likelihood (nats)"}
    sample = make_sample_facts("a chamber of two parties that votes on bills, whose texts say to whom they lean")
    own_example: ClassVar = {"text": TEXT}
    example_keys = ("text", "bill", "votes")

    def list_identity_rows(self, config: ZooConfig) -> list[list[str]]:
        """Return the rows of the first table of a model card, from the config."""
        return [
            ["task", "how each legislator votes on a bill"],
            ["input", "`bag_of_words` (bills, words) counts; `bill_ids`, or -1 for a new one; `votes` that are known"],
        ]

    def describe_data(self, result: RunResult) -> Iterable[str]:
        """Yield a line on what of a bill's text is an input."""
        yield (
            "texts are read as bags of words, without stop words and without words that tell how a vote ended; no "
            "count of "
            "votes, no result and no score that others computed from votes is an input."
        )

    def describe_limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        """Return sentences of a model card on the limits of the model."""
        yield "It knows the legislators of its training by their names, and no others."
        yield "Votes follow parties and leaders; a legislator who changes sides is predicted by the votes before."
        if getattr(config, "ideal_point_errors", None) is not None:
            yield (
                "Ideal points (`ctxzoo predict CHECKPOINT --ideal_points points.csv`, `ideal_points` of the config) "
                "are positions on one axis, scaled to mean 0 and deviation 1; their standard errors are by Laplace's "
                "approximation from the training votes, and too small where the model has several axes, texts or a "
                "network, which are held."
            )
        yield "It was trained on roll calls that took place, and says nothing of bills that never came to a vote."

    def build_snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        """Return the example programs of a model card."""
        bill = example["bill"]
        of = "a new one, on which no vote is known" if bill == NEW_BILL else "of the training, by its name"
        text = format_text_assignment("text", example["text"])
        return Snippets(
            example=f"{format_repo_id_line(repo_id)}\n{text}\nbill = {bill!r}  # {of}",
            with_package=f"{WITH_PACKAGE}\n# {_format_votes(example['votes'])}",
            without_package=WITHOUT_PACKAGE,
        )

    def parse_example(self, text: str) -> dict[str, Any]:
        """Return the text of `--example` as the text of a new bill."""
        return {"text": text}

    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return (name, probability of a yea) of the first legislators, `votes`, and the `bill`.

        A model that reads no texts of new bills is asked for the first one of its training.
        """
        bill = NEW_BILL if model.reads_new_bills else model.config.get_bill_names()[0]
        votes = model.predict_votes(inputs["text"], bill)[:LISTED]
        return {"votes": [[name, round(yea, 4)] for name, yea in votes], "bill": bill}

    def format_example(self, example: Mapping[str, Any]) -> list[str]:
        """Return a line with a bill and how likely some legislators say yea to it."""
        votes = ", ".join(f"{name} {yea:.2f}" for name, yea in example["votes"])
        what = repr(example["text"]) if example["bill"] == NEW_BILL else f"bill {example['bill']}"
        return [f"how likely is a yea to {what}: {votes}"]

    def describe_config(self, config: ZooConfig) -> Iterable[str]:
        """Return what `ctxzoo info` prints of a config beside its fields."""
        yield (
            f"legislators: {getattr(config, 'num_legislators', 0):,}; bills of the training: "
            f"{getattr(config, 'num_bills', 0):,}; words: {getattr(config, 'vocab_size', 0):,}"
        )


def _format_votes(votes: Any) -> str:
    """Return votes as the text of a list of tuples."""
    return str([tuple(vote) for vote in votes])


CARD = VotePredictionCard()
