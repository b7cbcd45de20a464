"""Models of votes as exported programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ctxzoo.export.task_export import TaskExport, Tensors


class VoteExport(TaskExport):
    """Bills, by their words or numbers and known votes, to scores of a yea of each legislator."""

    inputs = {  # noqa: RUF012
        "bag_of_words": "how often each of `words` in config.json stands in the bill",
        "bill_ids": "place of the bill in `bill_names` of config.json, from 0; -1: a new bill",
        "votes": "known votes of each legislator, 1 yea and 0 nay; NaN where none is known",
    }
    outputs = {"logits": "scores of a yea of each legislator, (batch, legislators)"}  # noqa: RUF012
    example_at = "ctxzoo.tasks.vote_prediction.export_example"

    def draw_inputs(self, model: Any, lengths: Sequence[int], generator: torch.Generator) -> Tensors:
        config, rows = model.config, len(lengths)
        votes = torch.randint(0, 3, (rows, config.num_legislators), generator=generator).float()
        first = -1 if model.reads_new_bills else 0
        return {
            "bag_of_words": torch.randint(0, 3, (rows, config.vocab_size), generator=generator).float(),
            "bill_ids": torch.randint(first, config.num_bills, (rows,), generator=generator),
            "votes": votes.masked_fill(votes == 2, torch.nan),
        }

    def describe_steps(self, model: Any, tokenizer: Any) -> Iterable[str]:
        if model.config.cut_outcomes:
            yield (
                "Brackets that tell how the vote ended are cut out of the text, the outermost with one of the words "
                "that `OUTCOME_WORDS` in ops_vote_text.py lists."
            )
        yield "The words of a bill are the runs of the letters a to z of its text in small letters; each is counted."
        yield "The sigmoid of a score is the probability of a yea; legislators are those of `legislator_names`."

    def decide(self, outputs: Tensors) -> torch.Tensor:
        return (outputs["logits"] > 0).flatten()


EXPORT = VoteExport()
