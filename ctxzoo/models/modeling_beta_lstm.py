"""The bivariate Beta-LSTM and the cells beside it, as an encoder, a classifier, a model of rolls and of language.

docs/models/beta_lstm.md lists which function computes which equation, and the deviations.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers.utils import ModelOutput

from .configuration_beta_lstm import BetaLstmConfig
from .layers_beta_lstm import BetaLSTM
from .layers_beta_lstm_gates import GateStatistics
from .layers_text_input import StepInput, TextInput
from .modeling_generation import StreamingLanguageModel
from .modeling_text import TextClassifierPreTrainedModel, TextPreTrainedModel
from .ops_inputs import check_mask_without_gaps, make_word_mask, to_float32_or_wider
from .ops_words import next_word_loss

# h and c (B, H) of each layer; with two directions, both of a layer one after the other.
LayerStates = tuple[tuple[torch.Tensor, torch.Tensor], ...]


@dataclass
class BetaLstmModelOutput(ModelOutput):
    """The output of the encoder.

    Attributes:
        last_hidden_state: (B, n, D) states of the last layer, 0 at padding.
        pooler_output: (B, D) state at the last real step, of a second direction at the first; 0 without a step.
        state: States h and c (B, H) of each layer behind the last real step, with which the next steps of the sequences
            can be read.
        kl: (B, n) divergence of the Gamma variables from the prior in nats, summed over layers and units; 0 at padding;
            None without Gamma variables, and where neither a prior nor gate statistics need it.
        dead_fraction: Fraction, in training, of the shapes of drawn gates at real steps that is below `DEAD_SHAPE`.
        gate_statistics: One `GateStatistics` for each layer and direction, on request.
        hidden_states: Input steps (B, n, I) and output of each layer (B, n, D), on request.
        attentions: None; there is no attention.
    """

    last_hidden_state: torch.Tensor | None = None
    pooler_output: torch.Tensor | None = None
    state: LayerStates | None = None
    kl: torch.Tensor | None = None
    dead_fraction: torch.Tensor | None = None
    gate_statistics: tuple[GateStatistics, ...] | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


@dataclass
class BetaLstmStepsOutput(ModelOutput):
    """The output of a head that scores every step.

    Attributes:
        loss: Scalar in nats, when labels are given.
        logits: (B, n, L) scores of L labels at each step.
        state, kl, gate_statistics, hidden_states, attentions: State, divergence, gate statistics, hidden states and
            attentions, as in `BetaLstmModelOutput`.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    state: LayerStates | None = None
    kl: torch.Tensor | None = None
    gate_statistics: tuple[GateStatistics, ...] | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


class BetaLstmPreTrainedModel(TextPreTrainedModel):
    """The base of the Beta-LSTMs."""

    config: BetaLstmConfig
    base_model_prefix = "encoder"
    logged_outputs = ("dead_fraction",)
    _is_stateful = True

    def class_probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the probabilities (softmax, or a head's own) that logits stand for, in the same shape."""
        return logits.softmax(dim=-1)

    @torch.no_grad()
    def sampled_probabilities(
        self, num_samples: int, generator: torch.Generator | None = None, **inputs: Any
    ) -> torch.Tensor:
        """Return the probabilities of a head with drawn gates, the mean over `num_samples` passes.

        Args:
            num_samples: Number S of passes, each with new draws of the gates.
            generator: Generator of the random numbers of the draws, on the model's device; None: torch's own. Replicas
                on several devices need one each.
            inputs: Inputs of the model's `forward`, by name.

        Returns:
            What `class_probabilities` makes of the logits, of their shape, in float32 or wider.

        Raises:
            ValueError: num_samples below 1; see also `forward`.
        """
        if num_samples < 1:
            raise ValueError(f"num_samples must be at least 1, got {num_samples}")
        total = torch.zeros(())  # takes shape, type and device of what is added
        with self.base_model.rnn.gate_sampling_mode("sample", generator):
            for _ in range(num_samples):
                # A sum of half precision stops growing.
                logits = self(**{**inputs, "return_dict": True}).logits
                total = self.class_probabilities(to_float32_or_wider(logits)) + total
        return total / num_samples


class BetaLstmModel(BetaLstmPreTrainedModel):
    """The encoder: a stack of LSTM layers whose gates may be drawn, over words or over steps of other sequences."""

    def __init__(self, config: BetaLstmConfig) -> None:
        super().__init__(config)
        self.embeddings: TextInput | StepInput = (
            self.make_text_input(config.dropout) if config.vocab_size else StepInput(config.input_size, config.dropout)
        )
        self.rnn = BetaLSTM(
            config.step_dim,
            config.hidden_size,
            config.num_layers,
            cell=config.cell,
            batch_first=True,
            bidirectional=config.bidirectional,
            dropout=config.locked_dropout,
            weight_dropout=config.weight_dropout,
            gate_eps=config.gate_eps,
            gate_sampling=config.gate_sampling,
            gamma_prior=config.gamma_prior,
        )
        self.post_init()

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        state: LayerStates | None = None,
        use_cache: bool | None = None,
        output_gate_statistics: bool = False,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> BetaLstmModelOutput | tuple[Any, ...]:
        """Read a batch of sequences.

        Args:
            input_ids: (B, n) ids of words, where the model has a word table.
            attention_mask: (B, n) mask, 1 at real steps, 0 after them; default: all 1.
            inputs_embeds: Steps (B, n, I) in place of input_ids; with a table (B, n, v) word vectors, or (B, n, v + p)
                with positions.
            state: Cached state of earlier steps, as returned with `use_cache`; default: 0.
            use_cache: Whether to return the state; default: as the configuration says, otherwise False.
            output_gate_statistics: Whether to return statistics of the gates; their correlations cost further draws.
            output_attentions: Accepted as in other models, but without effect: there are no attentions.

        Raises:
            ValueError: see `TextInput.forward`, or `StepInput.forward` without a table; a mask with a real step after
                padding; a state of other shapes.
        """
        x, mask = self.embeddings(input_ids, attention_mask, inputs_embeds)  # (B, n, I) and (B, n)
        check_mask_without_gaps(mask)
        encoding = self.rnn.encode(x, None if state is None else _stack_states(state), mask)
        states = encoding.outputs[-1]  # (B, n, D)
        statistics = tuple(encoding.statistics()) if output_gate_statistics else None
        has_divergence = bool(self.config.gamma_prior) and (self.config.kl_lambda > 0 or output_gate_statistics)
        if use_cache is None:
            use_cache = bool(getattr(self.config, "use_cache", False))
        output = BetaLstmModelOutput(
            last_hidden_state=states,
            pooler_output=_select_end_states(states, mask, self.config.hidden_size),
            # From h and c of all layers, (layers, B, H), to a pair of (B, H) for each.
            state=tuple(zip(*(each.unbind(0) for each in encoding.state), strict=True)) if use_cache else None,
            kl=encoding.divergence() if has_divergence else None,
            dead_fraction=encoding.dead_fraction() if self.training else None,
            gate_statistics=statistics,
            hidden_states=(x, *encoding.outputs)
            if self.resolve_output_flag(output_hidden_states, "hidden_states")
            else None,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()


class BetaLstmForSequenceClassification(BetaLstmPreTrainedModel, TextClassifierPreTrainedModel):
    """The encoder as a classifier of texts: a linear layer scores the classes from the state at the end of a text.

    Inputs and `hidden_states` are those of `BetaLstmModel.forward`. With a prior the loss holds an `auxiliary_loss`,
    `kl_lambda` times the divergence summed over the steps, the mean over the texts.
    """

    def __init__(self, config: BetaLstmConfig) -> None:
        super().__init__(config)
        self.encoder = BetaLstmModel(config)
        self.classifier = nn.Linear(config.output_size, config.num_labels)
        self.post_init()

    def compute_logits(self, outputs: Any) -> torch.Tensor:
        """Return logits (B, num_labels) of the pooled state."""
        logits: torch.Tensor = self.classifier(outputs.pooler_output)
        return logits

    def extra_outputs(self, outputs: Any) -> dict[str, torch.Tensor | None]:
        """Return the `auxiliary_loss` of the prior, where there is one."""
        if not self.config.kl_lambda:
            return {}
        return {"auxiliary_loss": self.config.kl_lambda * outputs.kl.sum(dim=1).mean()}  # of (B, n)


class BetaLstmStepsPreTrainedModel(BetaLstmPreTrainedModel):
    """The base of the heads that score every step; a subclass says what `compute_logits` and `compute_loss` return."""

    def __init__(self, config: BetaLstmConfig) -> None:
        super().__init__(config)
        self.encoder = BetaLstmModel(config)

    def compute_logits(self, steps: torch.Tensor) -> torch.Tensor:
        """Return the scores (B, n, L) of steps (B, n, D)."""
        raise NotImplementedError(f"{type(self).__name__} must define compute_logits(steps)")

    def compute_loss(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor, penalty: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the mean loss over the targets; a penalty, if there is one, is added to the sum over the batch."""
        raise NotImplementedError(f"{type(self).__name__} must define compute_loss(logits, labels, mask, penalty)")

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        state: LayerStates | None = None,
        use_cache: bool | None = None,
        output_gate_statistics: bool = False,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> BetaLstmStepsOutput | tuple[Any, ...]:
        """Score each step; inputs as in `BetaLstmModel.forward`.

        Args:
            labels: Labels in the form that the head needs; padding never counts.

        Returns:
            `logits` (B, n, L). The loss is that of the head, in nats, the mean over its targets, 0 without any; with a
            prior it holds `kl_lambda` times the divergence of all steps, divided by the number of targets.

        Raises:
            ValueError: labels of another shape or type, or other numbers; see also `BetaLstmModel.forward`.
        """
        outputs = self.encoder(
            input_ids,
            attention_mask=attention_mask,
            inputs_embeds=inputs_embeds,
            state=state,
            use_cache=use_cache,
            output_gate_statistics=output_gate_statistics,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        logits, loss = self.compute_logits(outputs.last_hidden_state), None
        if labels is not None:
            # A sum, which the heads divide by the same number of targets as the sum of their losses.
            penalty = self.config.kl_lambda * outputs.kl.sum() if self.config.kl_lambda else None
            loss = self.compute_loss(logits, labels, make_word_mask(logits, attention_mask), penalty)
        output = BetaLstmStepsOutput(
            loss=loss,
            logits=logits,
            state=outputs.state,
            kl=outputs.kl,
            gate_statistics=outputs.gate_statistics,
            hidden_states=outputs.hidden_states,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()


class BetaLstmForTokenClassification(BetaLstmStepsPreTrainedModel):
    """The encoder with several labels at once for each step: the probability of each is a sigmoid of its own.

    With the roll of a piece of music as steps, the labels of a step are the keys that sound at the next one. Labels are
    numbers (B, n, L) from 0 to 1, how much of each label a step has; the loss is the binary cross-entropy summed over
    the labels, in nats a step, the mean over the real steps.
    """

    zoo_task = "polyphonic-music"

    def __init__(self, config: BetaLstmConfig) -> None:
        super().__init__(config)
        self.classifier = nn.Linear(config.output_size, config.num_labels)
        self.post_init()

    def class_probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the probability of each label on its own: a sigmoid."""
        return logits.sigmoid()

    def compute_logits(self, steps: torch.Tensor) -> torch.Tensor:
        """Return logits (B, n, num_labels) of the states (B, n, D)."""
        logits: torch.Tensor = self.classifier(steps)
        return logits

    def compute_loss(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor, penalty: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the binary cross-entropy summed over labels and averaged over real steps.

        `penalty`, the summed divergence of the gates from their prior, is added to the sum before the division.
        """
        summed = binary_label_losses(logits, labels, mask).sum()
        # Divided by the real steps alone: the losses of the labels of a step are summed.
        return (summed if penalty is None else summed + penalty) / mask.sum().clamp(min=1)


class BetaLstmForCausalLM(BetaLstmStepsPreTrainedModel, StreamingLanguageModel):
    """The encoder as a language model: a softmax over the words for the next one. It streams.

    Labels (B, n) are the words themselves, mostly `input_ids`: those of the next position are compared with the scores
    of each; -100 at words that are not predicted. The loss is the cross-entropy in nats a word, the mean over the
    predicted words. See also `StreamingLanguageModel`.
    """

    def __init__(self, config: BetaLstmConfig) -> None:
        if not config.vocab_size:
            raise ValueError("vocab_size is 0: a language model needs words")
        if config.bidirectional:
            raise ValueError("bidirectional=True: a language model must not read the words that it predicts")
        super().__init__(config)
        self.lm_head = nn.Linear(config.output_size, config.num_words)
        self.post_init()

    def compute_logits(self, steps: torch.Tensor) -> torch.Tensor:
        """Return scores (B, n, vocab_size) of the next word."""
        logits: torch.Tensor = self.lm_head(steps)
        return logits

    def compute_loss(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor, penalty: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the mean cross-entropy of the next words, plus the divergence of the gates for each word."""
        loss, predicted = next_word_loss(logits, labels, mask)
        return loss if penalty is None else loss + penalty / predicted  # the loss is a mean already


def _stack_states(state: LayerStates) -> tuple[torch.Tensor, torch.Tensor]:
    """Stack the states h and c of all layers, (layers, B, H) each."""
    hidden, memory = zip(*state, strict=True)
    return torch.stack(hidden), torch.stack(memory)


def _select_end_states(states: torch.Tensor, mask: torch.Tensor, size: int) -> torch.Tensor:
    """Return (B, D): the first H numbers of the last real step; of a second direction those of the first step."""
    if not torch.compiler.is_compiling() and states.size(1) == 0:
        return states.new_zeros(states.size(0), states.size(2))
    last = (mask.sum(dim=1) - 1).clamp(min=0)  # (B,); a row without steps reads step 0, which is 0
    last_states = states.gather(1, last.view(-1, 1, 1).expand(-1, 1, size)).squeeze(1)  # (B, H)
    return torch.cat([last_states, states[:, 0, size:]], dim=1)  # the second direction ends at step 0


def binary_label_losses(logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the binary cross-entropy of each step and label in nats, (B, n, L) in float32 or wider, 0 at padding.

    Args:
        logits: (B, n, L) scores of L labels at each step.
        labels: (B, n, L) targets from 0 to 1; values at padding are ignored.
        mask: Boolean (B, n), True at real steps.

    Raises:
        ValueError: labels of another shape or type, or beyond 0 and 1 (read on the CPU only: on a device it would wait
            for the queue).
    """
    if labels.shape != logits.shape:
        raise ValueError(f"labels must have shape {tuple(logits.shape)}, one for each step, got {tuple(labels.shape)}")
    if not labels.is_floating_point():
        raise ValueError(f"labels must be floats from 0 to 1, got {labels.dtype}")
    # Not a product: what a caller has left at padding may be no number.
    labels = torch.where(mask.unsqueeze(-1), labels, labels.new_zeros(()))
    if not (torch.compiler.is_compiling() or labels.is_cuda):
        odd = labels[~((labels >= 0) & (labels <= 1))]
        if odd.numel():
            raise ValueError(f"labels must lie from 0 to 1, got {odd[0].item()}")
    wide = torch.promote_types(logits.dtype, torch.float32)
    losses = F.binary_cross_entropy_with_logits(logits.to(wide), labels.to(wide), reduction="none")
    return losses * mask.unsqueeze(-1)  # (B, n, L)
