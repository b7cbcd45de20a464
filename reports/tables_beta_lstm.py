"""The Beta-LSTM on music, the Penn Treebank and sentences: its tables, made from results files.

A cell of a table is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import product

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import make_best_epoch_column, refuse_repeated_runs
from ctxzoo.tasks.language_modelling.experiments import CELLS as PTB_CELLS
from ctxzoo.tasks.polyphonic_music.experiments import CELLS, PRIOR
from reports.labels import read_labels
from reports.results_table import Column, Line, Row, Table, make_difference_rows, make_named_rows, make_rows
from reports.run_selection import Runs, select_runs
from reports.score_columns import compare_over_seeds, format_mean, score_column
from reports.tables_contextualizer import make_sentence_table

NLL = "test/nll"
BASE = "lstm"  # with which the others are compared
OF_BASE = {"variant": BASE}


def format_cell_name(cell: str) -> str:
    """Return the name of a Beta-LSTM cell as tables show it: "`bibeta5` + prior" for `bibeta5_prior`."""
    name = cell.removesuffix(PRIOR)
    return f"`{name}`" if name == cell else f"`{name}` + prior"


LABELS, PTB_LABELS = ({cell: format_cell_name(cell) for cell in cells} for cells in (CELLS, PTB_CELLS))
DATASET = "ctxzoo-data/polyphonic_music"
MUSIC = {"recipe": "music_beta_lstm", "dataset": DATASET, "name": ""}
JSB = "jsb_chorales"
WITH_DROPOUT = ("bibeta3", "bibeta5", "bibeta5_prior")  # that have more locked dropout than the others,
AS_MUCH_DROPOUT = "dropout0.2"  # and the name of the lstm that has as much
COMPARED = ("lstm", "g2", "beta", "bibeta5", "bibeta5_prior")  # that all sets need
COUNTS = {"recipe": "music_floors"}
DECLARED = read_labels("beta_lstm")
SETS, OPTIONS, COUNT_LABELS = DECLARED["sets"], DECLARED["options"], DECLARED["counts"]
TO_BASE, TO_DROPOUT = (f"test − `{BASE}`{name} (p over seeds)" for name in ("", f", {AS_MUCH_DROPOUT}"))


def _list_chorale_rows(results: Runs) -> Iterable[Line]:
    """Yield the rows on JSB chorales: each cell, runs with other settings, and baselines that count."""
    command = "--patience 20 --cells {missing} --seeds 0 1 2 --resume"
    for cell, label in LABELS.items():
        given = {} if cell in WITH_DROPOUT else {TO_DROPOUT: ""}
        yield Row(label, {"variant": cell}, need=3, command=command, given=given)
    for row in make_named_rows(results, {"recipe": MUSIC["recipe"], "dataset": DATASET}, LABELS, JSB):
        yield replace(row, given={TO_DROPOUT: ""})
    yield from make_rows(COUNT_LABELS, COUNTS, only=("test", "frame accuracy (%)"))


TABLES: dict[str, Callable[..., str]] = {}
TABLES["beta-lstm-chorales"] = Table(
    (
        "seeds",
        score_column("validation", "validation/nll", 3),
        score_column("test", NLL, 3),
        score_column("frame accuracy (%)", "test/frame_accuracy"),
        "epochs",
        make_best_epoch_column("nll", higher=False),
        "trainable parameters",
        "seconds an epoch",
        Column(TO_BASE, minus=compare_over_seeds(NLL, 3), base=OF_BASE),
        Column(TO_DROPOUT, minus=compare_over_seeds(NLL, 3), base={**OF_BASE, "name": AS_MUCH_DROPOUT}),
    ),
    _list_chorale_rows,
    where={**MUSIC, "part": JSB},
    headings=("cell",),
)


def _format_score_and_seeds(runs: Runs) -> str:
    """Return the mean negative log-likelihood of runs, with the number of seeds if there are several."""
    return format_mean(runs, NLL, 3) + (f" ({len(runs)} seeds)" if len(runs) > 1 else "")


TABLES["beta-lstm-music"] = Table(
    [
        Column(
            heading,
            _format_score_and_seeds,
            compare_over_seeds(NLL, 3),
            where={"part": name},
            fill={"set": OPTIONS[name]} if name in OPTIONS else {},
        )
        for heading, name in SETS.items()
    ],
    [
        *make_rows(COUNT_LABELS, COUNTS),
        *make_rows(LABELS, needed=COMPARED, command="--dataset {set} --cells {missing} --resume"),
        *make_difference_rows(LABELS, product(COMPARED[1:], [BASE])),
    ],
    where=MUSIC,
    headings=("cell",),
)

GATE_CELLS = ("bibeta5", "bibeta5_prior", "bibeta3")  # whose gates may be correlated; the last on request


def _list_gate_rows(results: Runs) -> Iterable[Line]:
    """Yield a row for each music set, cell and layer; its runs keep the scores of that layer alone."""
    for (heading, part), cell in product(SETS.items(), GATE_CELLS):
        runs = select_runs(results, {"recipe": "music_gates", "dataset": DATASET, "variant": cell, "part": part})
        refuse_repeated_runs(runs)  # settings tell the weights, others for each seed
        label = f"{heading}, {format_cell_name(cell)}"
        if not runs and cell in GATE_CELLS[:2]:
            yield Row(label, [], command=f"--dataset {part} --cells {{missing}} --resume", variant=cell)
        for layer in (1, 2) if runs else ():
            yield Row(f"{label}, {layer}", [replace(run, metrics=_select_layer_scores(run, layer)) for run in runs])


def _select_layer_scores(run: RunResult, layer: int) -> dict[str, float]:
    """Return a run's gate scores of one layer, under their names without the layer."""
    return {name.removeprefix(f"test/layer{layer}/"): value for name, value in run.metrics.items()}


def _format_change(name: str, runs: Runs) -> str:
    """Return the mean of a gate score before and after training, as "before → after"."""
    decimals = 1 if name == "positive_units" else 3
    return " → ".join(format_mean(runs, f"{start}{name}", decimals) for start in ("start/", ""))


# What the gates are per set, cell and layer, before training and after.
TABLES["beta-lstm-gates"] = Table(
    ("seeds", *(Column(heading, partial(_format_change, name)) for name, heading in DECLARED["gates"].items())),
    _list_gate_rows,
    where={"recipe": "music_gates"},
    headings=("set, cell, layer",),
)

PTB = {"recipe": "ptb_beta_lstm", "dataset": "ctxzoo-data/ptb_text"}
PTB_COMPARED = (BASE, "coupled", "g2", "beta", "bibeta5")  # that the table needs


def _list_penn_treebank_rows(results: Runs) -> Iterable[Line]:
    """Yield the rows on the Penn Treebank: counting baselines, each cell, and runs with other settings."""
    yield from make_rows(DECLARED["ptb_counts"], {"recipe": "ptb_floors"}, only=("test",), command="--resume")
    yield from make_rows(PTB_LABELS, needed=PTB_COMPARED, command="--cells {missing} --resume")
    yield from make_named_rows(results, PTB, PTB_LABELS)


TABLES["beta-lstm-ptb"] = Table(
    (
        "seeds",
        score_column("validation", "validation/perplexity"),
        score_column("test", "test/perplexity"),
        "epochs",
        make_best_epoch_column("nll", higher=False),
        Column("units", lambda runs: str(runs[0].settings["hidden_size"])),
        "trainable parameters",
        "minutes",
        Column(f"nats of a token − `{BASE}` (p over seeds)", minus=compare_over_seeds(NLL, 3), base=OF_BASE),
    ),
    _list_penn_treebank_rows,
    where={**PTB, "name": ""},
)
TABLES["beta-lstm-sentences"] = make_sentence_table(
    recipe="sentence_beta_lstm",
    option="cells",
    known=tuple(BetaLstmConfig.variants),
    compared=PTB_COMPARED,
    size=("hidden_size", "units"),
)
