"""BiDAF: its tables, made from results files, and the numbers of its paper."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ctxzoo.models.configuration_bidaf import EXTENSIONS, BidafConfig
from ctxzoo.results.result import VECTORS_CONTENT, RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    TO_PUBLISH,
    add_plus_sign,
    format_mean_and_deviation,
    refuse_repeated_runs,
)
from ctxzoo.tasks.question_answering.card import PAPER
from ctxzoo.tasks.question_answering.data import LEFT_OUT
from ctxzoo.tasks.question_answering.experiments import build_paper_experiment
from reports.labels import read_labels
from reports.results_table import Column, Line, Row, Table
from reports.run_selection import Runs, select_alike_runs
from reports.score_columns import score_column

LABELS = read_labels("bidaf")
RECIPE = {"recipe": "squad_bidaf"}
COMMAND = (
    "--dataset {dataset} --variant {variant} --word_vectors FILE --seeds {seeds} --precision bf16-mixed {more}".format
)
V1_MINI, V2_MINI = "ctxzoo-data/squad_v1_mini", "ctxzoo-data/squad_v2_mini"
# On squad_v2_mini F1 with "no answer" allowed may fall while reading improves (its README).
MORE = {V1_MINI: "--epochs 8", V2_MINI: "--epochs 4 --monitor span_f1"}
CONTINUED = ("finish_source", "init_from")  # settings of runs that go on from a checkpoint
EXTENDED_VARIANT = "learned_char7"
CONTROLS = ("second_dropout", "learned_attention_residual")  # variants that stand in a table of their own
SEVERAL_SEEDS = ("baseline", "sinusoidal", "learned", "learned_char7", "char7")
NEEDED_SEEDS = (1, 2, 3)
OF_SEEDS = f"{MORE[V1_MINI]} --threads 1 --name start"  # the name keeps the files of the earlier start
PRESENT_START = 0.122474  # `product_start` of a reader 100 wide
# Settings of results that lack them: batches of similar length, and w_cq from ±sqrt(6 / 201); and all others.
UNTOLD = {"pool_batches": 50, "product_start": 0.172774}
# The optimizer and the vectors that a file does not tell are not known.
NOT_KNOWN = ("optimizer", VECTORS_CONTENT)
DEFAULTS = {
    name: value for name, value in build_paper_experiment().class_defaults().items() if name not in NOT_KNOWN
} | UNTOLD

RUN_COLUMNS = ("seeds", "epochs", "minutes")
EM, F1 = score_column("test EM", "test/exact"), score_column("test F1", "test/f1")
VALIDATION_F1 = score_column("validation F1", "validation/f1")


def filter_runs(results: Iterable[RunResult], dataset: str, split: str = "test") -> list[RunResult]:
    """Return the BiDAF runs on a dataset that report scores of a split; missing settings get their defaults."""
    return [
        replace(run, settings={**DEFAULTS, **run.settings})
        for run in results
        if (run.architecture, run.dataset, run.split) == ("bidaf", dataset, split)
    ]


def list_options(run: RunResult) -> list[str]:
    """Return the names of the optional changes to architecture or training that a run was made with."""
    return [str(name) for name in run.settings.get("extensions") or []]


def has_no_options(run: RunResult) -> bool:
    """Return whether a run has no optional change and did not continue from a checkpoint."""
    return not list_options(run) and not any(run.settings.get(name) for name in CONTINUED)


def has_all_rows(run: RunResult) -> bool:
    """Return whether a run was trained on the questions of every source of the data."""
    return not any(run.settings.get(name) for name in ("left_out_source", "train_source"))


def drop_earlier_starts(runs: Sequence[RunResult]) -> list[RunResult]:
    """Leave out runs with the older, wider initial weights w_cq of BiDAF's similarity, if newer ones replace them."""
    present = {_identify_run(run, "product_start") for run in runs if run.settings["product_start"] == PRESENT_START}
    return [
        run
        for run in runs
        if run.settings["product_start"] == PRESENT_START or _identify_run(run, "product_start") not in present
    ]


def _identify_run(run: RunResult, *left_out: str) -> str:
    """Return variant, settings and data of a run as one text, which is equal for runs of one row.

    `left_out` names settings that do not count.
    """
    settings = {name: value for name, value in run.settings.items() if name not in (VECTORS_CONTENT, *left_out)}
    return json.dumps([run.variant, settings, run.data["fingerprint"]], sort_keys=True)


def group_runs(runs: Iterable[RunResult]) -> list[tuple[str, list[RunResult]]]:
    """Group runs into table rows by variant, settings, data and number of parameters; return label and runs of each.

    Rows of one variant that would look alike are distinguished by the settings in which they differ, but for epochs,
    which have a column.

    Raises:
        ValueError: two runs agree in everything, seed and fold included, so that a mean would count one twice.
    """
    rows: dict[tuple[str, int], list[RunResult]] = defaultdict(list)
    alike: dict[str, list[RunResult]] = defaultdict(list)  # the first run of each row by its name
    for run in runs:
        rows[_identify_run(run), run.parameters["trainable"]].append(run)
    for members in rows.values():
        refuse_repeated_runs(members)
        alike[_format_row_name(members[0])].append(members[0])
    groups = []
    for _, (run, *others) in sorted(rows.items()):
        name = _format_row_name(run)
        differing = [
            f"{key} {json.dumps(run.settings.get(key))}"
            for key in sorted({key for other in alike[name] for key in other.settings})
            if key not in ("epochs", "extensions", VECTORS_CONTENT, *CONTINUED)
            and any(other.settings.get(key) != run.settings.get(key) for other in alike[name])
        ]
        if any(other.data["fingerprint"] != run.data["fingerprint"] for other in alike[name]):
            differing.append(f"data {run.data['fingerprint'][:8]}")
        groups.append((f"{name} ({', '.join(differing)})" if differing else name, [run, *others]))
    return groups


def _format_row_name(run: RunResult) -> str:
    """Return the label of a run's row: its variant, its options, and whether it continued from a checkpoint."""
    name = " + ".join([run.variant, *list_options(run)])
    finish = run.settings.get("finish_source")
    if finish is not None:
        return f"{name}, finished on {finish}"
    return f"{name}, continued" if run.settings.get("init_from") else name


def _list_variant_rows(runs: Iterable[RunResult], variants: Sequence[str], dataset: str) -> Iterable[Line]:
    """Yield a row for each group of runs, in the order of ``variants``; others come last."""
    by_variant: dict[str, list[tuple[str, list[RunResult]]]] = {variant: [] for variant in variants}
    for label, members in group_runs(runs):
        by_variant.setdefault(members[0].variant, []).append((label, members))
    for variant, groups in by_variant.items():
        yield from (Row(*group) for group in sorted(groups, key=lambda group: not has_no_options(group[1][0])))
        if not groups:
            listed = variant in SEVERAL_SEEDS and dataset == V1_MINI  # with a command for all its seeds
            command = "" if listed else COMMAND(dataset=dataset, variant=variant, seeds=1, more=MORE[dataset])
            yield Row(variant, [], given={"trainable parameters": ""}, command=command)


def _select_runs_as_published(results: Runs) -> list[RunResult]:
    """Return the runs with the paper's optimizer that were trained on all rows."""
    runs = filter_runs(results, V1_MINI)
    return [run for run in runs if run.settings.get("optimizer", ADADELTA) == ADADELTA and has_all_rows(run)]


def _list_squad_v1_rows(results: Runs) -> Iterable[Line]:
    """Yield the rows on SQuAD 1.1 without options, with commands for seeds that are missing."""
    runs = [run for run in _select_runs_as_published(results) if run.variant not in CONTROLS and has_no_options(run)]
    variants = [name for name in BidafConfig.variants if name not in CONTROLS]
    yield from _list_variant_rows(drop_earlier_starts(runs), variants, V1_MINI)
    for variant in SEVERAL_SEEDS:  # rows that are not shown, which ask for what no run with the present start has
        present = [run for run in runs if (run.variant, run.settings["product_start"]) == (variant, PRESENT_START)]
        left = [seed for seed in NEEDED_SEEDS if seed not in {run.seed for run in present}]
        command = COMMAND(dataset=V1_MINI, variant=variant, seeds="{seeds}", more=OF_SEEDS)
        yield Row(variant, [], seeds=left, command=command if left else "", optional=True)
    yield ["SQuAD 2.0, official train split", "", "not run here: needs the Hub's train split"]


TABLES: dict[str, Callable[..., str]] = {}
# Every variant as published, on real SQuAD 1.1 questions; the official set's row says what it waits for.
TABLES["bidaf-squad-v1-mini"] = Table(
    ("trainable parameters", EM, F1, VALIDATION_F1, *RUN_COLUMNS),
    _list_squad_v1_rows,
    RECIPE,
    further=lambda results: ("# SQuAD 2.0, official train split", "python recipes/squad_bidaf.py"),
)


def _list_squad_v2_rows(results: Runs) -> Iterable[Line]:
    """Return the rows on SQuAD 2.0, of trainings of four epochs or more."""
    runs = [run for run in filter_runs(results, V2_MINI) if run.settings["epochs"] >= 4]
    return _list_variant_rows(runs, ("baseline", EXTENDED_VARIANT), V2_MINI)


# SQuAD 2.0 mode, beside the score of a model that never answers.
TABLES["bidaf-squad-v2-mini"] = Table(
    (
        *(score_column(heading, *score) for heading, score in LABELS["unanswerable_scores"].items()),
        *RUN_COLUMNS,
    ),
    _list_squad_v2_rows,
    RECIPE,
)


def _drop_epochs(run: RunResult) -> RunResult:
    """Return the run without its number of epochs, so that runs of different length share a row."""
    return replace(run, settings={**run.settings, "epochs": None})


def _list_rows_after_epochs(results: Runs) -> Iterable[Line]:
    """Return the rows for scores after the first epochs; how long a run went on afterwards does not matter."""
    groups = group_runs(_drop_epochs(run) for run in filter_runs(results, V2_MINI) if has_no_options(run))
    return [Row(*group) for group in groups] or [[NOT_RUN]]


def _make_epoch_column(epoch: int, heading: str, name: str) -> Column:
    """Return the column of a validation score after one epoch."""
    key = f"validation/epoch{epoch}/span_{name}"
    return Column(
        f"span {heading}, epoch {epoch}",
        lambda runs: format_mean_and_deviation(run.metrics[key] for run in runs if key in run.metrics),
    )


def _count_runs_by_epoch(runs: Runs) -> str:
    """Return how many runs have scores after the first and the second epoch, as "3/2"."""
    return "/".join(str(sum(f"validation/epoch{epoch}/span_exact" in run.metrics for run in runs)) for epoch in (1, 2))


# Reading after one and two epochs.
TABLES["bidaf-first-epochs"] = Table(
    (
        *(_make_epoch_column(epoch, *name) for epoch in (1, 2) for name in (("EM", "exact"), ("F1", "f1"))),
        Column("seeds", _count_runs_by_epoch),
    ),
    _list_rows_after_epochs,
)


def _make_gain_column(heading: str, key: str, unit: str = "") -> Column:
    """Return the column of the mean difference of a score between runs of equal seeds, and their number."""

    def write_difference(ours: Runs, base: Runs) -> str:
        plain = {run.seed: run.metrics[key] for run in base}
        gains = [run.metrics[key] - plain[run.seed] for run in ours if run.seed in plain]
        number = f"{len(gains)}{unit}{'s' if unit and len(gains) > 1 else ''}"
        return f"{add_plus_sign(format_mean_and_deviation(gains))} ({number})" if gains else NOTHING

    return Column(heading, minus=write_difference)


# The first epoch of the baseline by `pool_batches` and `product_start`; the wider start is that of an earlier commit.
CONDITIONS = {
    "before": UNTOLD,
    "start": UNTOLD | {"product_start": PRESENT_START},
    "random": UNTOLD | {"pool_batches": 1},
    "both": {"product_start": PRESENT_START, "pool_batches": 1},
}
FIRST_F1 = "validation/epoch1/span_f1"
FIRST_EPOCH = (
    f"python recipes/squad_bidaf.py --dataset {V2_MINI} --variant baseline --word_vectors FILE --precision bf16-mixed "
    "--epochs 1 --monitor span_f1 --score validation --threads 1 --name first_epoch-{name} --seeds {{seeds}}"
)


def _list_first_epoch_rows(results: Runs) -> Iterable[Line]:
    """Yield a row for each order of batches and width of initial weights, compared with the first of these."""
    runs = [_drop_epochs(run) for split in ("test", "validation") for run in filter_runs(results, V2_MINI, split)]
    runs = [run for run in runs if run.variant == "baseline" and has_no_options(run) and FIRST_F1 in run.metrics]
    runs = [run for run in runs if run.settings.get("precision") == "bf16-mixed"]
    base: Runs = []
    for name, condition in CONDITIONS.items():
        members = select_alike_runs(runs, {f"settings.{setting}": value for setting, value in condition.items()})
        base = base or members
        order, more = ("random", " --pool_batches 1") if condition["pool_batches"] == 1 else ("of similar length", "")
        command = FIRST_EPOCH.format(name=f"{name}{more}")
        if condition["product_start"] != PRESENT_START:
            command = f"git checkout fd21e49 && {command}{TO_PUBLISH}"
        label = order, f"±{condition['product_start']:.3f}"
        yield Row(label, members, base=base, seeds=NEEDED_SEEDS, command=command)


# Reading after one epoch by the order of batches and the start of w_cq, each compared at equal seeds.
TABLES["bidaf-first-epoch"] = Table(
    (
        score_column("span EM", "validation/epoch1/span_exact"),
        score_column("span F1", FIRST_F1),
        _make_gain_column("difference F1", FIRST_F1, " seed"),
        "seeds",
    ),
    _list_first_epoch_rows,
    headings=("rows of a batch", "start of w_cq"),
)


def _pair_runs(ours: Runs, plain: Runs) -> list[tuple[RunResult, RunResult]]:
    """Pair each run with the run in `plain` that differs in its options alone; leave out runs without one."""

    def identify_without_options(run: RunResult) -> tuple[Any, ...]:
        return run.seed, run.fold, _identify_run(run, "extensions", *CONTINUED)

    by_rest = {identify_without_options(run): run for run in reversed(plain)}  # the first of several
    return [(run, by_rest[identify_without_options(run)]) for run in ours if identify_without_options(run) in by_rest]


def _make_difference_column(heading: str, key: str) -> Column:
    """Return the column of the mean difference of a score between runs with and without an option."""

    def write_difference(ours: Runs, plain: Runs) -> str:
        scores = [[run.metrics[key] for run in pair if key in run.metrics] for pair in _pair_runs(ours, plain)]
        gains = (pair[0] - pair[1] if len(pair) == 2 else None for pair in scores)
        return add_plus_sign(format_mean_and_deviation(gains))

    return Column(heading, minus=write_difference)


def _list_extension_rows(results: Runs) -> Iterable[Line]:
    """Yield a row for each option of BiDAF, compared with the runs without it."""
    runs = [run for run in _select_runs_as_published(results) if run.variant == EXTENDED_VARIANT]
    plain = [run for run in runs if has_no_options(run)]
    for label, members in sorted(group_runs(runs), key=lambda group: not has_no_options(group[1][0])):
        yield Row(label, members, base=None if has_no_options(members[0]) else plain)
    done = {tuple(list_options(run)) for run in runs}
    for name in EXTENSIONS:
        if (name,) not in done:
            yield Row(f"{EXTENDED_VARIANT} + {name}", [], given={"trainable parameters": ""})


# Each option against the plain variant, as differences between runs that are alike in all else.
TABLES["bidaf-extensions"] = Table(
    (
        *("trainable parameters", EM, F1),
        _make_difference_column("difference EM", "test/exact"),
        _make_difference_column("difference F1", "test/f1"),
        Column("pairs", minus=lambda ours, plain: str(len(_pair_runs(ours, plain)))),
        *RUN_COLUMNS,
    ),
    _list_extension_rows,
)


def _format_paper_number(value: float | None) -> str:
    """Return a number of the paper with two decimals, or that its run was not finished."""
    return "not finished" if value is None else f"{value:.2f}"


# The paper's own numbers. Ours stay empty: no run here had its training data, so no result is looked up.
TABLES["bidaf-paper"] = Table(
    [Column(heading) for heading in ("course split", "paper F1", "paper EM", "our F1", "our EM")],
    [[row.variant, row.split, *map(_format_paper_number, (row.f1, row.exact)), *["not run here"] * 2] for row in PAPER],
)

ADADELTA, ADAMW = "adadelta", "adamw"
VECTORS = "wiki2015_cbow.100d"
OF_ADAMW = "--epochs 4 --optimizer adamw --learning_rate 0.0015 --warmup_steps 200 --decay --threads 1"


def _list_control_rows(results: Runs) -> Iterable[Line]:
    """Yield a row for each control experiment, with its difference to the base at equal seeds.

    All have one width of initial weights w_cq and one file of word vectors.
    """
    runs = [run for run in filter_runs(results, V1_MINI) if has_no_options(run) and has_all_rows(run)]
    start = {"settings.product_start": PRESENT_START, "settings.word_vectors": VECTORS}
    for variant, optimizer, base in LABELS["compared"]:
        shared = {**start, "settings.optimizer": optimizer}
        more = OF_SEEDS if variant in SEVERAL_SEEDS else f"{MORE[V1_MINI]} --threads 1"
        more = OF_ADAMW if optimizer == ADAMW else more
        command = COMMAND(dataset=V1_MINI, variant=variant, seeds="{seeds}", more=more)
        plain = select_alike_runs(runs, {**shared, "variant": base}) if base else None
        ours = select_alike_runs(runs, {**shared, "variant": variant})
        yield Row((variant, optimizer, base or NOTHING), ours, plain, seeds=NEEDED_SEEDS, command=command)


# What positions, their dropout and the literal self-attention do, each against the run that differs in it.
TABLES["bidaf-controls"] = Table(
    (EM, F1, VALIDATION_F1, _make_gain_column("difference F1", "test/f1"), "seeds"),
    _list_control_rows,
    RECIPE,
    headings=("variant", "optimizer", "compared with"),
)

READER = (
    f"--dataset {V1_MINI} --variant char7 --extensions context_self_attention word_features --word_vectors FILE "
    "--optimizer adamw --learning_rate 0.003 --warmup_steps 200 --decay --precision bf16-mixed --threads 1"
)
SMALL = "reader_small"  # name of the runs that made the reader small


def _list_reader_rows(results: Runs) -> Iterable[Line]:
    """Yield the rows of the published reader: a baseline without a network, final settings, each source left out."""
    window = {"recipe": "squad_sliding_window", "dataset": V1_MINI, "split": "test"}
    yield Row("sliding window over words, no network", window, command=f"python recipes/{window['recipe']}.py")
    for tag, (label, options, seeds) in LABELS["readers"].items():
        runs = select_alike_runs(filter_runs(results, V1_MINI), {"tag": tag})
        command = f"{READER} {options} --seeds {{seeds}} --name {tag}"
        if tag == SMALL:
            label += f", {runs[0].settings['keep_words']:,} words" if runs else ""
            command = f"python recipes/small_reader.py --checkpoint RUN/checkpoint --result FILE --name {SMALL}"
        yield Row(label, runs, seeds=seeds, command=command)


def _format_left_out_difference(runs: Runs) -> str:
    """Return the mean F1 on the source left out of training minus that on test."""
    scores = [(run.metrics.get(f"{LEFT_OUT}/f1"), run.metrics["test/f1"]) for run in runs]
    return add_plus_sign(format_mean_and_deviation(None if left is None else left - test for left, test in scores))


# A baseline, and the final settings: all training rows, made small, and each source left out and scored.
TABLES["bidaf-reader"] = Table(
    (
        *("trainable parameters", VALIDATION_F1, EM, F1),
        score_column("left out EM", f"{LEFT_OUT}/exact"),
        score_column("left out F1", f"{LEFT_OUT}/f1"),
        Column("left out − test, F1", _format_left_out_difference),
        *RUN_COLUMNS,
    ),
    _list_reader_rows,
    RECIPE,
    headings=("reader",),
)


def _make_setting_column(heading: str, name: str, unless_told: object = NOTHING) -> Column:
    """Return the column of a setting; `unless_told` is shown where a run does not have it."""

    def format_setting(runs: Runs) -> str:
        value = runs[0].settings.get(name)
        return str(unless_told if value is None else value)

    return Column(heading, format_setting)


def _list_trial_rows(results: Runs) -> Iterable[Line]:
    """Return a row for each setting that was tried, the best validation F1 first."""
    groups = [runs for _, runs in group_runs(filter_runs(results, V1_MINI, "validation"))]
    groups.sort(key=lambda runs: -statistics.fmean(run.metrics["validation/f1"] for run in runs))
    return [Row(" + ".join([runs[0].variant, *list_options(runs[0])]), runs) for runs in groups] or [[NOT_RUN]]


TRIAL_TABLES: dict[str, Callable[..., str]] = {
    "bidaf-reader-trials": Table(
        (
            *(_make_setting_column(*setting) for setting in LABELS["settings"]),
            "trainable parameters",
            score_column("validation EM", "validation/exact"),
            VALIDATION_F1,
            *RUN_COLUMNS,
        ),
        _list_trial_rows,
    )
}
