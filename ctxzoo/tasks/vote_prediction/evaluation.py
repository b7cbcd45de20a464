"""Scores of a model of votes on a split."""

from __future__ import annotations

from pathlib import Path

from transformers import PreTrainedModel

from ctxzoo.tasks.vote_prediction.data import VoteDataModule
from ctxzoo.tasks.vote_prediction.task import VotePredictionTask
from ctxzoo.training.scoring import score_splits, task_of


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
    text_column: str = "text",
    party_column: str = "party",
    texts: str | None = None,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Score a model of votes on a split; of a checkpoint the same numbers that its recipe wrote.

    Legislators and bills are told by their names; votes of legislators that the model does not know are left out. The
    known votes that a model reads are those of the training split of the data.

    Args:
        checkpoint: folder or Hub id, or a model.
        dataset: Hub id, folder, file, or "sample" for generated votes.
        split: name of a split, as the DataModule has it.
        tokenizer: none; words are counted.
        data_dir, configuration, legislator_column, bill_column, vote_column, text_column, party_column, texts: of
            `VoteDataModule`.
        batch_size, precision, accelerator: how to run.
        progress: show a progress bar.

    Returns:
        `accuracy` in percent, `log_likelihood`, `rmse`, `mae` and `calibration_error`; see `VoteScores`.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: no such split; a checkpoint of another problem; bills that the model cannot read.
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
        legislator_names=[config.name_of(number) for number in range(config.num_legislators)],
        known_bills=config.bill_names or [str(number) for number in range(config.num_bills)],
        words=config.words or [f"word {number}" for number in range(config.vocab_size)],
        cut_outcomes=config.cut_outcomes,
        eval_batch_size=batch_size,
    )
    data.setup()
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]
