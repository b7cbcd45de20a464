"""Session recommendation: tables of HCRNN, of the models beside it and of what is to beat, made from results files.

A cell of a table is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ctxzoo.results.table_parts import best_epoch_column, seconds_column
from ctxzoo.tasks.sequences.data import SESSION_DATASETS
from ctxzoo.tasks.sequences.experiments import SESSION_VARIANTS
from reports.results_table import (
    EPOCHS,
    PARAMETERS,
    SEEDS_OF,
    Column,
    Difference,
    Line,
    Row,
    Table,
    Trials,
    Where,
    as_column,
    mean_of,
    score,
    seeds_test,
)

RECIPES = {"hcrnn": "citeulike_hcrnn", "session_baseline": "session_baselines"}  # by architecture
FLOORS_RECIPE = "session_floors"
SETS = {
    "CiteULike": "citeulike",
    "MovieLens 100K": "movielens_100k",
    "MovieLens-1M (part)": "movielens_1m",
    "LastFM (part)": "lastfm",
}
CITEULIKE = {"dataset": SESSION_DATASETS["citeulike"], "tag": ""}
SEEDS = 3  # that a row of CiteULike needs; the other sets need one
FOREMOST = "hcrnn3_bi"  # which is compared with the models beside it
RECALL, RANK = "test/recall_at_20", "test/mrr_at_20"
FLOOR_LABELS = {
    "pop": "POP: what is popular",
    "session_pop": "S-POP: what the session had",
    "item_knn": "item-kNN: what stands beside the last item",
    "markov": "Markov: what follows the last item",
}
MODEL_LABELS = {
    "gru4rec": "GRU4REC",
    "narm": "NARM",
    "stamp": "STAMP",
    "hcrnn1": "HCRNN-1",
    "hcrnn2": "HCRNN-2",
    "hcrnn3": "HCRNN-3",
    "hcrnn3_bi": "HCRNN-3 + Bi",
}
RECIPE_OF = {model: RECIPES[of] for of in ("session_baseline", "hcrnn") for model in SESSION_VARIANTS[of]}
# Runs with twice the authors' width, chosen by trials on validation: their name, their options, and who has them.
WIDE = {"name": "wide"}
WIDE_OPTIONS = " --embedding_size 200 --hidden_size 200 --embedding_dropout 0.5 --ema_decay 0.998 --name wide"
WIDE_MODELS = (*SESSION_VARIANTS["session_baseline"], FOREMOST)

VALIDATION = score("validation Recall@20", "validation/recall_at_20")
TRAINING = (EPOCHS, as_column(best_epoch_column("recall_at_20", higher=True)), PARAMETERS, as_column(seconds_column()))
SCORES = (score("test Recall@20", RECALL, minus=seeds_test(RECALL)), score("test MRR@20", RANK, minus=seeds_test(RANK)))
COLUMNS = (SEEDS_OF, VALIDATION, *SCORES, *TRAINING)


def _model(name: str) -> dict[str, str]:
    return {"recipe": RECIPE_OF[name], "variant": name}


def _floors(command: str = "", only: Iterable[str] = ()) -> list[Row]:
    return [
        Row(label, {"recipe": FLOORS_RECIPE, "variant": name}, only=tuple(only), command=command)
        for name, label in FLOOR_LABELS.items()
    ]


def _models(names: Iterable[str], where: Where, options: str = "") -> list[Line]:
    """Return rows of models on CiteULike, and those of what sets the foremost apart from the others."""
    names = tuple(names)
    command = (
        f"python recipes/{{}}.py --models {{{{missing}}}} --seeds {' '.join(map(str, range(SEEDS)))}{options} --resume"
    )
    rows: list[Line] = [
        Row(MODEL_LABELS[name], {**_model(name), **where}, need=SEEDS, command=command.format(RECIPE_OF[name]))
        for name in names
    ]
    for name in names:
        if name != FOREMOST:
            label = f"{MODEL_LABELS[FOREMOST]} − {MODEL_LABELS[name]} (p over seeds)"
            rows.append(Difference(label, {**_model(FOREMOST), **where}, {**_model(name), **where}))
    return rows


def _both(label: str, name: str) -> Difference:
    text = f"{label} − with the authors' settings (p over seeds)"
    return Difference(text, {**_model(name), **WIDE}, _model(name))


citeulike = Table(
    ("model",),
    COLUMNS,
    [
        *_floors(f"python recipes/{FLOORS_RECIPE}.py --resume", [column.heading for column in SCORES]),
        *_models(RECIPE_OF, {}),
    ],
    where=CITEULIKE,
)
wide = Table(
    ("model",),
    COLUMNS,
    [*_models(WIDE_MODELS, WIDE, WIDE_OPTIONS), *(_both(MODEL_LABELS[name], name) for name in WIDE_MODELS)],
    where=CITEULIKE,
)
sets = Table(
    ("model",),
    [
        Column(
            heading,
            lambda runs: " / ".join(mean_of(runs, key) for key in (RECALL, RANK)),
            where={"dataset": SESSION_DATASETS[name]},
            fill={} if heading == "CiteULike" else {"dataset": name},
        )
        for heading, name in SETS.items()
    ],
    [
        *_floors(),
        *(
            Row(
                label,
                _model(name),
                command=f"python recipes/{RECIPE_OF[name]}.py --dataset {{dataset}} --models {{missing}} --resume",
            )
            for name, label in MODEL_LABELS.items()
        ),
    ],
    where={"tag": ""},
)
trials = Trials(
    ("model",),
    (VALIDATION, score("validation MRR@20", "validation/mrr_at_20"), *TRAINING),
    {(label,): {**_model(name), "dataset": CITEULIKE["dataset"]} for name, label in MODEL_LABELS.items()},
    by="validation/recall_at_20",
)

TRIAL_TABLES: dict[str, Callable[..., str]] = {"hcrnn-trials": trials}
TABLES: dict[str, Callable[..., str]] = {"hcrnn-citeulike": citeulike, "hcrnn-wide": wide, "hcrnn-sets": sets}
