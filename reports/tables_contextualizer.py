"""The Contextualizer: its tables, made from results files, and the numbers of its paper and of others.

A cell is the mean and sample standard deviation over the folds of a cross-validation. `make_sentence_table` is for
other models on the same folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from ctxzoo.results.comparison import has_all_folds_and_seeds
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOT_RUN, NOTHING, TO_PUBLISH
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS as DATASETS
from ctxzoo.tasks.text_classification.linear import MAJORITY_CLASS
from reports.choice import find_best_row
from reports.labels import read_labels
from reports.results_table import Column, Difference, Line, Row, Table, make_difference_rows, make_rows, pick_by_heading
from reports.run_selection import Runs, list_run_names, select_alike_runs, select_runs
from reports.score_columns import add_difference_columns, compare_over_folds, folds_score_column

STEPS = {"recipe": "mr_contextualizer", "dataset": DATASETS["MR"]}
SENTENCES = {"recipe": "sentence_contextualizer", "variant": "learned_embeddings"}
BEST = "best"  # tag of the strongest settings
ACCURACY, DEV_ACCURACY = "test/accuracy", "validation/accuracy"

LABELS = read_labels("contextualizer")
PAPER_STEPS, PAPER_STARTS, NEURAL = LABELS["steps"], LABELS["starts"], LABELS["neural"]


def _format_paper_row(label: str, values: Iterable[float]) -> list[str]:
    """Return the cells of a row of the paper's numbers, with one decimal."""
    return [label, *(f"{value:.1f}" for value in values)]


def _make_steps_table(heading: str, paper: Mapping[str, tuple[str, Mapping[int, float]]], number: int) -> Table:
    """Return a table of accuracy on film reviews (MR) by number of steps K, the paper's numbers above ours."""
    steps = next(iter(paper.values()))[1]
    rows: list[Line] = []
    for name, (variant, numbers) in paper.items():
        ours = Row(f"{name}, ours", {"variant": variant}, command=f"--table {number} --resume")
        rows += [_format_paper_row(f"{name}, the paper", numbers.values()), ours]
    columns = [folds_score_column(f"K = {k}", ACCURACY, where={"tag": f"k{k}"}) for k in steps]
    return Table(columns, rows, STEPS, headings=(heading,), complete=has_all_folds_and_seeds)


TABLES: dict[str, Callable[..., str]] = {
    "contextualizer-steps": _make_steps_table("steps", PAPER_STEPS, 2),
    "contextualizer-starts": _make_steps_table("first context", PAPER_STARTS, 3),
}
# Every cell of both tables once: heading -> variant, K and the paper's number. A random start is a recurrent row.
CELLS = {
    f"{name}, K = {k}": (variant, k, number)
    for name, (variant, numbers) in {**PAPER_STEPS, **PAPER_STARTS}.items()
    if name != "random"
    for k, number in numbers.items()
}


def _list_deviation_rows(results: Runs) -> Iterable[Line]:
    """Yield the paper's row, ours, and one for each changed setting, for all cells of its Tables 2 and 3."""
    yield _format_paper_row("the paper", (number for _, _, number in CELLS.values()))
    yield Row("ours", {"name": ""}, absent=NOTHING)
    parts = {f"k{k}" for _, k, _ in CELLS.values()}
    for name in sorted({name for part in parts for name in list_run_names(results, {"recipe": STEPS["recipe"]}, part)}):
        yield Row(name, {"name": name}, beside={"name": ""}, absent=NOTHING)


TABLES["contextualizer-deviations"] = Table(
    [
        folds_score_column(heading, ACCURACY, where={"variant": variant, "part": f"k{k}"})
        for heading, (variant, k, _) in CELLS.items()
    ],
    _list_deviation_rows,
    STEPS,
    headings=("settings",),
)


def _make_row(label: str, tag: str = "", options: str = "") -> Row:
    """Return the row of the Contextualizer's runs with a tag; `options` make missing runs."""
    return Row(label, {**SENTENCES, "tag": tag}, command=f"{options} --resume".lstrip())


LINEAR = {"recipe": "sentence_linear", "tag": ""}
OURS = _make_row("Contextualizer, the paper's settings")
_DROPOUT = "--dropout 0.5 --embedding_bound 0.1 --name dropout"
DROPOUT = _make_row("Contextualizer, dropout 0.5, vectors from U(−0.1, 0.1)", "dropout", _DROPOUT)
STRONGEST = _make_row("Contextualizer, strongest settings of each set", BEST)
# The control: the same model, whose attention is a plain mean throughout.
PLAIN_MEAN = _make_row("strongest settings with W = 0: a plain mean", f"{BEST}_mean")
FIXED_STARTS = _make_row("strongest settings, read from eight first contexts that are drawn once", f"{BEST}_fixed")
# What is added to the commands of the strongest settings.
OF_STRONGEST = (
    (PLAIN_MEAN, f" --plain_mean true --name {BEST}_mean"),
    (FIXED_STARTS, f" --eval_context fixed --eval_context_samples 8 --name {BEST}_fixed"),
)
MAJORITY_CLASS_ROW = Row("majority class", {**LINEAR, "variant": MAJORITY_CLASS}, command="--resume")
LINEAR_ROWS = make_rows(LABELS["linear"], LINEAR, command="--resume")
AHEAD = ("mean", "bigru")  # of the paper's settings on every set
NARROW_LABELS = {variant: f"{label}, dropout 0.5, U(−0.1, 0.1)" for variant, label in NEURAL.items()}
NEURAL_ROWS, NARROW_ROWS = (
    make_rows(labels, {"recipe": "sentence_text_baseline", "tag": tag}, command=command)
    for labels, tag, command in (
        (NEURAL, "", "--resume"),
        # what the runs of DROPOUT have
        (NARROW_LABELS, "dropout", "--dropout 0.5 --pooled_dropout 0.5 --embedding_bound 0.1 --name dropout --resume"),
    )
)
WEIGHTS = "weights, at most"


def _format_weights(cells: Iterable[Runs]) -> str:
    """Return the largest number of trainable weights among the runs of a row's cells."""
    weights = [run.parameters["trainable"] for run in chain.from_iterable(cells)]
    return f"{max(weights):,}" if weights else ""


def _make_columns(key: str) -> list[Column]:
    """Return a column of a score for each sentence dataset."""
    return [folds_score_column(heading, key, where={"dataset": dataset}) for heading, dataset in DATASETS.items()]


def _list_sentence_rows(key: str, results: Runs) -> Iterable[Line]:
    """Yield the rows of the sentence table: paper, our runs, linear and neural baselines.

    Settings with dropout and the strongest ones have rows only where all their runs exist.

    Neither the paper nor the published numbers have macro F1.
    """
    by_accuracy = key == ACCURACY
    runs = {row.label: [_find_runs(results, row, data) for data in DATASETS.values()] for row in (DROPOUT, STRONGEST)}
    with_dropout, with_strongest = (all(map(has_all_folds_and_seeds, cells)) for cells in runs.values())
    yield MAJORITY_CLASS_ROW
    if by_accuracy:
        yield _format_paper_row("Contextualizer, the paper", LABELS["sentences"])
    yield OURS
    if with_dropout:
        yield DROPOUT
    if with_strongest:
        yield STRONGEST
        best = {heading: _select_best_linear_runs(results, key, dataset) for heading, dataset in DATASETS.items()}
        yield Difference("strongest settings − best linear baseline", STRONGEST.source, pick_by_heading(best))
        chosen = {heading: _select_best_run_by_fold(results, dataset) for heading, dataset in DATASETS.items()}
        label = "Contextualizer, settings chosen for each fold on its own validation part"
        yield Row(label, pick_by_heading(chosen), given={WEIGHTS: ""}, absent=NOTHING)
        made = dict.fromkeys(run.command.replace(TO_PUBLISH, "") for run in chain(*runs[STRONGEST.label]))
        for row, options in OF_STRONGEST:
            commands = [command.replace(f" --name {BEST}", options) for command in made]
            yield replace(row, command="\n".join(commands))
            if row is PLAIN_MEAN:
                yield Difference("strongest settings − W = 0", STRONGEST.source, row.source)
    yield from LINEAR_ROWS
    for variant, row in zip(NEURAL, NEURAL_ROWS, strict=True):
        yield row
        if variant in AHEAD:
            yield Difference(f"{row.label} − {OURS.label}", row.source, OURS.source)
    for row in NARROW_ROWS if with_dropout else ():
        yield row
        label = f"Contextualizer − {str(row.label).partition(',')[0]}, both with dropout 0.5, U(−0.1, 0.1)"
        yield Difference(label, DROPOUT.source, row.source)
    if by_accuracy:
        yield from (_format_paper_row(label, values) for label, values in LABELS["published"].items())


def _find_runs(results: Runs, row: Row, dataset: str) -> Runs:
    """Return the runs of a row on one dataset, over all folds."""
    assert isinstance(row.source, Mapping)
    return select_alike_runs(results, {**row.source, "dataset": dataset})


def _select_best_linear_runs(results: Runs, key: str, dataset: str) -> Runs:
    """Return the runs of the linear baseline with the best score on a dataset; empty if none is complete."""
    rows = {
        row.label: runs for row in LINEAR_ROWS if has_all_folds_and_seeds(runs := _find_runs(results, row, dataset))
    }
    return rows[find_best_row(rows, key)] if rows else []


def _select_best_run_by_fold(results: Runs, dataset: str) -> Runs:
    """Return for each fold the run whose settings have the best validation accuracy; empty for a single setting.

    That part shares no row with the fold's test part. Settings that start from vectors of other texts have no part.
    """
    found = select_runs(results, {**SENTENCES, "dataset": dataset})
    ours = [run for run in found if DEV_ACCURACY in run.metrics and "word_vectors" not in run.settings]
    tried = [select_alike_runs(ours, {"tag": tag}) for tag in sorted({run.tag for run in ours})]
    complete = [runs for runs in tried if has_all_folds_and_seeds(runs)]
    by_fold: dict[tuple[int, int], list[RunResult]] = {}
    for run in chain(*complete):
        by_fold.setdefault((run.seed, run.fold or 0), []).append(run)
    best = [max(by_fold[fold], key=lambda run: run.metrics[DEV_ACCURACY]) for fold in sorted(by_fold)]
    return best if len(complete) > 1 else []


for _name, _key in (("contextualizer-sentences", ACCURACY), ("contextualizer-sentences-f1", "test/macro_f1")):
    _columns = [*_make_columns(_key), Column(WEIGHTS, total=_format_weights)]
    TABLES[_name] = Table(_columns, partial(_list_sentence_rows, _key), complete=has_all_folds_and_seeds)

# MPQA over all phrases and over those with a known word, which are all that the paper's softmax is defined for.
TABLES["contextualizer-known"] = Table(
    (
        folds_score_column("all phrases", ACCURACY),
        folds_score_column("phrases with a known word", "test/known_accuracy"),
        folds_score_column("fraction of these", "test/known_share"),
    ),
    (
        _format_paper_row("Contextualizer, the paper", LABELS["sentences"][-1:]),
        replace(OURS, command=f"--datasets {DATASETS['MPQA']}"),
        replace(DROPOUT, command=f"--datasets {DATASETS['MPQA']} {_DROPOUT}"),
    ),
    where={"dataset": DATASETS["MPQA"]},
    complete=lambda runs: bool(runs) and all("test/known_accuracy" in run.metrics for run in runs),
)


def _list_option_rows(results: Runs) -> Iterable[Line]:
    """Yield a row for each tried option with its validation accuracy, by which settings are chosen.

    Test accuracy is therefore not shown.

    Runs that held nothing out for validation chose nothing and are not here.
    """
    yield OURS
    names = list_run_names((run for run in results if run.dataset in DATASETS.values()), SENTENCES)
    for name in names:
        plain = {"tag": ""}
        yield Row(name, {"tag": name}, base=plain, beside=plain, absent=NOTHING)
    if not names:
        yield Row("each option", [], command="--dropout 0.5 --name dropout --resume")


TABLES["contextualizer-climb"] = Table(
    add_difference_columns(_make_columns(DEV_ACCURACY), compare_over_folds(DEV_ACCURACY)),
    _list_option_rows,
    SENTENCES,
    headings=("settings",),
    having=DEV_ACCURACY,
    complete=has_all_folds_and_seeds,
)
BESIDE = (MAJORITY_CLASS_ROW, *LINEAR_ROWS, NEURAL_ROWS[0], NEURAL_ROWS[3])  # of other recipes: linear, mean, BiGRU


def make_sentence_table(
    recipe: str, option: str, known: Sequence[str], compared: Sequence[str], size: tuple[str, str]
) -> Table:
    """Return a table of test accuracy on sentences: variants of a model, beside other models on the same folds.

    Args:
        recipe: Name of the recipe that trains the variants.
        option: Name of the recipe's option that selects variants.
        known: Names of the variants in the order of the rows.
        compared: Names of the variants that the table always shows; the first is the one with which others are
            compared.
        size: Name of the setting that gives variants equal numbers of weights, and heading of its column.
    """

    names = {variant: f"`{variant}`" for variant in known}

    def format_sizes(cells: Iterable[Runs]) -> str:
        return ", ".join(sorted({str(run.settings[size[0]]) for run in chain.from_iterable(cells)}))

    def list_rows(results: Runs) -> Iterable[Line]:
        """Yield the rows of the variants, their differences to the first compared one, and the other models."""
        ours = [run for run in results if run.recipe == recipe and run.dataset in DATASETS.values()]
        for name in ("", *list_run_names(ours, {})):
            there = {run.variant for run in select_runs(ours, {"tag": name})}.union(() if name else compared)
            labels = {variant: names[variant] for variant in known if variant in there}
            if name:
                named = {variant: f"{label}, {name}" for variant, label in labels.items()}
                yield from make_rows(named, {"tag": name}, beside={"tag": ""})
            else:
                command = f"--{option} {{missing}} --resume"
                yield from make_rows(labels, needed=compared, command=command, absent=NOT_RUN)
            pairs = [(variant, compared[0]) for variant in labels if variant != compared[0]]
            yield from make_difference_rows(names, pairs, {"tag": name}, note=f", {name}" if name else "")
            if not name:
                yield from (replace(row, command="", given={size[1]: ""}) for row in BESIDE)

    columns = [*_make_columns(ACCURACY), Column(size[1], total=format_sizes), Column(WEIGHTS, total=_format_weights)]
    return Table(columns, list_rows, where={"recipe": recipe, "tag": ""}, complete=has_all_folds_and_seeds)
