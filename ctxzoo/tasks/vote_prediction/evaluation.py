"""Scores of a model of votes on a split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedModel

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import note
from ctxzoo.data.text_columns import ColumnNames
from ctxzoo.models.ops_vote import NEW_BILL
from ctxzoo.tasks.vote_prediction.data import NO_WORDS, Cells, VoteDataModule, names_of_model
from ctxzoo.tasks.vote_prediction.reader import read_votes
from ctxzoo.tasks.vote_prediction.task import VotePredictionTask
from ctxzoo.training.scoring import score_splits, task_of

NO_VOTES = "none"  # in place of known votes


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: None = None,
    data_dir: str | None = None,
    configuration: str | None = None,
    legislator_column: str = "legislator",
    bill_column: str = "bill",
    vote_column: str = "vote",
    text_column: ColumnNames = "text",
    party_column: str = "party",
    texts: str | None = None,
    known: str | None = None,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Score a model of votes on a split; of a checkpoint the same numbers that its recipe wrote.

    Legislators and bills are told by their names; votes of legislators that the model does not know are left out. What
    a model reads of the other votes on a bill are `known` votes, and none of the scored ones. How many there are is
    noted, see `ctxzoo.data.reading_notes`, as is what did not match.

    Args:
        checkpoint: folder or Hub id, or a model.
        dataset: Hub id, folder, file, or "sample" for generated votes.
        split: name of a split, as the DataModule has it.
        tokenizer: none; words are counted.
        data_dir, configuration, legislator_column, bill_column, vote_column, text_column, party_column, texts: of
            `VoteDataModule`.
        known: Votes that are known when the scored ones are predicted: a file, folder or Hub id as `dataset`, of whose
            splits "train" counts, or "none". Default: those of the split "train" of `dataset` where another split is
            scored; none of a single file, or where "train" itself is scored.
        batch_size, precision, accelerator: how to run.
        progress: show a progress bar.

    Returns:
        `accuracy` in percent, `log_likelihood`, `rmse`, `mae` and `calibration_error`; see `VoteScores`.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: No such split; a checkpoint of another problem; bills that the model cannot read, by their names or
            for want of any text; known votes that fit none of the bills and legislators, or are all scored.
    """
    task = task_of(VotePredictionTask, checkpoint)
    config = task.model.config
    data = VoteDataModule(
        dataset,
        data_dir=data_dir,
        configuration=configuration,
        legislator_column=legislator_column,
        bill_column=bill_column,
        vote_column=vote_column,
        text_column=text_column,
        party_column=party_column,
        texts=texts,
        **names_of_model(config),
        eval_batch_size=batch_size,
        divide=False,
    )
    data.setup()
    _check_bills(task.model, data, split)
    data.observed = _known_votes(data, split, known)
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]


def _check_bills(model: Any, data: VoteDataModule, split: str) -> None:
    """Note the scored bills that were not in the training, and those without a text where the model reads texts.

    Raises:
        TextFormatError: A bill is new and the model reads none; no bill has a text and the model read texts.
    """
    where = f"{data.dataset}, split {split!r}"
    rows = np.flatnonzero(~np.isnan(data.cells(split)).all(axis=1))
    names, texts = data.loaded().bills, data.loaded().texts
    new = [names[row] for row in rows if data.bill_ids[row] == NEW_BILL]
    if not model.reads_new_bills:
        if new:
            raise TextFormatError(
                f"{where}: {len(new):,} of {len(rows):,} bills, such as {new[0]!r}, were not in the training of this "
                f"{type(model).__name__}, which reads no text of a new one"
            )
        return
    note(where, "bills new to the model, read by their texts", len(new))
    silent = sum(not texts[row] for row in rows)
    if silent and silent == len(rows) and data.words != NO_WORDS:
        raise TextFormatError(
            f"{where}: no bill has a text, and what this {type(model).__name__} says of a bill follows from its text; "
            "name the column of texts (`text_column`), or a table of them (`texts`)"
        )
    note(where, "bills without a text", silent)


def _known_votes(data: VoteDataModule, split: str, known: str | None) -> Cells:
    """Return the votes (bills, legislators) that the model may read; none of them is scored.

    Raises:
        TextFormatError: None of `known` is of a bill and a legislator of the data, or all are scored.
    """
    scored = ~np.isnan(data.cells(split))
    cells = np.full(scored.shape, np.nan, np.float32)
    where = f"{data.dataset}, split 'train'" if known is None else known
    if known is None and split != "train":
        cells = data.observed.copy()
    elif known not in (None, NO_VOTES):
        votes = read_votes(known, data.data_dir, data.configuration, columns=data.columns)
        name = next(iter(votes.splits)) if len(votes.splits) == 1 else "train"
        cells = data.laid_out(votes, name)
        number, matched = len(votes.splits[name].votes), int((~np.isnan(cells)).sum())
        if not matched:
            raise TextFormatError(
                f"{known}: none of its {number:,} known votes, such as that of {votes.legislators[0]!r} on "
                f"{votes.bills[0]!r}, is of a bill of {data.dataset} by a legislator of the checkpoint"
            )
        if not (~np.isnan(cells) & ~scored).any():
            raise TextFormatError(
                f"{known}: every known vote is one that is scored; give others, or none: a model that reads a vote "
                "predicts nothing"
            )
        note(known, "known votes on no bill of the data, or of nobody whom the checkpoint knows", number - matched)
    both = scored & ~np.isnan(cells)
    note(where, "known votes among the scored ones, which the model does not read", int(both.sum()))
    cells[both] = np.nan
    read = ~np.isnan(cells)
    alone = scored[~read.any(axis=1)]
    note(where, "known votes on scored bills, which the model reads", int(read[scored.any(axis=1)].sum()))
    note(f"{data.dataset}, split {split!r}", "scored votes on bills of which no vote is known", int(alone.sum()))
    return cells
