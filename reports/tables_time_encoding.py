"""Next event: tables of encodings of time and of what is to beat, made from results files.

A cell is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from ctxzoo.results.table_parts import best_epoch_column
from ctxzoo.tasks.sequences.data import HISTORY_DATASETS
from reports.results_table import (
    EPOCHS,
    PARAMETERS,
    SEEDS,
    Difference,
    Row,
    Table,
    Trials,
    made,
    score,
    seeds_test,
)

RECIPE = "badges_lste"
DATASET = HISTORY_DATASETS["badges"]
RECALL, RANK = "test/recall_at_1", "test/mrr_at_20"
FLOORS = {"pop": "POP: what is frequent", "markov": "Markov: what follows the last event"}
ENCODINGS = {
    "none": "no times, no positions",
    "positional": "positions alone",
    "bochner": "Bochner, tied",
    "mercer": "Mercer",
    "time2vec": "time2vec",
    "lste": "LSTE",
    "lste_behaviour": "LSTE with behaviour",
}
WITHOUT_TIMES = ("none", "positional")
OTHERS = ("bochner", "mercer", "time2vec")
OURS = ("lste", "lste_behaviour")
COMPARISONS = (*product(OURS, (*WITHOUT_TIMES, *OTHERS)), *product(OTHERS, WITHOUT_TIMES))
COMMAND = (
    f"python recipes/{RECIPE}.py --encodings {{missing}} --seeds 0 1 2 --epochs 40 --patience 8 --learning_rate 0.005 "
    "--num_layers 2 --hidden_size 64 --num_heads 2 --time_combine add --ema_decay 0.998 --resume"
)


def _encoding(name: str) -> dict[str, str]:
    return {"variant": name}


badges = Table(
    ("model",),
    (
        SEEDS,
        score("validation recall@1", "validation/recall_at_1"),
        score("test recall@1", RECALL, minus=seeds_test(RECALL)),
        score("test MRR@20", RANK, minus=seeds_test(RANK)),
        EPOCHS,
        PARAMETERS,
    ),
    [
        *(Row(label, {"variant": name}, only=("test recall@1", "test MRR@20")) for name, label in FLOORS.items()),
        *(Row(label, _encoding(name), need=3, command=COMMAND) for name, label in ENCODINGS.items()),
        *(
            Difference(f"{ENCODINGS[one]} − {ENCODINGS[other]} (p over seeds)", _encoding(one), _encoding(other), True)
            for one, other in COMPARISONS
        ),
    ],
    where={"recipe": RECIPE, "dataset": DATASET, "tag": ""},
)
trials = Trials(
    ("model",),
    (
        score("recall@1", "validation/recall_at_1"),
        score("MRR@20", "validation/mrr_at_20"),
        score("nats", "validation/nll", 3),
        made(best_epoch_column("recall_at_1", higher=True)),
    ),
    {(label,): {"recipe": RECIPE, "dataset": DATASET, "variant": name} for name, label in ENCODINGS.items()},
    by="validation/recall_at_1",
    apart=False,
)

TRIAL_TABLES: dict[str, Callable[..., str]] = {"time-encodings-trials": trials}
TABLES: dict[str, Callable[..., str]] = {"time-encodings-badges": badges}
