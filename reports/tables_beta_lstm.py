"""The Beta-LSTM on music: its tables, made from results files.

A cell of a table is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxzoo.results.result import RunResult
from ctxzoo.results.seed_comparison import seeds_cell
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    PARAMETERS_COLUMN,
    RUN_COLUMNS,
    best_epoch_column,
    changed_settings,
    commands_not_run,
    markdown_table,
    mean_and_deviation,
    metric,
    refuse_mixtures,
    refuse_repeats,
    seconds_column,
    with_commands,
)
from ctxzoo.tasks.polyphonic_music.experiments import CELLS, PRIOR
from ctxzoo.tasks.polyphonic_music.floors import KEY_FREQUENCY, KEY_MARKOV

RECIPE, FLOORS_RECIPE, GATES_RECIPE = "music_beta_lstm", "music_floors", "music_gates"
DATASET = "ctxzoo-data/polyphonic_music"
NLL, VALIDATION_NLL = "test/nll", "validation/nll"
SETS = {
    "JSB chorales": "jsb_chorales",
    "Nottingham": "nottingham",
    "MuseData": "muse_data",
    "Piano-midi": "piano_midi",
}
JSB = SETS["JSB chorales"]
SEEDS = 3  # that a row of the chorales needs; the other sets need one
BASE = "lstm"  # with which the others are compared
WITH_DROPOUT = ("bibeta3", "bibeta5", "bibeta5_prior")  # that have more locked dropout than the others,
AS_MUCH_DROPOUT = "dropout0.2"  # and the name of the lstm that has as much
# Options of the runs of each set: long sets in batches of four pieces, trainings ended where validation rises no more;
# but not on MuseData and Piano-midi, where models predict how often each key sounds, and no more, for many epochs.
OPTIONS = {
    "jsb_chorales": "--patience 20",
    "nottingham": "--batch_size 4 --patience 10",
    "muse_data": "--batch_size 4 --patience 0",
    "piano_midi": "--patience 0",
}
COMPARED = ("lstm", "g2", "beta", "bibeta5", "bibeta5_prior")  # that all sets need
FLOORS = {KEY_FREQUENCY: "how often each key sounds", KEY_MARKOV: "each key by whether it sounded before"}
LAYERS = 2

Runs = list[RunResult]


def chorales(results: Runs) -> str:
    """Return every cell on the chorales: scores, length and cost of the training, the difference to the lstm."""
    differences = (f"test − `{BASE}`{name} (p over seeds)" for name in ("", f", {AS_MUCH_DROPOUT}"))
    headings = ["cell", *(column.heading for column in COLUMNS), *differences]
    rows, missing = [], []
    for cell in CELLS:
        runs = runs_of(results, cell, JSB)
        if len(runs) < SEEDS:
            missing.append(cell)
        rows.append([shown(cell), *_cells(runs, results, cell)])
    for name in _names(results, JSB):
        for cell in CELLS:
            runs, plain = runs_of(results, cell, JSB, name), runs_of(results, cell, JSB)
            if runs:
                changes = changed_settings({"": (runs[0], plain[0])}) if plain else ""
                rows.append([f"{shown(cell)}, {name}{changes}", *_cells(runs, results, cell, name)])
    for floor, label in FLOORS.items():
        floors = _floors(results, floor, JSB)
        rows.append([label, NOTHING, NOTHING, floor_cell(floors), *_frame_accuracy(floors)])
    command = f"python recipes/{RECIPE}.py {OPTIONS[JSB]} --cells {' '.join(missing)} --seeds 0 1 2 --resume"
    commands = [command] if missing else []
    return with_commands(markdown_table(headings, rows), commands_not_run(commands))


def sets(results: Runs) -> str:
    """Return the test nats of a step on the four sets: what is to beat, the cells, their differences to the lstm."""
    found = {cell: [runs_of(results, cell, name) for name in SETS.values()] for cell in CELLS}
    found = {cell: runs for cell, runs in found.items() if cell in COMPARED or any(runs)}
    rows = [
        [label, *(floor_cell(_floors(results, floor, name)) for name in SETS.values())]
        for floor, label in FLOORS.items()
    ]
    for cell, of_sets in found.items():
        rows.append([shown(cell), *(_score(runs) if runs or cell in COMPARED else NOTHING for runs in of_sets)])
    for cell in COMPARED[1:]:
        pairs = zip(found[cell], found[BASE], strict=True)
        rows.append([f"{shown(cell)} − {shown(BASE)} (p over seeds)", *(difference(*pair) for pair in pairs)])
    commands = []
    for column, name in enumerate(SETS.values()):
        missing = [cell for cell in COMPARED if not found[cell][column]]
        if missing and name != JSB:
            options = f"--dataset {name} {OPTIONS[name]} --cells {' '.join(missing)}"
            commands.append(f"python recipes/{RECIPE}.py {options} --resume")
    return with_commands(markdown_table(["cell", *SETS], rows), commands_not_run(commands))


def gates(results: Runs) -> str:
    """Return what the gates are per set, cell and layer, before training and after."""
    headings = ["set, cell, layer", "seeds", *(label for _, label in GATE_METRICS)]
    rows, commands = [], []
    for label, name in SETS.items():
        missing = []
        for cell in GATE_CELLS:
            runs = runs_of(results, cell, name, recipe=GATES_RECIPE)
            if not runs and cell in GATE_CELLS[:2]:
                missing.append(cell)
                rows.append([f"{label}, {shown(cell)}", NOT_RUN])
            rows += [
                [f"{label}, {shown(cell)}, {layer}", str(len(runs)), *_gates_of_layer(runs, layer)]
                for layer in range(1, LAYERS + 1)
                if runs
            ]
        if missing:
            commands.append(f"python recipes/{GATES_RECIPE}.py --dataset {name} --cells {' '.join(missing)} --resume")
    return with_commands(markdown_table(headings, rows), commands_not_run(commands))


GATE_CELLS = ("bibeta5", "bibeta5_prior", "bibeta3")  # whose gates may be correlated; the last on request
GATE_METRICS = (
    ("correlation", "correlation"),
    ("positive_units", "units above 0 (%)"),
    ("input_gate", "E[i]"),
    ("forget_gate", "E[f]"),
    ("input_gate_deviation", "sd of E[i] over steps"),
    ("forget_gate_deviation", "sd of E[f] over steps"),
)


def _gates_of_layer(runs: Runs, layer: int) -> list[str]:
    cells = []
    for name, _ in GATE_METRICS:
        decimals = 1 if name == "positive_units" else 3
        before, after = (
            mean_and_deviation([run.metrics.get(f"test/layer{layer}/{start}{name}") for run in runs], decimals)
            for start in ("start/", "")
        )
        cells.append(f"{before} → {after}")
    return cells


def runs_of(results: Sequence[RunResult], cell: str, config: str, name: str = "", recipe: str = RECIPE) -> Runs:
    """Return the seeds of one cell on one set, without trials of a few batches.

    Args:
        results: of all recipes.
        cell: one of `CELLS`, or of `FLOORS`.
        config: of the dataset, one of `SETS`.
        name: what the runs were called beside.
        recipe: of the runs.

    Raises:
        ValueError: a seed twice, or seeds that were not made alike.
    """
    wanted = (recipe, cell, DATASET, "-".join(part for part in (config, name) if part))
    found = [
        run
        for run in results
        if (run.recipe, run.variant, run.dataset, run.tag) == wanted and not run.settings.get("tiny")
    ]
    refuse_repeats(found)
    if recipe != GATES_RECIPE:  # whose settings tell the weights, others for each seed
        refuse_mixtures(found)
    return found


def difference(ours: Runs, base: Runs) -> str:
    """Write the difference of the nats of a step with its p over seeds."""
    return seeds_cell(ours, base, NLL, digits=3)


def shown(cell: str) -> str:
    """Write a cell as tables do: `bibeta5` + prior."""
    name = cell.removesuffix(PRIOR)
    return f"`{name}`" if name == cell else f"`{name}` + prior"


def floor_cell(floors: Runs) -> str:
    """Write the nats of a floor, for which nothing is drawn."""
    return f"{floors[0].metrics[NLL]:.3f}" if floors else NOT_RUN


COLUMNS = (
    RUN_COLUMNS[0],
    metric("validation", VALIDATION_NLL, 3),
    metric("test", NLL, 3),
    metric("frame accuracy (%)", "test/frame_accuracy"),
    RUN_COLUMNS[1],
    best_epoch_column("nll", higher=False),
    PARAMETERS_COLUMN,
    seconds_column(),
)


def _cells(runs: Runs, results: Runs, cell: str, name: str = "") -> list[str]:
    """Return the cells of a row of the chorales behind its label."""
    if not runs:
        return [NOT_RUN]
    compared = [NOTHING if cell == BASE else difference(runs, runs_of(results, BASE, JSB, name))]
    if cell in WITH_DROPOUT and not name:
        compared.append(difference(runs, runs_of(results, BASE, JSB, AS_MUCH_DROPOUT)))
    cells = [column.show(runs) for column in COLUMNS]
    if not name and len(runs) < SEEDS:
        cells[0] = f"{cells[0]} of {SEEDS}"
    return [*cells, *compared]


def _score(runs: Runs) -> str:
    if not runs:
        return NOT_RUN
    score = mean_and_deviation([run.metrics.get(NLL) for run in runs], 3)
    return f"{score} ({len(runs)} seeds)" if len(runs) > 1 else score


def _floors(results: Runs, floor: str, config: str) -> Runs:
    return runs_of(results, floor, config, recipe=FLOORS_RECIPE)


def _frame_accuracy(floors: Runs) -> list[str]:
    return [f"{run.metrics['test/frame_accuracy']:.2f}" for run in floors]


def _names(results: Runs, config: str) -> list[str]:
    """Return the names of runs with other settings than the default ones on a set, sorted."""
    tags = {run.tag for run in results if (run.recipe, run.dataset) == (RECIPE, DATASET)}
    parts = [tag.partition("-") for tag in tags]
    return sorted(name for first, _, name in parts if first == config and name)


TABLES: dict[str, Callable[[Runs], str]] = {
    "beta-lstm-chorales": chorales,
    "beta-lstm-music": sets,
    "beta-lstm-gates": gates,
}
