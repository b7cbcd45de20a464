"""Training of word vectors sentence by sentence, compiled by Numba and outside the interpreter's lock.

What makes it fast: the rows of a sentence's words, one of each word however often it stands there, are copied once into
a block, trained there, and their differences added back; loops run over a width that is known when they are compiled;
the noise words of the next step are drawn a step ahead, so that their rows are on the way from memory while the present
one is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from ctxzoo.data.corpus import LONGEST
from ctxzoo.training.prefetch import prefetch_row

Floats = npt.NDArray[np.float32]

SHARING_CENTRES = 16  # that share noise words where they are shared
LOSS_EVERY = 16  # centres: the loss is an estimate, since its logarithms would take a tenth of the time
NO_PLACE = np.float32(-1e30)  # logit of the centre, which is no context of its own
Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(function: Function) -> Function:
    """`numba.njit` with a type that checkers know."""
    return cast(Function, njit(nogil=True, fastmath=True, boundscheck=False, error_model="numpy")(function))


def _inlined(function: Function) -> Function:
    return cast(Function, njit(inline="always")(function))


class Weights(NamedTuple):
    """What is trained; D is the width of a vector rounded up, its further columns stay 0.

    Attributes:
        input: (V, D), W.
        output: (V, D), O; (2b V, D) for the structured skip-gram; (V, 2b D) for CWindow.
        word_logits: (V, 2b + 1), K, or empty.
        word_factors, position_factors: (V, r) and (r, 2b + 1), whose product is K, or empty.
        position_logits: (2b + 1,), s.
        position_vectors: (2b + 1, D), or empty.

    The column in the middle belongs to the centre, which is no context of its own: s has `NO_PLACE` there, and the rest
    is of no effect and stays as it is.
    """

    input: Floats
    output: Floats
    word_logits: Floats
    word_factors: Floats
    position_factors: Floats
    position_logits: Floats
    position_vectors: Floats


class Text(NamedTuple):
    """What is read: ids and pointers of a `Corpus`, and what is drawn by.

    Attributes:
        ids: (all words,).
        pointers: (sentences + 1,).
        keep: (V,) probability that an occurrence is kept, in units of 2^-32.
        noise_limits, noise_others: (V,), see `alias_table`.
    """

    ids: npt.NDArray[np.int32]
    pointers: npt.NDArray[np.int64]
    keep: npt.NDArray[np.uint32]
    noise_limits: npt.NDArray[np.uint32]
    noise_others: npt.NDArray[np.int32]


class Workspace(NamedTuple):
    """Memory of one thread: rows of the sentence's words, B, s and d, as they are and as they were read.

    B, s and d are in every step: threads that changed them in place would wait for each other's lines of the cache.

    Attributes:
        sentence: the word in each place.
        slots: the row of the block that is the word's in that place, the same wherever the word stands.
        words: the word of each row of the block.
        slot_of: (V,), for each word where `words` may hold it; what is left from other sentences is not there.
        rows: of W.
        logits: rows of K, or of A where K is a product.
        position_factors: (2b + 1, r), B transposed.
    """

    sentence: npt.NDArray[np.int32]
    slots: npt.NDArray[np.int32]
    words: npt.NDArray[np.int32]
    slot_of: npt.NDArray[np.int32]
    rows: Floats
    rows_before: Floats
    logits: Floats
    logits_before: Floats
    position_factors: Floats
    position_factors_before: Floats
    position_logits: Floats
    position_logits_before: Floats
    position_vectors: Floats
    position_vectors_before: Floats


@dataclass(frozen=True)
class KernelPlan:
    """What is compiled in.

    Attributes:
        architecture: of `WordEmbeddingConfig`.
        width: D, a multiple of 16.
        window: b.
        noise: N, noise words of a step.
        word_logits, position_logits: whether K and s are trained.
        logit_rank: r of K, 0: K is no product.
        exact_gradient: of CBOW: whether each word gets its share of the gradient, or all of it as in word2vec.
        random_window: whether the half width is drawn from 1..b for each centre.
        subsampling: whether words are left out.
        shared_noise: whether 16 centres share their noise words.
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


def aligned_zeros(*shape: int) -> Floats:
    """Float32 zeros from the beginning of a line of the cache on: rows of 16 numbers lie each in one line."""
    size = math.prod(shape)
    memory = np.zeros(size + 16, np.float32)
    begin = -memory.ctypes.data // 4 % 16
    return memory[begin : begin + size].reshape(shape)


def workspace(plan: KernelPlan, vocabulary: int) -> Workspace:
    """Of one thread, for so many words."""
    columns = 2 * plan.window + 1
    positional = columns if plan.architecture == "positional_cbow" else 0
    logit_width = (plan.logit_rank or columns) if plan.word_logits else 0

    def twice(*shape: int) -> tuple[Floats, Floats]:
        return aligned_zeros(*shape), aligned_zeros(*shape)

    return Workspace(
        np.zeros(LONGEST, np.int32),
        np.zeros(LONGEST, np.int32),
        np.zeros(LONGEST, np.int32),
        np.zeros(vocabulary, np.int32),
        *twice(LONGEST, plan.width),
        *twice(LONGEST, logit_width),
        *twice(columns, plan.logit_rank),
        *twice(columns),
        *twice(positional, plan.width),
    )


@_inlined
def random_bits(state: Any) -> Any:
    """64 random bits: xorshift64* of Vigna (2016)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(0x2545F4914F6CDD1D)


@_inlined
def number_below(bits: Any, limit: int) -> Any:
    """A number from 0 to limit - 1 from 32 random bits."""
    return np.int64((bits * np.uint64(limit)) >> np.uint64(32))


@_compiled
def draw_noise(limits: Any, others: Any, state: Any, drawn: Any) -> None:
    """Noise words into drawn[1:], by the tables of `alias_table`."""
    for place in range(1, len(drawn)):
        bits = random_bits(state)
        word = number_below(bits >> np.uint64(32), len(limits))
        drawn[place] = word if np.uint32(bits & np.uint64(0xFFFFFFFF)) < limits[word] else others[word]


@cache
def build_kernel(plan: KernelPlan) -> Callable[..., tuple[int, float, int]]:
    """`train(text, first, last, weights, work, state, rate, logit_rate)` for sentences first to last - 1.

    `state` (1,) are the random bits, `rate` the learning rate of vectors and `logit_rate` that of K and s. It returns
    how many words it read, left-out ones too, the sum of the loss of some centres, and their number. `weights` and
    `state` are changed in place; threads that share the weights do not wait for each other (Hogwild).
    """
    width, window, noise = plan.width, plan.window, plan.noise
    columns = 2 * window + 1
    attention = plan.architecture == "attention_cbow"
    positional = plan.architecture == "positional_cbow"
    concatenated = plan.architecture == "cwindow"
    each_alone = plan.architecture in ("skip_gram", "structured_skip_gram")
    structured = plan.architecture == "structured_skip_gram"
    whole_gradient = plan.architecture == "cbow" and not plan.exact_gradient
    word_logits, learn_position_logits, rank = attention and plan.word_logits, plan.position_logits, plan.logit_rank
    subsampling, random_window, shared_noise = plan.subsampling, plan.random_window, plan.shared_noise
    context_width = 2 * window * width if concatenated else width
    logit_width = rank or columns
    one, zero = np.float32(1), np.float32(0)

    @_inlined
    def logit_rows(weights: Any) -> Any:
        """K, or A where K is a product."""
        if rank:
            return weights.word_factors
        return weights.word_logits

    @_compiled
    def read(text: Any, sentence: int, weights: Any, work: Any, state: Any) -> tuple[int, int]:
        """Copy the rows of a sentence's words that are kept, B, s and d; how many places and distinct words it has."""
        count, distinct = 0, 0
        for place in range(text.pointers[sentence], text.pointers[sentence + 1]):
            word = text.ids[place]
            if not subsampling or np.uint32(random_bits(state) >> np.uint64(32)) <= text.keep[word]:
                slot = work.slot_of[word]
                if slot >= distinct or work.words[slot] != word:
                    slot = distinct
                    work.slot_of[word] = slot
                    work.words[slot] = word
                    distinct += 1
                work.sentence[count] = word
                work.slots[count] = slot
                count += 1
        for slot in range(distinct):
            word = work.words[slot]
            for d in range(width):
                work.rows[slot, d] = weights.input[word, d]
        if word_logits:
            for slot in range(distinct):
                word = work.words[slot]
                for column in range(logit_width):
                    work.logits[slot, column] = logit_rows(weights)[word, column]
            work.logits_before[:distinct] = work.logits[:distinct]
        if rank:
            for column in range(columns):
                for member in range(rank):
                    work.position_factors[column, member] = weights.position_factors[member, column]
            work.position_factors_before[:] = work.position_factors
        work.rows_before[:distinct] = work.rows[:distinct]
        work.position_logits[:] = weights.position_logits
        work.position_logits_before[:] = work.position_logits
        work.position_vectors[:] = weights.position_vectors
        work.position_vectors_before[:] = work.position_vectors
        return count, distinct

    @_compiled
    def write(distinct: int, weights: Any, work: Any) -> None:
        """Add what a sentence changed."""
        for slot in range(distinct):
            word = work.words[slot]
            for d in range(width):
                weights.input[word, d] += work.rows[slot, d] - work.rows_before[slot, d]
        if attention and learn_position_logits:
            for column in range(columns):
                change = work.position_logits[column] - work.position_logits_before[column]
                weights.position_logits[column] += change
        if positional:
            for column in range(columns):
                for d in range(width):
                    change = work.position_vectors[column, d] - work.position_vectors_before[column, d]
                    weights.position_vectors[column, d] += change
        if word_logits:
            for slot in range(distinct):
                word = work.words[slot]
                for column in range(logit_width):
                    change = work.logits[slot, column] - work.logits_before[slot, column]
                    logit_rows(weights)[word, column] += change
        if rank:
            for column in range(columns):
                for member in range(rank):
                    change = work.position_factors[column, member] - work.position_factors_before[column, member]
                    weights.position_factors[member, column] += change

    @_compiled
    def softmax(logits: Any, count: int, bits: Any, scales: Any) -> None:
        """In place. The exponential is 2^whole * 2^part, a polynomial, so that the loops need no call."""
        largest = NO_PLACE
        for z in range(count):
            largest = max(largest, logits[z])
        total = zero
        for z in range(count):
            power = max((logits[z] - largest) * np.float32(1.4426950408889634), np.float32(-126))
            whole = np.float32(math.floor(power))
            part = power - whole
            value = np.float32(0.0018775767)
            value = value * part + np.float32(0.0089893397)
            value = value * part + np.float32(0.0558263180)
            value = value * part + np.float32(0.2401536700)
            value = value * part + np.float32(0.6931530732)
            value = value * part + np.float32(0.9999999404)
            bits[z] = (np.int32(whole) + np.int32(127)) << np.int32(23)
            logits[z] = value
        for z in range(count):
            logits[z] *= scales[z]
            total += logits[z]
        scale = one / total
        for z in range(count):
            logits[z] *= scale

    @_compiled
    def predict(
        context: Any, targets: Any, output: Any, offset: int, rate: Any, errors: Any, back: Any, told: Any
    ) -> Any:
        """Step of the output rows; `back` becomes the gradient of the context vector times the rate.

        targets[0] is the centre, the others are noise.
        """
        for place in range(noise + 1):
            score = zero
            for d in range(context_width):
                score += context[d] * output[offset + targets[place], d]
            errors[place] = score
        loss = zero
        if told:
            for place in range(noise + 1):
                score = errors[place] if place == 0 else -errors[place]
                if place == 0 or targets[place] != targets[0]:
                    loss += max(-score, zero) + np.float32(math.log1p(math.exp(-abs(score))))
        for place in range(noise + 1):
            errors[place] = -rate / (one + np.float32(math.exp(-errors[place])))
        errors[0] += rate
        for place in range(1, noise + 1):
            if targets[place] == targets[0]:
                errors[place] = zero
            # A word that was drawn twice moves once, by both errors: its row must not change in between.
            for before in range(1, place):
                if targets[before] == targets[place]:
                    errors[before] += errors[place]
                    errors[place] = zero
        for d in range(context_width):
            back[d] = zero
        for place in range(noise + 1):
            error, row = errors[place], offset + targets[place]
            for d in range(context_width):
                value = output[row, d]
                back[d] += error * value
                output[row, d] = value + error * context[d]
        return loss

    @_compiled
    def blend(rows: Any, slots: Any, count: int, shares: Any, begin: int, gates: Any, context: Any) -> None:
        """The weighted sum of the rows in `slots`, four at a time."""
        for d in range(width):
            context[d] = zero
        if positional:
            for z in range(count):
                j = slots[z]
                for d in range(width):
                    context[d] += shares[z] * gates[begin + z, d] * rows[j, d]
            return
        z = 0
        while z + 4 <= count:
            a0, a1, a2, a3 = shares[z], shares[z + 1], shares[z + 2], shares[z + 3]
            j0, j1, j2, j3 = slots[z], slots[z + 1], slots[z + 2], slots[z + 3]
            for d in range(width):
                context[d] += a0 * rows[j0, d] + a1 * rows[j1, d] + a2 * rows[j2, d] + a3 * rows[j3, d]
            z += 4
        while z < count:
            a0, j = shares[z], slots[z]
            for d in range(width):
                context[d] += a0 * rows[j, d]
            z += 1

    @_compiled
    def spread(
        rows: Any, slots: Any, count: int, shares: Any, begin: int, gates: Any, back: Any, products: Any, moves: Any
    ) -> None:
        """The gradient of a weighted sum, to its rows; `products` become <row, gradient of the sum>.

        A word may stand in a window more than once: what is read of its row is read before the row moves.
        """
        if positional:
            for z in range(count):
                j, share = slots[z], shares[z]
                for d in range(width):
                    moves[z, d] = share * rows[j, d] * back[d]
            for z in range(count):
                j, share = slots[z], shares[z]
                for d in range(width):
                    gate = gates[begin + z, d]
                    rows[j, d] += share * gate * back[d]
                    gates[begin + z, d] = gate + moves[z, d]
            return
        if attention:
            for z in range(count):
                j, product = slots[z], zero
                for d in range(width):
                    product += rows[j, d] * back[d]
                products[z] = product
        for z in range(count):
            j, share = slots[z], shares[z]
            for d in range(width):
                rows[j, d] += share * back[d]

    @_compiled
    def train(
        text: Any, first: int, last: int, weights: Any, work: Any, state: Any, rate: Any, logit_rate: Any
    ) -> tuple[int, float, int]:
        rate, logit_rate = np.float32(rate), np.float32(logit_rate)
        limits, others, vocabulary = text.noise_limits, text.noise_others, len(text.keep)
        output, gates, position_logits, logits, factors = (
            weights.output,
            work.position_vectors,
            work.position_logits,
            work.logits,
            work.position_factors,
        )
        shares = np.zeros(columns + 16, np.float32)
        products = np.zeros(columns + 16, np.float32)
        changes = np.zeros(columns + 16, np.float32)
        moves = np.zeros((columns, width if positional else rank), np.float32)
        bits = np.zeros(columns + 16, np.int32)
        scales = bits.view(np.float32)
        context = np.zeros(context_width, np.float32)
        back = np.zeros(context_width, np.float32)
        errors = np.zeros(noise + 1, np.float32)
        targets = np.zeros(noise + 1, np.int64)
        coming = np.zeros(noise + 1, np.int64)
        read_words, loss, told_centres, centres = 0, 0.0, 0, 0
        for sentence in range(first, last):
            read_words += text.pointers[sentence + 1] - text.pointers[sentence]
            count, distinct = read(text, sentence, weights, work, state)
            if count < 2:
                continue
            rows, slots = work.rows, work.slots
            draw_noise(limits, others, state, coming)
            for t in range(count):
                half = window
                if random_window:
                    half = 1 + number_below(random_bits(state) >> np.uint64(32), window)
                begin, end = max(0, t - half), min(count, t + half + 1)
                size, column = end - begin, begin - t + window
                centres += 1
                told = centres % LOSS_EVERY == 1
                told_centres += told
                if each_alone:
                    targets[0] = work.sentence[t]
                    for j in range(begin, end):
                        if j == t:
                            continue
                        targets[1:] = coming[1:]
                        draw_noise(limits, others, state, coming)
                        offset = 0
                        if structured:
                            offset = (j - t + window - (j > t)) * vocabulary
                        # Rows of the next context word; in the structured model of the next matrix, but for the last
                        # word of a window.
                        following = offset + vocabulary if structured else 0
                        for place in range(1, noise + 1):
                            prefetch_row(output, following + coming[place], width)
                        if structured:
                            prefetch_row(output, following + targets[0], width)
                        row = rows[slots[j]]
                        loss += predict(row, targets, output, offset, rate, errors, back, told)
                        for d in range(width):
                            row[d] += back[d]
                    continue
                targets[1:] = coming[1:]
                targets[0] = work.sentence[t]
                if not shared_noise or t % SHARING_CENTRES == SHARING_CENTRES - 1:
                    draw_noise(limits, others, state, coming)
                    for place in range(1, noise + 1):
                        prefetch_row(output, coming[place], context_width)
                if t + 1 < count:
                    prefetch_row(output, work.sentence[t + 1], context_width)
                if concatenated:
                    for i in range(2 * window):
                        j = t - window + i + (i >= window)
                        if begin <= j < end:
                            slot = slots[j]
                            for d in range(width):
                                context[i * width + d] = rows[slot, d]
                        else:
                            for d in range(width):
                                context[i * width + d] = zero
                    loss += predict(context, targets, output, 0, rate, errors, back, told)
                    for i in range(2 * window):
                        j = t - window + i + (i >= window)
                        if begin <= j < end:
                            slot = slots[j]
                            for d in range(width):
                                rows[slot, d] += back[i * width + d]
                    continue
                around = slots[begin:end]
                if attention:
                    for z in range(size):
                        shares[z] = position_logits[column + z]
                    if rank:
                        for z in range(size):
                            for member in range(rank):
                                shares[z] += logits[around[z], member] * factors[column + z, member]
                    elif word_logits:
                        for z in range(size):
                            shares[z] += logits[around[z], column + z]
                    softmax(shares, size, bits, scales)
                    shares[t - begin] = zero
                else:
                    for z in range(size):
                        shares[z] = one / np.float32(size - 1)
                    shares[t - begin] = zero
                blend(rows, around, size, shares, column, gates, context)
                loss += predict(context, targets, output, 0, rate, errors, back, told)
                if attention:
                    inner = zero
                    for d in range(width):
                        inner += context[d] * back[d]
                if whole_gradient:
                    for z in range(size):
                        shares[z] = one
                    shares[t - begin] = zero
                spread(rows, around, size, shares, column, gates, back, products, moves)
                if attention and logit_rate > 0:
                    # `back` is times the rate already.
                    slow = logit_rate / rate
                    for z in range(size):
                        changes[z] = slow * shares[z] * (products[z] - inner)
                    if rank:
                        for z in range(size):
                            for member in range(rank):
                                moves[z, member] = changes[z] * logits[around[z], member]
                        for z in range(size):
                            for member in range(rank):
                                logits[around[z], member] += changes[z] * factors[column + z, member]
                                factors[column + z, member] += moves[z, member]
                    elif word_logits:
                        for z in range(size):
                            logits[around[z], column + z] += changes[z]
                    if learn_position_logits:
                        for z in range(size):
                            position_logits[column + z] += changes[z]
            write(distinct, weights, work)
        return read_words, loss, told_centres

    return train
