"""What a model makes of a piece of music: a continuation, step by step, and the probability of every key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.rows import Row, RowStream
from ctxzoo.hub.row_pipeline import RowPipeline
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.tasks.polyphonic_music.problem import STEPS
from ctxzoo.tasks.polyphonic_music.rolls import KEYS, NOTES, Roll, notes_of_roll, roll_of_notes


def continue_roll(
    model: ZooPreTrainedModel,
    prompt: Roll,
    steps: int,
    *,
    temperature: float = 1.0,
    threshold: float | None = None,
    generator: torch.Generator | None = None,
) -> Roll:
    """Return the steps that a model adds to the beginning of a piece.

    At each step the model gives every key a probability; each key is drawn by itself, and what was drawn is read as the
    next step. The model is in evaluation mode while it reads, and reads each step once: its state stands for those
    before.

    Args:
        model: Recurrent model of polyphonic music, whose outputs carry the recurrent `state`.
        prompt: (T, 88) boolean piano roll to continue: T time steps, 1 or more, over 88 piano keys.
        steps: Number of time steps to generate, 0 or more.
        temperature: Temperature that divides the logits before keys are sampled, above 0; below 1 makes likely keys
            likelier.
        threshold: Probability from which a key counts as sounding, above 0 and below 1, without sampling; None: keys
            are sampled.
        generator: Random number generator for the sampling, on the CPU; None: torch's global one.

    Returns:
        (steps, 88).

    Raises:
        ValueError: a prompt of another shape or without a step, or a number out of its range.
    """
    if prompt.ndim != 2 or prompt.shape[1] != KEYS or not len(prompt):
        raise ValueError(f"the prompt has the shape {prompt.shape}; expected (steps, {KEYS}) with one step or more")
    if steps < 0:
        raise ValueError(f"steps is {steps}; expected 0 or more")
    if not temperature > 0:
        raise ValueError(f"temperature is {temperature}; expected more than 0")
    if threshold is not None and not 0 < threshold < 1:
        raise ValueError(f"threshold is {threshold}; expected more than 0, and less than 1")
    reads = torch.from_numpy(prompt.astype(np.float32)).unsqueeze(0)
    state, continuation = None, np.zeros((steps, KEYS), np.bool_)
    with in_evaluation_mode(model):
        for step in range(steps):
            output = model(inputs_embeds=reads.to(model.device, model.dtype), state=state, use_cache=True)
            state = output.state
            logits = output.logits[0, -1].float().cpu()
            if threshold is None:
                sounds = torch.bernoulli((logits / temperature).sigmoid(), generator=generator)
            else:
                sounds = (logits.sigmoid() >= threshold).float()
            continuation[step] = sounds.numpy()
            reads = sounds.view(1, 1, KEYS)
    return continuation


def predict_roll(model: ZooPreTrainedModel, roll: Roll) -> NDArray[np.float32]:
    """Return the probability of each key at each step of a piece after the first, given the true steps before.

    Args:
        model: Model that predicts polyphonic music; it is put into evaluation mode while it reads.
        roll: (T, 88) boolean piano roll of the piece: T time steps, 2 or more, over 88 piano keys.

    Returns:
        (T - 1, 88).

    Raises:
        ValueError: a piece of another shape or with fewer steps.
    """
    if roll.ndim != 2 or roll.shape[1] != KEYS or len(roll) < 2:
        raise ValueError(f"the piece has the shape {roll.shape}; expected (steps, {KEYS}) with two steps or more")
    steps = torch.from_numpy(roll[:-1].astype(np.float32)).unsqueeze(0)
    with in_evaluation_mode(model):
        logits = model(inputs_embeds=steps.to(model.device, model.dtype)).logits[0]
    found: NDArray[np.float32] = logits.float().sigmoid().cpu().numpy()
    return found


class PieceAnswers:
    """The answers of a model of music to rows of a user's file, each the beginning of a piece.

    Args:
        model: Model that predicts polyphonic music, which runs on the device where its weights are.
        steps: Number of time steps to generate after each piece.
        prompt_steps: Number of leading time steps of a piece that are read as the prompt; None: the whole piece.
        temperature, threshold: Sampling temperature, and the probability from which a key sounds instead of sampling,
            as in `continue_roll`.
        seed: Seed of the sampling for row 0; row i uses seed + i, however rows are batched.
    """

    def __init__(
        self,
        model: ZooPreTrainedModel,
        *,
        steps: int,
        prompt_steps: int | None,
        temperature: float,
        threshold: float | None,
        seed: int,
    ) -> None:
        self.model = model
        self.steps = steps
        self.prompt_steps = prompt_steps
        self.temperature = temperature
        self.threshold = threshold
        self.seed = seed

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer]:
        """Continue the piece of each row and return the answers in order; `piece` of a row is its number, from 0."""
        continuations = [self.continue_piece(row, row["piece"]) for row in rows]
        return [
            Answer({"continuation": one["continuation"]}, [{"continuation": one["continuation"]}], one)
            for one in continuations
        ]

    def continue_piece(self, row: Mapping[str, Any], piece_number: int = 0) -> dict[str, list[list[int]]]:
        """Return the keys of the steps that the model read, `prompt`, and of those it added, `continuation`."""
        prompt = roll_of_notes(row[NOTES][: self.prompt_steps])
        added = continue_roll(
            self.model,
            prompt,
            self.steps,
            temperature=self.temperature,
            threshold=self.threshold,
            generator=torch.Generator().manual_seed(self.seed + piece_number),
        )
        return {"prompt": notes_of_roll(prompt), "continuation": notes_of_roll(added)}


class MusicPipeline(RowPipeline):
    """Continues pieces of music: lists of steps, each a list of the keys that sound, 0 to 87."""

    depth = 2

    def build_answers(
        self,
        *,
        steps: int = STEPS,
        prompt_steps: int | None = None,
        temperature: float = 1.0,
        threshold: float | None = None,
        seed: int = 0,
    ) -> PieceAnswers:
        """Build the object that continues pieces by steps drawn from the model."""
        return PieceAnswers(
            self.model,
            steps=steps,
            prompt_steps=prompt_steps,
            temperature=temperature,
            threshold=threshold,
            seed=seed,
        )

    def build_row(self, pipeline_input: Any, number: int) -> Row:
        """Return one input of the pipeline, a piece or a row with one, as a row named by its number."""
        return {
            "piece": number,
            NOTES: pipeline_input[NOTES] if isinstance(pipeline_input, Mapping) else pipeline_input,
        }
