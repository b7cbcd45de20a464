"""How many test rows stand in the training split too, or nearly so, and what sessions' scores are without them.

    python -m benchmarks.shared_rows             about a minute on one thread; needs CTXZOO_DATA

Texts are equal where they differ in blanks and case alone. Titles and sessions are alike where the words, or the items,
that both have are `ALIKE` or more of all that either has. Scores are those of the results files of models of twice the
width, the mean over seeds: over all test sessions, and over those that are like none of training.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from pathlib import Path

from benchmarks.reporting import RESULTS, Value, write_rows
from ctxzoo.data.own_splits import hash_normalized_text
from ctxzoo.data.sources import load_splits
from ctxzoo.results.environment import git_commit
from ctxzoo.results.result import RunResult, read_results
from ctxzoo.results.table_parts import NOTHING, format_markdown_table

NAME = "shared_rows"
ALIKE = 0.6
IMDB, TITLES, SESSIONS = "stanfordnlp/imdb", "ctxzoo-data/news_aggregator", "ctxzoo-data/citeulike_hcrnn"
RUNS = Path("results")
MODELS = {"gru4rec": "GRU4REC", "narm": "NARM", "stamp": "STAMP", "hcrnn3_bi": "HCRNN-3 + Bi"}
WIDE = "wide"  # name of the runs
PUBLISHED = ("hcrnn3_bi", 0)  # model and seed of the published run
PUBLISHED_LABEL = f"{MODELS[PUBLISHED[0]]}, the published run"
SPLITS = ("test", "train")
SCORES = {"recall_at_20": "Recall@20", "mrr_at_20": "MRR@20"}


def find_similar_sets(
    test_sets: Sequence[Collection[Hashable]], training_sets: Sequence[Collection[Hashable]]
) -> list[bool]:
    """Return for each test set whether some training set overlaps it: a Jaccard index of at least `ALIKE`."""
    sets = [frozenset(members) for members in training_sets]
    holders: dict[Hashable, list[int]] = defaultdict(list)
    for number, members in enumerate(sets):
        for part in members:
            holders[part].append(number)
    are_similar = []
    for members in map(frozenset, test_sets):
        shared = Counter(number for part in members for number in holders.get(part, ()))
        are_similar.append(any(count >= ALIKE * len(members | sets[number]) for number, count in shared.items()))
    return are_similar


def count_shared_texts(data_dir: str | None) -> dict[str, Value]:
    """Count the test reviews of films that stand in the training split too; return the row."""
    splits = load_splits(IMDB, data_dir)
    trained = set(map(hash_normalized_text, splits["train"]["text"][:]))
    are_shared = [hash_normalized_text(text) in trained for text in splits["test"]["text"][:]]
    return _build_row(IMDB, "equal texts", are_shared)


def count_similar_titles(data_dir: str | None) -> dict[str, Value]:
    """Count the test headlines that nearly repeat one of training; return the row."""
    splits = load_splits(TITLES, data_dir)
    tested, trained = ([re.findall(r"\w+", title.casefold()) for title in splits[name]["title"][:]] for name in SPLITS)
    return _build_row(TITLES, "titles that are alike", find_similar_sets(tested, trained))


def count_similar_sessions(data_dir: str | None, results: Sequence[RunResult]) -> Iterator[dict[str, Value]]:
    """Count the test sessions that nearly repeat one of training.

    Yields a row of counts, and one for each model and score, with those sessions and without them.
    """
    splits = load_splits(SESSIONS, data_dir)
    tested, trained = (splits[name]["items"][:] for name in SPLITS)
    are_similar = find_similar_sets(tested, trained)
    yield _build_row(SESSIONS, "sessions that are alike", are_similar)
    wide = [run for run in results if (run.dataset, run.tag) == (SESSIONS, WIDE)]
    of_models = {label: [run for run in wide if run.variant == model] for model, label in MODELS.items()}
    of_models[PUBLISHED_LABEL] = [run for run in wide if (run.variant, run.seed) == PUBLISHED]
    for model, runs in of_models.items():
        for score in SCORES:
            means = (
                statistics.fmean(_score_remaining_sessions(run, score, left_out) for run in runs)
                for left_out in ([], are_similar)
            )
            scores = [round(mean, 2) for mean in means]  # as tables show them, so that none is rounded twice
            yield {**_build_row(SESSIONS, score, are_similar), "model": model, "all": scores[0], "without": scores[1]}


def _build_row(dataset: str, description: str, are_shared: Sequence[bool]) -> dict[str, Value]:
    """Return the row of counts of a dataset; `are_shared` says of each test row whether it stands in training."""
    counts = {"test_rows": len(are_shared), "shared": sum(are_shared)}
    return {"data": dataset, "what": description, **counts, "model": None, "all": None, "without": None}


def _score_remaining_sessions(run: RunResult, score: str, left_out: Sequence[bool]) -> float:
    """Return a run's score in percent over the test sessions that are not in `left_out`, a flag for each."""
    sums, numbers = (run.per_example[f"test/{name}"] for name in (score, "predictions"))
    kept = [row for row in range(len(sums)) if not left_out or not left_out[row]]
    return 100 * sum(sums[row] for row in kept) / sum(numbers[row] for row in kept)


def format_shared_rows_tables(rows: list[dict[str, str]]) -> str:
    """Return two Markdown tables: counts of shared test rows, and session scores with them and without."""
    counts = [
        [f"`{row['data']}`", row["what"], f"{int(row['test_rows']):,}", f"{int(row['shared']):,}"]
        for row in rows
        if not row["model"]
    ]
    scores = []
    for label in (*MODELS.values(), PUBLISHED_LABEL):
        row_of_score = {row["what"]: row for row in rows if row["model"] == label}
        cells = (
            [f"{float(row_of_score[score][part]):.2f}" for score in SCORES for part in ("all", "without")]
            if row_of_score
            else []
        )
        scores.append([label, *(cells or [NOTHING] * 4)])
    headings = ["model of sessions", *(f"{name}, {part}" for name in SCORES.values() for part in ("all", "without"))]
    counted = format_markdown_table(["data", "what", "test rows", "of these also in train"], counts, left_aligned=2)
    return f"{counted}\n\n{format_markdown_table(headings, scores)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Count the shared test rows, print the tables and write the results file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data_dir")
    parser.add_argument("--out", type=Path, default=RESULTS / f"{NAME}.csv")
    options = parser.parse_args(arguments)
    commit = git_commit()
    results = read_results(str(RUNS))
    rows = [
        count_shared_texts(options.data_dir),
        count_similar_titles(options.data_dir),
        *count_similar_sessions(options.data_dir, results),
    ]
    write_rows(options.out, rows, commit)
    print(
        format_shared_rows_tables(
            [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
        )
    )


if __name__ == "__main__":
    main()
