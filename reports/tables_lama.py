"""LAMA: its tables, made from results files, and the numbers of its paper.

A cell is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

from ctxzoo.results.table_parts import NOTHING, add_plus_sign, refuse_repeated_runs
from reports.choice import find_best_row
from reports.labels import read_labels
from reports.results_table import Column, Line, Row, Table, make_difference_rows, make_rows, pick_by_heading
from reports.run_selection import Runs, Where, list_run_names, select_alike_runs, select_runs
from reports.score_columns import add_difference_columns, compare_means, score_column

RECIPE = "document_lama"
ACCURACY, DEV_ACCURACY = "test/accuracy", "validation/accuracy"
SEEDS, PARTLY = 3, " ({have} of {need} seeds)"  # that a row needs
OF_PAPER = ("Reuters", "IMDB")
OTHERS = ("Yelp, our sample", "Yelp-L, our sample", "News headlines")
CHOSEN_BY = {"Reuters": "Reuters", "IMDB": "IMDB, blocks"}
CLIMB_DATA = (*OF_PAPER, "IMDB, blocks")
CLIMB_MODELS = ("lama_ctx", "lama", "single_head")

LABELS = read_labels("lama")
DATA, MODELS, PAPER = LABELS["data"], LABELS["models"], LABELS["paper"]
FOREMOST = "lama"  # which is compared with the others, where both have the paper's settings
ONLY_COMPARABLE = ("single_head", "te")  # rows that the other columns do not have


def find_data(heading: str) -> dict[str, str]:
    """Return dataset and tag prefix of the runs in the column with a heading."""
    return {"dataset": DATA[heading][0], "part": DATA[heading][2]}


def _format_paper_cells(numbers: Iterable[float]) -> dict[str, str]:
    """Return the paper's numbers as cells, by heading of the column."""
    return {f"{name}, the paper": f"{number:.1f}" for name, number in zip(OF_PAPER, numbers, strict=True)}


def _list_document_rows(results: Runs) -> Iterable[Line]:
    """Yield the rows on documents: each model beside the paper's numbers, differences, BERT and linear baselines."""
    for name, label in MODELS.items():
        paper_cells = _format_paper_cells(PAPER[name]) if name in PAPER else {}
        paper_cells |= dict.fromkeys(OTHERS if name in ONLY_COMPARABLE else (), NOTHING)
        command = "--dataset {data} --seeds 0 1 2 --resume"
        yield Row(label, {"variant": name}, given=paper_cells, need=SEEDS, command=command)
        if name in CLIMB_MODELS:
            best = {column: _select_strongest_runs(results, name, data) for column, data in CHOSEN_BY.items()}
            label = f"{label}, strongest settings of each set"
            yield Row(label, pick_by_heading(best), absent=NOTHING, optional=True)
    yield from make_difference_rows(MODELS, [(FOREMOST, name) for name in MODELS if name != FOREMOST], optional=True)
    # Its weights come from the Hub: where there are no runs, none are requested.
    bert = {"recipe": "document_bert", "variant": "bert-base-uncased"}
    yield Row("BERT", bert, given=_format_paper_cells(PAPER["bert"]), absent=NOTHING)
    yield from make_rows(LABELS["linear"], {"recipe": "document_linear"}, command="--resume")


# The paper's Table 3: its numbers beside ours where the data are the same.
COLUMNS: list[Column] = []
for _heading in (*OF_PAPER, *OTHERS):
    COLUMNS += [Column(f"{_heading}, the paper")] if _heading in OF_PAPER else []
    fill = {"data": DATA[_heading][1]}
    COLUMNS.append(score_column(_heading, ACCURACY, tested=True, partly=PARTLY, where=find_data(_heading), fill=fill))
TABLES: dict[str, Callable[..., str]] = {}
TABLES["lama-documents"] = Table(COLUMNS, _list_document_rows, where={"recipe": RECIPE, "name": ""})


def _list_setting_names(results: Runs, model: str, heading: str) -> list[str]:
    """Return the names of a model's runs on a dataset that have other settings than the paper's."""
    where = find_data(heading)
    others = {part for dataset, _, part in DATA.values() if dataset == where["dataset"]} - {where["part"]}
    found = list_run_names(results, {"recipe": RECIPE, "variant": model, "dataset": where["dataset"]}, where["part"])
    return [name for name in found if name.partition("-")[0] not in others]


def _select_strongest_runs(results: Runs, model: str, heading: str) -> Runs:
    """Return a model's runs with the best validation accuracy; empty if those have the paper's settings.

    A single seed does not compete with a mean of several: settings with fewer seeds than a row needs have no part, nor
    have those that start from vectors of other texts. Nothing is chosen before the paper's settings have their seeds;
    they win a draw.
    """
    results = [run for run in results if DEV_ACCURACY in run.metrics]
    where: Where = {"recipe": RECIPE, "variant": model, **find_data(heading)}
    names = ("", *_list_setting_names(results, model, heading))
    rows = {name: select_alike_runs(results, {**where, "name": name}) for name in names}
    rows = {name: runs for name, runs in rows.items() if len(runs) >= SEEDS and "word_vectors" not in runs[0].settings}
    return rows[name] if "" in rows and (name := find_best_row(rows, ACCURACY)) else []


def _list_option_rows(results: Runs) -> Iterable[Line]:
    """Yield a row for each tried option with its validation accuracy, by which settings are chosen.

    Test accuracy is therefore not shown.

    A mean of several seeds' probabilities stands below their row.
    """
    for model in CLIMB_MODELS:
        start = "" if model == CLIMB_MODELS[0] else f"{MODELS[model]}: "
        names = {name for heading in CLIMB_DATA for name in _list_setting_names(results, model, heading)}
        for name in ("", *sorted(names)):
            source, plain = {"variant": model, "name": name}, {"name": ""}
            label = start + (name or "the paper's")
            if name:
                yield Row(label, source, base=plain, beside=plain, absent=NOTHING, need=SEEDS)
            else:
                yield Row(label, source, need=SEEDS)
            cells = [cell for heading in CLIMB_DATA for cell in _format_ensemble_cells(results, source, heading)]
            if set(cells) != {NOTHING}:
                yield [f"{label}: the mean of the seeds' probabilities", *cells]


def _format_ensemble_cells(results: Runs, source: Where, heading: str) -> list[str]:
    """Return two cells on several seeds scored as one classifier: its accuracy, and the gain over their mean."""
    runs = select_runs(results, {**source, **find_data(heading), "recipe": "document_ensemble"})
    refuse_repeated_runs(runs)
    if not runs:
        return [NOTHING, NOTHING]
    run = max(runs, key=lambda run: len(run.settings["seeds"]))
    base = select_alike_runs(results, {"recipe": RECIPE, **source, **find_data(heading), "name": ""})
    plain = [one.metrics[DEV_ACCURACY] for one in base if one.seed in run.settings["seeds"]]
    accuracy = run.metrics[DEV_ACCURACY]
    return [f"{accuracy:.2f}", add_plus_sign(f"{accuracy - statistics.fmean(plain):.2f}") if plain else NOTHING]


TABLES["lama-climb"] = Table(
    add_difference_columns(
        (score_column(heading, DEV_ACCURACY, partly=PARTLY, where=find_data(heading)) for heading in CLIMB_DATA),
        compare_means(DEV_ACCURACY),
    ),
    _list_option_rows,
    where={"recipe": RECIPE},
    headings=("settings",),
    having=DEV_ACCURACY,
)
