"""The page of a model of numbers: a table in, the predicted column with intervals out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
import pandas as pd

from ctxzoo.app.frame import Page, show_errors
from ctxzoo.data.row_stream import open_row_stream
from ctxzoo.data.rows import CHUNK

LEVEL = 90.0  # percent of new targets that an interval is to hold


def build_page(pipeline: Any, example: Mapping[str, Any]) -> Page:
    """Lay out a table of features, a file to fill it from, and the table with predictions."""
    names = pipeline.model.config.feature_names
    has_intervals = getattr(pipeline.model.config, "interval_errors", None) is not None
    table = gr.Dataframe(
        pd.DataFrame(example["rows"], columns=names), label="Rows, a column for each feature", interactive=True
    )
    with gr.Row():
        file = gr.UploadButton("Rows of a file (.csv, .tsv, .jsonl, .parquet)", type="filepath")
        button = gr.Button("Predict", variant="primary")
    level = gr.Slider(50, 99, LEVEL, step=1, visible=has_intervals, label="Percent of targets within the intervals")
    predicted = gr.Dataframe(label=f"Predicted {pipeline.model.config.target_name}", interactive=False)
    file.upload(show_errors(read_table), file, table)
    return Page([table, level], [predicted], button, partial(predict_table, pipeline, has_intervals))


def read_table(file: str) -> pd.DataFrame:
    """Return the rows of a user's file as a table.

    Raises:
        OSError, ValueError: see `open_row_stream`; more than `CHUNK` rows.
    """
    with open_row_stream(Path(file)) as stream:
        rows = [row for chunk in stream.chunks for row in chunk]
    _check_number_of_rows(len(rows))
    return pd.DataFrame(rows)


def predict_table(pipeline: Any, has_intervals: bool, table: pd.DataFrame, level: float) -> list[Any]:
    """Return the table with a column of predictions in front, and the ends of their intervals if there are any.

    Raises:
        ValueError: no row, too many of them, a column that is missing, a value that is no number; a level that the
            model cannot vouch for.
    """
    _check_number_of_rows(len(table))
    answers = pipeline(table, **({"interval": level} if has_intervals else {}))
    found = pd.DataFrame(answers).map(lambda value: float(f"{value:.6g}"))
    return [pd.concat([found.add_prefix("predicted "), table.reset_index(drop=True)], axis=1)]


def _check_number_of_rows(number: int) -> None:
    """Raise a ValueError for no rows, and for more than a page takes."""
    if not 1 <= number <= CHUNK:
        raise ValueError(
            f"the table has {number:,} rows; a page takes 1 to {CHUNK:,}: give more of them to `ctxzoo predict`"
        )
