"""The Contextualizer: its tables, made from results files, and the numbers of its paper and of others.

A cell is the mean and sample standard deviation over the folds of a cross-validation.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ctxzoo.results.comparison import check_folds, difference_cell, is_complete, score_cell
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    TO_PUBLISH,
    changed_settings,
    commands_not_run,
    markdown_table,
    with_commands,
)
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS as DATASETS
from ctxzoo.tasks.text_classification.linear import LINEAR_BASELINES, MAJORITY_CLASS, TUNED_LINEAR
from reports.choice import chosen_by

STEPS_RECIPE, SENTENCE_RECIPE = "mr_contextualizer", "sentence_contextualizer"
LINEAR_RECIPE, NEURAL_RECIPE = "sentence_linear", "sentence_text_baseline"
COMMAND = "python recipes/{recipe}.py{more} --resume"
LEARNED = "learned_embeddings"
BEST = "best"  # tag of the strongest settings
ACCURACY, MACRO_F1, DEV_ACCURACY = "test/accuracy", "test/macro_f1", "validation/accuracy"
KNOWN = ("test/known_accuracy", "test/known_share")
SENTENCE_HEADINGS = ["model", *DATASETS, "weights, at most"]

Runs = list[RunResult]

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
# Every cell of both tables once: heading -> row and K. A random start is the recurrent row of the steps.
CELLS = {
    f"{name}, K = {k}": (row, k)
    for name, row in {**PAPER_STEPS, **PAPER_STARTS}.items()
    if name != "random"
    for k in row[1]
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


@dataclass(frozen=True)
class Row:
    """A row over the four datasets: what distinguishes its runs from all others, and the options that make them."""

    label: str
    recipe: str
    variant: str
    tag: str = ""
    options: str = ""

    def runs(self, results: Sequence[RunResult], dataset: str) -> Runs:
        """Return the folds on one dataset, without trials of a few batches; raises as `check_folds` does."""
        found = [
            run
            for run in results
            if (run.recipe, run.variant, run.tag, run.dataset) == (self.recipe, self.variant, self.tag, dataset)
            and not run.settings.get("tiny")
        ]
        check_folds(found)
        return found


MAJORITY_CLASS_ROW = Row("majority class", LINEAR_RECIPE, MAJORITY_CLASS)
OURS = Row("Contextualizer, the paper's settings", SENTENCE_RECIPE, LEARNED)
DROPOUT = Row(
    "Contextualizer, dropout 0.5, vectors from U(−0.1, 0.1)",
    SENTENCE_RECIPE,
    LEARNED,
    "dropout",
    " --dropout 0.5 --embedding_bound 0.1 --name dropout",
)
STRONGEST = Row("Contextualizer, strongest settings of each set", SENTENCE_RECIPE, LEARNED, BEST)
# The control: the same model, whose attention is a plain mean throughout. The options of this row and of the next are
# added to the commands of the strongest settings.
PLAIN_MEAN = Row(
    "strongest settings with W = 0: a plain mean", SENTENCE_RECIPE, LEARNED, f"{BEST}_mean", " --plain_mean true"
)
FIXED_STARTS = Row(
    "strongest settings, read from eight first contexts that are drawn once",
    SENTENCE_RECIPE,
    LEARNED,
    f"{BEST}_fixed",
    " --eval_context fixed --eval_context_samples 8",
)
OF_STRONGEST = (PLAIN_MEAN, FIXED_STARTS)
LINEAR_ROWS = tuple(
    Row(label, LINEAR_RECIPE, variant)
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
NEURAL_ROWS = tuple(
    Row(label, NEURAL_RECIPE, variant)
    for label, variant in (
        ("mean of words", "mean"),
        ("scalar attention", "attention"),
        ("CNN", "cnn"),
        ("BiGRU", "bigru"),
        ("Transformer encoder", "transformer"),
    )
)
AHEAD = tuple(row for row in NEURAL_ROWS if row.variant in ("mean", "bigru"))  # of the paper's settings on every set
BY_FOLD = "Contextualizer, settings chosen for each fold on its own validation part"
NARROW = " --dropout 0.5 --pooled_dropout 0.5 --embedding_bound 0.1 --name dropout"  # what DROPOUT's runs have
NARROW_ROWS = tuple(
    replace(row, label=f"{row.label}, dropout 0.5, U(−0.1, 0.1)", tag=DROPOUT.tag, options=NARROW)
    for row in NEURAL_ROWS
)
# Row of the table to the label of the difference that follows it, and the two rows of that difference.
DIFFERENCES = {
    **{row: (f"{row.label} − {OURS.label}", row, OURS) for row in AHEAD},
    **{
        narrow: (f"Contextualizer − {row.label}, both with dropout 0.5, U(−0.1, 0.1)", DROPOUT, narrow)
        for row, narrow in zip(NEURAL_ROWS, NARROW_ROWS, strict=True)
    },
    PLAIN_MEAN: ("strongest settings − W = 0", STRONGEST, PLAIN_MEAN),
}


def steps(results: Runs) -> str:
    """The paper's Table 2: recurrent and regular steps on MR, by their number."""
    return _by_steps(results, "steps", PAPER_STEPS, more=" --table 2")


def starts(results: Runs) -> str:
    """The paper's Table 3: three kinds of first contexts on MR."""
    return _by_steps(results, "first context", PAPER_STARTS, more=" --table 3")


def deviations(results: Runs) -> str:
    """The cells of both tables again with other settings: one row for each name."""
    ours = [run for run in results if run.recipe == STEPS_RECIPE]
    names = sorted({run.tag.partition("-")[2] for run in ours} - {""})
    rows = [["the paper", *(f"{numbers[k]:.1f}" for (_, numbers), k in CELLS.values())]]
    plain: dict[str, Runs] = {}
    for name in ("", *names):
        found = {
            heading: Row(name, STEPS_RECIPE, variant, f"k{k}-{name}" if name else f"k{k}").runs(results, DATASETS["MR"])
            for heading, ((variant, _), k) in CELLS.items()
        }
        plain = plain or found
        label = name + _changes(found, plain) if name else "ours"
        rows.append([label, *(_score(runs, ACCURACY, absent=NOTHING) for runs in found.values())])
    return markdown_table(["settings", *CELLS], rows)


def sentences(results: Runs) -> str:
    """The paper's Table 4, accuracy: ours beside the paper's, linear and neural baselines, and published numbers."""
    rows, commands = _sentence_rows(results, ACCURACY)
    rows.insert(1, ["Contextualizer, the paper", *(f"{value:.1f}" for value in PAPER_SENTENCES)])
    rows += [[label, *(f"{value:.1f}" for value in values)] for label, values in PUBLISHED.items()]
    return with_commands(markdown_table(SENTENCE_HEADINGS, rows), commands)


def sentences_f1(results: Runs) -> str:
    """Return the table of sentences by macro F1, which neither the paper nor the published numbers have."""
    rows, commands = _sentence_rows(results, MACRO_F1)
    return with_commands(markdown_table(SENTENCE_HEADINGS, rows), commands)


def known_words(results: Runs) -> str:
    """MPQA over all phrases and over those with a known word, which are all that the paper's softmax is defined for."""
    rows = [["Contextualizer, the paper", f"{PAPER_SENTENCES[-1]:.1f}"]]
    missing = []
    for row in (OURS, DROPOUT):
        runs = row.runs(results, DATASETS["MPQA"])
        rows.append([row.label, *(_score(runs, metric) for metric in (ACCURACY, *KNOWN))])
        if not runs or any(KNOWN[0] not in run.metrics for run in runs):
            missing.append(f"python recipes/{row.recipe}.py --datasets {DATASETS['MPQA']}{row.options}")
    headings = ["model", "all phrases", "phrases with a known word", "share of these"]
    return with_commands(markdown_table(headings, rows), commands_not_run(missing))


def ablation(results: Runs) -> str:
    """Return each option by its accuracy on validation. That on test is not shown: settings are chosen by this table.

    Runs that held nothing out for validation chose nothing and are not here.
    """
    results = [run for run in results if DEV_ACCURACY in run.metrics]
    headings = ["settings", *(heading for name in DATASETS for heading in (name, f"{name}, difference"))]
    base = {heading: OURS.runs(results, dataset) for heading, dataset in DATASETS.items()}
    rows = [[OURS.label, *(cell for runs in base.values() for cell in (_score(runs, DEV_ACCURACY), NOTHING))]]
    commands = [] if all(map(is_complete, base.values())) else [COMMAND.format(recipe=SENTENCE_RECIPE, more="")]
    ours = [run for run in results if (run.recipe, run.variant) == (SENTENCE_RECIPE, LEARNED)]
    for tag in sorted({run.tag for run in ours if run.dataset in DATASETS.values()} - {OURS.tag}):
        row = Row(tag, SENTENCE_RECIPE, LEARNED, tag)
        found = {heading: row.runs(results, dataset) for heading, dataset in DATASETS.items()}
        cells = [
            cell
            for heading, runs in found.items()
            for cell in (_score(runs, DEV_ACCURACY, absent=NOTHING), difference_cell(runs, base[heading], DEV_ACCURACY))
        ]
        rows.append([row.label + _changes(found, base), *cells])
    if len(rows) == 1:
        rows.append(["each lever", NOT_RUN])
        commands.append(COMMAND.format(recipe=SENTENCE_RECIPE, more=" --dropout 0.5 --name dropout"))
    return with_commands(markdown_table(headings, rows), commands_not_run(commands))


TABLES: dict[str, Callable[[Runs], str]] = {
    "contextualizer-steps": steps,
    "contextualizer-starts": starts,
    "contextualizer-deviations": deviations,
    "contextualizer-sentences": sentences,
    "contextualizer-sentences-f1": sentences_f1,
    "contextualizer-known": known_words,
    "contextualizer-climb": ablation,
}


def _by_steps(results: Runs, heading: str, paper: Mapping[str, tuple[str, Mapping[int, float]]], more: str) -> str:
    """A table with one column for each K, and for each row the paper's numbers above ours."""
    columns = list(dict.fromkeys(k for _, numbers in paper.values() for k in numbers))
    rows, complete = [], True
    for name, (variant, numbers) in paper.items():
        ours = [Row(name, STEPS_RECIPE, variant, f"k{k}").runs(results, DATASETS["MR"]) for k in columns]
        complete &= all(map(is_complete, ours))
        rows.append([f"{name}, the paper", *(f"{numbers[k]:.1f}" for k in columns)])
        rows.append([f"{name}, ours", *(_score(runs, ACCURACY) for runs in ours)])
    table = markdown_table([heading, *(f"K = {k}" for k in columns)], rows)
    return with_commands(table, commands_not_run([] if complete else [COMMAND.format(recipe=STEPS_RECIPE, more=more)]))


def _sentence_rows(results: Runs, metric: str) -> tuple[list[list[str]], list[str]]:
    """The rows of our runs, and the commands of those that are missing."""
    ours = (OURS, DROPOUT, STRONGEST, *OF_STRONGEST)
    found = {
        row: [row.runs(results, dataset) for dataset in DATASETS.values()]
        for row in (MAJORITY_CLASS_ROW, *ours, *LINEAR_ROWS, *NEURAL_ROWS, *NARROW_ROWS)
    }
    for row, with_it in ((DROPOUT, NARROW_ROWS), (STRONGEST, OF_STRONGEST)):
        if not all(map(is_complete, found[row])):
            for absent in (row, *with_it):
                del found[absent]
    rows = []
    for row, cells in found.items():
        weights = [run.parameters["trainable"] for runs in cells for run in runs]
        rows.append([row.label, *(_score(runs, metric) for runs in cells), f"{max(weights):,}" if weights else ""])
        if row == STRONGEST:
            bars = zip(*(found[bar] for bar in LINEAR_ROWS), strict=True)
            compared = [_against_the_best(runs, bar, metric) for runs, bar in zip(cells, bars, strict=True)]
            rows.append(["strongest settings − best linear baseline", *compared])
            chosen = [_chosen_by_fold(results, dataset) for dataset in DATASETS.values()]
            rows.append([BY_FOLD, *(_score(runs, metric, absent=NOTHING) for runs in chosen)])
        if row in DIFFERENCES:
            label, first, second = DIFFERENCES[row]
            pairs = zip(found[first], found[second], strict=True)
            rows.append([label, *(difference_cell(*pair, metric) for pair in pairs)])
    missing = [row for row, cells in found.items() if not all(map(is_complete, cells))]
    commands = [
        command
        for row in missing
        for command in (
            _like_the_strongest(found[STRONGEST], row)
            if row in OF_STRONGEST
            else [COMMAND.format(recipe=row.recipe, more=row.options)]
        )
    ]
    return rows, commands_not_run(list(dict.fromkeys(commands)))


def _chosen_by_fold(results: Runs, dataset: str) -> Runs:
    """Return for each fold the run with the best accuracy on its validation part, of settings that have all folds.

    That part shares no row with the fold's test part. Settings that start from vectors of other texts have no part.
    """
    ours = [
        run
        for run in results
        if (run.recipe, run.variant, run.dataset) == (SENTENCE_RECIPE, LEARNED, dataset)
        and DEV_ACCURACY in run.metrics
        and "word_vectors" not in run.settings
    ]
    tried = [Row(tag, SENTENCE_RECIPE, LEARNED, tag).runs(ours, dataset) for tag in sorted({run.tag for run in ours})]
    whole = [runs for runs in tried if is_complete(runs)]
    seeds_and_folds = sorted({(run.seed, run.fold or 0) for runs in whole for run in runs})
    best = [
        max(
            (run for runs in whole for run in runs if (run.seed, run.fold) == seed_and_fold),
            key=lambda run: run.metrics[DEV_ACCURACY],
        )
        for seed_and_fold in seeds_and_folds
    ]
    return best if len(whole) > 1 else []


def _like_the_strongest(strongest: Sequence[Runs], row: Row) -> list[str]:
    """The commands of the strongest settings, each with the options of the row and its name."""
    commands = dict.fromkeys(run.command.replace(TO_PUBLISH, "") for runs in strongest for run in runs)
    return [command.replace(f" --name {BEST}", f"{row.options} --name {row.tag}") for command in commands]


def _against_the_best(runs: Runs, others: Sequence[Runs], metric: str) -> str:
    """The difference to the best of the others, see `chosen_by`: linear baselines hold nothing out for validation."""
    known = [other for other in others if is_complete(other)]
    if not known:
        return NOTHING
    choice = chosen_by(known, metric)
    best = max(known, key=lambda other: statistics.fmean(run.metrics[choice] for run in other))
    return difference_cell(runs, best, metric)


def _score(runs: Runs, metric: str, absent: str = NOT_RUN) -> str:
    return score_cell(runs, metric) if runs else absent


def _changes(found: Mapping[str, Runs], base: Mapping[str, Runs]) -> str:
    """Return the settings of a row that the base row lacks, by the heading of the column."""
    return changed_settings({name: (runs[0], base[name][0]) for name, runs in found.items() if runs and base[name]})
