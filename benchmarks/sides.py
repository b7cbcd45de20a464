"""The two sides of a comparison: which model, on which batches, with which switches; and one round of each phase."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.memory import measure_own_peak_memory_mb
from benchmarks.packing import compute_packed_states_of_mask
from benchmarks.textbook_bidaf import TextbookBidaf, convert_to_textbook_weights, decode_spans_exhaustively
from benchmarks.timing import measure_seconds
from ctxzoo.models import layers_bidaf
from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.models.layers_bidaf import CharCnn
from ctxzoo.models.layers_recurrent import MaskedBiRNN
from ctxzoo.models.modeling_bidaf import BidafForQuestionAnswering
from ctxzoo.models.ops_answer import decode_answers, span_log_probabilities
from ctxzoo.training.allocator import keep_freed_memory
from ctxzoo.training.optimizers import OptimizerArgs, build_optimizer

Batch = dict[str, torch.Tensor]
Phase = Literal["evaluation", "training"]
LABELS = ("start_positions", "end_positions")
GRADIENT_CLIP = 5.0


@dataclass(frozen=True)
class Side:
    """One timed implementation ("side" of a comparison): a BiDAF model with its batches and options.

    Attributes:
        label: Name of the side in the printed tables.
        model: Model that is trained: ctxzoo; starter, `TextbookBidaf` with the similarity of the Stanford course's
            starter code; textbook, the same with the similarity of the paper.
        batches: How batches are formed: bucketed by length, as ctxzoo's sampler does, or shuffled.
        keep_freed_memory: Whether the C library keeps the memory that a step frees, as in the recipes; CPU only.
        precision: Precision of the training by the name that Lightning uses, such as "bf16-mixed".
        recurrent: Implementation of the recurrent layers: ours in `MaskedBiRNN`, or packed sequences of torch.
        dropout: Implementation of dropout: ctxzoo's cheap masks (CPU only), or that of torch.
        characters: Whether the character CNN runs over the distinct words of a batch (CPU only) or over every
            occurrence.
    """

    label: str
    model: Literal["ctxzoo", "starter", "textbook"] = "ctxzoo"
    batches: Literal["bucketed", "shuffled"] = "bucketed"
    keep_freed_memory: bool = True
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    recurrent: Literal["ours", "packed"] = "ours"
    dropout: Literal["cheap", "torch"] = "cheap"
    characters: Literal["distinct", "every word"] = "distinct"


class Runner:
    """A side with its model and data, in its worker process, ready to train and evaluate.

    Args:
        side: Implementation that is timed, with its settings.
        inputs: File with configuration, weights and batches, written by `training_step.write_inputs`.
        device: Device type, "cpu" or "cuda".
    """

    def __init__(self, side: Side, inputs: str | Path, device: str) -> None:
        """Load configuration, weights and batches from the file `inputs`; build the side's model and optimizer."""
        self.side = side
        self.device = torch.device(device)
        if side.keep_freed_memory and device == "cpu":
            keep_freed_memory()
        use_slower_functions(side)
        stored: dict[str, Any] = torch.load(inputs, weights_only=True)
        self.config = BidafConfig(**stored["config"])
        self.batches = {
            name: [self._move_to_device(batch) for batch in stored[name]] for name in ("bucketed", "shuffled")
        }
        self.model = build_model(side.model, self.config, stored["weights"]).to(self.device)
        self.optimizer = build_optimizer(
            OptimizerArgs(optimizer="adadelta", learning_rate=0.5), self.model.parameters()
        )["optimizer"]

    def compute_answers(self) -> dict[str, torch.Tensor]:
        """Return the outputs in which both sides must agree, for the first batch of each kind.

        Loss, log-probabilities of start and end, and the log-probability of the decoded span: of two spans that are as
        probable either may be decoded.
        """
        answers: dict[str, torch.Tensor] = {}
        self.model.eval()
        for kind, batches in self.batches.items():
            with torch.inference_mode(), self._autocast():
                start, end, loss = self._compute_log_probabilities_and_loss(batches[0])
                starts, ends = self._decode_spans(batches[0])
            mask = batches[0]["attention_mask"].bool()
            span = start.gather(1, starts.unsqueeze(1)) + end.gather(1, ends.unsqueeze(1))
            values = {"loss": loss, "start": start[mask], "end": end[mask], "span": span}
            answers |= {f"{kind}.{name}": value.cpu().clone() for name, value in values.items()}
        return answers

    def save_answers(self, file: str) -> None:
        """Write the tensors of `compute_answers` to a file, for the comparison of both sides."""
        torch.save(self.compute_answers(), file)

    def warm_up(self, phase: Phase) -> None:
        """Run one untimed round of a phase; on CUDA the peak memory is counted from here."""
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        self.time_round(phase)

    def time_round(self, phase: Phase) -> float:
        """Return the seconds of one pass over all batches, in training or evaluation."""
        self.model.train(phase == "training")
        step = self._train_batch if phase == "training" else self._evaluate_batch
        batches = self.batches[self.side.batches]
        return measure_seconds(lambda: [step(batch) for batch in batches], self.device)

    def measure_peak_memory(self) -> float:
        """Return the peak MiB: on a GPU of PyTorch's tensors, on a CPU of the whole process."""
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated() / 2**20
        return measure_own_peak_memory_mb()

    def _train_batch(self, batch: Batch) -> None:
        """Do one training step on a batch: loss, gradients, clipping, and the optimizer's update."""
        with self._autocast():
            loss = self._compute_log_probabilities_and_loss(batch)[2]
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        nn.utils.clip_grad_norm_(self.model.parameters(), GRADIENT_CLIP)
        self.optimizer.step()

    def _evaluate_batch(self, batch: Batch) -> None:
        """Predict the answer spans of a batch, and copy them to the CPU."""
        with torch.inference_mode(), self._autocast():
            starts, ends = self._decode_spans(batch)
        starts.cpu(), ends.cpu()

    def _compute_log_probabilities_and_loss(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the log-probabilities (B, C) of each answer start and end, and the loss."""
        if isinstance(self.model, TextbookBidaf):
            inputs = {name: value for name, value in batch.items() if name not in LABELS}
            start, end = self.model(**inputs)
            return start, end, self.model.loss(start, end, batch)
        outputs = self.model(**batch)
        if self.model.training:
            return outputs.start_logits, outputs.end_logits, outputs.loss
        start, end, _ = span_log_probabilities(outputs)
        return start, end, outputs.loss

    def _decode_spans(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the first and last positions (B,) of the predicted answers; 0 and 0 for no answer."""
        inputs = {name: value for name, value in batch.items() if name not in LABELS}
        longest, may_refuse = self.config.max_answer_length, self.config.squad_version == "2.0"
        if isinstance(self.model, TextbookBidaf):
            log_start, log_end = self.model(**inputs)
            return decode_spans_exhaustively(log_start, log_end, longest, may_refuse)
        spans = decode_answers(self.model(**inputs), batch["attention_mask"], longest)
        refuse = (spans.no_answer_log_probs > spans.span_log_probs) & may_refuse
        return spans.starts.masked_fill(refuse, 0), spans.ends.masked_fill(refuse, 0)

    def _autocast(self) -> Any:
        """Return the context for the side's precision: none for float32, else bfloat16 autocast."""
        if self.side.precision == "32-true":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def _move_to_device(self, batch: Batch) -> Batch:
        """Return the batch with its tensors on the runner's device."""
        return {name: value.to(self.device) for name, value in batch.items()}


def build_model(kind: str, config: BidafConfig, weights: dict[str, torch.Tensor]) -> nn.Module:
    """Return the model that `kind` names, with the weights from which all sides start."""
    if kind == "ctxzoo":
        model = BidafForQuestionAnswering(config)
        model.load_state_dict(weights)
        return model
    textbook = TextbookBidaf(config, "concatenation" if kind == "textbook" else "products")
    textbook.load_state_dict(convert_to_textbook_weights(weights))
    return textbook


def use_slower_functions(side: Side) -> None:
    """Replace ctxzoo's functions in this process by the usual, slower ones that the side asks for."""
    if side.dropout == "torch":
        layers_bidaf.dropout = _apply_torch_dropout  # type: ignore[attr-defined]
    if side.characters == "every word":
        CharCnn.forward = _embed_every_word  # type: ignore[method-assign]
    if side.recurrent == "packed":
        MaskedBiRNN.forward = _run_packed  # type: ignore[method-assign]


def _apply_torch_dropout(x: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
    """Apply torch's dropout, in place of ctxzoo's cheap masks."""
    return F.dropout(x, rate, training)


def _embed_every_word(self: CharCnn, char_ids: torch.Tensor) -> torch.Tensor:
    """Return character vectors (B, n, channels) of every word of `char_ids` (B, n, L), repeated ones anew."""
    char_ids = F.pad(char_ids, (0, self.max_word_length - char_ids.size(-1)))
    return self._embed_distinct_words(char_ids.flatten(0, 1)).view(*char_ids.shape[:2], -1)


def _run_packed(self: MaskedBiRNN, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return recurrent states (B, n, 2h) for x (B, n, D) by packed sequences; replaces `MaskedBiRNN.forward`."""
    return compute_packed_states_of_mask(self.rnn, x, mask)
