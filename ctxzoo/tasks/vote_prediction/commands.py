"""`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` for vote prediction."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ctxzoo.tasks.commands import Option, TaskCommands, check_output, how_to_score, positive, write_json

COLUMNS = (
    Option("legislator_column", "of a table of votes: who votes; default: legislator"),
    Option("bill_column", "on what; default: bill"),
    Option("vote_column", "yea or nay, in words, as 1 or 0, or as cast codes of Voteview; default: vote"),
    Option("text_column", "what the bill says, where it stands there; default: text"),
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
        Option("text", "what a new bill says"),
        Option("bill", "name of a bill of the training, instead of a new one"),
        Option("text_column", "of a file of bills: what they say; default: text"),
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
        given = [name for name in ("text", "bill") if own[name] is not None]
        if len(given) + (options.file is not None) != 1:
            raise ValueError("give one of --text, --bill, and --file with --output")
        if options.file is None and options.output is not None:
            raise ValueError("--output belongs to --file")
        check_output(options)

        from ctxzoo.hub.saved_model import load_saved_model

        model: Any = load_saved_model(options.checkpoint)[0]
        if options.file is None:
            found = model.predict_votes(own["text"] or "", *([own["bill"]] if own["bill"] is not None else []))
            for name, yea in found:
                print(f"{yea:.4f}  {name}")
            return
        from ctxzoo.tasks.vote_prediction.reader import read_texts

        texts = read_texts(options.file, own["text_column"] or "text")
        told = [{"text": text, "yea": dict(model.predict_votes(text))} for text in texts]
        write_json(options.output, told)
        print(f"{len(told)} bills: {options.output}")


COMMANDS = VotePredictionCommands()
