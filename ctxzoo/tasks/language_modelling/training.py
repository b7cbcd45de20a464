"""`ctxzoo train language-modelling`: what it trains on which lines, and the counts beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from ctxzoo.data.own_splits import OwnRows
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.registration import ARCHITECTURES
from ctxzoo.results.result import RunResult
from ctxzoo.runs.own_training import ZooTraining
from ctxzoo.runs.preset import Preset, preset_of
from ctxzoo.runs.run import Run, execute
from ctxzoo.runs.train import ZooRun
from ctxzoo.runs.training_request import PAPER, TrainingRequest, gathered
from ctxzoo.tasks.language_modelling.card import CARD
from ctxzoo.tasks.language_modelling.default_settings import ARCHITECTURE, SEARCH_SPACE, VARIANT, default_preset
from ctxzoo.tasks.language_modelling.floors import FloorRun
from ctxzoo.tasks.language_modelling.reader import check_lines, line_groups, load_lines
from ctxzoo.tasks.language_modelling.run import (
    HIDDEN_SIZES,
    TINY_SIZE,
    LanguageModelRun,
    LanguageModelSettings,
    language_model_run,
)

COUNTED = "kneser_ney_5"
TINY_HEADS = 2


class LanguageModelTraining(ZooTraining):
    """What `ctxzoo train` does for language models. Paper settings are those of the recipe for the Penn Treebank."""

    card: ClassVar[TaskCard] = CARD
    run_class: ClassVar[type[ZooRun]] = LanguageModelRun
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = "perplexity"
    lower_is_better = True
    kept_with_checkpoint = ZooTraining.kept_with_checkpoint | {"bptt"}
    predicted = '--text "the beginning of a line"'

    def variants(self, architecture: str) -> Sequence[str]:
        if architecture == ARCHITECTURE:
            return tuple(HIDDEN_SIZES)
        return tuple(ARCHITECTURES[architecture].config_class.variants)

    def preset(self, settings: str, architecture: str, variant: str) -> Preset:
        if architecture != ARCHITECTURE:
            if settings == PAPER:
                raise ValueError(
                    f"there are no settings of a paper for {architecture} on language, only for {ARCHITECTURE}; try "
                    "--settings default"
                )
            return default_preset(architecture, variant, ARCHITECTURES[architecture].config_class.variants[variant])
        if settings != PAPER:
            return default_preset(architecture, variant, {"cell": variant, "hidden_size": HIDDEN_SIZES[variant]})
        run = language_model_run(LanguageModelSettings(), "own", variant, seed=0, recipe="own", commit="")
        return preset_of(run, of_run=())

    def tiny(self, preset: Preset) -> Preset:
        small: dict[str, Any] = {"hidden_size": TINY_SIZE, "word_dim": TINY_SIZE}
        if "num_heads" in preset.config:
            small |= {"hidden_size": TINY_HEADS * TINY_SIZE, "num_heads": TINY_HEADS}
        config = {**preset.config, **small} if preset.config else {}
        return replace(preset, config=config, trainer={**preset.trainer, "epochs": 1})

    def read(self, request: TrainingRequest, scratch: Path) -> OwnRows:
        text_column = request.columns["text_column"]
        splits, origin = gathered(request, lambda source: load_lines(source, request.data_dir, text_column))
        checked = check_lines(splits, text_column=text_column, origin=origin)
        return OwnRows(splits=checked.splits, **vars(line_groups(checked)))

    def beside(self, request: TrainingRequest, run: Run, result: RunResult) -> Iterable[str]:
        assert isinstance(run, LanguageModelRun)
        data = {name: value for name, value in run.data.items() if name not in ("batch_size", "bptt", "seed")}
        counted = FloorRun(
            recipe=run.spec.recipe,
            variant=COUNTED,
            commit=run.spec.commit,
            data={**data, "init_from": run.pretrained},
            named=run.spec.dataset or "",
            tag=Path(run.data["dataset"]).name,  # other rows of this name have a baseline of their own
            output_dir=request.output_dir,
            results_dir=request.results_dir,
        )
        yield "counting up to five words in a row in all training lines, to stand beside it"
        theirs = execute(counted, resume=request.resume).metrics["test/perplexity"]
        yield (
            f"counts of up to five words in a row (modified Kneser-Ney) have the perplexity {theirs:.2f} on test, "
            f"this model {result.metrics['test/perplexity']:.2f}; lower is better"
        )
