"""A training of word vectors as one whole process: from a text with spaces between its words to vectors in a file.

    python -m benchmarks.word_embedding_whole --side JSON TEXT MIN_COUNT THREADS VECTORS

What `word_embedding` times apart is in it: imports, counting words and turning them into ids, compiled loops, read from
the cache or compiled, and writing. Imports are the same for all sides: gensim's process imports PyTorch and ctxzoo too,
which it does not need.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from benchmarks.reporting import build_environment
from benchmarks.word_embedding_sides import TEXT, Runner, Side, build_gensim_arguments
from benchmarks.worker import ROOT


def measure_process_seconds(side: Side, folder: Path, min_count: str, threads: int, cache: Path) -> float:
    """Train word vectors in a process of its own; return its seconds from start to end.

    Args:
        side: Implementation that trains, with its settings.
        folder: Folder with the file `TEXT`, the training text.
        min_count: Smallest number of occurrences for a word to be in the vocabulary.
        threads: Number of threads that train at once.
        cache: Folder for the compiled loops of numba; an empty one includes compilation in the time.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    with tempfile.TemporaryDirectory() as scratch:
        arguments = [f"--side={json.dumps(asdict(side))}", str(folder / TEXT), min_count, str(threads)]
        environment = build_environment(
            CTXZOO_CACHE=str(cache), OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads)
        )
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "benchmarks.word_embedding_whole", *arguments, str(Path(scratch, "vectors.npy"))],
            cwd=ROOT,
            env=environment,
            check=True,
        )
        return time.perf_counter() - begin


def main(arguments: Sequence[str] | None = None) -> None:
    """Train word vectors on a text with the side's library, and write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=json.loads, required=True)
    parser.add_argument("text", type=Path)
    parser.add_argument("min_count")
    parser.add_argument("threads")
    parser.add_argument("vectors", type=Path)
    options = parser.parse_args(arguments)
    torch.set_num_threads(int(options.threads))
    side = Side(**options.side)
    train = train_gensim if side.library == "gensim" else train_ctxzoo
    np.save(options.vectors, train(side, options.text, options.min_count, options.threads))


def train_ctxzoo(side: Side, text: Path, min_count: str, threads: str) -> object:
    """Train word vectors on a text file with ctxzoo, one epoch with the side's settings; return them, (words, d)."""
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, TEXT).symlink_to(text.resolve())
        runner = Runner(side, scratch, min_count, threads)
        runner.time_round("training")
        return runner.vectors[1]


def train_gensim(side: Side, text: Path, min_count: str, threads: str) -> object:
    """Train word vectors on a text file with gensim's `Word2Vec`, with the side's settings; return them, (words, d).

    gensim reads the file itself: line by line, or by several threads (`corpus_file`) where the side says so.
    """
    from gensim.models import word2vec

    given = {"corpus_file": str(text)} if side.corpus_file else {"sentences": word2vec.LineSentence(str(text))}
    settings = {**build_gensim_arguments(side, int(threads)), "min_count": int(min_count)}
    return word2vec.Word2Vec(**given, **settings).wv.vectors


if __name__ == "__main__":
    main()
