"""GRU4REC and NARM of this package beside RecBole's, trained on the same sessions in one run.

    pip install --no-deps recbole colorlog colorama thop texttable tabulate 'pandas<3' pytz
    python -m benchmarks.recbole_sessions                  CiteULike, one thread
    python -m benchmarks.recbole_sessions --quick          does it run? (the generated sample, two epochs)

In an environment of its own, for pandas is then older than ctxzoo's versions have it. Without its other dependencies
RecBole's models, data and trainer can be imported, which is all that is used. Both sides make the same
predictions: the authors' split, each item but the first of a session from those before it, all items ranked. Sizes,
dropout, Adam, rate, and patience (epochs without better validation Recall@20) are equal; RecBole reads 512 prefixes in
a batch, padded to 100 items, and has its own initial weights. Its NARM scores items as ours does; its GRU4Rec scores
them by the products with the item vectors, ours by a matrix of their own. A session has the scores of RecBole's own
evaluation, in which items that tie are taken in any order. Seconds are those of the processor for the training part of
an epoch, the mean over epochs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.reporting import RESULTS, Value, write_rows
from benchmarks.session_positions import ONE_PASS, batches_of, seconds_of_an_epoch
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.models.modeling_session_baseline import SessionBaselineForNextItem
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.run import execute
from ctxzoo.tasks.session_recommendation.data import SESSION_DATASETS, SessionDataModule
from ctxzoo.tasks.session_recommendation.run import SessionSettings, session_run
from ctxzoo.training.allocator import keep_freed_memory

NAME = "recbole_sessions"
OURS, PEER = "ctxzoo", "RecBole"
MODELS = {"gru4rec": "GRU4Rec", "narm": "NARM"}  # to RecBole's name
PREFIXES = 512  # in a batch of RecBole's
QUICK_EPOCHS = 2


def write_interactions(data: SessionDataModule, folder: Path) -> None:
    """Write each prediction as a row of RecBole's files: the session, the items before, and the item that came."""
    folder.mkdir(parents=True)
    for split, name in (("train", "train"), ("validation", "valid"), ("test", "test")):
        lines = ["session_id:token\titem_id_list:token_seq\titem_id:token"]
        for number, session in enumerate(data.sequences(split)):
            lines += [
                f"{name}{number}\t{' '.join(map(str, session[:step]))}\t{session[step]}"
                for step in range(1, len(session))
            ]
        (folder / f"{folder.name}.{name}.inter").write_text("\n".join(lines) + "\n", encoding="utf-8")


def peer_settings(settings: SessionSettings, model: str, folder: Path) -> dict[str, Any]:
    """Return RecBole's settings that say the same as ours."""
    dropout = (settings.embedding_dropout, settings.pooled_dropout)
    own = {
        "narm": {"dropout_probs": list(dropout), "n_layers": 1},
        "gru4rec": {"dropout_prob": dropout[0], "num_layers": 1},
    }
    return {
        **own[model],
        "data_path": str(folder.parent),
        "benchmark_filename": ["train", "valid", "test"],
        "USER_ID_FIELD": "session_id",
        "load_col": {"inter": ["session_id", "item_id_list", "item_id"]},
        "alias_of_item_id": ["item_id_list"],
        "MAX_ITEM_LIST_LENGTH": settings.max_length,
        "embedding_size": settings.embedding_size,
        "hidden_size": settings.hidden_size,
        "loss_type": "CE",
        "train_neg_sample_args": None,
        "learning_rate": settings.learning_rate,
        "train_batch_size": PREFIXES,
        "eval_batch_size": PREFIXES,
        "epochs": settings.epochs,
        "stopping_step": settings.patience,
        "metrics": ["Recall", "MRR"],
        "topk": [20],
        "valid_metric": "Recall@20",
        "eval_args": {"split": {"LS": "valid_and_test"}, "group_by": "user", "order": "TO", "mode": "full"},
        "use_gpu": False,
        "show_progress": False,
        "checkpoint_dir": str(folder.parent / "saved"),
    }


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder meanwhile: RecBole leaves its logs where it is started."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def train_peer(settings: SessionSettings, model: str, folder: Path) -> dict[str, Value]:
    """Train RecBole's model to the end of its patience, and return its row."""
    for dropped, kept in (("float_", np.float64), ("complex_", np.complex128), ("unicode_", np.str_)):
        setattr(np, dropped, kept)  # names that NumPy 2 has no more, and RecBole has
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation
    from recbole.trainer import Trainer
    from recbole.utils import get_model, init_seed

    config = Config(MODELS[model], folder.name, config_dict=peer_settings(settings, model, folder))
    init_seed(0, reproducibility=True)
    train, valid, test = data_preparation(config, create_dataset(config))
    built = get_model(MODELS[model])(config, train.dataset)

    epochs: list[float] = []

    class Timed(Trainer):  # type: ignore[misc]
        def _train_epoch(self, *arguments: Any, **options: Any) -> Any:
            started = time.process_time()
            loss = super()._train_epoch(*arguments, **options)
            epochs.append(time.process_time() - started)
            return loss

    trainer = Timed(config, built)
    _, valid_scores = trainer.fit(train, valid, verbose=False, show_progress=False)
    # RecBole's own loading lacks `weights_only`, which its file, written a moment ago, needs.
    built.load_state_dict(torch.load(trainer.saved_model_file, weights_only=False)["state_dict"])
    scores = trainer.evaluate(test, load_best_model=False, show_progress=False)
    return {
        "parameters": sum(one.numel() for one in built.parameters()),
        "seconds": sum(epochs) / len(epochs),
        "epochs": len(epochs),
        "validation_recall": 100 * float(valid_scores["recall@20"]),
        "recall": 100 * float(scores["recall@20"]),
        "mrr": 100 * float(scores["mrr@20"]),
    }


def train_ours(settings: SessionSettings, model: str, data: SessionDataModule, commit: str) -> dict[str, Value]:
    """Train our model as its recipe does, time one epoch of the same batches, and return its row."""
    run = session_run(settings, data.dataset, "session_baseline", model, seed=0, recipe=NAME, commit=commit)
    result = execute(run)
    fields = {name: getattr(settings, name) for name in ("embedding_size", "hidden_size")}
    kind = {**SessionBaselineConfig.variants[model], **fields}
    torch.manual_seed(0)
    fresh = SessionBaselineForNextItem(SessionBaselineConfig(**kind, **data.model_sizes()))  # type: ignore[arg-type]
    return {
        "parameters": result.parameters["total"],
        "seconds": seconds_of_an_epoch(fresh.train(), batches_of(ONE_PASS, data.sequences("train"))),
        "epochs": int(result.metrics["epochs"]),
        "validation_recall": result.metrics["validation/recall_at_20"],
        "recall": result.metrics["test/recall_at_20"],
        "mrr": result.metrics["test/mrr_at_20"],
    }


def measure(settings: SessionSettings, data: SessionDataModule, work: Path, commit: str) -> Iterator[dict[str, Value]]:
    """Yield a row for each model and side."""
    folder = work / "sessions"
    write_interactions(data, folder)
    predictions = sum(len(session) - 1 for session in data.sequences("train"))
    for model in MODELS:
        for side in (OURS, PEER):
            if side == OURS:
                row = train_ours(settings, model, data, commit)
            else:
                with inside(work):
                    row = train_peer(settings, model, folder)
            print(f"{side}, {model}: {row}", flush=True)
            yield {"model": model, "side": side, "predictions": predictions, **row}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data_dir", help="folder of datasets; default: $CTXZOO_DATA")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS / f"{NAME}.csv")
    options = parser.parse_args(arguments)
    commit = git_commit()
    torch.set_num_threads(1)
    keep_freed_memory()  # as every training does
    source = "sample" if options.quick else SESSION_DATASETS["citeulike"]
    data = SessionDataModule(source, data_dir=options.data_dir)
    data.setup()
    with tempfile.TemporaryDirectory() as work:
        settings = SessionSettings(
            data_dir=options.data_dir, output_dir=work, results_dir=f"{work}/results", progress=False, tensorboard=False
        )
        if options.quick:
            settings.epochs = QUICK_EPOCHS
        rows = [{"data": source, **row} for row in measure(settings, data, Path(work), commit)]
    write_rows(options.out, rows, commit)


if __name__ == "__main__":
    main()
