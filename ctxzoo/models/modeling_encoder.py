"""The encoder: pre-norm blocks of attention and a network, and heads that score its steps.

What kind of attention it is, an architecture says in its own file.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from transformers.utils import ModelOutput

from .configuration_encoder import EMBEDDING_BOUND, EncoderConfig
from .layers_encoder import (
    DEVIATION,
    Attention,
    AttentionAux,
    AttentionState,
    EncoderBlock,
    MultiHeadAttention,
    select_indices,
)
from .layers_text_input import RandomEmbedding, TextInput
from .modeling_base import ZooPreTrainedModel
from .ops_encoder import count_step_positions, positions_to_keep, rotary_factors, sinusoids_at_positions
from .ops_execution import call_with_checkpointing
from .ops_inputs import make_word_mask
from .ops_words import masked_mean, next_word_loss

# Tensors, the batch first: how many real steps were read, (B,), by itself, and then what each layer keeps of them.
EncoderState = tuple[AttentionState, ...]


@dataclass
class EncoderModelOutput(ModelOutput):
    """The output of the encoder.

    Attributes:
        last_hidden_state: (B, n, m) output of the last block, 0 at padding; with `steps_to_keep` of those steps only.
        pooler_output: (B, m) mean of the output over the real steps; 0 without any. None with `steps_to_keep`.
        kl: (B,) divergence of the frequencies of learned kernels from their prior in nats, divided by the numbers of a
            frequency in all layers and heads: num_layers * hidden_size.
        clamped: Mean over the layers of the fraction of denominators that linear attention clamps, in training and with
            attentions.
        state: Cached state with which the next steps can be read, where `use_cache` is set.
        attentions: Attention weights (B, h, n, keys) of each layer, on request.
        similarities: Kernel values (B, h, n, keys) of each layer that has a kernel, together with the attentions.
        importances: Importance (B, h, keys) of the keys in nats, together with the attentions, where a layer has any.
        pair_attentions: Weights (B, h, n, keys, keys) of pairs of keys, together with the attentions, where a layer
            forms pairs.
        context_attentions: Weights (B, h, n, keys) with which queries average a context, together with the attentions,
            where they do.
        modulations: Factors (B, h, n, d) by which such a context multiplies the queries, together with the attentions.
        hidden_states: Input of the first block and output of each block, (B, n, m) each, on request.
    """

    last_hidden_state: torch.Tensor | None = None
    pooler_output: torch.Tensor | None = None
    kl: torch.Tensor | None = None
    clamped: torch.Tensor | None = None
    state: EncoderState | None = None
    attentions: tuple[torch.Tensor, ...] | None = None
    similarities: tuple[torch.Tensor, ...] | None = None
    importances: tuple[torch.Tensor, ...] | None = None
    pair_attentions: tuple[torch.Tensor, ...] | None = None
    context_attentions: tuple[torch.Tensor, ...] | None = None
    modulations: tuple[torch.Tensor, ...] | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None


@dataclass
class EncoderHeadOutput(ModelOutput):
    """The output of a head.

    Attributes:
        loss: Scalar loss, when labels are given; includes `auxiliary_loss`.
        logits: (B, n, L) scores of L labels at each step; (B, L) of a head that scores whole texts.
        auxiliary_loss: Weighted divergence of learned kernels, a scalar, where there is one.
        kl, state, attentions, hidden_states: Divergence, cached state, attentions and hidden states, as in
            `EncoderModelOutput`.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    auxiliary_loss: torch.Tensor | None = None
    kl: torch.Tensor | None = None
    state: EncoderState | None = None
    attentions: tuple[torch.Tensor, ...] | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None


class EncoderPreTrainedModel(ZooPreTrainedModel):
    """The base of the encoders, which read words or events through a table in `embeddings`.

    Attributes:
        encoder_class: Class of the base model below a head.
    """

    config: EncoderConfig
    encoder_class: ClassVar[Any]
    base_model_prefix = "encoder"
    main_input_name = "input_ids"
    logged_outputs = ("clamped",)
    supports_gradient_checkpointing = True
    _is_stateful = True

    def get_input_embeddings(self) -> nn.Module:
        """Return the table of words."""
        words: nn.Module = self.base_model.embeddings.words
        return words

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        """Put another table of words in place."""
        self.base_model.embeddings.replace_words(value)

    def compute_penalty(self, outputs: Any, num_targets: torch.Tensor | int) -> torch.Tensor | None:
        """Return what the attention adds to the loss: a sum over the batch, divided by `num_targets`.

        Args:
            outputs: Output of the encoder.
            num_targets: Number of targets in the batch.

        Returns:
            Scalar in nats; None where there is nothing to add.
        """
        return None

    def make_head_output(
        self,
        outputs: Any,
        logits: torch.Tensor,
        loss: torch.Tensor | None,
        penalty: torch.Tensor | None,
        return_dict: bool | None,
    ) -> EncoderHeadOutput | tuple[Any, ...]:
        """Return the output of a head.

        Args:
            outputs: Output of the encoder.
            logits: Scores that the head computed.
            loss: Mean loss over the targets; None: there are no labels.
            penalty: Penalty that is added to the loss.
            return_dict: Whether to return a ModelOutput instead of a tuple; None: as the configuration says.
        """
        if loss is not None and penalty is not None:
            loss = loss + penalty
        output = EncoderHeadOutput(
            loss=loss,
            logits=logits,
            auxiliary_loss=penalty,
            kl=outputs.kl,
            state=outputs.state,
            attentions=outputs.attentions,
            hidden_states=outputs.hidden_states,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()


class EncoderModel(EncoderPreTrainedModel):
    """The base of the encoders without a head; a subclass says what attends."""

    gradient_checkpointing = False

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        self.embeddings = self.make_input(config)
        self.projection: nn.Linear | None = None
        if config.step_dim != config.hidden_size or not config.vocab_size:
            self.projection = nn.Linear(config.step_dim, config.hidden_size)
        self.make_time_encodings(config)
        # The blocks add 2 num_layers terms to the steps: the variance of their sum starts as that of one.
        residual = DEVIATION / math.sqrt(2 * config.num_layers)
        self.blocks = nn.ModuleList(
            EncoderBlock(
                MultiHeadAttention(config.hidden_size, config.num_heads, self.make_attention(config, index), residual),
                config.hidden_size,
                config.inner_width,
                config.hidden_dropout,
                residual,
            )
            for index in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(config.hidden_size)
        self.post_init()

    @staticmethod
    def make_attention(config: Any, layer_index: int) -> Attention:
        """Return the attention module of a layer, counted from 0."""
        raise NotImplementedError("an encoder must define make_attention(config, layer_index)")

    def make_input(self, config: Any) -> Any:
        """Return the layer that reads words or events."""
        words = RandomEmbedding(config.vocab_size, config.word_dim, trainable=True, bound=EMBEDDING_BOUND)
        return TextInput(words, 0, config.dropout, 0.0)

    def make_time_encodings(self, config: Any) -> None:
        """Make the modules for further inputs, such as times; by default none."""

    @property
    def attentions(self) -> list[Attention]:
        """The attention module of each block."""
        return [block.attention.attention for block in self.blocks if isinstance(block, EncoderBlock)]

    def add_positions(self, x: torch.Tensor, mask: torch.Tensor, state: EncoderState | None) -> torch.Tensor:
        """Return the steps (B, n, m) that the blocks read: projected to their width, with positions added.

        With a `state`, positions go on from the words read before.
        """
        if self.projection is not None:
            x = self.projection(x)  # (B, n, m)
        if self.config.position != "sinusoidal":
            return x
        positions = count_step_positions(mask, None if state is None else state[0][0])  # (B, n), of real steps alone
        return x + EMBEDDING_BOUND * sinusoids_at_positions(positions, self.config.hidden_size, x.dtype)

    def run_blocks(
        self,
        x: torch.Tensor,
        mask: torch.Tensor,
        kernel: torch.Tensor | None,
        *,
        state: EncoderState | None,
        use_cache: bool | None,
        output_attentions: bool | None,
        output_hidden_states: bool | None,
        steps_to_keep: torch.Tensor | None,
        return_dict: bool | None,
    ) -> EncoderModelOutput | tuple[Any, ...]:
        """Run all blocks over steps (B, n, m) with their mask (B, n); the other arguments as in `forward`.

        Args:
            kernel: (B, n, n) kernel from which the `score_bias` of each layer is computed; None: there is none.
        """
        if use_cache is None:
            use_cache = bool(getattr(self.config, "use_cache", False))
        if not self.config.causal and (use_cache or state is not None):
            raise ValueError("causal=False: earlier steps read later ones, so that no state can stand for them")
        num_read = None if state is None else state[0][0]  # (B,) real steps before these
        x = x * mask.unsqueeze(-1).to(x.dtype)  # the bias of the projection and positions fill padding
        wants_weights = self.resolve_output_flag(output_attentions, "attentions")
        wants_steps = self.resolve_output_flag(output_hidden_states, "hidden_states")
        # The last block may compute fewer steps only where none of these needs the others.
        needs_all = wants_weights or wants_steps or use_cache or kernel is not None or self.config.causal
        hidden_states, results = [x], []
        rotary = None
        if self.config.position == "rotary":
            rotary = rotary_factors(
                count_step_positions(mask, num_read), self.config.head_size
            )  # the same for all layers
        for index in range(len(self.blocks)):
            is_last = index == len(self.blocks) - 1
            options = {
                "rotary": rotary,
                "state": None if state is None else state[1 + index],  # state[0] counts the steps
                "use_cache": use_cache,
                "output_attentions": wants_weights,
                "query_indices": steps_to_keep if is_last and not needs_all else None,
            }
            x, aux = call_with_checkpointing(self, self._run_block, index, x, mask, kernel, options)  # (B, n or K, m)
            hidden_states.append(x)
            results.append(aux)
        if needs_all:
            x = select_indices(x, steps_to_keep, 1)  # otherwise the last block has done so
        # The bias of the norm fills padding again; (B, n, m) or (B, K, m).
        last_hidden_state = self.norm(x) * select_indices(mask, steps_to_keep, 1).unsqueeze(-1).to(x.dtype)
        output = EncoderModelOutput(
            last_hidden_state=last_hidden_state,
            pooler_output=masked_mean(last_hidden_state, mask)[0] if steps_to_keep is None else None,
            kl=self._compute_mean_per_element([aux.divergence for aux in results]),
            clamped=_average_over_layers([aux.clamped for aux in results]),
            state=_make_encoder_state(mask, num_read, results) if use_cache else None,
            attentions=_collect_over_layers([aux.weights for aux in results]),
            similarities=_collect_over_layers([aux.similarity for aux in results]),
            importances=_collect_over_layers([aux.importance for aux in results]),
            pair_attentions=_collect_over_layers([aux.pair_weights for aux in results]),
            context_attentions=_collect_over_layers([aux.context_weights for aux in results]),
            modulations=_collect_over_layers([aux.modulation for aux in results]),
            hidden_states=tuple(hidden_states) if wants_steps else None,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()

    def compute_score_bias(self, index: int, kernel: torch.Tensor) -> torch.Tensor:
        """Return what is added to the scores of layer `index`, (B, h or 1, n, n) in nats, from a kernel (B, n, n)."""
        raise NotImplementedError(f"{type(self).__name__} must define compute_score_bias(index, kernel)")

    def _compute_mean_per_element(self, terms: list[torch.Tensor | None]) -> torch.Tensor | None:
        """Return the mean over layers of a term summed over heads and features, divided by their number."""
        mean = _average_over_layers(terms)
        return None if mean is None else mean / self.config.hidden_size

    def _run_block(
        self, index: int, x: torch.Tensor, mask: torch.Tensor, kernel: torch.Tensor | None, options: dict[str, Any]
    ) -> tuple[torch.Tensor, AttentionAux]:
        """Run one block; `options` are arguments of `EncoderBlock.forward`."""
        score_bias = None if kernel is None else self.compute_score_bias(index, kernel)
        result: tuple[torch.Tensor, AttentionAux] = self.blocks[index](
            x, mask, self.config.causal, score_bias=score_bias, **options
        )
        return result


class EncoderStepsPreTrainedModel(EncoderPreTrainedModel):
    """The base of the heads that score every step; a subclass says what `compute_logits` and `compute_loss` return."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        self.encoder = self.encoder_class(config)

    def compute_logits(self, steps: torch.Tensor) -> torch.Tensor:
        """Return the scores (B, n, L) of steps (B, n, m)."""
        raise NotImplementedError(f"{type(self).__name__} must define compute_logits(steps)")

    def compute_loss(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean loss over the targets, and how many there are, at least 1."""
        raise NotImplementedError(f"{type(self).__name__} must define compute_loss(logits, labels, mask)")

    def score_steps(
        self,
        input_ids: torch.Tensor | None,
        attention_mask: torch.Tensor | None,
        inputs_embeds: torch.Tensor | None,
        labels: torch.Tensor | None,
        logits_to_keep: int | torch.Tensor,
        return_dict: bool | None,
        **inputs: Any,
    ) -> EncoderHeadOutput | tuple[Any, ...]:
        """Return the scores of each step; `inputs` are further ones of the encoder.

        Args:
            input_ids, attention_mask, inputs_embeds, return_dict: Ids, mask, embedded steps and return type, as in the
                encoder's `forward`.
            labels: Targets that `compute_loss` of the head compares the scores with.
            logits_to_keep: Number of last steps that are scored, or (K,) indices of the steps to score; 0: all.

        Returns:
            `logits` (B, n, L), or (B, K, L) of the steps to keep. The loss is the mean over the targets, plus the
            weighed divergence of learned kernels divided by their number.

        Raises:
            ValueError: labels of another shape or type, other numbers, or beside `logits_to_keep`; more steps to keep
                than there are; see also the encoder's `forward`.
        """
        steps_to_keep = None
        if isinstance(logits_to_keep, torch.Tensor) or logits_to_keep:
            if labels is not None:
                raise ValueError("labels are compared with the scores of all steps; expected no logits_to_keep beside")
            steps = inputs_embeds if input_ids is None else input_ids
            # (K,); without steps the encoder raises the error.
            steps_to_keep = None if steps is None else positions_to_keep(logits_to_keep, steps.size(1), steps.device)
        outputs = self.encoder(
            input_ids,
            attention_mask=attention_mask,
            inputs_embeds=inputs_embeds,
            steps_to_keep=steps_to_keep,
            return_dict=True,
            **inputs,
        )
        logits = self.compute_logits(outputs.last_hidden_state)  # (B, n, L) or (B, K, L)
        loss, penalty = None, None
        if labels is not None:
            loss, num_targets = self.compute_loss(logits, labels, make_word_mask(logits, attention_mask))
            penalty = self.compute_penalty(outputs, num_targets)
        return self.make_head_output(outputs, logits, loss, penalty, return_dict)


class EncoderNextStepPreTrainedModel(EncoderStepsPreTrainedModel):
    """The base of the heads that predict what comes next.

    Labels (B, n) are what stands at each step, -100 at steps that are not predicted.
    """

    def __init__(self, config: EncoderConfig) -> None:
        if not config.vocab_size:
            raise ValueError("vocab_size is 0: what comes next is one of several words or events")
        if not config.causal:
            raise ValueError("causal=False: a model of what comes next must not read what it predicts")
        super().__init__(config)

    def compute_loss(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean cross-entropy in nats of the next position's label, and the number of such labels."""
        return next_word_loss(logits, labels, mask)


def _average_over_layers(terms: list[torch.Tensor | None]) -> torch.Tensor | None:
    """Return the mean of a term that each layer outputs; None if a layer has none."""
    known = _collect_over_layers(terms)
    return None if known is None else torch.stack(known).mean(dim=0)


def _collect_over_layers(values: list[torch.Tensor | None]) -> tuple[torch.Tensor, ...] | None:
    """Return an output of each layer, such as weights, as a tuple; None if a layer has none."""
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else None


def _make_encoder_state(mask: torch.Tensor, num_read: torch.Tensor | None, results: list[AttentionAux]) -> EncoderState:
    """Return the state for the next call: the number of words read in each row, and each layer's attention state.

    `mask` (B, n) is True at the words of this call, and `num_read` (B,) counts those of earlier ones.
    """
    count = mask.sum(dim=1)
    layers = []
    for aux in results:
        if aux.state is None:
            raise ValueError("this attention keeps no state of what it has read; use_cache must be False")
        layers.append(aux.state)
    # A tuple in each place, so that beams are reordered alike in all of them.
    return ((count if num_read is None else count + num_read,), *layers)
