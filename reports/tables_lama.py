"""LAMA: its tables, made from results files, and the numbers of its paper.

A cell is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

from ctxzoo.results.table_parts import NOTHING, mean_difference, refuse_repeats, signed
from reports.results_table import (
    Column,
    Difference,
    Line,
    Row,
    Runs,
    Table,
    Where,
    by_heading,
    names_of,
    runs_of,
    score,
    seeds_test,
    select,
)

RECIPE = "document_lama"
ACCURACY, DEV_ACCURACY = "test/accuracy", "validation/accuracy"
SEEDS = 3  # that a row needs
PAPERS = "the paper's"  # settings
# Column to the dataset's id, its name in the recipe, and the part of tags that no other of the id has. Of the paper's
# Yelp and News there are no copies: ours stand in columns of their own.
DATA = {
    "Reuters": ("ctxzoo-data/reuters8", "reuters8", ""),
    "IMDB": ("stanfordnlp/imdb", "imdb", ""),
    "Yelp, our sample": ("Yelp/yelp_review_full", "yelp", ""),
    "Yelp-L, our sample": ("Yelp/yelp_review_full", "yelp_long", "long"),
    "News headlines": ("ctxzoo-data/news_aggregator", "news_aggregator", ""),
    # The same reviews, with validation documents in blocks of neighbours: settings for IMDB are chosen by these.
    "IMDB, blocks": ("stanfordnlp/imdb", "imdb_blocks", "blocks"),
}
OF_PAPER = ("Reuters", "IMDB")
OTHERS = ("Yelp, our sample", "Yelp-L, our sample", "News headlines")
CHOSEN_BY = {"Reuters": "Reuters", "IMDB": "IMDB, blocks"}
CLIMB_DATA = ("Reuters", "IMDB", "IMDB, blocks")
CLIMB_MODELS = ("lama_ctx", "lama", "single_head")

# Mehta et al. (2019), Table 3: test accuracy on Reuters and IMDB.
PAPER = {
    "san": (94.2, 83.1),
    "bigru": (86.7, 87.6),
    "cnn": (96.0, 87.4),
    "te": (97.3, 81.7),
    "lama": (96.5, 89.5),
    "lama_ctx": (97.3, 90.0),
    "avg": (79.5, 87.4),
}
PAPER_BERT = (97.8, 89.4)
MODELS = {
    "lama": "LAMA",
    "lama_ctx": "LAMA+ctx",
    "san": "SAN",
    "single_head": "one head (3.8)",
    "bigru": "BiGRU",
    "cnn": "CNN",
    "te": "Transformer encoder",
    "avg": "mean of words",
}
LINEAR = {
    "words_svm": "TF-IDF of words and pairs, SVM",
    "bigram_nblr": "words and pairs, NB-weighted logistic regression",
    "words_svm_tuned": "TF-IDF of words and pairs, SVM, C chosen",
    "bigram_nblr_tuned": "words and pairs, NB-weighted logistic regression, C chosen",
}


FOREMOST = "lama"  # which is compared with the others, where both have the paper's settings
ONLY_COMPARABLE = ("single_head", "te")  # rows that the other columns do not have


def data_of(heading: str) -> dict[str, str]:
    """Return the dataset and the part of tags of the runs of a column."""
    return {"dataset": DATA[heading][0], "part": DATA[heading][2]}


def _model(name: str, recipe: str = RECIPE) -> dict[str, str]:
    return {"recipe": recipe, "variant": name}


def _paper(numbers: Iterable[float]) -> dict[str, str]:
    return {f"{name}, the paper": f"{number:.1f}" for name, number in zip(OF_PAPER, numbers, strict=True)}


def _documents(results: Runs) -> Iterable[Line]:
    for name, label in MODELS.items():
        given = _paper(PAPER[name]) if name in PAPER else {}
        given |= dict.fromkeys(OTHERS if name in ONLY_COMPARABLE else (), NOTHING)
        command = f"python recipes/{RECIPE}.py --dataset {{data}} --seeds 0 1 2 --resume"
        yield Row(label, _model(name), given=given, need=SEEDS, command=command)
        if name in CLIMB_MODELS:
            best = {column: _strongest(results, name, data) for column, data in CHOSEN_BY.items()}
            label = f"{label}, strongest settings of each set"
            yield Row(label, by_heading(best), absent=NOTHING, optional=True)
    for name, label in MODELS.items():
        if name != FOREMOST:
            label = f"{MODELS[FOREMOST]} − {label} (p over seeds)"
            yield Difference(label, _model(FOREMOST), _model(name), optional=True)
    # Its weights come from the Hub: where there are no runs, none are requested.
    yield Row("BERT", _model("bert-base-uncased", "document_bert"), given=_paper(PAPER_BERT), absent=NOTHING)
    for name, label in LINEAR.items():
        yield Row(label, _model(name, "document_linear"), command="python recipes/document_linear.py --resume")


def _columns(heading: str) -> list[Column]:
    column = score(
        heading,
        ACCURACY,
        minus=seeds_test(ACCURACY),
        partly=" ({have} of {need} seeds)",
        where=data_of(heading),
        fill={"data": DATA[heading][1]},
    )
    return [Column(f"{heading}, the paper"), column] if heading in OF_PAPER else [column]


# The paper's Table 3: its numbers beside ours where the data are the same.
documents = Table(
    ("model",),
    [column for heading in (*OF_PAPER, *OTHERS) for column in _columns(heading)],
    _documents,
    where={"name": ""},
)


def _names(results: Runs, model: str, heading: str) -> list[str]:
    """Return the names of the runs of a model with settings other than the paper's."""
    where = data_of(heading)
    others = {part for dataset, _, part in DATA.values() if dataset == where["dataset"]} - {where["part"]}
    found = names_of(results, {**_model(model), "dataset": where["dataset"]}, where["part"])
    return [name for name in found if name.partition("-")[0] not in others]


def _strongest(results: Runs, model: str, heading: str) -> Runs:
    """Return the runs of the settings with the highest validation accuracy, if these are not the paper's.

    A single seed does not compete with a mean of several: settings with fewer seeds than a row needs have no part, nor
    have those that start from vectors of other texts. Nothing is chosen before the paper's settings have their seeds;
    they win a draw.
    """
    results = [run for run in results if DEV_ACCURACY in run.metrics]
    where: Where = {**_model(model), **data_of(heading)}
    found = [runs_of(results, {**where, "name": name}) for name in ("", *_names(results, model, heading))]
    whole = [runs for runs in found if len(runs) >= SEEDS and "word_vectors" not in runs[0].settings]
    if not whole or whole[0] is not found[0]:
        return []
    best = max(whole, key=lambda runs: statistics.fmean(run.metrics[DEV_ACCURACY] for run in runs))
    return [] if best is found[0] else best


def _climb(results: Runs) -> Iterable[Line]:
    for model in CLIMB_MODELS:
        start = "" if model == CLIMB_MODELS[0] else f"{MODELS[model]}: "
        names = {name for heading in CLIMB_DATA for name in _names(results, model, heading)}
        for name in ("", *sorted(names)):
            source, plain = {**_model(model), "name": name}, {"name": ""}
            if name:
                yield Row(f"{start}{name}", source, base=plain, beside=plain, absent=NOTHING, need=SEEDS)
            else:
                yield Row(f"{start}{PAPERS}", source, need=SEEDS)
            cells = [cell for heading in CLIMB_DATA for cell in _together(results, source, heading)]
            if set(cells) != {NOTHING}:
                yield [f"{start}{name or PAPERS}: the mean of the seeds' probabilities", *cells]


def _together(results: Runs, source: Where, heading: str) -> list[str]:
    """Return the cells of several seeds as one, compared with the mean of the same seeds of the paper's settings."""
    found = select(results, {**source, **data_of(heading), "recipe": "document_ensemble"})
    refuse_repeats(found)
    if not found:
        return [NOTHING, NOTHING]
    run = max(found, key=lambda run: len(run.settings["seeds"]))
    base = runs_of(results, {**source, **data_of(heading), "name": ""})
    plain = [one.metrics[DEV_ACCURACY] for one in base if one.seed in run.settings["seeds"]]
    accuracy = run.metrics[DEV_ACCURACY]
    return [f"{accuracy:.2f}", signed(f"{accuracy - statistics.fmean(plain):.2f}") if plain else NOTHING]


CLIMB = Table(
    ("settings",),
    [
        column
        for heading in CLIMB_DATA
        for column in (
            score(heading, DEV_ACCURACY, partly=" ({have} of {need} seeds)", where=data_of(heading)),
            Column(
                f"{heading}, difference",
                minus=lambda ours, base: mean_difference(ours, base, DEV_ACCURACY),
                where=data_of(heading),
            ),
        )
    ],
    _climb,
)


def climb(results: Runs) -> str:
    """Return each option by its accuracy on validation; that on test is not shown: settings are chosen by this.

    A mean of several seeds' probabilities stands below their row.
    """
    return CLIMB([run for run in results if DEV_ACCURACY in run.metrics])


TABLES: dict[str, Callable[..., str]] = {"lama-documents": documents, "lama-climb": climb}
