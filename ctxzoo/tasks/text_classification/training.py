"""`ctxzoo train text-classification`: what it trains on which rows, and the linear baseline beside it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import datasets
import numpy as np

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.own_splits import OwnRows, OwnSplits
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.registration import ARCHITECTURES
from ctxzoo.results.result import RunResult
from ctxzoo.runs.own_training import ZooTraining
from ctxzoo.runs.preset import Preset
from ctxzoo.runs.run import Run, execute
from ctxzoo.runs.spaces import Between
from ctxzoo.runs.train import ZooRun
from ctxzoo.runs.training_request import PAPER, TrainingRequest, gathered
from ctxzoo.runs.tuning import Trial
from ctxzoo.tasks.text_classification.card import CARD
from ctxzoo.tasks.text_classification.contradictions import note_contradictions
from ctxzoo.tasks.text_classification.default_settings import ARCHITECTURE, SEARCH_SPACE, VARIANT, WIDE, default_preset
from ctxzoo.tasks.text_classification.linear import LinearRun
from ctxzoo.tasks.text_classification.paper_settings import paper_preset
from ctxzoo.tasks.text_classification.reader import check_texts, load_texts
from ctxzoo.tasks.text_classification.run import ClassifierRun
from ctxzoo.tasks.text_classification.splitting import labels_of, text_groups

TINY_ROWS = 1_000  # of what is linear
LINEAR = "words_characters_svm_tuned"
LINEAR_NAME = "a tuned linear SVM on TF-IDF of words and characters"
TINY: Mapping[str, int] = {
    **{"word_dim": 8, "position_dim": 0, "recurrent_size": 4, "classifier_size": 8, "attention_size": 4},
    **{"num_filters": 4, "rank": 4, "num_heads": 2, "transformer_size": 8},
    **{"inner_size": 8},
}
TINY_BUCKETS = 2**12
_NUMBER = re.compile(r"\s*[-+]?\d+([.,]\d+)?\s*")


class ClassifierTraining(ZooTraining):
    """What `ctxzoo train` does for classifiers of texts.

    Args:
        linear: whether a linear baseline is fitted too, to stand beside the scores.
    """

    card: ClassVar[TaskCard] = CARD
    run_class: ClassVar[type[ZooRun]] = ClassifierRun
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = "accuracy"
    predicted = '--text "..."'
    called = '"..."'

    def __init__(self, *, linear: bool = True) -> None:
        self.linear = linear

    def variants(self, architecture: str) -> Sequence[str]:
        return tuple(ARCHITECTURES[architecture].config_class.variants)

    def preset(self, settings: str, architecture: str, variant: str) -> Preset:
        of_variant = ARCHITECTURES[architecture].config_class.variants[variant]
        return (paper_preset if settings == PAPER else default_preset)(architecture, variant, of_variant)

    def tiny(self, preset: Preset) -> Preset:
        of_config = ARCHITECTURES[preset.architecture].config_class()
        small = {name: size for name, size in TINY.items() if getattr(of_config, name, 0) or preset.config.get(name)}
        words = {**preset.data, **({} if preset.data.get("min_word_count") is None else {"min_word_count": 1})}
        if preset.data.get("wide"):
            words |= {"wide_rows": TINY_ROWS, "ngram_buckets": TINY_BUCKETS, "char_ngram_buckets": TINY_BUCKETS}
        trainer = {**preset.trainer, "epochs": 1}
        return replace(preset, config={**preset.config, **small} if preset.config else {}, data=words, trainer=trainer)

    def search_space(self, preset: Preset) -> dict[str, Sequence[Any] | Between]:
        space = super().search_space(preset)
        return space if preset.data.get("wide") else {name: space[name] for name in space if name not in WIDE}

    def run(
        self, request: TrainingRequest, preset: Preset, splits: OwnSplits, trial: Trial | None = None
    ) -> ClassifierRun:
        run = super().run(request, preset, splits, trial)
        assert isinstance(run, ClassifierRun)
        return replace(run, text_columns=tuple(request.columns.get("text_column") or ()))

    def read(self, request: TrainingRequest, scratch: Path) -> OwnRows:
        names: dict[str, Any] = {name: request.columns[name] for name in ("text_column", "label_column")}
        splits, origin = gathered(request, lambda source: load_texts(source, request.data_dir, **names))
        checked = check_texts(splits, **names, origin=origin, any_labels=True)
        for name, split in checked.splits.items():
            _refuse_numbers(origin[name], split["text"][:])
        grouped = text_groups(checked)
        labels = {name: labels_of(split) for name, split in checked.splits.items()}
        both = (np.concatenate([one[name] for name in checked.splits]) for one in (grouped.groups, labels))
        note_contradictions(", ".join(dict.fromkeys(origin.values())), *both)
        label = datasets.ClassLabel(names=checked.label_names)
        splits = {name: split.cast_column("label", label) for name, split in checked.splits.items()}
        return OwnRows(splits=splits, **vars(grouped))

    def beside(self, request: TrainingRequest, run: Run, result: RunResult) -> Iterable[str]:
        if not (self.linear and isinstance(run, ClassifierRun)):
            return
        baseline = LinearRun(
            recipe=run.spec.recipe,
            variant=LINEAR,
            dataset=run.data["dataset"],
            named=run.spec.dataset,
            seed=run.spec.seed,
            commit=run.spec.commit,
            data={"cutter": "english"},
            most_rows=TINY_ROWS if request.tiny else None,
            tell_time=True,
            tag=("tiny-" if request.tiny else "")
            + Path(run.data["dataset"]).name,  # other rows of this name have a baseline of their own
            output_dir=request.output_dir,
            results_dir=request.results_dir,
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scikit-learn's of labels with fewer rows than folds
                scores = execute(baseline, resume=request.resume).metrics
        except ValueError as error:  # so few rows that no fold has two labels
            yield f"no linear model was fitted: {error}"
            return
        ours, theirs = (each["test/accuracy"] for each in (result.metrics, scores))
        some = f"{TINY_ROWS:,} texts at most of " if request.tiny else ""
        difference = f"{ours - theirs:+.2f}" if ours != theirs else "no difference"
        yield (
            f"a linear model has {theirs:.2f} accuracy and {scores['test/macro_f1']:.2f} macro F1 on test "
            f"({LINEAR_NAME}, fitted on {some}train and validation); this model's accuracy beside it: {difference}"
        )


def _refuse_numbers(where: str, texts: Sequence[str]) -> None:
    """Refuse a column of numbers, which is most often the wrong one.

    Raises:
        TextFormatError: every text is a number.
    """
    if all(_NUMBER.fullmatch(text) for text in texts):
        raise TextFormatError(
            f"{where}: every text is a number, as {texts[0]!r}; name the column of the texts (or set `text_column`)"
        )
