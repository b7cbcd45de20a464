"""A training step of word vectors in two processes, with the rows that it reads or with whole tables as gradients.

    python -m benchmarks.shared_gradients            about two minutes, two cores
    python -m benchmarks.shared_gradients --quick    does it run? (a small vocabulary)

Attention CBOW, 100 numbers a word, 1,024 words of each process in a step, drawn by Zipf's law; the processes share
gloo on one machine. A step: loss and gradients, their sum over the processes, and the optimizer. Bytes are those that a
process hands to the collectives in a step; seconds are those of the clock on the wall. Both sides take their steps in
turns, and end with the same weights.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from benchmarks.reporting import RESULTS, Value, format_number, read_rows, write_rows
from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.results.environment import git_commit
from ctxzoo.results.table_parts import format_markdown_table
from ctxzoo.tasks.word_embeddings.sparse_sgd import RowLimitedSGD, all_reduce_gradients
from ctxzoo.tasks.word_embeddings.task import LONGEST_STEP

NAME = "shared_gradients"
SIDES = {"rows that are read": True, "whole tables": False}
VOCABULARY, PROCESSES, DIM, WORDS, WINDOW, NOISE, STEPS = 100_000, 2, 100, 1024, 5, 5, 8
SPECIAL = 2  # ids that are no words
RATE = 1e-3  # so small that no update is shortened: of a whole table, rows of attention logits are shortened together


def draw_batch(vocabulary: int, generator: np.random.Generator) -> dict[str, torch.Tensor]:
    """Draw the arguments of `sampled_loss` for a batch: contexts and centres by Zipf's law, noise by its power 3/4."""
    chances = 1 / np.arange(1, vocabulary + 1)
    shares = [chance / chance.sum() for chance in (chances, chances**0.75)]

    def draw(share: Any, *shape: int) -> torch.Tensor:
        return torch.from_numpy(generator.choice(vocabulary, shape, p=share) + SPECIAL)

    noise = draw(shares[1], WORDS, NOISE)
    return {
        "contexts": draw(shares[0], WORDS, 2 * WINDOW),
        "present": torch.ones(WORDS, 2 * WINDOW, dtype=torch.bool),
        "centres": draw(shares[0], WORDS),
        "noise": noise,
        "noise_kept": torch.ones_like(noise, dtype=torch.bool),
    }


def count_bytes(send: Callable[..., Any], position: int, sent: list[int]) -> Callable[..., Any]:
    """Return a collective that adds the bytes of its argument at this position, which leave the process, to `sent`."""

    def send_and_count(*arguments: Any) -> Any:
        sent[-1] += arguments[position].numel() * arguments[position].element_size()
        return send(*arguments)

    return send_and_count


def take_steps(rank: int, folder: Path, vocabulary: int) -> None:
    """Take the steps of one process, and let the first write the rows of the results."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=PROCESSES)
    sent: list[int] = []
    dist.all_reduce, dist.all_gather = count_bytes(dist.all_reduce, 0, sent), count_bytes(dist.all_gather, 1, sent)
    generator = np.random.default_rng(rank)
    batches = [draw_batch(vocabulary, generator) for _ in range(STEPS)]
    models: dict[str, WordEmbeddingForMaskedLM] = {}
    for name, sparse in SIDES.items():
        torch.manual_seed(0)
        config = WordEmbeddingConfig(
            vocab_size=vocabulary + SPECIAL, num_special_tokens=SPECIAL, word_dim=DIM, window=WINDOW
        )
        models[name] = WordEmbeddingForMaskedLM(config)
        models[name].set_sparse_gradients(sparse)
    optimizers = {name: RowLimitedSGD(model.parameters(), RATE, LONGEST_STEP) for name, model in models.items()}
    seconds: dict[str, list[float]] = {name: [] for name in SIDES}
    exchanges: dict[str, list[float]] = {name: [] for name in SIDES}
    bytes_sent: dict[str, list[int]] = {name: [] for name in SIDES}
    for batch in batches:
        for name, model in models.items():
            sent.append(0)
            dist.barrier()
            started = time.perf_counter()
            optimizers[name].zero_grad()
            model.sampled_loss(**batch).sum().backward()
            exchanging = time.perf_counter()
            all_reduce_gradients(model.parameters())
            exchanges[name].append(time.perf_counter() - exchanging)
            optimizers[name].step()
            seconds[name].append(time.perf_counter() - started)
            bytes_sent[name].append(sent[-1])
    of_rows, of_tables = (model.state_dict() for model in models.values())
    for name, value in of_rows.items():
        torch.testing.assert_close(value, of_tables[name])
    if rank == 0:
        measured = {
            name: [statistics.median(values[name][1:]) for values in (seconds, exchanges, bytes_sent)]
            for name in SIDES  # without the first step, which warms up
        }
        torch.save(measured, folder / "measured.pt")
    dist.barrier()
    dist.destroy_process_group()


def measure(vocabulary: int) -> Iterator[dict[str, Value]]:
    """Yield a row for each side, from processes of their own."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        processes = [context.Process(target=take_steps, args=(rank, Path(folder), vocabulary)) for rank in range(2)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            if process.exitcode:
                raise ChildProcessError("a process of the training failed")
        measured = torch.load(Path(folder, "measured.pt"))
    for name, (seconds, exchange, sent) in measured.items():
        yield {
            "gradients": name,
            "vocabulary": vocabulary,
            "word_dim": DIM,
            "words": WORDS,
            "processes": PROCESSES,
            "steps": STEPS - 1,
            "megabytes_sent": sent / 1e6,
            "exchange_milliseconds": 1000 * exchange,
            "step_milliseconds": 1000 * seconds,
        }


def format_shared_gradients_table(rows: list[dict[str, str]]) -> str:
    """Return the Markdown table of a step of each side."""
    headings = ["gradients", "vocabulary", "sent by each, MB", "exchange, ms", "step, ms"]
    columns = ("megabytes_sent", "exchange_milliseconds", "step_milliseconds")
    return format_markdown_table(
        headings,
        [
            [row["gradients"], f"{int(row['vocabulary']):,}", *(format_number(row[name], 2) for name in columns)]
            for row in rows
        ],
    )


def main(arguments: Sequence[str] | None = None) -> Path:
    """Measure, print the table and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{NAME}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, help=f"default: results/{NAME}.csv beside this file")
    parser.add_argument("--quick", action="store_true", help="a small vocabulary")
    options = parser.parse_args(arguments)
    if options.quick and options.output is None:
        parser.error("--quick measures nothing worth keeping: give --output a file outside results/")
    output: Path = options.output or RESULTS / f"{NAME}.csv"
    commit = git_commit()
    write_rows(output, list(measure(2000 if options.quick else VOCABULARY)), commit)
    print(format_shared_gradients_table(read_rows(output)))
    return output


if __name__ == "__main__":
    main()
