"""Session recommendation: tables of HCRNN, of the models beside it and of what is to beat, made from results files.

A cell of a table is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ctxzoo.results.table_parts import make_best_epoch_column
from ctxzoo.tasks.sequences.data import SESSION_DATASETS
from ctxzoo.tasks.sequences.experiments import SESSION_VARIANTS
from reports.labels import read_labels
from reports.results_table import Column, Difference, Line, Row, Table, Trials, make_rows
from reports.score_columns import format_mean, score_column

CITEULIKE = {"dataset": SESSION_DATASETS["citeulike"], "tag": ""}
FOREMOST = "hcrnn3_bi"  # which is compared with the models beside it
RECALL, RANK = "test/recall_at_20", "test/mrr_at_20"
COUNTS = {"recipe": "session_floors"}
BASELINES = SESSION_VARIANTS["session_baseline"]
LABELS, COUNT_LABELS, SETS = (read_labels("hcrnn")[name] for name in ("models", "counts", "sets"))
MODELS = {
    name: {"recipe": "session_baselines" if name in BASELINES else "citeulike_hcrnn", "variant": name}
    for name in LABELS
}
# Runs with twice the authors' width, chosen by trials on validation: their name, their options, and who has them.
WIDE = {"name": "wide"}
WIDE_OPTIONS = " --embedding_size 200 --hidden_size 200 --embedding_dropout 0.5 --ema_decay 0.998 --name wide"
WIDE_MODELS = (*BASELINES, FOREMOST)

VALIDATION = score_column("validation Recall@20", "validation/recall_at_20")
TRAINING = ("epochs", make_best_epoch_column("recall_at_20", higher=True), "trainable parameters", "seconds an epoch")
SCORES = (score_column("test Recall@20", RECALL, tested=True), score_column("test MRR@20", RANK, tested=True))
COLUMNS = ("seeds", VALIDATION, *SCORES, *TRAINING)


def _list_model_rows(names: Iterable[str], name: dict[str, str], options: str = "") -> list[Line]:
    """Return the rows of session models on CiteULike, and their differences to the strongest."""
    command = f"--models {{missing}} --seeds 0 1 2{options} --resume"
    sources = {model: {**MODELS[model], **name} for model in names}
    return [
        *(Row(LABELS[model], source, need=3, command=command) for model, source in sources.items()),
        *(
            Difference(f"{LABELS[FOREMOST]} − {LABELS[model]} (p over seeds)", sources[FOREMOST], source)
            for model, source in sources.items()
            if model != FOREMOST
        ),
    ]


TABLES: dict[str, Callable[..., str]] = {}
TABLES["hcrnn-citeulike"] = Table(
    COLUMNS,
    [
        *make_rows(COUNT_LABELS, COUNTS, only=[column.heading for column in SCORES], command="--resume"),
        *_list_model_rows(MODELS, {}),
    ],
    where=CITEULIKE,
)
TABLES["hcrnn-wide"] = Table(
    COLUMNS,
    [
        *_list_model_rows(WIDE_MODELS, WIDE, WIDE_OPTIONS),
        *(
            Difference(f"{LABELS[name]} − with the authors' settings (p over seeds)", MODELS[name] | WIDE, MODELS[name])
            for name in WIDE_MODELS
        ),
    ],
    where=CITEULIKE,
)
TABLES["hcrnn-sets"] = Table(
    [
        Column(
            heading,
            lambda runs: " / ".join(format_mean(runs, key) for key in (RECALL, RANK)),
            where={"dataset": SESSION_DATASETS[name]},
            fill={} if heading == "CiteULike" else {"dataset": name},
        )
        for heading, name in SETS.items()
    ],
    [
        *make_rows(COUNT_LABELS, COUNTS),
        *(
            Row(label, MODELS[name], command="--dataset {dataset} --models {missing} --resume")
            for name, label in LABELS.items()
        ),
    ],
    where={"tag": ""},
)
TRIAL_TABLES: dict[str, Callable[..., str]] = {
    "hcrnn-trials": Trials(
        ("model",),
        (VALIDATION, score_column("validation MRR@20", "validation/mrr_at_20"), *TRAINING),
        {(LABELS[name],): {**where, "dataset": CITEULIKE["dataset"]} for name, where in MODELS.items()},
        by="validation/recall_at_20",
    )
}
