"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for vote prediction."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxzoo.data.notices import count_of
from ctxzoo.tasks.commands import Option, TaskCommands, answer_file, device_of, how_to_score, positive, say_written

COLUMNS = (
    Option("legislator_column", "of a table of votes: who votes; default: legislator"),
    Option("bill_column", "on what; default: bill"),
    Option("vote_column", "yea or nay, in words, as 1 or 0, or as cast codes of Voteview; default: vote"),
    Option("text_column", "what the bill says, one or several, read one after another; default: text", many=True),
    Option("party_column", "of the legislator, for pictures; default: party"),
)
SOURCES = (
    Option("texts", "a .csv, .tsv, .jsonl or .parquet file of bills and their texts, where the votes have none"),
    Option("configuration", "of a dataset with several, such as votes_new_bills"),
)


KNOWN = Option(
    "known",
    "votes that are known already: a file, folder or Hub id like --dataset, or: none; default: the train split of the "
    "dataset where another split is scored, else none",
)


class VotePredictionCommands(TaskCommands):
    title = "vote prediction"
    train_options = (*COLUMNS, *SOURCES, Option("num_topics", "topics of an ideal point", positive))
    evaluate_options = (*COLUMNS, *SOURCES, KNOWN)
    predict_options = (
        Option("text", "what the bill says"),
        Option("bill", "name of a bill of the training, instead of a new one"),
        SOURCES[0],
        Option("known", "a .csv, .tsv, .jsonl or .parquet file of votes that are known, as of other legislators"),
        *(option for option in COLUMNS if option.name != "party_column"),
    )

    def train(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        from ctxzoo.runs.train_own_data import request_of, train_own_data
        from ctxzoo.tasks.vote_prediction.training import VoteTraining

        columns = tuple(option.name for option in (*COLUMNS, *SOURCES))
        train_own_data(VoteTraining(), request_of(options, own, columns=columns))

    def evaluate(self, options: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, float]:
        from ctxzoo.tasks.vote_prediction.evaluation import evaluate

        given = {name: value for name, value in own.items() if value is not None}
        return evaluate(options.checkpoint, options.dataset, options.split, **how_to_score(options), **given)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        text, bill = own["text"], own["bill"]
        if (text is None and bill is None) == (options.file is None):
            raise ValueError("give --text, --bill, or both, or else --file")
        if options.file is None and options.output is not None:
            raise ValueError("--output belongs to --file")
        if text is not None and not text.strip():
            raise ValueError(f"--text is {text!r}; expected what the bill says")

        from ctxzoo.models.ops_vote import NEW_BILL
        from ctxzoo.tasks.vote_prediction.prediction import VoteAnswers, known_votes
        from ctxzoo.tasks.vote_prediction.reader import VoteColumns, bill_texts, read_votes

        names = ("legislator", "bill", "vote", "text")
        columns = VoteColumns(**{name: own[f"{name}_column"] for name in names if own[f"{name}_column"] is not None})
        model: Any = options.saved.load()[0]
        model.to(device_of(options))
        texts = None if own["texts"] is None else bill_texts(Path(own["texts"]), columns)
        source = own["known"]
        known = {} if source is None else known_votes(source, read_votes(source, columns=columns), model)
        if options.file is not None:
            answers = VoteAnswers(model, columns, texts=texts, known=known)
            say_written(options, count_of(answer_file(options, answers, columns=columns.names), "predictions"))
            return
        if bill is None and len(known) > 1:
            raise ValueError(f"--known {source} has votes on {len(known):,} bills; say which with --bill, or give one")
        on_bill = next(iter(known.values()), None) if bill is None else known.get(bill)
        if known and on_bill is None:
            raise ValueError(f"--known {source} has no vote on the bill {bill!r}")
        said = text if text is not None or texts is None else texts.get(bill)
        found = model.predict_votes(said, NEW_BILL if bill is None else bill, on_bill)
        for name, yea in found:
            print(f"{yea:.4f}  {name}")


COMMANDS = VotePredictionCommands()
