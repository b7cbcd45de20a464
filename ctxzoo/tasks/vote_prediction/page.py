"""The page of a model of votes: the text of a bill, how the chamber votes, and where its legislators stand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gradio as gr
import numpy as np
import pandas as pd
import torch

from ctxzoo.app.frame import Page, build_choice, format_bars
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.models.ops_vote import NEW_BILL
from ctxzoo.tasks.vote_prediction.pictures import choose_party_colours, get_legislator_table, ideal_points, topic_words
from ctxzoo.tasks.vote_prediction.reader import VoteColumns

MAIN_AXIS = "main axis"
YEA, POINT, WHO, PARTY = "yea", "ideal point", "legislator", "party"
TOPIC_WORDS = 6  # shown of each topic


def build_page(pipeline: Any, example: Mapping[str, Any]) -> Page:
    """Lay out a bill beside the votes of the chamber: points by probability, a table, and the topics of the bill."""
    model = pipeline.model
    topics = _name_topics(model)
    has_points = get_legislator_table(model) is not None
    with gr.Row():
        with gr.Column(scale=2):
            text = gr.Textbox(example["text"], label="Text of the bill", lines=6, max_lines=20)
            name = "" if example["bill"] == NEW_BILL else str(example["bill"])
            bill = build_choice(model.config.get_bill_names(), "Bill of the training; empty: a new one", value=name)
            axis = gr.Dropdown(
                [MAIN_AXIS, *topics], value=MAIN_AXIS, label="Ideal points on the", visible=has_points and bool(topics)
            )
            button = gr.Button("How do they vote?", variant="primary")
        with gr.Column(scale=3):
            summary = gr.Markdown()
            plot = gr.ScatterPlot(
                x=POINT,
                y=YEA,
                y_title="probability of a yea",
                color=PARTY,
                color_map=choose_party_colours(_list_parties(model)),
                tooltip=[WHO, PARTY, YEA],
                y_lim=[0, 1],
                height=360,
                visible=has_points,
            )
            shares = gr.HTML(container=True, visible=bool(topics))
    table = gr.Dataframe(
        label="Every legislator",
        column_widths=["32%", "29%", "18%", "21%"] if has_points else ["50%", "30%", "20%"],
        wrap=True,
        interactive=False,
        max_height=300,
        show_search="filter",
    )
    return Page([text, bill, axis], [summary, plot, table, shares], button, partial(predict_chamber, pipeline))


def predict_chamber(pipeline: Any, text: str, bill: str | None, axis: str) -> list[Any]:
    """Return a sentence on the votes, a table for the plot, one to read, and HTML of the weights of the topics.

    Raises:
        ValueError: a bill that the model does not know, or neither a bill nor a text.
    """
    model, name = pipeline.model, (bill or "").strip()
    if not (text.strip() or name):
        raise ValueError("there is neither the text of a bill nor a bill of the training; expected one of them")
    if name and name not in model.config.get_bill_names():
        raise ValueError(f"the bill {name!r} was not in the training; choose one that was, or leave it empty")
    columns = VoteColumns()
    votes = pipeline({columns.bill: name, "text": text})["yea"]
    yeas = np.array(list(votes.values()))
    table = pd.DataFrame({WHO: list(votes), PARTY: _list_parties(model), YEA: yeas.round(2)})
    topics = _name_topics(model)
    if get_legislator_table(model) is not None:
        table[POINT] = _get_points(model, topics.index(axis) if axis in topics else None).round(2)
    summary = f"**{int((yeas > 0.5).sum()):,} of {len(yeas):,}** legislators are likelier to say yea than nay."
    weights = (
        format_bars(
            "What the bill is about: its topics, by their words",
            zip(topics, _weigh_topics(model, text, name), strict=True),
        )
        if topics
        else ""
    )
    return [summary, table, table.sort_values(YEA, ascending=False), weights]


def _list_parties(model: Any) -> list[str]:
    """Return the party of each legislator; where the model knows none, the word for all."""
    return [party or "legislators" for party in model.config.legislator_groups or [""] * model.config.num_legislators]


def _name_topics(model: Any) -> list[str]:
    """Return the topics of a model by their words; none where it has no topics."""
    try:
        return [f"topic {k}: {', '.join(words)}" for k, words in enumerate(topic_words(model, TOPIC_WORDS), start=1)]
    except ValueError:
        return []


def _get_points(model: Any, topic: int | None) -> Any:
    """Return the ideal points (U,) of the legislators on one topic, or with None on the main axis."""
    if topic is None:
        return ideal_points(model)
    table = get_legislator_table(model)
    assert table is not None
    points = table[:, topic].detach().double().cpu().numpy()
    return (points - points.mean()) / max(float(points.std()), 1e-12)


def _weigh_topics(model: Any, text: str, bill: str) -> list[float]:
    """Return the weight of each topic in a bill, divided by their sum."""
    row = model.config.get_bill_names().index(bill) if bill else NEW_BILL
    inputs = {
        "bag_of_words": model.bags_of_words([text]).to(model.device, model.dtype),
        "bill_ids": torch.tensor([row], device=model.device),
        "votes": torch.full((1, model.config.num_legislators), torch.nan, device=model.device, dtype=model.dtype),
    }
    with in_evaluation_mode(model):
        weights = model(**inputs).topic_weights[0].float().abs()
    shares: list[float] = (weights / weights.sum().clamp(min=1e-9)).tolist()
    return shares
