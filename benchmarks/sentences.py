"""The first sentences of benchmarks/README.md: how many times as fast, or as slow, something is, from results files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.length_tables import format_significant_digits
from benchmarks.reporting import read_rows

Row = dict[str, str]


@dataclass(frozen=True)
class Sentence:
    """A number of a results file, in words.

    Attributes:
        file: Name of the results file without its ending.
        text: The sentence; ``{times}`` stands for the number.
        cells: Cells, heading to content, that identify the table row with the number; its other cells may be anything.
        column: Heading of the column with the number.
        beside: Cells in which the compared row differs; its number is divided by that of the first row. Empty: the
            number itself is quoted.
        longer: Whether the inverse ratio is quoted, in a sentence that says how much longer something takes.
    """

    file: str
    text: str
    cells: Mapping[str, str]
    column: str = "ratio"
    beside: Mapping[str, str] | None = None
    longer: bool = False


TRAINING = "forward and backward"
ATTENTION = {"threads": "1", "pass": TRAINING}

SENTENCES = (
    Sentence(
        "beta_lstm-cuda",
        "A training step of the Beta-LSTM (`bibeta5`, 16 sequences) takes {times} times as long as cuDNN's `nn.LSTM`",
        {"comparison": "batch of 16", "side": "bibeta5", "pass": TRAINING},
        longer=True,
    ),
    Sentence(
        "beta_lstm-cpu",
        "A training step of the Beta-LSTM (`bibeta5`, 16 sequences) takes {times} times as long as `nn.LSTM`",
        {"comparison": "batch of 16", "side": "bibeta5", "pass": TRAINING},
        longer=True,
    ),
    Sentence(
        "kernel_start",
        "A causal layer with learned kernels (`mikan`, 256 tokens) takes {times} times as long as"
        " `nn.MultiheadAttention`",
        {"part": "causal", "attention": "nn.MultiheadAttention"},
        "milliseconds",
        {"attention": "mikan"},
    ),
    Sentence(
        "second_order_attention-cuda",
        "The fused kernel of second-order attention is {times} times as fast as the plain form"
        " (bfloat16, 4,096 tokens)",
        {"precision": "bfloat16", "side": "triton", "length": "4096", "pass": TRAINING},
    ),
    Sentence(
        "second_order_attention-cpu",
        "The Contextualizer of five steps is {times} times as fast as an encoder layer of PyTorch (4,096 tokens)",
        {**ATTENTION, "comparison": "layers", "side": "contextualizer, K = 5", "length": "4096"},
    ),
    Sentence(
        "context_attention-cpu",
        "Attention in linear time (by default) is {times} times as fast as PyTorch's fused attention (4,096 tokens)",
        {**ATTENTION, "comparison": "linear", "side": "learned, default M", "length": "4096"},
    ),
    Sentence(
        "document_attention-cpu",
        "LAMA with 30 heads is {times} times as fast as self-attentive heads (4,096 words)",
        {**ATTENTION, "comparison": "30 heads", "side": "LAMA", "length": "4096"},
    ),
    Sentence(
        "training_step-cpu",
        "A training step of BiDAF is {times} times as fast as its equations in the way of the CS224N starter",
        {"comparison": "starter", "variant": "baseline", "phase": "training"},
    ),
    Sentence(
        "recbole_sessions",
        "An epoch of GRU4REC on CiteULike is {times} times as fast as RecBole's",
        {"model": "gru4rec", "side": "ctxzoo"},
        "seconds",
        {"side": "RecBole"},
    ),
    Sentence(
        "word_embedding",
        "Attention CBOW reads words in training {times} times as fast as gensim's plain CBOW",
        {"comparison": "cbow", "threads": "1", "side": "attention_cbow"},
    ),
)


def format_sentence(sentence: Sentence, results: Path) -> str:
    """Return a list item of the README: the sentence with its ratio from the results file, machine, day and commit.

    Without the results file it says that nothing was measured yet.

    Raises:
        ValueError: Not exactly one row has the cells.
    """
    file = results / f"{sentence.file}.csv"
    if not file.exists():
        return f"- {sentence.text.format(times='…')} (not measured yet)."
    rows = read_rows(file)
    row = _find_only_row(rows, sentence.cells, file)
    times = float(row[sentence.column])
    if sentence.beside is not None:
        other = float(_find_only_row(rows, {**sentence.cells, **sentence.beside}, file)[sentence.column])
        times = other / times
    elif sentence.longer:
        times = 1 / times
    machine = "an H200" if row["gpus"] != "[]" else _format_threads(row)
    text = sentence.text.format(times=format_significant_digits(str(times)))
    return f"- {text} on {machine} ({row['created'][:10]}, {row['commit'][:12]})."


def _find_only_row(rows: list[Row], cells: Mapping[str, str], file: Path) -> Row:
    """Return the one row with these cells (column to content)."""
    matching_rows = [row for row in rows if all(row[name] == value for name, value in cells.items())]
    if len(matching_rows) != 1:
        raise ValueError(f"{file.name}: {len(matching_rows)} rows have {dict(cells)}; expected one")
    return matching_rows[0]


def _format_threads(row: Row) -> str:
    """Return the number of CPU threads of a row in words; a row without that column has one thread."""
    threads = row.get("threads", "1")
    return f"{threads} CPU thread{'' if threads == '1' else 's'}"
