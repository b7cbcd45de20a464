"""The Beta-LSTM on music, the Penn Treebank and sentences: its tables, made from results files.

A cell of a table is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.results.table_parts import (
    NOT_RUN,
    best_epoch_column,
    commands_not_run,
    markdown_table,
    refuse_repeats,
    seconds_column,
    with_commands,
)
from ctxzoo.tasks.language_modelling.experiments import CELLS as PTB_CELLS
from ctxzoo.tasks.polyphonic_music.experiments import CELLS, PRIOR
from reports.results_table import (
    EPOCHS,
    MINUTES,
    PARAMETERS,
    SEEDS,
    SEEDS_OF,
    Column,
    Difference,
    Line,
    Row,
    Runs,
    Table,
    as_column,
    mean_of,
    rows_of_names,
    score,
    seeds_test,
    select,
)
from reports.tables_contextualizer import sentence_table

NLL, PERPLEXITY = "test/nll", "test/perplexity"
BASE = "lstm"  # with which the others are compared
OF_BASE = {"variant": BASE}


def cell_name(cell: str) -> str:
    """Write a cell as tables do: `bibeta5` + prior."""
    name = cell.removesuffix(PRIOR)
    return f"`{name}`" if name == cell else f"`{name}` + prior"


DATASET = "ctxzoo-data/polyphonic_music"
MUSIC = {"recipe": "music_beta_lstm", "dataset": DATASET, "name": ""}
SETS = {"JSB chorales": "jsb_chorales", "Nottingham": "nottingham", "MuseData": "muse_data", "Piano-midi": "piano_midi"}
JSB = "jsb_chorales"
WITH_DROPOUT = ("bibeta3", "bibeta5", "bibeta5_prior")  # that have more locked dropout than the others,
AS_MUCH_DROPOUT = "dropout0.2"  # and the name of the lstm that has as much
# Options of the runs of each set: long sets in batches of four pieces, trainings ended where validation rises no more;
# but not on MuseData and Piano-midi, where models predict how often each key sounds, and no more, for many epochs.
OPTIONS = {
    "nottingham": "--dataset nottingham --batch_size 4 --patience 10",
    "muse_data": "--dataset muse_data --batch_size 4 --patience 0",
    "piano_midi": "--dataset piano_midi --patience 0",
}
COMPARED = ("lstm", "g2", "beta", "bibeta5", "bibeta5_prior")  # that all sets need
FLOORS = {"key_frequency": "how often each key sounds", "key_markov": "each key by whether it sounded before"}
TO_BASE, TO_DROPOUT = (f"test − `{BASE}`{name} (p over seeds)" for name in ("", f", {AS_MUCH_DROPOUT}"))


def _chorales(results: Runs) -> Iterable[Line]:
    command = f"python recipes/{MUSIC['recipe']}.py --patience 20 --cells {{missing}} --seeds 0 1 2 --resume"
    for cell in CELLS:
        given = {} if cell in WITH_DROPOUT else {TO_DROPOUT: ""}
        yield Row(cell_name(cell), {"variant": cell}, need=3, command=command, given=given)
    music = {"recipe": MUSIC["recipe"], "dataset": DATASET}
    for row in rows_of_names(results, music, {cell: cell_name(cell) for cell in CELLS}, JSB):
        yield replace(row, given={TO_DROPOUT: ""})
    for floor, label in FLOORS.items():
        yield Row(label, {"recipe": "music_floors", "variant": floor}, only=("test", "frame accuracy (%)"))


chorales = Table(
    ("cell",),
    (
        SEEDS_OF,
        score("validation", "validation/nll", 3),
        score("test", NLL, 3),
        score("frame accuracy (%)", "test/frame_accuracy"),
        EPOCHS,
        as_column(best_epoch_column("nll", higher=False)),
        PARAMETERS,
        as_column(seconds_column()),
        Column(TO_BASE, minus=seeds_test(NLL, 3), base=OF_BASE),
        Column(TO_DROPOUT, minus=seeds_test(NLL, 3), base={**OF_BASE, "name": AS_MUCH_DROPOUT}),
    ),
    _chorales,
    where={**MUSIC, "part": JSB},
)


def _score_and_seeds(runs: Runs) -> str:
    return mean_of(runs, NLL, 3) + (f" ({len(runs)} seeds)" if len(runs) > 1 else "")


sets = Table(
    ("cell",),
    [
        Column(
            heading,
            _score_and_seeds,
            seeds_test(NLL, 3),
            where={"part": name},
            fill={"options": OPTIONS[name]} if name in OPTIONS else {},
        )
        for heading, name in SETS.items()
    ],
    [
        *(Row(label, {"recipe": "music_floors", "variant": floor}) for floor, label in FLOORS.items()),
        *(
            Row(
                cell_name(cell),
                {"variant": cell},
                command=f"python recipes/{MUSIC['recipe']}.py {{options}} --cells {{missing}} --resume",
            )
            if cell in COMPARED
            else Row(cell_name(cell), {"variant": cell}, optional=True, absent="–")
            for cell in CELLS
        ),
        *(
            Difference(f"{cell_name(cell)} − {cell_name(BASE)} (p over seeds)", {"variant": cell}, OF_BASE)
            for cell in COMPARED[1:]
        ),
    ],
    where=MUSIC,
)

GATES_RECIPE, LAYERS = "music_gates", (1, 2)
GATE_CELLS = ("bibeta5", "bibeta5_prior", "bibeta3")  # whose gates may be correlated; the last on request
GATE_METRICS = {
    "correlation": "correlation",
    "positive_units": "units above 0 (%)",
    "input_gate": "E[i]",
    "forget_gate": "E[f]",
    "input_gate_deviation": "sd of E[i] over steps",
    "forget_gate_deviation": "sd of E[f] over steps",
}


def gates(results: Runs) -> str:
    """Return what the gates are per set, cell and layer, before training and after."""
    rows, commands = [], []
    for label, part in SETS.items():
        missing = []
        for cell in GATE_CELLS:
            runs = select(results, {"recipe": GATES_RECIPE, "dataset": DATASET, "variant": cell, "part": part})
            refuse_repeats(runs)  # settings tell the weights, others for each seed
            if not runs and cell in GATE_CELLS[:2]:
                missing.append(cell)
                rows.append([f"{label}, {cell_name(cell)}", NOT_RUN])
            for layer in LAYERS if runs else ():
                cells = [_before_and_after(runs, layer, name) for name in GATE_METRICS]
                rows.append([f"{label}, {cell_name(cell)}, {layer}", str(len(runs)), *cells])
        if missing:
            commands.append(f"python recipes/{GATES_RECIPE}.py --dataset {part} --cells {' '.join(missing)} --resume")
    headings = ["set, cell, layer", "seeds", *GATE_METRICS.values()]
    return with_commands(markdown_table(headings, rows), commands_not_run(commands))


def _before_and_after(runs: Runs, layer: int, name: str) -> str:
    decimals = 1 if name == "positive_units" else 3
    return " → ".join(mean_of(runs, f"test/layer{layer}/{start}{name}", decimals) for start in ("start/", ""))


PTB = {"recipe": "ptb_beta_lstm", "dataset": "ctxzoo-data/ptb_text"}
PTB_COMPARED = (BASE, "coupled", "g2", "beta", "bibeta5")  # that the table needs
PTB_FLOORS = {
    "unigram": "how often each word occurs",
    "bigram": "counts of two words, modified Kneser-Ney",
    "kneser_ney_5": "counts of five words, modified Kneser-Ney",
}


def _penn_treebank(results: Runs) -> Iterable[Line]:
    for floor, label in PTB_FLOORS.items():
        command = "python recipes/ptb_floors.py --resume"
        yield Row(label, {"recipe": "ptb_floors", "variant": floor}, only=("test",), command=command)
    for cell in PTB_CELLS:
        command = f"python recipes/{PTB['recipe']}.py --cells {{missing}} --resume" if cell in PTB_COMPARED else ""
        yield Row(cell_name(cell), {"variant": cell}, optional=not command, command=command)
    yield from rows_of_names(results, PTB, {cell: cell_name(cell) for cell in PTB_CELLS})


penn_treebank = Table(
    ("model",),
    (
        SEEDS,
        score("validation", "validation/perplexity"),
        score("test", PERPLEXITY),
        EPOCHS,
        as_column(best_epoch_column("nll", higher=False)),
        Column("units", lambda runs: str(runs[0].settings["hidden_size"])),
        PARAMETERS,
        MINUTES,
        Column(f"nats of a token − `{BASE}` (p over seeds)", minus=seeds_test(NLL, 3), base=OF_BASE),
    ),
    _penn_treebank,
    where={**PTB, "name": ""},
)
sentences = sentence_table(
    recipe="sentence_beta_lstm",
    option="cells",
    known=tuple(BetaLstmConfig.variants),
    compared=PTB_COMPARED,
    size=("hidden_size", "units"),
)

TABLES: dict[str, Callable[..., str]] = {
    "beta-lstm-chorales": chorales,
    "beta-lstm-music": sets,
    "beta-lstm-gates": gates,
    "beta-lstm-ptb": penn_treebank,
    "beta-lstm-sentences": sentences,
}
