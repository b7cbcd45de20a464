"""Training of word vectors sentence by sentence, compiled by Numba and outside the interpreter's lock.

`kernel_loops` has the loops. They are compiled once for each plan, processor and version, and kept.

What makes it fast: the rows of a sentence's words, one of each word however often it stands there, are copied once into
a block, trained there, and their differences added back; loops run over a width that is known when they are compiled;
the noise words of the next step are drawn a step ahead, so that their rows are on the way from memory while the present
one is computed.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import math
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding
import numba
import numpy as np
import numpy.typing as npt

from ctxzoo.data.files import build_cached_folder, default_cache_folder, hash_strings
from ctxzoo.tasks.word_embeddings.corpus import LONGEST_SENTENCE

logger = logging.getLogger(__name__)
Float32Array = npt.NDArray[np.float32]

SHARING_CENTRES = 16  # centres with the same noise words, where `shared_noise`
LOSS_EVERY = 16  # centres: the loss is an estimate, since its logarithms would take a tenth of the time
NO_POSITION = np.float32(-1e30)  # logit of the centre, which is no context of its own
LOOPS = Path(__file__).with_name("kernel_loops.py")
# The files that decide the compiled code, beside the plan.
SOURCES = ("kernel_parts.py", "kernel.py", LOOPS.name)
ROOT = 0  # the number of the user
Kernel = Callable[..., tuple[int, float, int]]


class Weights(NamedTuple):
    """The weights that are trained; D is the width of a vector rounded up, its further columns stay 0.

    Attributes:
        input: (V, D) input vectors W of V words in D dimensions.
        output: Output vectors O of V words in D dimensions: (V, D); (2b V, D) for the structured skip-gram and (V, 2b
            D) for CWindow, with b context positions on each side.
        word_logits: (V, 2b + 1) attention logits K of each of V words at each position of the window of half width b;
            empty: not trained.
        word_factors, position_factors: (V, r) and (r, 2b + 1) factors of rank r whose product is the attention logits
            K; empty: K is not factorized.
        position_logits: (2b + 1,) attention logits s of each position of the window of half width b.
        position_vectors: (2b + 1, D) vectors in D dimensions of each position of the window of half width b; empty:
            none.

    The column in the middle belongs to the centre, which is no context of its own: s has `NO_POSITION` there, and the
    rest is of no effect and stays as it is.
    """

    input: Float32Array
    output: Float32Array
    word_logits: Float32Array
    word_factors: Float32Array
    position_factors: Float32Array
    position_logits: Float32Array
    position_vectors: Float32Array


class Text(NamedTuple):
    """The text that is read: ids and pointers of a `Corpus`, and the probabilities of draws.

    Attributes:
        ids: (tokens,) word ids of the whole text.
        pointers: (sentences + 1,) index into `ids` at which each sentence begins.
        keep: (V,) probability that subsampling keeps an occurrence of each of V words, in units of 2^-32.
        noise_limits, noise_others: (V,) limits and (V,) alternative words of Walker's alias table, by which noise words
            are drawn for V words; from `build_alias_tables`.
    """

    ids: npt.NDArray[np.int32]
    pointers: npt.NDArray[np.int64]
    keep: npt.NDArray[np.uint32]
    noise_limits: npt.NDArray[np.uint32]
    noise_others: npt.NDArray[np.int32]


class Workspace(NamedTuple):
    """The memory of one thread: rows of the sentence's words, B, s and d, as they are and as they were read.

    B, s and d are in every step: threads that changed the shared ones would wait for each other's lines of the cache.

    Attributes:
        sentence: Word id at each position of the sentence.
        slots: Row of the working block that holds the word at each position; equal words share a row. Unsigned, so that
            indexing checks for no negative number.
        words: Word id of each row of the working block.
        slot_of: (V,) candidate row of each word in the working block, valid only if `words` holds the word there.
        rows: Working copy of the words' rows of the input vectors W.
        logits: Working copy of the words' rows of the attention logits K, or of their factor A.
        position_factors: (2b + 1, r) working copy of the factor B of the logits K, transposed: positions, rank.
    """

    sentence: npt.NDArray[np.int32]
    slots: npt.NDArray[np.uint32]
    words: npt.NDArray[np.int32]
    slot_of: npt.NDArray[np.int32]
    rows: Float32Array
    rows_before: Float32Array
    logits: Float32Array
    logits_before: Float32Array
    position_factors: Float32Array
    position_factors_before: Float32Array
    position_logits: Float32Array
    position_logits_before: Float32Array
    position_vectors: Float32Array
    position_vectors_before: Float32Array


@dataclass(frozen=True)
class KernelPlan:
    """The settings that are compiled into a kernel.

    Attributes:
        architecture: Architecture, a value of `WordEmbeddingConfig.architecture` such as "cbow".
        width: Dimension D of the vectors, padded to a multiple of 16.
        window: Half width b of the window.
        noise: Number N of noise words (negative samples) for each prediction.
        word_logits, position_logits: Whether the attention logits of words and positions (K), and of positions alone
            (s), are trained.
        logit_rank: Rank r of the factorized attention logits K; 0: a full table.
        exact_gradient: Whether each context word of CBOW gets its part of the gradient of the mean, instead of the
            whole gradient as in word2vec.
        random_window: Whether the half width of the window is drawn from 1..b for each centre word.
        subsampling: Whether frequent words are randomly dropped.
        shared_noise: Whether 16 consecutive centre words share their noise words.
    """

    architecture: str
    width: int
    window: int
    noise: int
    word_logits: bool
    position_logits: bool
    logit_rank: int
    exact_gradient: bool
    random_window: bool
    subsampling: bool
    shared_noise: bool


def allocate_aligned_zeros(*shape: int) -> Float32Array:
    """Return float32 zeros that begin at a cache line, so that a row of 16 numbers lies in one line."""
    size = math.prod(shape)
    memory = np.zeros(size + 16, np.float32)
    begin = -memory.ctypes.data // 4 % 16
    return memory[begin : begin + size].reshape(shape)


def allocate_workspace(plan: KernelPlan, vocab_size: int) -> Workspace:
    """Return the scratch arrays of one training thread for this vocabulary size."""
    columns = 2 * plan.window + 1
    positional = columns if plan.architecture == "positional_cbow" else 0
    logit_width = (plan.logit_rank or columns) if plan.word_logits else 0

    def allocate_pair(*shape: int) -> tuple[Float32Array, Float32Array]:
        return allocate_aligned_zeros(*shape), allocate_aligned_zeros(*shape)

    return Workspace(
        np.zeros(LONGEST_SENTENCE, np.int32),
        np.zeros(LONGEST_SENTENCE, np.uint32),
        np.zeros(LONGEST_SENTENCE, np.int32),
        np.zeros(vocab_size, np.int32),
        *allocate_pair(LONGEST_SENTENCE, plan.width),
        *allocate_pair(LONGEST_SENTENCE, logit_width),
        *allocate_pair(columns, plan.logit_rank),
        *allocate_pair(columns),
        *allocate_pair(positional, plan.width),
    )


@cache
def build_kernel(plan: KernelPlan) -> Kernel:
    """Build `train(text, first, last, weights, work, state, rate, logit_rate)` for sentences first to last - 1.

    `state` (1,) are the random bits, `rate` the learning rate of vectors and `logit_rate` that of K and s. It returns
    how many words it read, left-out ones too, the sum of the loss of some centres, and their number. `weights` and
    `state` are changed; threads that share the weights do not wait for each other (Hogwild).

    The first call compiles, or reads what an earlier process compiled for the same plan, processor and versions: the
    code is kept in `default_cache_folder()`, where that can be written. Before it runs it is compared with the
    package's; compiled code, which cannot be compared, must have been written by this user or by root.
    """
    key = _hash_plan_and_sources(plan)
    try:
        folder = build_cached_folder(default_cache_folder() / f"kernel-{key}", _copy_loops_file)
        if not _is_unchanged_own_copy(folder):
            logger.warning("%s holds other code than ctxzoo's, or another user's: compiled anew", folder)
            shutil.rmtree(folder, ignore_errors=True)
            folder = build_cached_folder(folder, _copy_loops_file)
            if not _is_unchanged_own_copy(folder):  # it could not be removed
                return _compile_loops(LOOPS, key, plan, is_cached=False)
        cached_loops = _compile_loops(folder / LOOPS.name, key, plan, is_cached=True)
    except (OSError, RuntimeError):  # Numba finds no folder to write to
        return _compile_loops(LOOPS, key, plan, is_cached=False)

    def train(*arguments: Any) -> tuple[int, float, int]:
        try:
            return cached_loops(*arguments)
        except OSError:  # it is compiled, and could not be written; loops themselves touch no files
            return cached_loops(*arguments)

    return train


def _copy_loops_file(folder: Path) -> None:
    """Copy the file of the compiled loops to a folder."""
    shutil.copyfile(LOOPS, folder / LOOPS.name)


def _is_unchanged_own_copy(folder: Path) -> bool:
    """Return whether a folder of cached code holds our loops unchanged, and only this user or root could write it."""
    own = (ROOT, os.geteuid()) if hasattr(os, "geteuid") else None
    files = [folder, *folder.rglob("*")]
    is_own = own is None or all(path.lstat().st_uid in own and not path.is_symlink() for path in files)
    return is_own and (folder / LOOPS.name).read_bytes() == LOOPS.read_bytes()


def _hash_plan_and_sources(plan: KernelPlan) -> str:
    """Return a hash of the plan and of the sources that are compiled for it, to name the cache."""
    sources = [LOOPS.with_name(name).read_text(encoding="utf-8") for name in SOURCES]
    processor = (llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten())
    return hash_strings([json.dumps(asdict(plan)), numba.__version__, sys.version, *processor, *sources])


def _compile_loops(path: Path, key: str, plan: KernelPlan, *, is_cached: bool) -> Kernel:
    """Run the file of training loops for a plan, and return its compiled `train`."""
    name = f"{LOOPS.stem}_{key}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(PLAN=plan, KEPT=is_cached)
    sys.modules[name] = module  # where Numba looks for what a kept function belongs to
    spec.loader.exec_module(module)
    kernel: Kernel = module.train
    return kernel
