"""BiDAF: its tables, made from results files, and the numbers of its paper."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxzoo.models.configuration_bidaf import LEVERS, BidafConfig
from ctxzoo.results.result import VECTORS_CONTENT, RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    PARAMETERS_COLUMN,
    RUN_COLUMNS,
    Column,
    markdown_table,
    mean_and_deviation,
    metric,
    refuse_mixtures,
    refuse_repeats,
    signed,
    with_commands,
)
from ctxzoo.tasks.question_answering.card import PAPER
from ctxzoo.tasks.question_answering.experiments import paper as reader_paper

COMMAND = (
    "python recipes/squad_bidaf.py --dataset {dataset} --variant {variant} --word_vectors FILE --seeds {seeds} "
    "--precision bf16-mixed {more}"
)
V1_MINI = "ctxzoo-data/squad_v1_mini"
V2_MINI = "ctxzoo-data/squad_v2_mini"
# On squad_v2_mini F1 with "no answer" allowed may fall while reading improves (its README).
EPOCHS = {V1_MINI: 8, V2_MINI: 4}
MORE = {V1_MINI: f"--epochs {EPOCHS[V1_MINI]}", V2_MINI: f"--epochs {EPOCHS[V2_MINI]} --monitor span_f1"}
CONTINUED = ("finish_source", "init_from")  # settings of runs that go on from a checkpoint
LEVER_VARIANT = "learned_char7"
CONTROLS = ("second_dropout", "learned_attention_residual")  # variants that stand in a table of their own
SEVERAL_SEEDS = ("baseline", "sinusoidal", "learned", "learned_char7", "char7")
SEEDS = (1, 2, 3)
OF_SEEDS = f"{MORE[V1_MINI]} --threads 1 --name start"  # the name keeps the files of the earlier start
PRESENT_START = 0.122474  # `product_start` of a reader 100 wide
# Settings of results that lack them: batches of similar length, and w_cq from ±sqrt(6 / 201); and all others.
UNTOLD = {"pool_batches": 50, "product_start": 0.172774}
# The optimizer and the vectors that a file does not tell are not known.
NOT_KNOWN = ("optimizer", VECTORS_CONTENT)
DEFAULTS = {name: value for name, value in reader_paper().class_defaults().items() if name not in NOT_KNOWN} | UNTOLD


FIRST_EPOCHS = (1, 2)  # after which reading is shown
# The first epoch of the baseline by `pool_batches` and `product_start`; the wider start is that of an earlier commit.
RANDOM, STARTERS_START = {"pool_batches": 1}, {"product_start": PRESENT_START}
CONDITIONS = {
    "before": UNTOLD,
    "start": UNTOLD | STARTERS_START,
    "random": UNTOLD | RANDOM,
    "both": UNTOLD | STARTERS_START | RANDOM,
}
CONDITION_SEEDS = (1, 2, 3)
WIDER_START_COMMIT = "fd21e49"
FIRST_EPOCH = (
    f"python recipes/squad_bidaf.py --dataset {V2_MINI} --variant baseline --word_vectors FILE --precision bf16-mixed "
    "--epochs 1 --monitor span_f1 --score validation --threads 1 --name first_epoch-"
)

V1_COLUMNS = (
    PARAMETERS_COLUMN,
    metric("test EM", "test/exact"),
    metric("test F1", "test/f1"),
    metric("validation F1", "validation/f1"),
    *RUN_COLUMNS,
)
V2_COLUMNS = (
    metric("span EM", "test/span_exact"),
    metric("span F1", "test/span_f1"),
    metric("no-answer AUC", "test/no_answer_auc", decimals=3),
    metric("F1 at tuned threshold", "test/f1_at_threshold"),
    metric("always no answer", "test/always_no_answer"),
    metric("AvNA", "test/AvNA"),
    metric("NLL", "test/nll"),
    *RUN_COLUMNS,
)


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but their seed and fold, and the name of their row."""

    variant: str
    label: str
    runs: tuple[RunResult, ...]


def options_of(run: RunResult) -> list[str]:
    """Names of the changes to the architecture or training that this run was made with."""
    return [str(name) for name in run.settings.get("levers") or []]


def is_plain(run: RunResult) -> bool:
    """Return whether the run has no option on and did not go on from another run's checkpoint."""
    return not options_of(run) and not any(run.settings.get(name) for name in CONTINUED)


def as_published(run: RunResult) -> bool:
    """Return whether the run is plain and was trained as the paper's."""
    return is_plain(run) and trained_as_published(run)


def trained_as_published(run: RunResult) -> bool:
    """Return whether the run has the paper's optimizer and all training rows."""
    adadelta = run.settings.get("optimizer", "adadelta") == "adadelta"
    return adadelta and on_all_rows(run)


def on_all_rows(run: RunResult) -> bool:
    """Return whether the run was trained on the rows of every source."""
    return not any(run.settings.get(name) for name in ("left_out_source", "train_source"))


def without_earlier_start(runs: Sequence[RunResult]) -> list[RunResult]:
    """Runs but those that began with the wider w_cq, where there are runs of their row with the present one."""

    def row(run: RunResult) -> str:
        settings = {name: value for name, value in _of_rows(run.settings).items() if name != "product_start"}
        return json.dumps([run.variant, settings, run.data["fingerprint"]], sort_keys=True)

    present = {row(run) for run in runs if run.settings["product_start"] == PRESENT_START}
    return [run for run in runs if run.settings["product_start"] == PRESENT_START or row(run) not in present]


def missing_seeds(runs: Iterable[RunResult], variant: str, more: str) -> list[str]:
    """The command for those of `SEEDS` that no run of the variant with the present start has, if there are any."""
    done = {run.seed for run in runs if run.variant == variant and run.settings["product_start"] == PRESENT_START}
    left = " ".join(str(seed) for seed in SEEDS if seed not in done)
    return [COMMAND.format(dataset=V1_MINI, variant=variant, seeds=left, more=more)] if left else []


def group_runs(runs: Iterable[RunResult]) -> list[Group]:
    """Sort runs into rows: one for each variant, settings, data and number of parameters.

    Rows of one variant that would look alike are distinguished by the settings in which they differ.

    Raises:
        ValueError: two runs agree in everything, seed and fold included, so that a mean would count one twice.
    """
    rows: dict[tuple[str, str], list[RunResult]] = defaultdict(list)
    for run in runs:
        identity = [_of_rows(run.settings), run.data["fingerprint"], run.parameters["trainable"]]
        rows[run.variant, json.dumps(identity, sort_keys=True)].append(run)
    groups = []
    for (variant, _), members in sorted(rows.items()):
        refuse_repeats(members)
        same_name = [
            other[0] for (name, _), other in rows.items() if name == variant and _name(other[0]) == _name(members[0])
        ]
        groups.append(Group(variant, _name(members[0]) + _difference(members[0], same_name), tuple(members)))
    return groups


def _of_rows(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings by which rows differ: of word vectors the name, which all results have, not the content."""
    return {name: value for name, value in settings.items() if name != VECTORS_CONTENT}


def _name(run: RunResult) -> str:
    name = " + ".join([run.variant, *options_of(run)])
    finish = run.settings.get("finish_source")
    if finish is not None:
        return f"{name}, finished on {finish}"
    return f"{name}, continued" if run.settings.get("init_from") else name


def _difference(run: RunResult, others: Sequence[RunResult]) -> str:
    """Settings in which ``run`` differs from its namesakes; epochs have a column of their own."""
    keys = {key for other in others for key in (*run.settings, *other.settings)} - {
        "epochs",
        "levers",
        VECTORS_CONTENT,
        *CONTINUED,
    }
    differing = [
        key for key in sorted(keys) if any(other.settings.get(key) != run.settings.get(key) for other in others)
    ]
    notes = [f"{key} {json.dumps(run.settings.get(key))}" for key in differing]
    if any(other.data["fingerprint"] != run.data["fingerprint"] for other in others):
        notes.append(f"data {run.data['fingerprint'][:8]}")
    return f" ({', '.join(notes)})" if notes else ""


def v1_mini(results: list[RunResult]) -> str:
    """Return every variant as published, on real SQuAD 1.1 questions; the official set's row says what it waits for."""
    runs = [run for run in bidaf_runs(results, V1_MINI) if as_published(run) and run.variant not in CONTROLS]
    official = ["SQuAD 2.0, official train split", "", "not run here: needs the Hub's train split"]
    commands = ["# SQuAD 2.0, official train split", "python recipes/squad_bidaf.py"]
    if left := [line for variant in SEVERAL_SEEDS for line in missing_seeds(runs, variant, OF_SEEDS)]:
        commands = ["# seeds not run yet", *left, *commands]
    variants = [name for name in BidafConfig.variants if name not in CONTROLS]
    runs = without_earlier_start(runs)
    return _results_table(runs, V1_COLUMNS, variants, V1_MINI, [official], commands, listed=SEVERAL_SEEDS)


def v2_mini(results: list[RunResult]) -> str:
    """SQuAD 2.0 mode, beside the score of a model that never answers; shorter runs are those of `first_epochs`."""
    runs = [run for run in bidaf_runs(results, V2_MINI) if run.settings["epochs"] >= EPOCHS[V2_MINI]]
    return _results_table(runs, V2_COLUMNS, ("baseline", LEVER_VARIANT), V2_MINI, [], [])


def first_epochs(results: list[RunResult]) -> str:
    """Reading after one and two epochs.

    How long a run went on does not matter here, so runs that differ in nothing else share a row.
    """
    plain = [run for run in bidaf_runs(results, V2_MINI) if is_plain(run)]
    runs = [_without_epochs(run) for run in plain]
    keys = {
        f"span {shown}, epoch {epoch}": f"validation/epoch{epoch}/span_{name}"
        for epoch in FIRST_EPOCHS
        for shown, name in (("EM", "exact"), ("F1", "f1"))
    }
    rows = []
    for group in group_runs(runs):
        found = [[run.metrics[key] for run in group.runs if key in run.metrics] for key in keys.values()]
        rows.append([group.label, *map(mean_and_deviation, found), "/".join(str(len(values)) for values in found[::2])])
    return markdown_table(["model", *keys, "seeds"], rows or [[NOT_RUN]])


def first_epoch(results: list[RunResult]) -> str:
    """Reading after one epoch by the order of batches and the start of w_cq, each compared at equal seeds."""
    score = "validation/epoch1/span_{}".format
    ours = [
        _without_epochs(run)
        for split in ("test", "validation")
        for run in bidaf_runs(results, V2_MINI, split)
        if run.variant == "baseline" and is_plain(run) and run.settings.get("precision") == "bf16-mixed"
    ]
    base: Sequence[RunResult] = []
    rows = []
    commands: dict[bool, list[str]] = {False: [], True: []}  # by whether the start is that of an earlier commit
    for name, condition in CONDITIONS.items():
        runs = [run for run in ours if condition.items() <= run.settings.items() and score("f1") in run.metrics]
        refuse_repeats(runs)
        refuse_mixtures(runs)
        base = base or runs
        at_random = condition["pool_batches"] == 1
        label = ["random" if at_random else "of similar length", f"±{condition['product_start']:.3f}"]
        if runs:
            plain = {run.seed: run.metrics[score("f1")] for run in base}
            gains = [run.metrics[score("f1")] - plain[run.seed] for run in runs if run.seed in plain]
            gain = signed(mean_and_deviation(gains))
            seeds = f" ({len(gains)} seed{'s' if len(gains) > 1 else ''})" if gains else ""
            means = [mean_and_deviation(run.metrics[score(kind)] for run in runs) for kind in ("exact", "f1")]
            rows.append([*label, *means, NOTHING if runs is base else gain + seeds, str(len(runs))])
        else:
            rows.append([*label, NOT_RUN])
        if left := [str(seed) for seed in CONDITION_SEEDS if seed not in {run.seed for run in runs}]:
            earlier = condition["product_start"] == UNTOLD["product_start"]
            more = " --pool_batches 1" if at_random else ""
            commands[earlier].append(f"{FIRST_EPOCH}{name}{more} --seeds {' '.join(left)}")
    headings = ["rows of a batch", "start of w_cq", "span EM", "span F1", "difference F1", "seeds"]
    remarks = {False: f"# {NOT_RUN}", True: f"# {NOT_RUN}, at commit {WIDER_START_COMMIT}"}
    lines = [line for earlier, found in commands.items() if found for line in (remarks[earlier], *found)]
    return with_commands(markdown_table(headings, rows, left=2), lines)


def ablation(results: list[RunResult]) -> str:
    """Return each option against the plain variant, as differences between runs that are alike in all else."""
    runs = [run for run in bidaf_runs(results, V1_MINI) if run.variant == LEVER_VARIANT and trained_as_published(run)]
    plain = [run for run in runs if is_plain(run)]
    headings = ["model", PARAMETERS_COLUMN.heading, "test EM", "test F1", "difference EM", "difference F1", "pairs"]
    headings += [column.heading for column in RUN_COLUMNS]
    rows = []
    groups = group_runs(runs)
    for group in sorted(groups, key=lambda group: not is_plain(group.runs[0])):
        cells = [column.show(group.runs) for column in (PARAMETERS_COLUMN, *V1_COLUMNS[1:3])]
        if is_plain(group.runs[0]):
            cells += [NOTHING] * 3
        else:
            pairs = [(run, other) for run in group.runs if (other := _counterpart(run, plain)) is not None]
            for key in ("test/exact", "test/f1"):
                cells.append(signed(mean_and_deviation(_minus(run, other, key) for run, other in pairs)))
            cells.append(str(len(pairs)))
        rows.append([group.label, *cells, *(column.show(group.runs) for column in RUN_COLUMNS)])
    done = {tuple(options_of(run)) for run in runs}
    rows += [[f"{LEVER_VARIANT} + {name}", "", NOT_RUN] for name in LEVERS if (name,) not in done]
    return markdown_table(headings, rows)


def paper(results: list[RunResult]) -> str:
    """The paper's own numbers. Ours stay empty: no run here had its training data, so no result is looked up."""
    headings = ["model", "course split", "paper F1", "paper EM", "our F1", "our EM"]
    rows = [
        [row.variant, row.split, *(_paper_number(value) for value in (row.f1, row.exact)), *["not run here"] * 2]
        for row in PAPER
    ]
    return markdown_table(headings, rows)


TABLES: dict[str, Callable[[list[RunResult]], str]] = {
    "bidaf-squad-v1-mini": v1_mini,
    "bidaf-squad-v2-mini": v2_mini,
    "bidaf-first-epochs": first_epochs,
    "bidaf-first-epoch": first_epoch,
    "bidaf-levers": ablation,
    "bidaf-paper": paper,
}


def bidaf_runs(results: Iterable[RunResult], dataset: str, split: str = "test") -> list[RunResult]:
    """The runs that report this split; those that chose something on validation never stand beside test scores."""
    return [
        replace(run, settings={**DEFAULTS, **run.settings})
        for run in results
        if (run.architecture, run.dataset, run.split) == ("bidaf", dataset, split)
    ]


def _without_epochs(run: RunResult) -> RunResult:
    return replace(run, settings={**run.settings, "epochs": None})


def _results_table(
    runs: list[RunResult],
    columns: Sequence[Column],
    variants: Sequence[str],
    dataset: str,
    last_rows: Sequence[list[str]],
    last_commands: Sequence[str],
    listed: Collection[str] = (),
) -> str:
    """One row per group of runs, in the order of ``variants`` (others after them); commands of absent ones below.

    ``last_commands`` have those of the variants ``listed``.
    """
    groups = group_runs(runs)
    others = sorted({group.variant for group in groups} - set(variants))
    rows, commands = [], []
    for variant in (*variants, *others):
        members = sorted(
            (group for group in groups if group.variant == variant), key=lambda group: not is_plain(group.runs[0])
        )
        rows += [[group.label, *(column.show(group.runs) for column in columns)] for group in members]
        if not members:
            rows.append([variant, *[""] * (columns[0] is PARAMETERS_COLUMN), NOT_RUN])
        if not members and variant not in listed:
            commands.append(COMMAND.format(dataset=dataset, variant=variant, seeds=1, more=MORE[dataset]))
    table = markdown_table(["model", *(column.heading for column in columns)], [*rows, *last_rows])
    return with_commands(table, [*([f"# {NOT_RUN}"] if commands else []), *commands, *last_commands])


def _counterpart(run: RunResult, plain: Sequence[RunResult]) -> RunResult | None:
    """The plain run to compare with, which differs in nothing else."""

    def rest(other: RunResult) -> tuple[Any, ...]:
        left_out = ("levers", VECTORS_CONTENT, *CONTINUED)
        settings = {key: value for key, value in other.settings.items() if key not in left_out}
        return other.seed, other.fold, other.data["fingerprint"], settings

    return next((other for other in plain if rest(other) == rest(run)), None)


def _minus(run: RunResult, other: RunResult, key: str) -> float | None:
    ours, theirs = run.metrics.get(key), other.metrics.get(key)
    return None if ours is None or theirs is None else ours - theirs


def _paper_number(value: float | None) -> str:
    return "not finished" if value is None else f"{value:.2f}"
