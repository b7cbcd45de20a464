"""SQuAD 2.0 scores as a torchmetrics metric (Rajpurkar et al. 2018, arXiv:1806.03822)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.data import dim_zero_cat

from ctxzoo.metrics.squad_text import compute_exact_match_and_f1

_IDS_SHOWN = 5


class SquadV2(Metric):
    """Exact match and F1 of extractive answers where some questions have none.

    Takes what ``evaluate``'s ``squad_v2`` takes and returns its keys, with the meaning of SQuAD 2.0's evaluation
    script. A question whose ``no_answer_probability`` lies above ``no_answer_threshold`` counts as answered by the
    empty string. ``compute`` returns Python numbers:

    - ``exact``, ``f1`` (percent) and ``total`` (questions);
    - the same with the prefix ``HasAns_`` and ``NoAns_``, where there are such questions;
    - ``best_exact``, ``best_f1`` (percent) and the thresholds ``best_exact_thresh``, ``best_f1_thresh`` that reach
      them: the script's walk over the questions by rising ``no_answer_probability``. Like the script, the walk may
      stop between questions of equal probability, which it visits in the order of the predictions (with several
      processes: one process after the other);
    - ``AvNA`` (percent): how often the prediction is empty exactly when the question is unanswerable, after the
      threshold;
    - ``no_answer_auc`` (0 to 1), where both kinds of question are there: see ``no_answer_auc``.

    Several processes: examples that a distributed sampler repeated on another process count once. Within one process
    a repeated id is an error.

    Args:
        no_answer_threshold: The ``no_answer_probability`` above which the prediction becomes "no answer". With the
            default 1.0, probabilities never change a prediction.
        **kwargs: The options of ``torchmetrics.Metric``, such as ``sync_on_compute``.

    Raises:
        ValueError: ``no_answer_threshold`` is NaN.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False

    raw_exact: list[Tensor] | Tensor
    raw_f1: list[Tensor] | Tensor
    no_answer_probability: list[Tensor] | Tensor
    has_answer: list[Tensor] | Tensor
    is_empty: list[Tensor] | Tensor
    id_hash: list[Tensor] | Tensor

    def __init__(self, no_answer_threshold: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if math.isnan(no_answer_threshold):
            raise ValueError("no_answer_threshold is NaN; give the no_answer_probability above which to abstain")
        self.no_answer_threshold = float(no_answer_threshold)
        for name in self._state_dtypes():
            self.add_state(name, default=[], dist_reduce_fx="cat")
        self._ids_seen: set[str] = set()

    def update(self, predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]) -> None:
        """Score some questions. Predictions and references are matched by id; their order may differ.

        Args:
            predictions: Mappings with ``id`` (str), ``prediction_text`` (str, empty for "no answer") and
                ``no_answer_probability`` (a finite number; any score that rises with "no answer" will do).
            references: Mappings with ``id`` (str) and ``answers``: ``{"text": [...], "answer_start": [...]}`` or a
                list of ``{"text": ..., "answer_start": ...}``. No texts: the question is unanswerable.

        Raises:
            ValueError: an id is repeated, here or since the last reset, or lacks its prediction or reference; a field
                is missing; a probability is not finite.
            TypeError: a field has the wrong type.
        """
        questions = _match_predictions_to_references(predictions, references)
        self._refuse_repeated_questions(questions, self._ids_seen)
        scores = [compute_exact_match_and_f1(question.prediction, question.golds) for question in questions]
        columns: dict[str, list[Any]] = {
            "raw_exact": [exact for exact, _ in scores],
            "raw_f1": [f1 for _, f1 in scores],
            "no_answer_probability": [question.no_answer_probability for question in questions],
            "has_answer": [bool(question.golds) for question in questions],
            "is_empty": [not question.prediction for question in questions],
            "id_hash": [hash_question_id(question.id) for question in questions],
        }
        for name, dtype in self._state_dtypes().items():
            getattr(self, name).append(torch.tensor(columns[name], dtype=dtype, device=self.device))
        self._ids_seen.update(question.id for question in questions)

    def forward(
        self, predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]
    ) -> dict[str, float | int]:
        """Add predictions and references like `update`, and return the scores of these questions alone."""
        # torchmetrics resets the metric inside forward and puts back only the states: the ids are kept here.
        earlier = self._ids_seen
        self._refuse_repeated_questions(_match_predictions_to_references(predictions, references), earlier)
        scores: dict[str, float | int] = super().forward(predictions, references)
        earlier.update(self._ids_seen)
        self._ids_seen = earlier
        return scores

    def compute(self) -> dict[str, float | int]:
        """Return the scores over every question seen since the last reset (keys: see the class).

        Raises:
            ValueError: no question was seen.
        """
        columns = self._collect_state_lists()
        total = len(columns["id_hash"])
        if total == 0:
            raise ValueError("SquadV2 has no questions to score; call update with predictions and references first")
        has_answer = [bool(value) for value in columns["has_answer"]]
        probability = columns["no_answer_probability"]
        abstains = [value > self.no_answer_threshold for value in probability]
        exact = _score_abstentions(columns["raw_exact"], abstains, has_answer)
        f1 = _score_abstentions(columns["raw_f1"], abstains, has_answer)
        result: dict[str, float | int] = _compute_mean_scores("", exact, f1, [True] * total)
        if any(has_answer):
            result |= _compute_mean_scores("HasAns_", exact, f1, has_answer)
        if not all(has_answer):
            result |= _compute_mean_scores("NoAns_", exact, f1, [not value for value in has_answer])
        for name in ("exact", "f1"):
            best, threshold = _find_best_threshold(columns[f"raw_{name}"], columns["is_empty"], has_answer, probability)
            result |= {f"best_{name}": best, f"best_{name}_thresh": threshold}
        says_no_answer = [empty or abstain for empty, abstain in zip(columns["is_empty"], abstains, strict=True)]
        agreeing = sum(bool(no) != has for no, has in zip(says_no_answer, has_answer, strict=True))
        result["AvNA"] = 100.0 * agreeing / total
        if any(has_answer) and not all(has_answer):
            result["no_answer_auc"] = no_answer_auc(probability, has_answer)
        return result

    def reset(self) -> None:
        """Forget every question scored so far."""
        super().reset()
        self._ids_seen = set()

    def _state_dtypes(self) -> dict[str, torch.dtype]:
        """Return the type of each state's numbers, on the device of the metric."""
        # MPS has no float64. uint8 for the flags: not every collective takes bool.
        score_dtype = torch.float32 if torch.device(self.device).type == "mps" else torch.float64
        return {
            "raw_exact": score_dtype,
            "raw_f1": score_dtype,
            "no_answer_probability": score_dtype,
            "has_answer": torch.uint8,
            "is_empty": torch.uint8,
            "id_hash": torch.int64,
        }

    def _sync_dist(self, dist_sync_fn: Callable[..., Any] | None = None, process_group: Any | None = None) -> None:
        """Gather the states of all processes, also of those that have scored no question."""
        # torchmetrics stands in float32 for the states of a process without questions; gathered with the other
        # processes' float64 and int64 that fails or yields garbage. An empty tensor of the right type does not.
        for name, dtype in self._state_dtypes().items():
            if isinstance(getattr(self, name), list) and not getattr(self, name):
                setattr(self, name, [torch.empty(0, dtype=dtype, device=self.device)])
        if dist_sync_fn is None:
            super()._sync_dist(process_group=process_group)
        else:
            super()._sync_dist(dist_sync_fn, process_group=process_group)

    def _collect_state_lists(self) -> dict[str, list[Any]]:
        """Return each state as a list with one entry for each distinct question, in the order they first came."""
        if isinstance(self.id_hash, list) and not self.id_hash:
            return {name: [] for name in self._state_dtypes()}
        first_row: dict[int, int] = {}
        for row, value in enumerate(dim_zero_cat(self.id_hash).tolist()):
            first_row.setdefault(value, row)
        rows = torch.tensor(list(first_row.values()), dtype=torch.int64)
        return {name: dim_zero_cat(getattr(self, name)).cpu()[rows].tolist() for name in self._state_dtypes()}

    @staticmethod
    def _refuse_repeated_questions(questions: Sequence[_Question], scored_ids: set[str]) -> None:
        """Raise `ValueError` for questions whose id has been scored since the last reset."""
        repeated = [question.id for question in questions if question.id in scored_ids]
        if repeated:
            raise ValueError(
                f"already scored since the last reset: {_format_ids(repeated)}; each question counts once, so pass it "
                "once and call reset() before scoring the split again"
            )


def no_answer_auc(no_answer_probability: Sequence[float] | Tensor, has_answer: Sequence[bool] | Tensor) -> float:
    """Return the area under the ROC curve when no-answer probabilities detect unanswerable questions.

    It is the chance, 0 to 1, that a random unanswerable question has a higher score than a random answerable one; equal
    scores count one half.

    Args:
        no_answer_probability: (questions,) finite scores, higher for "no answer".
        has_answer: (questions,) booleans, whether the question has an answer.

    Raises:
        ValueError: the shapes differ or are not one-dimensional, a score is not finite, or one of the two kinds of
            question is missing.
    """
    device = "cpu"  # some accelerators have no float64
    scores = torch.as_tensor(no_answer_probability, device=device).to(torch.float64)
    answerable = torch.as_tensor(has_answer, device=device).to(torch.bool)
    if scores.ndim != 1 or scores.shape != answerable.shape:
        raise ValueError(
            "no_answer_probability and has_answer must both have the shape (questions,), "
            f"got {tuple(scores.shape)} and {tuple(answerable.shape)}"
        )
    if not bool(scores.isfinite().all()):
        raise ValueError(f"no_answer_probability must be finite, got {scores[~scores.isfinite()][0].item()}")
    with_answer = int(answerable.sum())
    without_answer = len(answerable) - with_answer
    if not with_answer or not without_answer:
        raise ValueError(
            f"no_answer_auc needs answerable and unanswerable questions, got {with_answer} and {without_answer}"
        )
    distinct, level = torch.unique(scores, return_inverse=True)
    answerable_at = torch.bincount(level[answerable], minlength=len(distinct))
    unanswerable_at = torch.bincount(level[~answerable], minlength=len(distinct))
    answerable_below = answerable_at.cumsum(0) - answerable_at
    # Counted in halves, so that the sum stays in whole numbers.
    half_wins = int((unanswerable_at * (2 * answerable_below + answerable_at)).sum())
    return half_wins / (2 * with_answer * without_answer)


def hash_question_id(question_id: str) -> int:
    """Return a 63-bit hash of a question's id that is the same in every process."""
    digest = hashlib.blake2b(question_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def get_evaluate_module_path() -> str:
    """Return the folder to pass to `evaluate.load` for this metric, which needs no network."""
    return str(Path(__file__).resolve().parent / "evaluate_squad_v2")


class _Question(NamedTuple):
    id: str
    prediction: str
    no_answer_probability: float
    golds: list[str]


def _match_predictions_to_references(
    predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]
) -> list[_Question]:
    """Check predictions and references and return them in pairs by id."""
    predictions_by_id = _index_by_id(predictions, "predictions")
    references_by_id = _index_by_id(references, "references")
    without_prediction = [key for key in references_by_id if key not in predictions_by_id]
    if without_prediction:
        raise ValueError(
            f"references without a prediction: {_format_ids(without_prediction)}; predict '' for no answer"
        )
    without_reference = [key for key in predictions_by_id if key not in references_by_id]
    if without_reference:
        raise ValueError(
            f"predictions without a reference: {_format_ids(without_reference)}; pass both in the same call"
        )
    return [
        _Question(
            key,
            _check_text(
                _get_field(prediction, "prediction_text", f"prediction {key!r}"), f"prediction_text of {key!r}"
            ),
            _check_probability(_get_field(prediction, "no_answer_probability", f"prediction {key!r}"), key),
            _check_gold_answers(_get_field(references_by_id[key], "answers", f"reference {key!r}"), key),
        )
        for key, prediction in predictions_by_id.items()
    ]


def _index_by_id(items: Sequence[Mapping[str, Any]], name: str) -> dict[str, Mapping[str, Any]]:
    """Return the items by their id, or raise where one has none or two have the same; `name` is for messages."""
    if isinstance(items, Mapping | str):
        raise TypeError(f"{name} must be a list of mappings, one per question, got a {type(items).__name__}")
    by_id: dict[str, Mapping[str, Any]] = {}
    repeated = []
    for position, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise TypeError(f"{name}[{position}] must be a mapping with an 'id', got {item!r}")
        key = _check_text(_get_field(item, "id", f"{name}[{position}]"), f"id of {name}[{position}]")
        if key in by_id:
            repeated.append(key)
        by_id[key] = item
    if repeated:
        raise ValueError(
            f"ids that occur more than once in {name}: {_format_ids(repeated)}; each question needs its own id"
        )
    return by_id


def _get_field(item: Mapping[str, Any], name: str, owner: str) -> Any:
    """Return a field of a mapping, or raise `ValueError`; `owner` names the mapping in the message."""
    if name not in item:
        raise ValueError(f"{owner} has no {name!r}, only {sorted(map(str, item))}")
    return item[name]


def _check_text(value: Any, name: str) -> str:
    """Return the value if it is a text, else raise `TypeError`; `name` is for the message."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {value!r}")
    return value


def _check_probability(value: Any, key: str) -> float:
    """Return a question's no-answer probability as a float, or raise where it is no finite number; `key` is its id."""
    if not isinstance(value, Real):
        raise TypeError(f"no_answer_probability of {key!r} must be a number, got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"no_answer_probability of {key!r} must be finite, got {value!r}")
    return float(value)


def _check_gold_answers(answers: Any, key: str) -> list[str]:
    """Return the texts of a question's gold answers, given in one of two formats; `key` is its id."""
    name = f"answers of {key!r}"
    texts: Any = None
    if isinstance(answers, Mapping):
        texts = _get_field(answers, "text", name)
    elif (
        isinstance(answers, Iterable)
        and not isinstance(answers, str)
        and all(isinstance(answer, Mapping) for answer in answers)
    ):
        texts = [_get_field(answer, "text", name) for answer in answers]
    if not isinstance(texts, Iterable) or isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError(
            f"{name} must be {{'text': [str, ...], 'answer_start': [...]}} or a list of {{'text': str, ...}}, "
            f"got {answers!r}"
        )
    return list(texts)


def _format_ids(ids: Sequence[str]) -> str:
    """Return the first few ids and how many more there are, for messages."""
    shown = ", ".join(repr(key) for key in ids[:_IDS_SHOWN])
    return shown if len(ids) <= _IDS_SHOWN else f"{shown} and {len(ids) - _IDS_SHOWN} more"


def _score_abstentions(raw: Sequence[float], abstains: Sequence[bool], has_answer: Sequence[bool]) -> list[float]:
    """Return the scores where abstaining counts 1 on unanswerable questions and 0 on others."""
    rows = zip(raw, abstains, has_answer, strict=True)
    return [float(not has) if abstain else score for score, abstain, has in rows]


def _compute_mean_scores(
    prefix: str, exact: Sequence[float], f1: Sequence[float], is_selected: Sequence[bool]
) -> dict[str, float | int]:
    """Return by name, after a prefix, the mean scores in percent of the selected questions, and their number."""
    total = sum(is_selected)
    # fsum: the same to the last bit in whatever order the processes' questions come.
    exact_sum = math.fsum(score for score, is_counted in zip(exact, is_selected, strict=True) if is_counted)
    f1_sum = math.fsum(score for score, is_counted in zip(f1, is_selected, strict=True) if is_counted)
    return {
        f"{prefix}exact": 100.0 * exact_sum / total,
        f"{prefix}f1": 100.0 * f1_sum / total,
        f"{prefix}total": total,
    }


def _find_best_threshold(
    raw: Sequence[float], is_empty: Sequence[int], has_answer: Sequence[bool], probability: Sequence[float]
) -> tuple[float, float]:
    """Return the best mean score in percent over all no-answer thresholds, and that threshold.

    The walk starts with every question left unanswered and lets them be answered one by one, most confident first. An
    answer to an unanswerable question costs one point even where it scores (a text that normalises to nothing).
    """
    running: float = sum(not has for has in has_answer)
    best, threshold = running, 0.0
    for row in sorted(range(len(raw)), key=probability.__getitem__):  # stable, as ties need
        running += raw[row] if has_answer[row] else float(is_empty[row]) - 1.0
        if running > best:
            best, threshold = running, probability[row]
    return 100.0 * best / len(raw), threshold
