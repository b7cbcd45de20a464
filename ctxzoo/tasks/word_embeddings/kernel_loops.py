"""The loops of `kernel`, compiled for one plan.

`build_kernel` executes this file, or a copy of it, once for each plan, with PLAN and KEPT in its globals, which Numba
takes for constants. It is no module to import.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ctxzoo.tasks.word_embeddings.kernel import LOSS_EVERY, NO_POSITION, SHARING_CENTRES, KernelPlan
from ctxzoo.tasks.word_embeddings.kernel_parts import (
    compile_and_cache,
    compile_function,
    compile_into_caller,
    draw_noise_words,
    draw_random_bits,
    inline_into_callers,
    prefetch_row,
    scale_bits_below,
)

PLAN: KernelPlan = globals()["PLAN"]
KEPT: bool = globals()["KEPT"]  # whether what is compiled is kept beside this file

width, window, noise = PLAN.width, PLAN.window, PLAN.noise
columns = 2 * window + 1
attention = PLAN.architecture == "attention_cbow"
positional = PLAN.architecture == "positional_cbow"
concatenated = PLAN.architecture == "cwindow"
each_alone = PLAN.architecture in ("skip_gram", "structured_skip_gram")
structured = PLAN.architecture == "structured_skip_gram"
whole_gradient = PLAN.architecture == "cbow" and not PLAN.exact_gradient
word_logits, learn_position_logits, rank = attention and PLAN.word_logits, PLAN.position_logits, PLAN.logit_rank
subsampling, random_window, shared_noise = PLAN.subsampling, PLAN.random_window, PLAN.shared_noise
context_width = 2 * window * width if concatenated else width
logit_width = rank or columns
one, zero = np.float32(1), np.float32(0)


@inline_into_callers
def get_word_logit_table(weights: Any) -> Any:
    """Return the table of word logits K, or its factor A where K is stored as a product A B."""
    if rank:
        return weights.word_factors
    return weights.word_logits


@compile_function
def load_sentence_rows(text: Any, sentence: int, weights: Any, work: Any, state: Any) -> tuple[int, int]:
    """Copy the weights of a sentence's kept words to `work`; return the numbers of kept and different words."""
    count, distinct = 0, 0
    for index in range(text.pointers[sentence], text.pointers[sentence + 1]):
        word = text.ids[index]
        if not subsampling or np.uint32(draw_random_bits(state) >> np.uint64(32)) <= text.keep[word]:
            slot = work.slot_of[word]
            if slot >= distinct or work.words[slot] != word:
                slot = distinct
                work.slot_of[word] = slot
                work.words[slot] = word
                distinct += 1
                prefetch_row(weights.input, word, width)
                if word_logits:
                    prefetch_row(get_word_logit_table(weights), word, logit_width)
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
                work.logits[slot, column] = get_word_logit_table(weights)[word, column]
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


@compile_function
def add_sentence_changes(distinct: int, weights: Any, work: Any) -> None:
    """Add to the weights the changes that training on a sentence made in its copies of `distinct` words."""
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
                get_word_logit_table(weights)[word, column] += change
    if rank:
        for column in range(columns):
            for member in range(rank):
                change = work.position_factors[column, member] - work.position_factors_before[column, member]
                weights.position_factors[member, column] += change


@compile_into_caller
def softmax(logits: Any, count: int, bits: Any, scales: Any) -> None:
    """Replace the first `count` logits by their softmax, in place.

    The exponential is 2^whole * 2^part, a polynomial, so that the loops need no call.
    """
    largest = NO_POSITION
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


@compile_into_caller
def update_output_rows(
    context: Any, targets: Any, output: Any, offset: int, rate: Any, errors: Any, back: Any, counted: Any
) -> Any:
    """Move the output vectors of target and noise words by a step; set `back` to rate times context gradient.

    targets[0] is the centre, the others are noise.
    """
    for index in range(noise + 1):
        score = zero
        for d in range(context_width):
            score += context[d] * output[offset + targets[index], d]
        errors[index] = score
    loss = zero
    if counted:
        for index in range(noise + 1):
            score = errors[index] if index == 0 else -errors[index]
            if index == 0 or targets[index] != targets[0]:
                loss += max(-score, zero) + np.float32(math.log1p(math.exp(-abs(score))))
    for index in range(noise + 1):
        errors[index] = -rate / (one + np.float32(math.exp(-errors[index])))
    errors[0] += rate
    for index in range(1, noise + 1):
        if targets[index] == targets[0]:
            errors[index] = zero
        # A word that was drawn twice moves once, by both errors: its row must not change in between.
        for before in range(1, index):
            if targets[before] == targets[index]:
                errors[before] += errors[index]
                errors[index] = zero
    for d in range(context_width):
        back[d] = zero
    for index in range(noise + 1):
        error, row = errors[index], offset + targets[index]
        for d in range(context_width):
            value = output[row, d]
            back[d] += error * value
            output[row, d] = value + error * context[d]
    return loss


@compile_into_caller
def sum_weighted_rows(rows: Any, slots: Any, count: int, fractions: Any, begin: int, gates: Any, context: Any) -> None:
    """Write the sum of the rows in `slots`, weighted by `fractions`, into `context`."""
    for d in range(width):
        context[d] = zero
    if positional:
        for z in range(count):
            j = slots[z]
            for d in range(width):
                context[d] += fractions[z] * gates[begin + z, d] * rows[j, d]
        return
    z = 0
    while z + 4 <= count:
        a0, a1, a2, a3 = fractions[z], fractions[z + 1], fractions[z + 2], fractions[z + 3]
        j0, j1, j2, j3 = slots[z], slots[z + 1], slots[z + 2], slots[z + 3]
        for d in range(width):
            context[d] += a0 * rows[j0, d] + a1 * rows[j1, d] + a2 * rows[j2, d] + a3 * rows[j3, d]
        z += 4
    while z < count:
        a0, j = fractions[z], slots[z]
        for d in range(width):
            context[d] += a0 * rows[j, d]
        z += 1


@compile_into_caller
def backpropagate_weighted_sum(
    rows: Any, slots: Any, count: int, fractions: Any, begin: int, gates: Any, back: Any, products: Any, moves: Any
) -> None:
    """Pass the gradient of a weighted sum, `back`, on to its rows; `products` become its dot products with them.

    A word may stand in a window more than once: what is read of its row is read before the row moves.
    """
    if positional:
        for z in range(count):
            j, fraction = slots[z], fractions[z]
            for d in range(width):
                moves[z, d] = fraction * rows[j, d] * back[d]
        for z in range(count):
            j, fraction = slots[z], fractions[z]
            for d in range(width):
                gate = gates[begin + z, d]
                rows[j, d] += fraction * gate * back[d]
                gates[begin + z, d] = gate + moves[z, d]
        return
    if attention:
        for z in range(count):
            j, product = slots[z], zero
            for d in range(width):
                product += rows[j, d] * back[d]
            products[z] = product
    for z in range(count):
        j, fraction = slots[z], fractions[z]
        for d in range(width):
            rows[j, d] += fraction * back[d]


@(compile_and_cache if KEPT else compile_function)
def train(
    text: Any, first: int, last: int, weights: Any, work: Any, state: Any, rate: Any, logit_rate: Any
) -> tuple[int, float, int]:
    """Train the weights on sentences `first` to `last` - 1; return words read, summed loss and words in that loss."""
    rate, logit_rate = np.float32(rate), np.float32(logit_rate)
    limits, others, vocabulary = text.noise_limits, text.noise_others, len(text.keep)
    output, gates, position_logits, logits, factors = (
        weights.output,
        work.position_vectors,
        work.position_logits,
        work.logits,
        work.position_factors,
    )
    fractions = np.zeros(columns + 16, np.float32)
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
    read_words, loss, counted_centres, centres = 0, 0.0, 0, 0
    for sentence in range(first, last):
        read_words += text.pointers[sentence + 1] - text.pointers[sentence]
        count, distinct = load_sentence_rows(text, sentence, weights, work, state)
        if count < 2:
            continue
        rows, slots = work.rows, work.slots
        draw_noise_words(limits, others, state, coming)
        for t in range(count):
            half = window
            if random_window:
                half = 1 + scale_bits_below(draw_random_bits(state) >> np.uint64(32), window)
            begin, end = max(0, t - half), min(count, t + half + 1)
            size, column = end - begin, begin - t + window
            centres += 1
            counted = centres % LOSS_EVERY == 1
            counted_centres += counted
            if each_alone:
                targets[0] = work.sentence[t]
                for j in range(begin, end):
                    if j == t:
                        continue
                    targets[1:] = coming[1:]
                    draw_noise_words(limits, others, state, coming)
                    offset = 0
                    if structured:
                        offset = (j - t + window - (j > t)) * vocabulary
                    # Rows of the next context word; in the structured model those of the next matrix, but for the
                    # last word of a window.
                    following = offset + vocabulary if structured else 0
                    for index in range(1, noise + 1):
                        prefetch_row(output, following + coming[index], width)
                    if structured:
                        prefetch_row(output, following + targets[0], width)
                    row = rows[slots[j]]
                    loss += update_output_rows(row, targets, output, offset, rate, errors, back, counted)
                    for d in range(width):
                        row[d] += back[d]
                continue
            targets[1:] = coming[1:]
            targets[0] = work.sentence[t]
            if not shared_noise or t % SHARING_CENTRES == SHARING_CENTRES - 1:
                draw_noise_words(limits, others, state, coming)
                for index in range(1, noise + 1):
                    prefetch_row(output, coming[index], context_width)
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
                loss += update_output_rows(context, targets, output, 0, rate, errors, back, counted)
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
                    fractions[z] = position_logits[column + z]
                if rank:
                    for z in range(size):
                        for member in range(rank):
                            fractions[z] += logits[around[z], member] * factors[column + z, member]
                elif word_logits:
                    for z in range(size):
                        fractions[z] += logits[around[z], column + z]
                softmax(fractions, size, bits, scales)
                fractions[t - begin] = zero
            else:
                for z in range(size):
                    fractions[z] = one / np.float32(size - 1)
                fractions[t - begin] = zero
            sum_weighted_rows(rows, around, size, fractions, column, gates, context)
            loss += update_output_rows(context, targets, output, 0, rate, errors, back, counted)
            if attention:
                inner = zero
                for d in range(width):
                    inner += context[d] * back[d]
            if whole_gradient:
                for z in range(size):
                    fractions[z] = one
                fractions[t - begin] = zero
            backpropagate_weighted_sum(rows, around, size, fractions, column, gates, back, products, moves)
            if attention and logit_rate > 0:
                # `back` is times the rate already.
                slow = logit_rate / rate
                for z in range(size):
                    changes[z] = slow * fractions[z] * (products[z] - inner)
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
        add_sentence_changes(distinct, weights, work)
    return read_words, loss, counted_centres
