"""Word vectors trained by ctxzoo beside gensim's: words a second, memory, and how good the vectors are.

    python -m benchmarks.word_embedding                    every comparison, 1 and 2 threads
    python -m benchmarks.word_embedding --comparisons cbow --threads 1 --words 10000000
    python -m benchmarks.word_embedding --quick --output F      does it run? (generated text)

All sides read the same text, the first sentences of Wikipedia without their rare words, in processes of their own and
in turns (A B C A B C ...). A round is one pass over the text with fresh vectors; seconds are medians over rounds, by
the clock on the wall. Words count before frequent ones are thinned. Ratios are to the faster of gensim's two ways to
read. Scores are those of the vectors that were timed.

Turning the text into ids and compiling are outside these seconds. `word_embedding_whole` times all: a whole process
from text to vectors, the first one, which compiles, and the median of as many more as there are rounds, which read what
was compiled.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from benchmarks.reporting import RESULTS, Value, write_rows
from benchmarks.timing import measure_median_seconds, parse_thread_counts
from benchmarks.word_embedding_sides import KNOWN, TEXT, Side, load_known_corpus
from benchmarks.word_embedding_whole import measure_process_seconds
from benchmarks.worker import Worker
from ctxzoo.models.tokenization_word import build_pre_tokenizer, pre_tokenize
from ctxzoo.results.environment import git_commit
from ctxzoo.tasks.word_embeddings.corpus import Corpus
from ctxzoo.tasks.word_embeddings.corpus_lines import CorpusSource

DATASET, SAMPLE = "ctxzoo-data/wikipedia_en_2015", "sample"
MIN_COUNT = 10
ATTENTION_RATE = 0.2  # a step of the exact gradient is smaller than one of word2vec's, by the number of words around


@dataclass(frozen=True)
class Comparison:
    """Trainings of word vectors that are timed in turns, beside each other.

    Attributes:
        name: Name of the comparison, on the command line and in the table.
        sides: Implementations that are compared, those of ctxzoo and of gensim.
        fraction: Fraction of the requested number of words that is trained on, below 1 for slow architectures.
    """

    name: str
    sides: tuple[Side, ...]
    fraction: float = 1.0


def list_gensim_sides(architecture: str, name: str) -> tuple[Side, ...]:
    """Return gensim's sides for an architecture, one for each way in which it reads the text."""
    return (
        Side(f"gensim {name}", "gensim", architecture),
        Side(f"gensim {name}, corpus_file", "gensim", architecture, corpus_file=True),
    )


def list_ctxzoo_sides(architecture: str, learning_rate: float | None = None) -> tuple[Side, ...]:
    """Return ctxzoo's sides for an architecture, one for each way in which negative samples are drawn."""
    return (
        Side(architecture, "ctxzoo", architecture, learning_rate=learning_rate),
        Side(f"{architecture}, shared noise", "ctxzoo", architecture, True, learning_rate=learning_rate),
    )


COMPARISONS = (
    Comparison(
        "cbow",
        (
            *list_ctxzoo_sides("attention_cbow", ATTENTION_RATE),
            *list_ctxzoo_sides("cbow"),
            *list_gensim_sides("cbow", "CBOW"),
        ),
    ),
    # Skip-gram draws noise for each context word: there is nothing to share.
    Comparison(
        "skip_gram", (*list_ctxzoo_sides("skip_gram")[:1], *list_gensim_sides("skip_gram", "skip-gram")), fraction=0.1
    ),
)


def main(arguments: Sequence[str] | None = None) -> Path:
    """Time ctxzoo's and gensim's training of word vectors, print and write the results file; return its path."""
    options = parse_arguments(arguments)
    commit = git_commit()
    rows: list[dict[str, Value]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for comparison in COMPARISONS:
            if comparison.name in options.comparisons:
                folder = Path(scratch, comparison.name)
                dataset, corpus = write_first_sentences(folder, int(comparison.fraction * options.words), options)
                for threads in parse_thread_counts(options.threads):
                    about: dict[str, Value] = {"comparison": comparison.name, "dataset": dataset, "threads": threads}
                    about |= {"words": len(corpus.ids), "sentences": len(corpus), "vocabulary": len(corpus.words)}
                    rows += compare_sides(comparison, folder, threads, options, about)
    write_rows(options.output, rows, commit)
    print(f"wrote {options.output}")
    return Path(options.output)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line, and fill in what `--quick` stands for."""
    names = [comparison.name for comparison in COMPARISONS]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.word_embedding",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--comparisons", nargs="+", choices=names, default=names)
    parser.add_argument("--threads", nargs="+", default=["1", "2"], help="numbers, or all")
    parser.add_argument("--words", type=int, default=8_000_000, help="of the text; skip-gram reads a tenth")
    parser.add_argument("--rounds", type=int, default=3, help="passes of each side")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--quick", action="store_true", help="generated text, one round, one thread")
    options = parser.parse_args(arguments)
    options.min_count = MIN_COUNT
    if options.quick:
        if options.output is None:
            parser.error("--quick measures nothing worth keeping: give --output a file outside results/")
        options.rounds, options.threads, options.words, options.min_count = 1, ["1"], 20_000, 1
    options.output = options.output or RESULTS / "word_embedding.csv"
    return options


def write_first_sentences(folder: Path, words: int, options: argparse.Namespace) -> tuple[str, Corpus]:
    """Write the first sentences of a text, with all words and with the frequent ones alone.

    Returns the dataset's name and the corpus of frequent words.

    Args:
        folder: New folder for both files.
        words: Number of words to write.
        options: Options of the command line.
    """
    data = os.environ.get("CTXZOO_DATA")
    dataset = DATASET if data and not options.quick and Path(data, DATASET).is_dir() else SAMPLE
    folder.mkdir()
    with (folder / TEXT).open("w", encoding="utf-8") as file:
        file.writelines(read_first_sentences(dataset, words))
    corpus = load_known_corpus(folder, options.min_count)
    with (folder / KNOWN).open("w", encoding="utf-8") as file:
        for begin, end in zip(corpus.pointers[:-1], corpus.pointers[1:], strict=True):
            file.write(" ".join(corpus.words[row] for row in corpus.ids[begin:end]) + "\n")
    return dataset, corpus


def read_first_sentences(dataset: str, words: int) -> Iterator[str]:
    """Yield sentences of a dataset until `words` words are read; words have a space between them."""
    pre_tokenizer = build_pre_tokenizer(True, "english", fold_digits=True)
    for line in CorpusSource(dataset).lines():
        found = pre_tokenize(pre_tokenizer, line)
        yield " ".join(found) + "\n"
        words -= len(found)
        if words <= 0:
            return


def compare_sides(
    comparison: Comparison, folder: Path, threads: int, options: argparse.Namespace, about: dict[str, Value]
) -> list[dict[str, Value]]:
    """Train word vectors with each side of a comparison in turns; return a row of speed, memory and scores for each."""
    worker_arguments = (str(folder), str(options.min_count), str(threads))
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(side, threads, *worker_arguments)) for side in comparison.sides]
        seconds = measure_median_seconds(workers, "training", options.rounds)
        reference = min(
            spent for side, spent in zip(comparison.sides, seconds, strict=True) if side.library == "gensim"
        )
        cache = folder / f"kernels-{threads}"
        process_seconds = [
            [
                measure_process_seconds(side, folder, str(options.min_count), threads, cache)
                for _ in range(options.rounds + 1)
            ]
            for side in comparison.sides
        ]
        rows: list[dict[str, Value]] = []
        for worker, spent, (first_seconds, *later_seconds) in zip(workers, seconds, process_seconds, strict=True):
            rows.append(
                {
                    **about,
                    "side": worker.side.label,
                    "library": worker.side.library,
                    "rounds": options.rounds,
                    "seconds": spent,
                    "words_per_second": int(str(about["words"])) / spent,
                    "ratio": reference / spent,
                    "first_whole_seconds": first_seconds,
                    "whole_seconds": statistics.median(later_seconds),
                    "peak_memory_mb": worker.ask("measure_peak_memory"),
                    **worker.ask("score_vectors"),
                    "gensim": metadata.version("gensim"),
                    "numba": metadata.version("numba"),
                }
            )
            print(format_row_line(rows[-1]), flush=True)
    return rows


def format_row_line(row: dict[str, Value]) -> str:
    """Return the line that is printed for a row: the side, its speed, memory and scores."""
    return (
        f"{row['side']:28} {row['threads']} threads  {row['words_per_second']:>12,.0f} words/s  "
        f"ratio {row['ratio']:.2f}  {row['peak_memory_mb']:.0f} MiB  "
        f"whole process {row['whole_seconds']:.1f} s, the first {row['first_whole_seconds']:.1f} s"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
