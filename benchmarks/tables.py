"""The tables and first sentences of benchmarks/README.md, generated from the files in benchmarks/results.

The document shows a part of each benchmark; all rows are in benchmarks/results/tables.

python -m benchmarks.tables            writes the document and these files
python -m benchmarks.tables --check    exit status 1 if one of them says something else
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.beta_lstm_tables import format_beta_lstm_tables
from benchmarks.context_attention_tables import format_context_attention_tables
from benchmarks.default_text_classifier import format_default_text_classifier_table
from benchmarks.document_tables import format_document_attention_tables
from benchmarks.excerpts import Excerpt, format_excerpt, format_tables_as_csv, parse_markdown_tables
from benchmarks.explanations_tables import format_explanations_table
from benchmarks.export import format_export_table
from benchmarks.kernel_start import format_kernel_start_table
from benchmarks.label_memory import format_label_memory_table
from benchmarks.many_items import format_many_items_table
from benchmarks.pages import format_pages_table
from benchmarks.predictions import format_predictions_table
from benchmarks.reader import format_reader_table
from benchmarks.recbole_sessions_tables import format_recbole_sessions_table
from benchmarks.reporting import RESULTS, format_number, read_rows
from benchmarks.second_order_tables import format_second_order_tables
from benchmarks.sentences import SENTENCES, format_sentence
from benchmarks.serving import format_serving_table
from benchmarks.session_positions_tables import format_session_positions_table
from benchmarks.settings_search import format_settings_search_table
from benchmarks.shared_gradients import format_shared_gradients_table
from benchmarks.shared_rows import format_shared_rows_tables
from benchmarks.streaming import format_streaming_table
from benchmarks.waiting_threads_tables import format_waiting_threads_table
from benchmarks.word_embedding_tables import format_word_embedding_table
from ctxzoo.data.files import write_atomically
from ctxzoo.results.table_parts import format_markdown_table

DOCUMENT = Path(__file__).parent / "README.md"
CSV_FOLDER = "tables"  # below the results

Row = dict[str, str]


def format_training_step_table(rows: list[Row]) -> str:
    """Return the Markdown table of a BiDAF training step: examples a second, memory, ratio of both sides."""
    headings = ["ours", "other", "variant", "threads", "phase", "ours/s", "other/s", "ratio", "ours GiB", "other GiB"]
    return format_markdown_table(
        headings,
        [
            [
                row["ours"],
                row["other"],
                row["variant"],
                row["threads"],
                row["phase"],
                *(format_number(row[name], 1) for name in ("our_examples_per_second", "other_examples_per_second")),
                format_number(row["ratio"], 2) if row["ratio"] else row["note"],
                *(format_number(row[name], 1, 1024) for name in ("our_peak_memory_mb", "other_peak_memory_mb")),
            ]
            for row in rows
        ],
        left_aligned=3,
    )


def format_preparation_table(rows: list[Row]) -> str:
    """Return the Markdown table of how long SQuAD data take to prepare, beside the aim."""
    headings = ["corpus", "how", "start", "questions", "contexts", "questions/s", "seconds", "with imports", "aim"]
    return format_markdown_table(
        headings,
        [
            [
                row["corpus"],
                row["how"],
                row["start"],
                *(f"{int(row[name]):,}" for name in ("questions", "contexts")),
                f"{float(row['questions_per_second']):,.0f}",
                *(format_number(row[name], 1) for name in ("setup_seconds", "total_seconds")),
                row["aim_seconds"] and f"{float(row['aim_seconds']):g}",
            ]
            for row in rows
        ],
        left_aligned=3,
    )


def format_import_time_table(rows: list[Row]) -> str:
    """Return the Markdown table of how long each import takes, and how much longer than its peer's."""
    return format_markdown_table(
        ["import", "seconds", "above its peer", "aim"],
        [
            [
                row["imported"],
                *(format_number(row[name], 2) for name in ("median_seconds", "above_peer_seconds")),
                row["aim_seconds"],
            ]
            for row in rows
        ],
    )


def format_clock_table(rows: list[Row]) -> str:
    """Return the Markdown table of what a newcomer's steps take."""
    return format_markdown_table(
        ["step", "seconds", "memory, MB", "disk, MB"],
        [[row["step"], *(format_number(row[name], 1) for name in ("seconds", "memory_mb", "disk_mb"))] for row in rows],
    )


TABLES: dict[str, Callable[[list[Row]], str]] = {
    "training_step-cpu": format_training_step_table,
    "training_step-cuda": format_training_step_table,
    "second_order_attention-cpu": format_second_order_tables,
    "second_order_attention-cuda": format_second_order_tables,
    "context_attention-cpu": format_context_attention_tables,
    "context_attention-cuda": format_context_attention_tables,
    "document_attention-cpu": format_document_attention_tables,
    "document_attention-cuda": format_document_attention_tables,
    "beta_lstm-cpu": format_beta_lstm_tables,
    "beta_lstm-cuda": format_beta_lstm_tables,
    "kernel_start": format_kernel_start_table,
    "session_positions": format_session_positions_table,
    "recbole_sessions": format_recbole_sessions_table,
    "word_embedding": format_word_embedding_table,
    "preparation": format_preparation_table,
    "import_time": format_import_time_table,
    "waiting_threads": format_waiting_threads_table,
    "explanations": format_explanations_table,
    "shared_rows": format_shared_rows_tables,
    "shared_gradients": format_shared_gradients_table,
    "settings_search": format_settings_search_table,
    "label_memory": format_label_memory_table,
    "many_items": format_many_items_table,
    "streaming": format_streaming_table,
    "default_text_classifier": format_default_text_classifier_table,
    "reader": format_reader_table,
    "predictions": format_predictions_table,
    "serving": format_serving_table,
    "export": format_export_table,
    "pages": format_pages_table,
    "newcomers_clock": format_clock_table,
}


K5 = "contextualizer, K = 5"
DEFAULT, FAVOR, ELU = "learned, default M", "favor, M = 64", "elu"
LENGTHS_AND_AIMS = ("", "n = 256", "n = 512", "n = 1024", "n = 4096", "at least 8 at n = 4096")
EXCERPTS: dict[str, Excerpt] = {
    "second_order_attention-cpu": Excerpt(
        ("Layers, speed",),
        ("contextualizer, K = 1", K5, f"{K5}, u = 100", "self-attention", "GRU, both directions"),
        ("", "n = 64", "n = 256", "n = 1024", "n = 4096", "at least 13", "exponent at most 1.08"),
        passes=True,
    ),
    "second_order_attention-cuda": Excerpt(
        ("Attention alone, speed", "Attention alone, times"),
        ("triton",),
        ("", "pass", "n = 128", "n = 512", "n = 4096", "at least 3 from n = 512", "at most 2 from n = 512"),
    ),
    "context_attention-cpu": Excerpt(
        ("Linear, speed", "Causal, speed"), (DEFAULT, FAVOR, "favor, default M", ELU), LENGTHS_AND_AIMS, passes=True
    ),
    "document_attention-cpu": Excerpt(
        ("30 heads, speed",),
        ("LAMA", "LAMA, W_w of 32 rows", "LAMA, W_w of 16 rows", "LAMA without W_w", "self-attention"),
        ("", "n = 64", "n = 1024", "n = 4096", "at least 4", "exponent at most 1.1"),
        passes=True,
    ),
    "beta_lstm-cpu": Excerpt(
        ("Batch of 16",),
        ("nn.LSTM", "nn.LSTM of 200 units", "lstm", "bibeta5", "kumaraswamy", "bibeta5, means"),
        ("", "parameters", "forward, times nn.LSTM", "training step, times nn.LSTM", "training step, draws", "aim"),
    ),
    "beta_lstm-cuda": Excerpt(
        ("Batch of 16",),
        ("nn.LSTM", "nn.LSTM of 200 units", "lstm", "bibeta5", "kumaraswamy", "bibeta5, means"),
        ("", "forward, times nn.LSTM", "training step, ms", "training step, times nn.LSTM"),
    ),
    "word_embedding": Excerpt(
        columns=("", "words/s", "ratio", "whole process, s", "the first one, s", "WordSim-353", "syntactic analogies")
    ),
    "preparation": Excerpt(
        rows=("SQuAD 2.0, from ctxzoo-data/squad_v1_mini", "ctxzoo-data/squad_v2_mini, repeated"),
        columns=("corpus", "how", "start", "questions", "seconds", "with imports", "aim"),
    ),
    "explanations": Excerpt(
        ("Attention and contributions",), ("contextualizer-mr", "lama-imdb", "lama-reuters8", "default")
    ),
}


def render_document(text: str, results: Path = RESULTS) -> str:
    """Return the README's `text` with its sentences and tables written anew from results files.

    A table without a results file says that it was not measured.

    Raises:
        ValueError: An unknown table, or a marker without its partner.
    """
    for name in re.findall(r"^<!-- table: (.+) -->$", text, flags=re.MULTILINE):
        if name not in TABLES:
            raise ValueError(f"unknown table {name!r}; known: {', '.join(TABLES)}")
        text = _replace_between_markers(text, f"table: {name}", _format_content(name, results))
    if "<!-- sentences -->" in text:
        text = _replace_between_markers(
            text, "sentences", "\n".join(format_sentence(sentence, results) for sentence in SENTENCES)
        )
    return text


def _replace_between_markers(text: str, marker: str, content: str) -> str:
    """Return `text` with `content` between the opening and the closing comment of a marker."""
    begin, end = (f"<!-- {slash}{marker} -->" for slash in ("", "/"))
    parts = re.split(rf"(?<={re.escape(begin)}\n).*?(?={re.escape(end)})", text, flags=re.DOTALL)
    if len(parts) != 2:
        raise ValueError(f"{marker!r}: {len(parts) - 1} pairs of markers, expected one")
    return f"\n{content}\n\n".join(parts)


def format_csv_files(results: Path = RESULTS) -> dict[Path, str]:
    """Return the text of a CSV file for each measured benchmark, by path, with all rows of its tables."""
    return {
        results / CSV_FOLDER / file.name: format_tables_as_csv(
            parse_markdown_tables(TABLES[file.stem](read_rows(file)))[0]
        )
        for file in sorted(results.glob("*.csv"))
    }


def _format_content(name: str, results: Path) -> str:
    """Return what the README shows of one benchmark: paragraphs, the selected tables, and how they were measured."""
    file = results / f"{name}.csv"
    if not file.exists():
        return "Not measured yet."
    rows = read_rows(file)
    tables, paragraphs = parse_markdown_tables(TABLES[name](rows))
    number_of_rows = sum(len(table.rows) for table in tables)
    every = f"[{number_of_rows} rows](results/{CSV_FOLDER}/{name}.csv)"
    return "\n\n".join(
        [
            *paragraphs,
            format_excerpt(tables, EXCERPTS.get(name, Excerpt())),
            f"{_describe_measurement(file, rows)}; {every}.",
        ]
    )


def _describe_measurement(file: Path, rows: list[Row]) -> str:
    """Return the machine, commits, days and data of measured rows, as text."""
    first_row = rows[0]
    for column in ("cpu", "cores", "gpus", "torch", "transformers"):
        if len({row[column] for row in rows}) > 1:
            raise ValueError(f"{file.name}: rows with several values of {column!r} do not compare; measure all anew")
    gpus = "".join(f", {name}" for name in json.loads(first_row["gpus"]))
    machine = f"{first_row['cpu']}, {first_row['cores']} cores{gpus}"
    commits = ", ".join(dict.fromkeys(row["commit"][:12] for row in rows))
    days = sorted(row["created"][:10] for row in rows)
    day = " to ".join(dict.fromkeys((days[0], days[-1])))
    kind = "text" if "sentences" in first_row else "questions"
    dataset = f"; {kind} of {first_row['dataset']}" if "dataset" in first_row else ""
    return f"{machine}; commit {commits}; measured {day}{dataset}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the README's tables and their CSV files, or with `--check` compare them; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    texts = {DOCUMENT: render_document(DOCUMENT.read_text(encoding="utf-8")), **format_csv_files()}
    if options.check:
        written_files = {DOCUMENT, *(RESULTS / CSV_FOLDER).glob("*.csv")}
        return int(
            any(
                not path.exists() or path.read_text(encoding="utf-8") != texts.get(path)
                for path in {*texts, *written_files}
            )
        )
    (RESULTS / CSV_FOLDER).mkdir(exist_ok=True)
    for path, text in texts.items():
        write_atomically(path, text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
