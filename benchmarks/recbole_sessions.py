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
one epoch; both sides of a model are timed one after the other before anything is trained to its end, which takes hours
(`--processes 2`: on two cores). The machine should do nothing else until the seconds of all models are printed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.reporting import RESULTS, Value, write_rows
from benchmarks.session_positions import ONE_PASS, list_batch_makers, measure_epoch_seconds
from ctxzoo.models.configuration_session_baseline import SessionBaselineConfig
from ctxzoo.models.modeling_session_baseline import SessionBaselineForNextItem
from ctxzoo.results.environment import git_commit
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.sequences.data import SESSION_DATASETS, SessionDataModule
from ctxzoo.tasks.sequences.experiments import build_session_paper_experiment
from ctxzoo.tasks.sequences.problem import SESSION_RECOMMENDATION
from ctxzoo.training.allocator import keep_freed_memory

NAME = "recbole_sessions"
OURS, PEER = "ctxzoo", "RecBole"
MODELS = {"gru4rec": "GRU4Rec", "narm": "NARM"}  # to RecBole's name
PREFIXES = 512  # in a batch of RecBole's
QUICK_EPOCHS = 2


def write_interactions(data: SessionDataModule, folder: Path) -> None:
    """Write each prediction as a row of RecBole's files: session, earlier items, next item."""
    folder.mkdir(parents=True)
    for split, name in (("train", "train"), ("validation", "valid"), ("test", "test")):
        lines = ["session_id:token\titem_id_list:token_seq\titem_id:token"]
        for number, session in enumerate(data.sequences(split)):
            lines += [
                f"{name}{number}\t{' '.join(map(str, session[:step]))}\t{session[step]}"
                for step in range(1, len(session))
            ]
        (folder / f"{folder.name}.{name}.inter").write_text("\n".join(lines) + "\n", encoding="utf-8")


def build_recbole_settings(settings: Experiment, model: str, folder: Path) -> dict[str, Any]:
    """Return the settings with which RecBole trains as our recipe does."""
    dropout = (settings.model.embedding_dropout, settings.model.pooled_dropout)
    model_settings = {
        "narm": {"dropout_probs": list(dropout), "n_layers": 1},
        "gru4rec": {"dropout_prob": dropout[0], "num_layers": 1},
    }
    return {
        **model_settings[model],
        "data_path": str(folder.parent),
        "benchmark_filename": ["train", "valid", "test"],
        "USER_ID_FIELD": "session_id",
        "load_col": {"inter": ["session_id", "item_id_list", "item_id"]},
        "alias_of_item_id": ["item_id_list"],
        "MAX_ITEM_LIST_LENGTH": settings.data.max_length,
        "embedding_size": settings.model.embedding_size,
        "hidden_size": settings.model.hidden_size,
        "loss_type": "CE",
        "train_neg_sample_args": None,
        "learning_rate": settings.optimizer.learning_rate,
        "train_batch_size": PREFIXES,
        "eval_batch_size": PREFIXES,
        "epochs": settings.trainer.epochs,
        "stopping_step": settings.trainer.patience,
        "metrics": ["Recall", "MRR"],
        "topk": [20],
        "valid_metric": "Recall@20",
        "eval_args": {"split": {"LS": "valid_and_test"}, "group_by": "user", "order": "TO", "mode": "full"},
        "use_gpu": False,
        "show_progress": False,
        "checkpoint_dir": str(folder.parent / "saved"),
    }


@contextmanager
def change_working_folder(folder: Path) -> Iterator[None]:
    """Run the block in a folder, because RecBole writes logs into the current one."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def build_recbole_trainer(settings: Experiment, model: str, folder: Path) -> tuple[Any, ...]:
    """Return RecBole's trainer of a new model, and its loaders of training, validation and test."""
    for dropped, kept in (("float_", np.float64), ("complex_", np.complex128), ("unicode_", np.str_)):
        setattr(np, dropped, kept)  # names that NumPy 2 has no more, and RecBole has
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation
    from recbole.trainer import Trainer
    from recbole.utils import get_model, init_seed

    config = Config(MODELS[model], folder.name, config_dict=build_recbole_settings(settings, model, folder))
    init_seed(0, reproducibility=True)
    loaders = data_preparation(config, create_dataset(config))
    return Trainer(config, get_model(MODELS[model])(config, loaders[0].dataset)), *loaders


def measure_recbole_epoch_seconds(settings: Experiment, model: str, folder: Path) -> float:
    """Return the CPU seconds of the training part of RecBole's first epoch."""
    with change_working_folder(folder.parent):
        trainer, train, _, _ = build_recbole_trainer(settings, model, folder)
        trainer.eval_collector.data_collect(train)  # as its `fit` does before
        started = time.process_time()
        trainer._train_epoch(train, 0)
        return time.process_time() - started


def measure_ctxzoo_epoch_seconds(settings: Experiment, model: str, data: SessionDataModule) -> float:
    """Return the CPU seconds of one training epoch of our model, in its recipe's batches."""
    fields = {name: getattr(settings.model, name) for name in ("embedding_size", "hidden_size")}
    kind = {**SessionBaselineConfig.variants[model], **fields}
    torch.manual_seed(0)
    fresh = SessionBaselineForNextItem(SessionBaselineConfig(**kind, **data.model_sizes()))  # type: ignore[arg-type]
    return measure_epoch_seconds(fresh.train(), list_batch_makers(ONE_PASS, data.sequences("train")))


def train_recbole_model(settings: Experiment, model: str, folder: Path) -> dict[str, Value]:
    """Train RecBole's model until early stopping, and return its scores."""
    epochs: list[int] = []

    def print_epoch(epoch: int, score: float) -> None:
        epochs.append(epoch)
        print(f"{PEER}, {model}: epoch {epoch + 1}, validation Recall@20 {100 * score:.2f}", flush=True)

    with change_working_folder(folder.parent):
        trainer, train, valid, test = build_recbole_trainer(settings, model, folder)
        _, valid_scores = trainer.fit(train, valid, verbose=False, show_progress=False, callback_fn=print_epoch)
        # RecBole's own loading lacks `weights_only`, which its file, written a moment ago, needs.
        trainer.model.load_state_dict(torch.load(trainer.saved_model_file, weights_only=False)["state_dict"])
        scores = trainer.evaluate(test, load_best_model=False, show_progress=False)
    return {
        "parameters": sum(one.numel() for one in trainer.model.parameters()),
        "epochs": len(epochs),
        "validation_recall": 100 * float(valid_scores["recall@20"]),
        "recall": 100 * float(scores["recall@20"]),
        "mrr": 100 * float(scores["mrr@20"]),
    }


def train_ctxzoo_model(settings: Experiment, model: str, dataset: str, commit: str) -> dict[str, Value]:
    """Train our model as its recipe does, and return its scores."""
    named = {"dataset": SESSION_DATASETS.get(dataset, dataset), "variant": model, "recipe": NAME, "commit": commit}
    result = execute(ExperimentRun(SESSION_RECOMMENDATION, settings.copy_with(**named)))
    return {
        "parameters": result.parameters["total"],
        "epochs": int(result.metrics["epochs"]),
        "validation_recall": result.metrics["validation/recall_at_20"],
        "recall": result.metrics["test/recall_at_20"],
        "mrr": result.metrics["test/mrr_at_20"],
    }


def use_one_thread() -> None:
    """Let torch use one thread, and keep freed memory as our trainings do."""
    torch.set_num_threads(1)
    keep_freed_memory()  # as every training does


def measure_rows(
    settings: Experiment, data: SessionDataModule, work: Path, commit: str, processes: int
) -> list[dict[str, Value]]:
    """Time an epoch and train to the end with both libraries; return a row for each model and library."""
    folder = work / "sessions"
    write_interactions(data, folder)
    predictions = sum(len(session) - 1 for session in data.sequences("train"))
    seconds: dict[tuple[str, str], float] = {}
    for model in MODELS:
        seconds[model, OURS] = measure_ctxzoo_epoch_seconds(settings, model, data)
        seconds[model, PEER] = measure_recbole_epoch_seconds(settings, model, folder)
        print(f"{model}: {seconds[model, OURS]:.1f} s an epoch, {PEER} {seconds[model, PEER]:.1f} s", flush=True)

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=use_one_thread) as pool:
        # The peer's first: they take longer.
        trainings = {(model, PEER): pool.submit(train_recbole_model, settings, model, folder) for model in MODELS}
        for model in MODELS:
            trainings[model, OURS] = pool.submit(train_ctxzoo_model, settings, model, data.dataset, commit)
        return [
            {"model": model, "side": side, "predictions": predictions, "seconds": seconds[model, side]}
            | trainings[model, side].result()
            for model in MODELS
            for side in (OURS, PEER)
        ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare both libraries, print the table and write the results file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data_dir", help="folder of datasets; default: $CTXZOO_DATA")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--processes", type=int, default=1, help="trainings side by side, behind the timed part")
    parser.add_argument("--out", type=Path, default=RESULTS / f"{NAME}.csv")
    options = parser.parse_args(arguments)
    commit = git_commit()
    use_one_thread()
    source = "sample" if options.quick else SESSION_DATASETS["citeulike"]
    data = SessionDataModule(source, data_dir=options.data_dir)
    data.setup()
    with tempfile.TemporaryDirectory() as work:
        settings = build_session_paper_experiment("session_baseline", next(iter(MODELS))).copy_with(
            **{"data_dir": options.data_dir, "output_dir": work, "results_dir": f"{work}/results"},
            **{"progress": False, "tensorboard": False, **({"epochs": QUICK_EPOCHS} if options.quick else {})},
        )
        measured = measure_rows(settings, data, Path(work), commit, options.processes)
    rows = [{"data": source, **row} for row in measured]
    write_rows(options.out, rows, commit)


if __name__ == "__main__":
    main()
