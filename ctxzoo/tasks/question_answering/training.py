"""`ctxzoo train question-answering`: what it trains on which questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from ctxzoo.data.own_splits import Loaded, OwnRows
from ctxzoo.hub.saved_model import read_saved_model
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.runs.own_training import ZooTraining
from ctxzoo.runs.preset import Preset
from ctxzoo.runs.train import ZooRun
from ctxzoo.runs.training_request import PAPER, TrainingRequest, gathered
from ctxzoo.tasks.question_answering.bidaf_training import BidafSettings
from ctxzoo.tasks.question_answering.card import CARD
from ctxzoo.tasks.question_answering.default_settings import ARCHITECTURE, SEARCH_SPACE, VARIANT, default_preset
from ctxzoo.tasks.question_answering.reader import COLUMNS, SquadSplits, check_squad, load_squad, question_groups
from ctxzoo.tasks.question_answering.run import ReaderRun

TINY = {"hidden_size": 8, "char_channels": 8}


class ReaderTraining(ZooTraining):
    """What `ctxzoo train` does for readers.

    Args:
        fix_answer_start: where an answer is not at its offset, move the offset to its nearest occurrence.
    """

    card: ClassVar[TaskCard] = CARD
    run_class: ClassVar[type[ZooRun]] = ReaderRun
    default = (ARCHITECTURE, VARIANT)
    space = SEARCH_SPACE
    objective = "f1"
    predicted = '--question "..." --context "..."'
    called = 'question="...", context="..."'

    def __init__(self, *, fix_answer_start: bool = False) -> None:
        self.fix_answer_start = fix_answer_start

    def variants(self, architecture: str) -> Sequence[str]:
        return tuple(BidafConfig.variants)

    def preset(self, settings: str, architecture: str, variant: str) -> Preset:
        of_variant = BidafConfig.variants[variant]
        return (paper_preset if settings == PAPER else default_preset)(architecture, variant, of_variant)

    def tiny(self, preset: Preset) -> Preset:
        trainer = {**preset.trainer, "epochs": 1}
        if not preset.config:
            return replace(preset, trainer=trainer)
        data = {**preset.data, "word_embedding_size": 8, "min_word_count": 1}
        return replace(preset, config={**preset.config, **TINY}, data=data, trainer=trainer)

    def read(self, request: TrainingRequest, scratch: Path) -> OwnRows:
        def load(source: str) -> Loaded:
            splits, origin, _ = load_squad(source, data_dir=request.data_dir)
            if len(splits) == 1:  # a file may have any name
                splits, origin = ({"train": next(iter(one.values()))} for one in (splits, origin))
            return splits, origin

        splits, origin = gathered(request, load)
        checked = check_squad(splits, origin=origin, fix_answer_start=self.fix_answer_start)
        _refuse_other_version(request, checked)
        splits = {name: split.select_columns(list(COLUMNS)) for name, split in checked.splits.items()}
        return OwnRows(splits=splits, **vars(question_groups(checked)))


def paper_preset(architecture: str, variant: str, of_variant: Mapping[str, Any]) -> Preset:
    """Return the settings of the paper's recipe."""
    told = BidafSettings()
    return Preset(
        architecture=architecture,
        variant=variant,
        config=dict(of_variant),
        data={"word_vectors": None, "characters": "char" in variant, "batch_size": told.batch_size},
        task={name: getattr(told, name) for name in ("optimizer", "learning_rate", "warmup_steps")},
        trainer={name: getattr(told, name) for name in ("epochs", "patience", "precision", "ema_decay")},
        run={"best_by": told.monitor, "decay": told.decay},
    )


def _refuse_other_version(request: TrainingRequest, data: SquadSplits) -> None:
    """Refuse to go on from a checkpoint that may refuse to answer with data that always has an answer, and the reverse.

    Raises:
        ValueError: the checkpoint is of the other version of SQuAD.
    """
    if request.init_from is None:
        return
    config: Any = read_saved_model(request.init_from).config
    if config.squad_version != data.squad_version:
        has = "some questions have no answer" if data.squad_version == "2.0" else "every question has an answer"
        raise ValueError(
            f"--init_from {request.init_from!r} reads SQuAD {config.squad_version}, and in {request.data} {has}, as in "
            f"SQuAD {data.squad_version}; take a checkpoint of that version, or train without --init_from"
        )
