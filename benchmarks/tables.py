"""The tables of benchmarks/README.md, generated from the files in benchmarks/results.

python -m benchmarks.tables            writes them
python -m benchmarks.tables --check    exit status 1 if the document says something else
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.beta_lstm_tables import beta_lstm
from benchmarks.context_attention_tables import context_attention
from benchmarks.document_tables import document_attention
from benchmarks.explanations_tables import explanations
from benchmarks.kernel_start import kernel_start
from benchmarks.recbole_sessions_tables import recbole_sessions
from benchmarks.reporting import RESULTS, number, read_rows
from benchmarks.second_order_tables import second_order_attention
from benchmarks.session_positions_tables import session_positions
from benchmarks.settings_search import settings_search
from benchmarks.shared_rows import shared_rows
from benchmarks.waiting_threads_tables import waiting_threads
from benchmarks.word_embedding_tables import word_embedding
from ctxzoo.data.files import write_atomically
from ctxzoo.results.table_parts import markdown_table

DOCUMENT = Path(__file__).parent / "README.md"

Row = dict[str, str]


def training_step(rows: list[Row]) -> str:
    """Return examples per second, peak memory and ratio of both sides."""
    headings = ["ours", "other", "variant", "threads", "phase", "ours/s", "other/s", "ratio", "ours GiB", "other GiB"]
    return markdown_table(
        headings,
        [
            [
                row["ours"],
                row["other"],
                row["variant"],
                row["threads"],
                row["phase"],
                *(number(row[name], 1) for name in ("our_examples_per_second", "other_examples_per_second")),
                number(row["ratio"], 2) if row["ratio"] else row["note"],
                *(number(row[name], 1, 1024) for name in ("our_peak_memory_mb", "other_peak_memory_mb")),
            ]
            for row in rows
        ],
        left=3,
    )


def preparation(rows: list[Row]) -> str:
    """Return the seconds of each start beside the aim."""
    headings = ["corpus", "", "start", "questions", "contexts", "questions/s", "seconds", "with imports", "aim"]
    return markdown_table(
        headings,
        [
            [
                row["corpus"],
                row["how"],
                row["start"],
                *(f"{int(row[name]):,}" for name in ("questions", "contexts")),
                f"{float(row['questions_per_second']):,.0f}",
                *(number(row[name], 1) for name in ("setup_seconds", "total_seconds")),
                row["aim_seconds"] and f"{float(row['aim_seconds']):g}",
            ]
            for row in rows
        ],
        left=3,
    )


def import_time(rows: list[Row]) -> str:
    """Return the seconds of each import, and above the peer's."""
    return markdown_table(
        ["import", "seconds", "above the first row", "aim"],
        [
            [
                row["imported"],
                *(number(row[name], 2) for name in ("median_seconds", "above_peer_seconds")),
                row["aim_seconds"],
            ]
            for row in rows
        ],
    )


TABLES: dict[str, Callable[[list[Row]], str]] = {
    "training_step-cpu": training_step,
    "training_step-cuda": training_step,
    "second_order_attention-cpu": second_order_attention,
    "second_order_attention-cuda": second_order_attention,
    "context_attention-cpu": context_attention,
    "context_attention-cuda": context_attention,
    "document_attention-cpu": document_attention,
    "document_attention-cuda": document_attention,
    "beta_lstm-cpu": beta_lstm,
    "beta_lstm-cuda": beta_lstm,
    "kernel_start": kernel_start,
    "session_positions": session_positions,
    "recbole_sessions": recbole_sessions,
    "word_embedding": word_embedding,
    "preparation": preparation,
    "import_time": import_time,
    "waiting_threads": waiting_threads,
    "explanations": explanations,
    "shared_rows": shared_rows,
    "settings_search": settings_search,
}


def render(text: str, results: Path = RESULTS) -> str:
    """Return `text` with every table made anew; a table without a file says that it was not measured.

    Raises:
        ValueError: an unknown table, or a marker without its partner.
    """
    names = re.findall(r"^<!-- table: (.+) -->$", text, flags=re.MULTILINE)
    for name in names:
        if name not in TABLES:
            raise ValueError(f"unknown table {name!r}; known: {', '.join(TABLES)}")
        pattern = rf"(?<=<!-- table: {re.escape(name)} -->\n).*?(?=<!-- /table: {re.escape(name)} -->)"
        content = f"\n{_content(name, results / f'{name}.csv')}\n\n"
        found = list(re.finditer(pattern, text, flags=re.DOTALL))
        if len(found) != 1:
            raise ValueError(f"table {name!r}: {len(found)} pairs of markers, expected one")
        text = text[: found[0].start()] + content + text[found[0].end() :]
    return text


def _content(name: str, file: Path) -> str:
    if not file.exists():
        return "Not measured yet."
    rows = read_rows(file)
    one = rows[0]
    for column in ("cpu", "cores", "gpus", "torch", "transformers"):
        if len({row[column] for row in rows}) > 1:
            raise ValueError(f"{file.name}: rows with several values of {column!r} do not compare; measure all anew")
    gpus = "".join(f", {name}" for name in json.loads(one["gpus"]))
    machine = f"{one['cpu']}, {one['cores']} cores, {one['memory_gb']} GiB{gpus}"
    commits = ", ".join(dict.fromkeys(row["commit"][:12] for row in rows))
    days = sorted(row["created"][:10] for row in rows)
    day = " to ".join(dict.fromkeys((days[0], days[-1])))
    made = f"{machine}; torch {one['torch']}, transformers {one['transformers']}; commit {commits}; measured {day}"
    dataset = f"; {'text' if 'sentences' in one else 'questions'} of {one['dataset']}" if "dataset" in one else ""
    return f"{TABLES[name](rows)}\n\n{made}{dataset}."


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the document; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    text = DOCUMENT.read_text(encoding="utf-8")
    made = render(text)
    if options.check:
        return int(made != text)
    write_atomically(DOCUMENT, made.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
