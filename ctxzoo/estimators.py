"""scikit-learn estimators: a classifier of texts and a regressor of rows, trained as `ctxzoo train` does.

Their parameters are the options of `ctxzoo train` by their names; an option that is None is as that command has it.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar

import datasets
import numpy as np
import numpy.typing as npt
import torch
from lightning.pytorch.utilities.seed import isolate_rng
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ctxzoo.checkpoints import open_checkpoint
from ctxzoo.data.own_splits import (
    HELD_OUT,
    LEAST_ROWS,
    SPLIT_SEED,
    choose_rarest_labels,
    draw_stratified_group_split,
    hash_normalized_text,
    number_groups_by_key,
)
from ctxzoo.data.rows import CHUNK
from ctxzoo.hub.card import build_card, make_card_example
from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.hub.folder_files import CARD
from ctxzoo.metrics.label_scores import SET_SCORES
from ctxzoo.metrics.label_threshold import get_label_threshold
from ctxzoo.models.configuration_base import SEVERAL_LABELS
from ctxzoo.runs.command_line import FOUND_OUT
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.finish import build_training_result
from ctxzoo.runs.own_data import parse_train_command
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks import get_problem

__all__ = ["CtxzooClassifier", "CtxzooRegressor"]

AnyEstimator = TypeVar("AnyEstimator", bound="_Estimator")
# Options that name columns of files, or rows of published data: an estimator is given its rows.
_OF_FILES = (
    "dataset",
    "text_column",
    "label_column",
    "label_separator",
    "label_columns",
    "config_name",
    "target_column",
    "feature_columns",
)
_OF_PUBLISHED = ("group_column", "protocol")
_LEAST = 2  # rows to train on


@dataclass(frozen=True, kw_only=True)
class _RunInMemory(ExperimentRun):
    """A training on rows that are in memory, whose model is kept there too.

    Attributes:
        checked: Checked splits "train" and "validation", as the reader of the problem gives them.
        found: List to which model, tokenizer, card and scores are added.
    """

    checked: Any
    found: list[tuple[Any, Any, str, dict[str, float]]] = field(default_factory=list)

    def build_data(self) -> Any:
        data = super().build_data()
        data.read_dataset = lambda: self.checked
        return data

    def finish(
        self,
        task: Any,
        data: Any,
        trainer: Any,
        scores: dict[str, dict[str, float]],
        per_example: dict[str, list[float]],
    ) -> None:
        result = build_training_result(task, data, trainer, scores, self)
        model, tokenizer = task.model.eval().cpu(), data.tokenizer
        example = make_card_example(self.card, result.dataset, model=model, tokenizer=tokenizer, example=None)
        card = build_card(result, model.config, task=self.card, example=example)
        self.found.append((model, tokenizer, card, dict(result.metrics)))


def _takes_options_of(problem_name: str) -> Callable[[type[AnyEstimator]], type[AnyEstimator]]:
    """Give an estimator the options of a problem's trainings as keyword parameters, which are None by default."""

    def decorate(cls: type[AnyEstimator]) -> type[AnyEstimator]:
        problem = get_problem(problem_name)
        base = problem.get_settings("default", *problem.default)
        left_out = {*FOUND_OUT, *problem.of_recipes, *_OF_FILES, *_OF_PUBLISHED}
        groups = (base.model, base.data, base.optimizer, base.trainer, base.start)
        options = [one.name for group in groups for one in fields(group) if one.name not in left_out]
        cls.problem = problem
        cls.options = ("settings", *dict.fromkeys(options), "accelerator")
        defaults = {**dict.fromkeys(cls.options), "validation_fraction": HELD_OUT, "random_state": 0, "verbose": False}

        def __init__(self: Any, **parameters: Any) -> None:  # noqa: N807
            unknown = [name for name in parameters if name not in defaults]
            if unknown:
                raise TypeError(f"{cls.__name__} has no option {unknown[0]!r}; it has {', '.join(defaults)}")
            for name, default in defaults.items():
                setattr(self, name, parameters.get(name, default))

        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter(name, keyword, default=value) for name, value in defaults.items()]
        this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        __init__.__signature__ = inspect.Signature([this, *parameters])  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]
        return cls

    return decorate


class _Estimator(BaseEstimator):
    """What both estimators share: options, training in memory, and checkpoint folders.

    Attributes:
        problem: Problem that the model solves, such as text classification.
        options: Names of the options of `ctxzoo train` that are parameters.
        model_: Model, in evaluation mode, on the CPU.
        tokenizer_: Tokenizer of the model; None for a model of rows.
        card_: Text of the model card that `save` writes.
        metrics_: Scores of the training by name, such as "validation/accuracy".
    """

    problem: ClassVar[Any]
    options: ClassVar[tuple[str, ...]]
    validation_fraction: float
    random_state: Any
    verbose: bool

    def save(self, folder: str | Path) -> Path:
        """Write the model as a checkpoint folder, which `ctxzoo predict`, `ctxzoo.pipeline` and the Hub take.

        Args:
            folder: Folder to write; it may be missing, empty or hold an older checkpoint.

        Returns:
            The folder.

        Raises:
            NotFittedError: nothing was fitted.
            FileExistsError: the folder holds something that is not a checkpoint.
        """
        check_is_fitted(self)
        return write_checkpoint_folder(folder, model=self.model_, tokenizer=self.tokenizer_, card=self.card_)

    @classmethod
    def from_checkpoint(cls: type[AnyEstimator], checkpoint: str | Path, **options: Any) -> AnyEstimator:
        """Return an estimator that predicts with a checkpoint of the zoo; `fit` would train a new model.

        Args:
            checkpoint: Checkpoint folder or Hub id.
            options: Parameters of the estimator.

        Raises:
            OSError: there is no such checkpoint.
            ValueError: a damaged checkpoint, or one of another problem.
        """
        card, saved = open_checkpoint(str(checkpoint))
        if card.name != cls.problem.name:
            raise ValueError(f"{str(checkpoint)!r} does {card.name}; expected a checkpoint of {cls.problem.name}")
        file = saved.folder / CARD
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        found = cls(**options)
        found._keep(*saved.load(), text, {})
        found._describe_checkpoint()
        return found

    def _describe_checkpoint(self) -> None:
        raise NotImplementedError

    def _keep(self, model: Any, tokenizer: Any, card: str, metrics: dict[str, float]) -> None:
        self.model_, self.tokenizer_ = model, tokenizer
        self.card_, self.metrics_ = card, metrics

    def _train(self, splits: Mapping[str, datasets.Dataset]) -> None:
        """Train on rows, and keep the model."""
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        with TemporaryDirectory(prefix="ctxzoo-") as scratch, isolate_rng(), _hidden_output(shown=self.verbose):
            experiment, checked = self._build_experiment(scratch, int(seed)), self._check_rows(splits)
            if getattr(checked, "has_several_labels", False) and not experiment.trainer.monitor:
                experiment = experiment.copy_with(monitor=SET_SCORES[0])
            run = _RunInMemory(self.problem, experiment, checked=checked)
            run.fit(resume=False)
        self._keep(*run.found[0])

    def _check_rows(self, splits: Mapping[str, datasets.Dataset]) -> Any:
        """Return rows as the reader of the problem checks those of files."""
        raise NotImplementedError

    def _build_experiment(self, output_dir: str, seed: int) -> Experiment:
        """Return the experiment that `ctxzoo train` would run with these options."""
        chosen = {name: value for name in self.options if (value := getattr(self, name)) is not None}
        rows = f"rows given to {type(self).__name__}"
        run = {"data": rows, "output_dir": output_dir, "progress": self.verbose, "seed": seed}
        words = [f"--{name}={_format_option(value)}" for name, value in {**chosen, **run}.items()]
        experiment = parse_train_command(self.problem, words).experiment
        named = {"named": rows, "recipe": "estimator"}
        return experiment.copy_with(**named, score="validation", tell_time=self.verbose, devices="1")

    def _split_rows(self, rows: datasets.Dataset, groups: Any, labels: Any = None) -> dict[str, datasets.Dataset]:
        """Return rows to train on and rows by which the best epoch is chosen; the same ones where rows are few."""
        if not 0 < self.validation_fraction < 1:
            raise ValueError(f"validation_fraction={self.validation_fraction}: expected more than 0, and less than 1")
        parts = {"validation": float(self.validation_fraction)}
        drawn = draw_stratified_group_split(groups, labels, parts, SPLIT_SEED)
        if len(rows) >= LEAST_ROWS and all(len(part) for part in drawn.values()) and len(drawn["train"]) >= _LEAST:
            return {name: rows.select(part) for name, part in drawn.items()}
        warnings.warn(
            f"{type(self).__name__}: {len(rows)} rows are too few to hold some out (of equal rows none is apart); the "
            "best epoch is chosen by the training rows",
            stacklevel=4,
        )
        return {"train": rows, "validation": rows}


@_takes_options_of("text-classification")
class CtxzooClassifier(ClassifierMixin, _Estimator):
    """A classifier of texts for scikit-learn.

    Parameters are the options of `ctxzoo train text-classification` by their names, such as epochs, architecture,
    variant, learning_rate, word_vectors, max_length and init_from; None: as that command has it, "null": none.
    `ctxzoo train text-classification --help all` describes them. Of its own it has `validation_fraction` (.1), the
    part of the training rows by which the best epoch is chosen, `random_state` (0), the seed, and `verbose` (False).

    Where y are lists of labels, or 0 and 1 (n, L), a text may have several labels, or none. Predictions are then 0 and
    1, (n, L), a column for each of `classes_`; `MultiLabelBinarizer` of scikit-learn converts between both forms.

    Attributes:
        classes_: (L,) labels, sorted; of a checkpoint they are text, of 0 and 1 the numbers of the columns, or their
            names.
        model_, tokenizer_: Model, in evaluation mode, and its tokenizer.
        metrics_: Scores of the training by name, such as "validation/accuracy".
    """

    def fit(self, X: Sequence[str], y: Sequence[Any]) -> CtxzooClassifier:
        """Train on texts.

        Args:
            X: Texts, a list or a column of n.
            y: Label of each text, of any type that can be sorted; a list of labels for each; or 0 and 1 (n, L).

        Raises:
            TypeError: numbers, or a table, in place of texts.
            ValueError: a text without a word; one label alone; an option or value that there is not.
        """
        texts, (marks, self.classes_) = _check_texts(X), _read_label_sets(y)
        labels = column_or_1d(y, warn=True) if marks is None else marks
        if marks is None:
            check_classification_targets(labels)
        if len(texts) != len(labels):
            raise ValueError(f"X has {len(texts):,} texts and y {len(labels):,} labels; expected as many")
        blank = next((row for row, text in enumerate(texts) if not text.strip()), None)
        if blank is not None:
            raise ValueError(f"X[{blank}] is {texts[blank]!r}; expected a text to learn from; leave the row out")
        numbers = labels
        if marks is None:
            self.classes_, numbers = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class, '{self.classes_[0]}'; expected two or more")
        names = datasets.ClassLabel(names=[str(one) for one in self.classes_])
        columns = datasets.Features({"text": datasets.Value("string"), "label": names})
        values = numbers.tolist()
        if marks is not None:
            columns["label"], values = datasets.List(names), [np.flatnonzero(row).tolist() for row in marks]
        rows = datasets.Dataset.from_dict({"text": texts, "label": values}, features=columns)
        groups = number_groups_by_key({"train": map(hash_normalized_text, texts)})["train"]
        self._train(self._split_rows(rows, groups, numbers if marks is None else choose_rarest_labels(marks)))
        return self

    def _check_rows(self, splits: Mapping[str, datasets.Dataset]) -> Any:
        from ctxzoo.tasks.text_classification.reader import check_texts

        return check_texts(splits)

    def predict_proba(self, X: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the probability of each label, (n, L) in the order of `classes_`; of several labels each by itself.

        Args:
            X: Texts, a list or a column of n; of long ones as many words are read as in the training.

        Raises:
            NotFittedError: nothing was fitted.
            TypeError: numbers, or a table, in place of texts.
        """
        from ctxzoo.tasks.text_classification.prediction import classify_texts

        check_is_fitted(self)
        texts = _check_texts(X)
        found = classify_texts(self.model_, self.tokenizer_, texts)
        return np.array([list(one["probabilities"].values()) for one in found]).reshape(-1, len(self.classes_))

    def predict(self, X: Sequence[str]) -> npt.NDArray[Any]:
        """Return the most probable label of each text, (n,), or 0 and 1 (n, L) where a text may have several labels.

        Arguments and errors are those of `predict_proba`.
        """
        probabilities = self.predict_proba(X)
        if self.model_.config.problem_type == SEVERAL_LABELS:
            given: npt.NDArray[Any] = (probabilities >= (get_label_threshold(self.model_.config))).astype(np.int64)
            return given
        labels: npt.NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return labels

    def score(self, X: Sequence[str], y: Any, sample_weight: Any = None) -> float:
        """Return the part of the texts whose label is right, or all of whose labels are.

        Args:
            X, y: Texts and their labels, as in `fit`.
            sample_weight: (n,) weight of each text; None: 1.
        """
        check_is_fitted(self)
        if self.model_.config.problem_type == SEVERAL_LABELS:
            y = _read_label_sets(y, self.classes_)[0]
        value: float = super().score(X, y, sample_weight)
        return value

    def _describe_checkpoint(self) -> None:
        labels = self.model_.config.id2label
        self.classes_ = np.array([labels[number] for number in range(len(labels))])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


@_takes_options_of("regression")
class CtxzooRegressor(RegressorMixin, _Estimator):
    """A regressor of rows of numbers for scikit-learn.

    Parameters are the options of `ctxzoo train regression` by their names, such as epochs, variant, hidden_size and
    learning_rate; None: as that command has it, "null": none. `ctxzoo train regression --help all` describes them. Of
    its own it has `validation_fraction` (.1), the part of the training rows by which the best epoch is chosen,
    `random_state` (0), the seed, and `verbose` (False). Features are scaled by the model itself.

    Rows that are predicted together read each other, a thousand at a time, as `ctxzoo predict` has it.

    Attributes:
        n_features_in_: Number of features, I.
        model_: Model, in evaluation mode.
        metrics_: Scores of the training by name, such as "validation/rmse".
    """

    def fit(self, X: Any, y: Any) -> CtxzooRegressor:
        """Train on rows.

        Args:
            X: (n, I) features, finite numbers; of a table the columns give their names to the model.
            y: (n,) target, finite numbers.

        Raises:
            ValueError: what is no finite number; fewer than two rows; an option or value that there is not.
        """
        features, target = validate_data(self, X, y, y_numeric=True, dtype=np.float64, ensure_min_samples=_LEAST)
        names = self._name_features()
        name = getattr(y, "name", None)
        target_name = name if isinstance(name, str) and name not in names else "target"
        while target_name in names:
            target_name += "_"
        columns = [*features.T.tolist(), target.astype(np.float64).tolist()]
        rows = datasets.Dataset.from_dict(dict(zip([*names, target_name], columns, strict=True)))
        groups = number_groups_by_key({"train": (row.tobytes() for row in features)})["train"]
        self._train(self._split_rows(rows, groups))
        return self

    def _check_rows(self, splits: Mapping[str, datasets.Dataset]) -> Any:
        from ctxzoo.tasks.regression.reader import check_rows

        return check_rows(splits, splits["train"].column_names[-1])

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return what is predicted for rows, (n,) in the unit of the target.

        Args:
            X: (n, I) features, finite numbers.

        Raises:
            NotFittedError: nothing was fitted.
            ValueError: rows of another width, or what is no finite number.
        """
        check_is_fitted(self)
        rows = torch.tensor(validate_data(self, X, reset=False, dtype=np.float64))
        parts = [self.model_.predict(part)[:, 0].numpy() for part in torch.split(rows, CHUNK)]
        return np.concatenate(parts).astype(np.float64)

    def predict_interval(self, X: Any, level: float = 90) -> npt.NDArray[np.float64]:
        """Return intervals (n, 2), lower and upper end, that hold `level` percent of the targets of such rows.

        They are those of split conformal prediction from errors on the held-out rows of `fit`, as wide for every row.

        Args:
            X: (n, I) features, finite numbers.
            level: Share of new targets within their intervals, in percent, above 0 and below 100.

        Raises:
            NotFittedError: nothing was fitted.
            ValueError: see `predict`; too few held-out rows for this level.
        """
        predicted = self.predict(X)
        half_width = self.model_.get_half_width(level)
        return np.stack([predicted - half_width, predicted + half_width], axis=1)

    def _name_features(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{place}" for place in range(self.n_features_in_)] if names is None else list(names)

    def _describe_checkpoint(self) -> None:
        config = self.model_.config
        self.n_features_in_ = config.input_size
        if config.feature_names and config.feature_names != self._name_features():
            self.feature_names_in_ = np.array(config.feature_names, dtype=object)


def _check_texts(X: Any) -> list[str]:
    """Return texts as a list.

    Raises:
        TypeError: one text, a table, or what is no text.
        ValueError: no text at all.
    """
    shape = getattr(X, "shape", None)
    if isinstance(X, (str, bytes)):
        raise TypeError(f"X is one text, {X[:40]!r}; expected a list of texts: put it into one")
    if shape is not None and len(shape) != 1:
        raise TypeError(
            f"X is a {type(X).__name__} of the shape {tuple(shape)}; expected a list of texts: give one column of a "
            "table, and for rows of numbers take CtxzooRegressor"
        )
    texts = list(X)
    wrong = next((row for row, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise TypeError(f"X[{wrong}] is {texts[wrong]!r:.60}; expected a text: fill it in or leave the row out")
    if not texts:
        raise ValueError("X has no text; expected one or more")
    return [str(text) for text in texts]


def _read_label_sets(y: Any, classes: Any = None) -> tuple[npt.NDArray[np.int8] | None, Any]:
    """Return 0 and 1, (n, L), and the labels, (L,), where texts have several of them; None and None: one label each.

    Args:
        y: Labels: one for each text, lists of them, or 0 and 1 in rows of equal length.
        classes: (L,) labels of a fitted model, in its order; None: those of y.
    """
    lists = (list, tuple, set, frozenset)
    if isinstance(y, (list, tuple)) and y and all(isinstance(row, lists) for row in y):
        widths, cells = {len(row) for row in y}, {cell for row in y for cell in row}
        if not (cells <= {0, 1} and len(widths) == 1 and min(widths) > 1):
            binarizer = MultiLabelBinarizer(classes=classes)
            return binarizer.fit_transform(y).astype(np.int8), binarizer.classes_
    if type_of_target(y) != "multilabel-indicator":
        return None, None
    marks = np.asarray(y.todense() if hasattr(y, "todense") else y).astype(np.int8)
    names = getattr(y, "columns", None)
    return marks, np.arange(marks.shape[1]) if names is None else np.asarray(names)


def _format_option(value: Any) -> str:
    """Return the value of a parameter as it is typed behind its option."""
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, (str, Path)) else json.dumps(value)


@contextlib.contextmanager
def _hidden_output(*, shown: bool) -> Iterator[None]:
    """Keep what Lightning and a training print to themselves, unless it is to be shown."""
    if shown:
        yield
        return
    lightning = logging.getLogger("lightning.pytorch")
    level = lightning.level
    lightning.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"lightning\.")
            yield
    finally:
        lightning.setLevel(level)
