"""The table of `format_word_embedding_table`."""

from __future__ import annotations

from benchmarks.reporting import format_number
from ctxzoo.results.table_parts import format_markdown_table

Row = dict[str, str]
WHOLE = {"whole_seconds": "whole process, s", "first_whole_seconds": "the first one, s"}
SCORES = {
    "wordsim353": "WordSim-353",
    "men3000": "MEN",
    "semantic": "semantic analogies",
    "syntactic": "syntactic analogies",
}


def format_word_embedding_table(rows: list[Row]) -> str:
    """Return the Markdown tables of training word vectors: speed, ratio, memory and scores of each side."""
    parts = []
    for comparison, threads in dict.fromkeys((row["comparison"], row["threads"]) for row in rows):
        comparison_rows = [row for row in rows if (row["comparison"], row["threads"]) == (comparison, threads)]
        first_row = comparison_rows[0]
        plural = "" if threads == "1" else "s"
        title = (
            f"**{comparison}, {threads} thread{plural}** ({int(first_row['words']):,} words in "
            f"{int(first_row['sentences']):,} sentences, vocabulary {int(first_row['vocabulary']):,}; "
            f"gensim {first_row['gensim']}, numba {first_row['numba']})"
        )
        parts += [
            title,
            format_markdown_table(
                ["", "words/s", "ratio", "MiB", *WHOLE.values(), *SCORES.values()],
                [_format_row_cells(row) for row in comparison_rows],
            ),
        ]
    return "\n\n".join(parts)


def _format_row_cells(row: Row) -> list[str]:
    """Return the cells of a side: its name, words a second, ratio, memory, whole-process seconds and scores."""
    return [
        row["side"],
        format_number(row["words_per_second"], 0),
        format_number(row["ratio"], 2),
        format_number(row["peak_memory_mb"], 0),
        *(format_number(row.get(name, ""), 1) for name in WHOLE),  # files of earlier runs lack them
        *(format_number(row[name], 1) for name in SCORES),
    ]
