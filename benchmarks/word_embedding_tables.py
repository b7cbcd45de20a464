"""The table of `word_embedding`."""

from __future__ import annotations

from benchmarks.reporting import number
from ctxzoo.results.table_parts import markdown_table

Row = dict[str, str]
WHOLE = {"whole_seconds": "whole process, s", "first_whole_seconds": "the first one, s"}
SCORES = {
    "wordsim353": "WordSim-353",
    "men3000": "MEN",
    "semantic": "semantic analogies",
    "syntactic": "syntactic analogies",
}


def word_embedding(rows: list[Row]) -> str:
    """Return for each comparison and number of threads speed, ratio, memory and scores."""
    parts = []
    for comparison, threads in dict.fromkeys((row["comparison"], row["threads"]) for row in rows):
        chosen = [row for row in rows if (row["comparison"], row["threads"]) == (comparison, threads)]
        one = chosen[0]
        plural = "" if threads == "1" else "s"
        title = (
            f"**{comparison}, {threads} thread{plural}** ({int(one['words']):,} words in {int(one['sentences']):,} "
            f"sentences, vocabulary {int(one['vocabulary']):,}; gensim {one['gensim']}, numba {one['numba']})"
        )
        parts += [
            title,
            markdown_table(
                ["", "words/s", "ratio", "MiB", *WHOLE.values(), *SCORES.values()], [_cells(row) for row in chosen]
            ),
        ]
    return "\n\n".join(parts)


def _cells(row: Row) -> list[str]:
    return [
        row["side"],
        number(row["words_per_second"], 0),
        number(row["ratio"], 2),
        number(row["peak_memory_mb"], 0),
        *(number(row.get(name, ""), 1) for name in WHOLE),  # files of earlier runs lack them
        *(number(row[name], 1) for name in SCORES),
    ]
