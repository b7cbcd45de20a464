"""The Contextualizer: its tables, made from results files, and the numbers of its paper and of others.

A cell is the mean and sample standard deviation over the folds of a cross-validation. `sentence_table` is for other
models on the same folds.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from ctxzoo.results.comparison import is_complete
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOTHING, TO_PUBLISH
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS as DATASETS
from ctxzoo.tasks.text_classification.linear import LINEAR_BASELINES, MAJORITY_CLASS, TUNED_LINEAR
from reports.choice import chosen_by
from reports.results_table import (
    Column,
    Difference,
    Line,
    Row,
    Runs,
    Table,
    by_heading,
    folds_score,
    folds_test,
    names_of,
    runs_of,
    select,
)

STEPS_RECIPE, SENTENCE_RECIPE = "mr_contextualizer", "sentence_contextualizer"
OF_STEPS = {"recipe": STEPS_RECIPE, "dataset": DATASETS["MR"]}
LEARNED = "learned_embeddings"
BEST = "best"  # tag of the strongest settings
ACCURACY, MACRO_F1, DEV_ACCURACY = "test/accuracy", "test/macro_f1", "validation/accuracy"

# Maupomé and Meurs (2021), test accuracy on MR: row -> variant of ours, and K -> the paper's number.
PAPER_STEPS = {
    "recurrent": ("recurrent", {1: 57.9, 5: 72.4, 10: 72.8, 20: 72.3}),
    "regular": ("regular", {1: 57.8, 5: 70.7, 10: 72.1, 20: 71.4}),
}
PAPER_STARTS = {
    "ones": ("ones", {1: 73.1, 5: 71.2}),
    "learned": ("learned_start", {1: 73.5, 5: 72.2}),
    "random": ("recurrent", {1: 57.9, 5: 72.4}),
}
# Test accuracy on MR, CR, SUBJ, MPQA: the paper's Table 4, and what others published.
PAPER_SENTENCES = (76.6, 79.0, 91.2, 85.3)
PUBLISHED = {
    "NBSVM, words and pairs [lit]": (79.4, 81.8, 93.2, 86.3),
    "CNN, random vectors [lit]": (76.1, 79.8, 89.6, 83.4),
    "CNN, word2vec [lit, external text]": (81.0, 84.7, 93.0, 89.6),
    "USE, averaging [lit, external text]": (74.5, 81.0, 92.7, 85.4),
    "USE, Transformer [lit, external text]": (81.4, 87.4, 93.9, 87.0),
    "BERT-base, linear on its class vectors [lit, external text]": (78.7, 84.9, 94.2, 88.2),
}


def _numbers(label: str, values: Iterable[float]) -> list[str]:
    return [label, *(f"{value:.1f}" for value in values)]


def _by_steps(heading: str, paper: Mapping[str, tuple[str, Mapping[int, float]]], option: str) -> Table:
    """Return a table with one column for each K, and for each row the paper's numbers above ours."""
    steps = next(iter(paper.values()))[1]
    rows: list[Line] = []
    for name, (variant, numbers) in paper.items():
        rows.append(_numbers(f"{name}, the paper", numbers.values()))
        command = f"python recipes/{STEPS_RECIPE}.py{option} --resume"
        rows.append(Row(f"{name}, ours", {"variant": variant}, command=command))
    columns = [folds_score(f"K = {k}", ACCURACY, where={"tag": f"k{k}"}) for k in steps]
    return Table((heading,), columns, rows, where=OF_STEPS, complete=is_complete)


steps = _by_steps("steps", PAPER_STEPS, " --table 2")  # the paper's Table 2: steps on MR, by their number
starts = _by_steps("first context", PAPER_STARTS, " --table 3")  # its Table 3: three kinds of first contexts on MR

# Every cell of both tables once: heading -> variant, K and the paper's number. A random start is a recurrent row.
CELLS = {
    f"{name}, K = {k}": (variant, k, number)
    for name, (variant, numbers) in {**PAPER_STEPS, **PAPER_STARTS}.items()
    if name != "random"
    for k, number in numbers.items()
}


def _deviations(results: Runs) -> Iterable[Line]:
    yield _numbers("the paper", (number for _, _, number in CELLS.values()))
    yield Row("ours", {"name": ""}, absent=NOTHING)
    parts = {f"k{k}" for _, k, _ in CELLS.values()}
    for name in sorted({name for part in parts for name in names_of(results, {"recipe": STEPS_RECIPE}, part)}):
        yield Row(name, {"name": name}, beside={"name": ""}, absent=NOTHING)


deviations = Table(
    ("settings",),
    [
        folds_score(heading, ACCURACY, where={"variant": variant, "part": f"k{k}"})
        for heading, (variant, k, _) in CELLS.items()
    ],
    _deviations,
    where=OF_STEPS,
)


def _row(label: str, recipe: str, variant: str, tag: str = "", options: str = "") -> Row:
    source = {"recipe": recipe, "variant": variant, "tag": tag}
    return Row(label, source, command=f"python recipes/{recipe}.py{options} --resume")


MAJORITY_CLASS_ROW = _row("majority class", "sentence_linear", MAJORITY_CLASS)
OURS = _row("Contextualizer, the paper's settings", SENTENCE_RECIPE, LEARNED)
_DROPOUT = " --dropout 0.5 --embedding_bound 0.1 --name dropout"
DROPOUT = _row("Contextualizer, dropout 0.5, vectors from U(−0.1, 0.1)", SENTENCE_RECIPE, LEARNED, "dropout", _DROPOUT)
STRONGEST = _row("Contextualizer, strongest settings of each set", SENTENCE_RECIPE, LEARNED, BEST)
# The control: the same model, whose attention is a plain mean throughout.
PLAIN_MEAN = _row("strongest settings with W = 0: a plain mean", SENTENCE_RECIPE, LEARNED, f"{BEST}_mean")
FIXED_STARTS = _row(
    "strongest settings, read from eight first contexts that are drawn once", SENTENCE_RECIPE, LEARNED, f"{BEST}_fixed"
)
# What is added to the commands of the strongest settings.
OF_STRONGEST = (
    (PLAIN_MEAN, f" --plain_mean true --name {BEST}_mean"),
    (FIXED_STARTS, f" --eval_context fixed --eval_context_samples 8 --name {BEST}_fixed"),
)
LINEAR_ROWS = tuple(
    _row(label, "sentence_linear", variant)
    for label, variant in zip(
        (
            "TF-IDF of words and characters, SVM",
            "words and pairs, naive Bayes",
            "words and pairs, NB-weighted SVM",
            "TF-IDF of words and characters, SVM, C chosen",
            "words and pairs, NB-weighted SVM, C chosen",
        ),
        (*LINEAR_BASELINES, *TUNED_LINEAR),
        strict=True,
    )
)
NEURAL = {
    "mean": "mean of words",
    "attention": "scalar attention",
    "cnn": "CNN",
    "bigru": "BiGRU",
    "transformer": "Transformer encoder",
}
AHEAD = ("mean", "bigru")  # of the paper's settings on every set
_NARROW = " --dropout 0.5 --pooled_dropout 0.5 --embedding_bound 0.1 --name dropout"  # what DROPOUT's runs have
NEURAL_ROWS = tuple(_row(label, "sentence_text_baseline", variant) for variant, label in NEURAL.items())
NARROW_ROWS = tuple(
    _row(f"{label}, dropout 0.5, U(−0.1, 0.1)", "sentence_text_baseline", variant, "dropout", _NARROW)
    for variant, label in NEURAL.items()
)
BY_FOLD = "Contextualizer, settings chosen for each fold on its own validation part"
WEIGHTS = "weights, at most"


def _weights(cells: Iterable[Runs]) -> str:
    weights = [run.parameters["trainable"] for run in chain.from_iterable(cells)]
    return f"{max(weights):,}" if weights else ""


def _sentences(key: str, results: Runs) -> Iterable[Line]:
    """Return the rows of our runs; those of settings with dropout and of the strongest only where these are whole."""
    by_accuracy = key == ACCURACY
    found = {row.label: [_on(results, row, data) for data in DATASETS.values()] for row in (DROPOUT, STRONGEST)}
    with_dropout, with_strongest = (all(map(is_complete, cells)) for cells in found.values())
    yield MAJORITY_CLASS_ROW
    if by_accuracy:
        yield _numbers("Contextualizer, the paper", PAPER_SENTENCES)
    yield OURS
    if with_dropout:
        yield DROPOUT
    if with_strongest:
        yield STRONGEST
        best = {heading: _best_linear(results, key, dataset) for heading, dataset in DATASETS.items()}
        yield Difference("strongest settings − best linear baseline", STRONGEST.source, by_heading(best))
        chosen = {heading: _chosen_by_fold(results, dataset) for heading, dataset in DATASETS.items()}
        yield Row(BY_FOLD, by_heading(chosen), given={WEIGHTS: ""}, absent=NOTHING)
        made = dict.fromkeys(run.command.replace(TO_PUBLISH, "") for run in chain(*found[STRONGEST.label]))
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
        yield from (_numbers(label, values) for label, values in PUBLISHED.items())


def _on(results: Runs, row: Row, dataset: str) -> Runs:
    """Return the folds of a row on one dataset."""
    assert isinstance(row.source, Mapping)
    return runs_of(results, {**row.source, "dataset": dataset})


def _best_linear(results: Runs, key: str, dataset: str) -> Runs:
    """Return the runs of the best linear baseline, see `chosen_by`: linear ones hold nothing out for validation."""
    known = [_on(results, row, dataset) for row in LINEAR_ROWS]
    whole = [runs for runs in known if is_complete(runs)]
    choice = chosen_by(whole, key)
    return max(whole, key=lambda runs: statistics.fmean(run.metrics[choice] for run in runs), default=[])


def _chosen_by_fold(results: Runs, dataset: str) -> Runs:
    """Return for each fold the run with the best accuracy on its validation part, of settings that have all folds.

    That part shares no row with the fold's test part. Settings that start from vectors of other texts have no part.
    """
    where = {"recipe": SENTENCE_RECIPE, "variant": LEARNED, "dataset": dataset}
    ours = [run for run in select(results, where) if DEV_ACCURACY in run.metrics and "word_vectors" not in run.settings]
    tried = [runs_of(ours, {"tag": tag}) for tag in sorted({run.tag for run in ours})]
    whole = [runs for runs in tried if is_complete(runs)]
    by_fold: dict[tuple[int, int], list[RunResult]] = {}
    for run in chain(*whole):
        by_fold.setdefault((run.seed, run.fold or 0), []).append(run)
    best = [max(by_fold[fold], key=lambda run: run.metrics[DEV_ACCURACY]) for fold in sorted(by_fold)]
    return best if len(whole) > 1 else []


def _of_sentences(key: str) -> Table:
    """Return the table by one score; neither the paper nor the published numbers have macro F1."""
    columns = [folds_score(heading, key, where={"dataset": dataset}) for heading, dataset in DATASETS.items()]
    columns.append(Column(WEIGHTS, total=_weights))
    return Table(("model",), columns, partial(_sentences, key), complete=is_complete)


def _of_phrases(row: Row, options: str) -> Row:
    command = f"python recipes/{SENTENCE_RECIPE}.py --datasets {DATASETS['MPQA']}{options}"
    return replace(row, command=command)


# MPQA over all phrases and over those with a known word, which are all that the paper's softmax is defined for.
known_words = Table(
    ("model",),
    (
        folds_score("all phrases", ACCURACY),
        folds_score("phrases with a known word", "test/known_accuracy"),
        folds_score("share of these", "test/known_share"),
    ),
    (
        _numbers("Contextualizer, the paper", PAPER_SENTENCES[-1:]),
        _of_phrases(OURS, ""),
        _of_phrases(DROPOUT, _DROPOUT),
    ),
    where={"dataset": DATASETS["MPQA"]},
    complete=lambda runs: bool(runs) and all("test/known_accuracy" in run.metrics for run in runs),
)


def _climb(results: Runs) -> Iterable[Line]:
    yield OURS
    where = {"recipe": SENTENCE_RECIPE, "variant": LEARNED}
    names = names_of((run for run in results if run.dataset in DATASETS.values()), where)
    for name in names:
        plain = {"tag": ""}
        yield Row(name, {**where, "tag": name}, base=plain, beside=plain, absent=NOTHING)
    if not names:
        command = f"python recipes/{SENTENCE_RECIPE}.py --dropout 0.5 --name dropout --resume"
        yield Row("each lever", [], command=command)


CLIMB = Table(
    ("settings",),
    [
        column
        for heading, dataset in DATASETS.items()
        for column in (
            folds_score(heading, DEV_ACCURACY, where={"dataset": dataset}),
            Column(f"{heading}, difference", minus=folds_test(DEV_ACCURACY), where={"dataset": dataset}),
        )
    ],
    _climb,
    complete=is_complete,
)


def climb(results: Runs) -> str:
    """Return each option by its accuracy on validation. That on test is not shown: settings are chosen by this table.

    Runs that held nothing out for validation chose nothing and are not here.
    """
    return CLIMB([run for run in results if DEV_ACCURACY in run.metrics])


BESIDE = (MAJORITY_CLASS_ROW, *LINEAR_ROWS, NEURAL_ROWS[0], NEURAL_ROWS[3])  # of other recipes: linear, mean, BiGRU


def sentence_table(
    recipe: str, option: str, known: Sequence[str], compared: Sequence[str], size: tuple[str, str]
) -> Table:
    """Return the table of the test accuracy of variants on sentences, beside other models on the same folds.

    Args:
        recipe: Name of the recipe that trains the variants.
        option: Name of the recipe's option that selects variants.
        known: Names of the variants in the order of the rows.
        compared: Names of the variants that the table always shows; the first is the one with which others are
            compared.
        size: Name of the setting that gives variants equal numbers of weights, and heading of its column.
    """
    columns = [folds_score(heading, ACCURACY, where={"dataset": dataset}) for heading, dataset in DATASETS.items()]
    columns.append(Column(size[1], total=partial(_sizes, size[0])))
    columns.append(Column(WEIGHTS, total=_weights))

    def rows(results: Runs) -> Iterable[Line]:
        ours = [run for run in results if run.recipe == recipe and run.dataset in DATASETS.values()]
        for name in ("", *names_of(ours, {})):
            there = {run.variant for run in select(ours, {"tag": name})}
            shown = [one for one in known if one in there or (not name and one in compared)]
            for one in shown:
                if name:
                    yield Row(f"`{one}`, {name}", {"variant": one, "tag": name}, beside={"tag": ""})
                else:
                    command = f"python recipes/{recipe}.py --{option} {{missing}} --resume" if one in compared else ""
                    yield Row(f"`{one}`", {"variant": one}, command=command)
            for one in shown:
                if one != compared[0]:
                    label = f"`{one}` − `{compared[0]}`{f', {name}' if name else ''}"
                    yield Difference(label, {"variant": one, "tag": name}, {"variant": compared[0], "tag": name})
            if not name:
                yield from (replace(row, command="", given={size[1]: ""}) for row in BESIDE)

    return Table(("model",), columns, rows, where={"recipe": recipe, "tag": ""}, complete=is_complete)


def _sizes(setting: str, cells: Iterable[Runs]) -> str:
    return ", ".join(sorted({str(run.settings[setting]) for run in chain.from_iterable(cells)}))


TABLES: dict[str, Callable[..., str]] = {
    "contextualizer-steps": steps,
    "contextualizer-starts": starts,
    "contextualizer-deviations": deviations,
    "contextualizer-sentences": _of_sentences(ACCURACY),
    "contextualizer-sentences-f1": _of_sentences(MACRO_F1),
    "contextualizer-known": known_words,
    "contextualizer-climb": climb,
}
