"""``ctxzoo.metrics.SquadV2`` for ``evaluate.load(folder)``, which needs no network; ctxzoo must be installed."""

from typing import Any

import datasets
import evaluate

# One import per line: evaluate reads this file with a scanner that knows no other form.
from ctxzoo.metrics import SquadV2

_DESCRIPTION = "SQuAD 2.0: exact match and F1 of extractive answers where some questions have none."
_CITATION = """@inproceedings{rajpurkar-etal-2018-know,
  title={Know What You Don't Know: Unanswerable Questions for {SQuAD}},
  author={Rajpurkar, Pranav and Jia, Robin and Liang, Percy},
  booktitle={Proceedings of ACL},
  year={2018}
}"""
_INPUTS = """Args:
    predictions: list of {"id", "prediction_text", "no_answer_probability"}.
    references: list of {"id", "answers": {"text": [...], "answer_start": [...]}}; no texts: unanswerable.
    no_answer_threshold: the no_answer_probability above which the prediction becomes "no answer" (default 1.0).
Returns:
    The keys of ctxzoo.metrics.SquadV2."""


class EvaluateSquadV2(evaluate.Metric):
    """A thin wrapper: every rule is in ``SquadV2``."""

    def _info(self) -> evaluate.MetricInfo:
        """Return description, citation and input columns of the metric, for the library evaluate."""
        answer = {"text": datasets.Value("string"), "answer_start": datasets.Value("int32")}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                {
                    "predictions": {
                        "id": datasets.Value("string"),
                        "prediction_text": datasets.Value("string"),
                        # float64, so that a probability is compared with the threshold as it was given.
                        "no_answer_probability": datasets.Value("float64"),
                    },
                    "references": {"id": datasets.Value("string"), "answers": datasets.Sequence(answer)},
                }
            ),
        )

    def _compute(
        self, predictions: list[dict[str, Any]], references: list[dict[str, Any]], no_answer_threshold: float = 1.0
    ) -> dict[str, float | int]:
        """Return the SQuAD 2.0 scores of all predictions, for the library evaluate."""
        # evaluate gathers the processes' inputs itself.
        metric = SquadV2(no_answer_threshold, sync_on_compute=False)
        metric.update(predictions, references)
        scores: dict[str, float | int] = metric.compute()
        return scores
