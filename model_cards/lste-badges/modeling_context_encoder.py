"""The ContextEncoder: blocks of any attention, with heads for texts, words, language, rows of numbers and events.

docs/models/context_encoder.md lists which function computes which equation, and the deviations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import GenerationMixin
from transformers.utils import ModelOutput

from .configuration_context_encoder import ContextEncoderConfig
from .layers_context_encoder_attention import Attention, AttentionAux, AttentionState, chosen
from .layers_context_encoder_block import DEVIATION, EncoderBlock, MultiHeadAttention, small_linear
from .layers_context_encoder_build import build_attention
from .layers_context_encoder_input import Positions
from .layers_context_encoder_rows import RowContext
from .layers_context_encoder_time_position import IN_SCORES, TimeWeight, build_time_position
from .layers_step_input import StepInput
from .layers_text_input import TextInput
from .modeling_text import TextClassifierPreTrainedModel, TextPreTrainedModel
from .ops_checkpointing import call_checkpointed
from .ops_context_encoder_losses import squared_error
from .ops_context_encoder_positions import kept_places, step_positions
from .ops_context_encoder_timestamps import check_timestamps
from .ops_losses import IGNORED, token_classification_loss
from .ops_masking import boolean_mask, masked_mean
from .ops_names import rows_of_names
from .ops_text_checks import word_mask

# Tensors, the batch first: how many real steps were read, (B,), by itself, and then what each layer keeps of them.
EncoderState = tuple[AttentionState, ...]
TOP = 10  # events that are predicted where nobody says how many


@dataclass
class ContextEncoderModelOutput(ModelOutput):
    """The output of the encoder.

    Attributes:
        last_hidden_state: (B, n, m) the steps behind the last block, 0 at padding; with `steps_to_keep` those alone.
        pooler_output: (B, m) their mean over the real steps; 0 without any. None with `steps_to_keep`.
        kl: (B,) the divergence of the frequencies of learned kernels from their prior in nats, divided by the numbers
            of a frequency, those of all layers and heads: num_layers * hidden_size.
        copula_term: (B,) the term of the authors' copula, the mean over the same numbers and over draws.
        clamped: in training and with attentions, the fraction of denominators of attention in linear time that its
            guard decides about, the mean over the layers.
        state: where `use_cache` requests it, what was read, with which the next steps of the sequences can be read.
        attentions: on request, (B, h, n, keys) the weights of each layer.
        similarities: with them, (B, h, n, keys) the values of each layer's kernel, where there is one.
        importances: with them, (B, h, keys) the magnitudes of the keys in nats, where there are any.
        pair_attentions: with them, (B, h, n, keys, keys) the weights of pairs, where a layer forms them.
        context_attentions: with them, (B, h, n, keys) the weights by which queries gather a context, where they do.
        modulations: with them, (B, h, n, d) what such a context multiplies queries by.
        hidden_states: on request, the steps as they enter the first block and behind each, (B, n, m).
    """

    last_hidden_state: torch.Tensor | None = None
    pooler_output: torch.Tensor | None = None
    kl: torch.Tensor | None = None
    copula_term: torch.Tensor | None = None
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
class ContextEncoderStepsOutput(ModelOutput):
    """The output of a head that scores every step.

    Attributes:
        loss: scalar, when labels are given; `auxiliary_loss` is part of it.
        logits: (B, n, L).
        auxiliary_loss: scalar, the weighed divergence of learned kernels, where there is one.
        kl, state, attentions, hidden_states: see `ContextEncoderModelOutput`.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    auxiliary_loss: torch.Tensor | None = None
    kl: torch.Tensor | None = None
    state: EncoderState | None = None
    attentions: tuple[torch.Tensor, ...] | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None


class ContextEncoderPreTrainedModel(TextPreTrainedModel):
    """The base of the ContextEncoders."""

    config: ContextEncoderConfig
    base_model_prefix = "encoder"
    logged_outputs = ("clamped",)
    supports_gradient_checkpointing = True
    _is_stateful = True

    def penalty(self, outputs: Any, targets: torch.Tensor | int) -> torch.Tensor | None:
        """Return what learned kernels add to the loss: the weighed sum over the batch, divided by `targets`.

        Args:
            outputs: of the encoder.
            targets: how many there are in the batch.

        Returns:
            Scalar in nats; None where there is nothing to add.
        """
        parts = ((self.config.kl_lambda, outputs.kl), (self.config.copula_lambda, outputs.copula_term))
        terms = [weight * term.sum() / targets for weight, term in parts if weight and term is not None]
        return torch.stack(terms).sum() if terms else None


class ContextEncoderModel(ContextEncoderPreTrainedModel):
    """The encoder: pre-norm blocks of attention and a network, over words or over rows of numbers."""

    gradient_checkpointing = False

    def __init__(self, config: ContextEncoderConfig) -> None:
        super().__init__(config)
        self.embeddings: TextInput | StepInput = (
            self.text_input(config.dropout) if config.vocab_size else StepInput(config.input_size, config.dropout)
        )
        self.projection: nn.Linear | None = None
        if config.step_size != config.hidden_size or not config.vocab_size:
            self.projection = nn.Linear(config.step_size, config.hidden_size)
        self.time = build_time_position(config) if config.reads_time else None
        in_scores = self.time is not None and config.time_combine in IN_SCORES
        self.time_weights = nn.ModuleList(
            TimeWeight(config.num_heads, config.time_combine) for _ in range(config.num_layers if in_scores else 0)
        )
        self.positions = Positions(
            config.position, config.hidden_size, config.head_size, config.max_length, float(config.embedding_bound)
        )
        residual = DEVIATION / math.sqrt(2 * config.num_layers)
        self.blocks = nn.ModuleList(
            EncoderBlock(
                MultiHeadAttention(config.hidden_size, config.num_heads, build_attention(config, index), residual),
                config.hidden_size,
                config.inner_width,
                config.hidden_dropout,
                residual,
            )
            for index in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(config.hidden_size)
        self.post_init()

    @property
    def attentions(self) -> list[Attention]:
        """What attends in each block."""
        return [block.attention.attention for block in self.blocks if isinstance(block, EncoderBlock)]

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        timestamps: torch.Tensor | None = None,
        state: EncoderState | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        steps_to_keep: torch.Tensor | None = None,
        return_dict: bool | None = None,
    ) -> ContextEncoderModelOutput | tuple[Any, ...]:
        """Read a batch of sequences.

        Args:
            input_ids: (B, n) words, where the model has a table.
            attention_mask: (B, n), 1 at real steps, 0 elsewhere; default: all 1.
            inputs_embeds: in place of input_ids, (B, n, I) steps; with a table (B, n, v) word vectors.
            timestamps: (B, n) float64 or integers, of each step where `position` is an encoding of time; others leave
                them unread.
            state: of the steps before, as `use_cache` returned it; the steps given are the next ones.
            use_cache: return the state; default: what the config says, otherwise False.
            output_attentions: return weights, similarities and importances.
            steps_to_keep: (K,) places of the steps whose `last_hidden_state` is wanted; the last block then computes no
                others, where it is not causal and nothing else is requested. Default: all.

        Raises:
            ValueError: see `TextInput.forward`, or `StepInput.forward` without a table; a state where the config is not
                causal, or with an encoding of time; no timestamps for one, see also `TimePosition.forward`; a learned
                position that there is none of.
        """
        x, mask = self.embeddings(input_ids, attention_mask, inputs_embeds)
        if use_cache is None:
            use_cache = bool(getattr(self.config, "use_cache", False))
        if not self.config.causal and (use_cache or state is not None):
            raise ValueError("causal=False: earlier steps read later ones, so that no state can stand for them")
        read = None if state is None else state[0][0]
        positions = step_positions(mask, read)
        if self.projection is not None:
            x = self.projection(x)
        added = self.positions.added(positions, x.dtype)
        if added is not None:
            x = x + added
        kernel = None
        if self.time is not None:
            if timestamps is None or use_cache or state is not None:
                raise ValueError(
                    f"position={self.config.position!r} reads timestamps (batch, steps) of whole rows, and streams no "
                    "state: pass timestamps, and use_cache=False"
                )
            x, times = self.time(x, timestamps, mask)
            kernel = times.kernel
        x = x * mask.unsqueeze(-1).to(x.dtype)
        wants_weights = self.wants(output_attentions, "attentions")
        wants_steps = self.wants(output_hidden_states, "hidden_states")
        needs_all = wants_weights or wants_steps or use_cache or kernel is not None or self.config.causal
        hidden_states, results = [x], []
        rotary = self.positions.rotary(positions)
        for attention in self.attentions:
            attention.begin_pass()
        for index in range(len(self.blocks)):
            is_last = index == len(self.blocks) - 1
            options = {
                "rotary": rotary,
                "state": None if state is None else state[1 + index],
                "use_cache": use_cache,
                "output_attentions": wants_weights,
                "places": steps_to_keep if is_last and not needs_all else None,
            }
            x, aux = call_checkpointed(self, self._block, index, x, mask, kernel, options)
            hidden_states.append(x)
            results.append(aux)
        if needs_all:
            x = chosen(x, steps_to_keep, 1)
        last = self.norm(x) * chosen(mask, steps_to_keep, 1).unsqueeze(-1).to(x.dtype)
        output = ContextEncoderModelOutput(
            last_hidden_state=last,
            pooler_output=masked_mean(last, mask)[0] if steps_to_keep is None else None,
            kl=self._per_number([aux.divergence for aux in results]),
            copula_term=self._per_number([aux.copula_term for aux in results]),
            clamped=_mean([aux.clamped for aux in results]),
            state=_encoder_state(mask, read, results) if use_cache else None,
            attentions=_each([aux.weights for aux in results]),
            similarities=_each([aux.similarity for aux in results]),
            importances=_each([aux.importance for aux in results]),
            pair_attentions=_each([aux.pair_weights for aux in results]),
            context_attentions=_each([aux.context_weights for aux in results]),
            modulations=_each([aux.modulation for aux in results]),
            hidden_states=tuple(hidden_states) if wants_steps else None,
        )
        return output if self.wants_dict(return_dict) else output.to_tuple()

    def _per_number(self, terms: list[torch.Tensor | None]) -> torch.Tensor | None:
        """Return the mean over the layers of sums over heads and their numbers, divided by how many these are."""
        mean = _mean(terms)
        return None if mean is None else mean / self.config.hidden_size

    def _block(
        self, index: int, x: torch.Tensor, mask: torch.Tensor, kernel: torch.Tensor | None, options: dict[str, Any]
    ) -> tuple[torch.Tensor, AttentionAux]:
        """Return what a block gives; kernel (B, n, n) or None is that of times, and options are of `EncoderBlock`."""
        score_bias = None if kernel is None else self.time_weights[index](kernel)
        read: tuple[torch.Tensor, AttentionAux] = self.blocks[index](
            x, mask, self.config.causal, score_bias=score_bias, **options
        )
        return read

    def time_kernel(
        self, input_ids: torch.Tensor, timestamps: torch.Tensor, attention_mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return K (B, n, n) of LSTE, and its factors K1 and K2, (B, n, n, A), of the whole history of each row.

        Args:
            input_ids, timestamps, attention_mask: see `forward`.

        Raises:
            ValueError: another position; see also `TimePosition.kernel_factors`.
        """
        if self.time is None:
            raise ValueError(f"position={self.config.position!r} has no kernel of times; expected 'lste'")
        x, mask = self.embeddings(input_ids, attention_mask, None)
        return self.time.kernel_factors(x if self.projection is None else self.projection(x), timestamps, mask)


class ContextEncoderForSequenceClassification(ContextEncoderPreTrainedModel, TextClassifierPreTrainedModel):
    """The encoder as a classifier of texts: a linear layer scores the classes from the mean of the steps.

    Inputs and `hidden_states` are those of `ContextEncoderModel.forward`. With a learned kernel the loss holds an
    `auxiliary_loss`, the weighed divergence, the mean over the texts.
    """

    def __init__(self, config: ContextEncoderConfig) -> None:
        super().__init__(config)
        self.encoder = ContextEncoderModel(config)
        self.classifier = small_linear(config.hidden_size, config.num_labels)
        self.post_init()

    def scores(self, outputs: Any) -> torch.Tensor:
        logits: torch.Tensor = self.classifier(outputs.pooler_output)
        return logits

    def further_outputs(self, outputs: Any) -> dict[str, torch.Tensor | None]:
        """Return the `auxiliary_loss` of a learned kernel, where there is one."""
        return {"auxiliary_loss": self.penalty(outputs, outputs.pooler_output.size(0))}


class ContextEncoderStepsPreTrainedModel(ContextEncoderPreTrainedModel):
    """The base of the heads that score every step; a subclass says what `scores` and `losses` are."""

    def scores(self, steps: torch.Tensor) -> torch.Tensor:
        """Return the scores (B, n, L) of steps (B, n, m)."""
        raise NotImplementedError(f"{type(self).__name__} must define scores(steps)")

    def losses(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean loss over the targets, and how many there are, at least 1."""
        raise NotImplementedError(f"{type(self).__name__} must define losses(logits, labels, mask)")

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        timestamps: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        state: EncoderState | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        return_dict: bool | None = None,
    ) -> ContextEncoderStepsOutput | tuple[Any, ...]:
        """Score each step; inputs as in `ContextEncoderModel.forward`.

        Args:
            labels: what `losses` of the head compares the scores with.
            logits_to_keep: so many of the last steps, or (K,) the places of any, that alone are scored; 0: all.

        Returns:
            `logits` (B, n, L), or (B, K, L) of the steps to keep. The loss is the mean over the targets, plus the
            weighed divergence of learned kernels divided by their number.

        Raises:
            ValueError: labels of another shape or type, other numbers, or beside `logits_to_keep`; more steps to keep
                than there are; see also `ContextEncoderModel.forward`.
        """
        kept = None
        if isinstance(logits_to_keep, torch.Tensor) or logits_to_keep:
            if labels is not None:
                raise ValueError("labels are compared with the scores of all steps; expected no logits_to_keep beside")
            steps = inputs_embeds if input_ids is None else input_ids
            kept = None if steps is None else kept_places(logits_to_keep, steps.size(1), steps.device)
        outputs = self.encoder(
            input_ids,
            attention_mask=attention_mask,
            inputs_embeds=inputs_embeds,
            timestamps=timestamps,
            state=state,
            use_cache=use_cache,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            steps_to_keep=kept,
            return_dict=True,
        )
        logits = self.scores(outputs.last_hidden_state)
        loss, penalty = None, None
        if labels is not None:
            loss, targets = self.losses(logits, labels, word_mask(logits, attention_mask))
            penalty = self.penalty(outputs, targets)
            if penalty is not None:
                loss = loss + penalty
        output = ContextEncoderStepsOutput(
            loss=loss,
            logits=logits,
            auxiliary_loss=penalty,
            kl=outputs.kl,
            state=outputs.state,
            attentions=outputs.attentions,
            hidden_states=outputs.hidden_states,
        )
        return output if self.wants_dict(return_dict) else output.to_tuple()


class ContextEncoderForTokenClassification(ContextEncoderStepsPreTrainedModel):
    """The encoder as a tagger: a linear layer scores the tags of each word; labels (B, n), -100 at words that do not
    count.
    """

    zoo_task = "token-classification"

    def __init__(self, config: ContextEncoderConfig) -> None:
        super().__init__(config)
        self.encoder = ContextEncoderModel(config)
        self.classifier = small_linear(config.hidden_size, config.num_labels)
        self.post_init()

    def scores(self, steps: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.classifier(steps)
        return logits

    def losses(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the cross-entropy of the tags in nats, and how many words count."""
        loss = token_classification_loss(logits, labels, mask)
        return loss, ((labels != IGNORED) & mask).sum().clamp(min=1)


class ContextEncoderForRegression(ContextEncoderStepsPreTrainedModel):
    """The encoder as a regression of rows on each other: `num_targets` numbers for each step.

    Labels are floats (B, n, num_targets), or (B, n) for one target, NaN where there is none; the loss is the mean
    squared error. Inputs and labels are scaled, as the config says; `predict` does so itself.
    """

    zoo_task = "regression"

    def __init__(self, config: ContextEncoderConfig) -> None:
        super().__init__(config)
        self.encoder = ContextEncoderModel(config)
        self.regressor = nn.Linear(config.hidden_size, config.num_targets)
        self.context: RowContext | None = None
        if config.num_context_rows:
            self.context = RowContext(config.num_context_rows, config.input_size)
        self.post_init()

    def scores(self, steps: torch.Tensor) -> torch.Tensor:
        predicted: torch.Tensor = self.regressor(steps)
        return predicted

    def losses(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean squared error, and how many numbers were predicted."""
        return squared_error(logits, labels, mask)

    @torch.no_grad()
    def predict(self, rows: torch.Tensor) -> torch.Tensor:
        """Return what is predicted for rows, in the unit of the target; the model is in evaluation mode meanwhile.

        The rows are read as one sequence, behind those of the training that the model keeps.

        Args:
            rows: (n, I) numbers in the units of the features.

        Returns:
            (n, num_targets) float32.

        Raises:
            ValueError: rows of another shape, or that are no finite numbers.
        """
        config = self.config
        if rows.dim() != 2 or rows.size(1) != config.input_size or rows.size(0) == 0:
            raise ValueError(
                f"rows of shape {tuple(rows.shape)}: expected (rows, {config.input_size}), one row or more"
            )
        if not bool(torch.isfinite(rows).all()):
            raise ValueError("rows hold a number that is missing or not finite; fill it in or leave the row out")
        offsets, scales = (
            rows.new_tensor(values, dtype=torch.float64) if values else torch.full((), otherwise, dtype=torch.float64)
            for values, otherwise in ((config.feature_offsets, 0.0), (config.feature_scales, 1.0))
        )
        x = ((rows.double() - offsets) / scales).to(self.device, self.dtype)
        number = len(x)
        if self.context is not None:
            x = torch.cat([self.context.rows.to(x.dtype), x])
        was_training = self.training
        self.eval()
        try:
            logits = self(inputs_embeds=x.unsqueeze(0), logits_to_keep=number, return_dict=True).logits[0]
        finally:
            self.train(was_training)
        predicted: torch.Tensor = logits.float() * config.target_scale + config.target_offset
        return predicted


class ContextEncoderNextStepPreTrainedModel(ContextEncoderStepsPreTrainedModel):
    """The base of the heads that predict what comes next.

    Labels (B, n) are what stands at each step, -100 at steps that are not predicted.
    """

    def __init__(self, config: ContextEncoderConfig) -> None:
        super().__init__(config)
        if not config.vocab_size:
            raise ValueError("vocab_size is 0: what comes next is one of several words or events")
        if not config.causal:
            raise ValueError("causal=False: a model of what comes next must not read what it predicts")

    def losses(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the cross-entropy in nats of what stands at the next position, and how often there is such."""
        has_next = F.pad(mask[:, 1:], (0, 1)) if mask.size(1) else mask
        following = labels.roll(-1, dims=-1)
        loss = token_classification_loss(logits, following, has_next)
        return loss, (has_next & (following != IGNORED)).sum().clamp(min=1)


class ContextEncoderForCausalLM(ContextEncoderNextStepPreTrainedModel, GenerationMixin):
    """The encoder as a language model: a softmax over the words for the next one. It streams, and `generate` works.

    The state that `use_cache` returns stands for all words before; a step of `generate` reads one word.
    """

    zoo_task = "language-modelling"

    def __init__(self, config: ContextEncoderConfig) -> None:
        super().__init__(config)
        self.encoder = ContextEncoderModel(config)
        self.lm_head: nn.Linear = small_linear(config.hidden_size, config.num_words)
        self.post_init()

    def scores(self, steps: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.lm_head(steps)
        return logits

    def get_output_embeddings(self) -> nn.Linear:
        return self.lm_head

    def set_output_embeddings(self, value: nn.Linear) -> None:
        self.lm_head = value

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False  # the state is a tuple of tensors

    def prepare_inputs_for_generation(
        self,
        input_ids: torch.Tensor,
        state: EncoderState | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return what a step of `generate` reads: the whole prompt, then with the state the last word alone.

        Raises:
            ValueError: prompts with padding.
        """
        if attention_mask is not None and not bool(boolean_mask(attention_mask).all()):
            raise ValueError("generate() needs prompts of one length, without padding; give them one at a time")
        inputs = {"state": state, "use_cache": use_cache, "logits_to_keep": logits_to_keep}
        if state is not None:
            return {"input_ids": input_ids[:, -1:], **inputs}
        if inputs_embeds is not None:
            return {"inputs_embeds": inputs_embeds, **inputs}
        return {"input_ids": input_ids, **inputs}

    def _reorder_cache(self, state: EncoderState, beam_idx: torch.Tensor) -> EncoderState:
        return tuple(tuple(each.index_select(0, beam_idx) for each in layer) for layer in state)


class ContextEncoderForNextEvent(ContextEncoderNextStepPreTrainedModel):
    """The encoder as a model of the next event of a history: scores of events from their own vectors."""

    zoo_task = "next-event"

    def __init__(self, config: ContextEncoderConfig) -> None:
        super().__init__(config)
        self.encoder = ContextEncoderModel(config)
        self.to_events: nn.Linear | None = None
        if config.word_dim != config.hidden_size:
            self.to_events = small_linear(config.hidden_size, config.word_dim, bias=False)
        self.post_init()

    def scores(self, steps: torch.Tensor) -> torch.Tensor:
        """Return the scores (B, n, V) of the events: products of a step and the vector of each event.

        Id 0, padding, is no event: its score is the lowest number.
        """
        words = self.get_input_embeddings()
        assert isinstance(words, nn.Embedding)
        vectors = words.weight[1:]
        logits = (steps if self.to_events is None else self.to_events(steps)) @ vectors.T
        return F.pad(logits, (1, 0), value=torch.finfo(logits.dtype).min)

    def losses(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the cross-entropy in nats of the event at the next position, and how often there is one.

        Raises:
            ValueError: labels of another shape or type, or that are no events (read on the CPU only).
        """
        checked = labels.shape == mask.shape and not (torch.compiler.is_compiling() or labels.is_cuda)
        if checked and bool((mask & (labels == 0)).any()):
            raise ValueError(
                f"label 0 is padding and none of the events 1..{self.config.vocab_size - 1}: give an attention_mask "
                f"that is 0 there, or the label {IGNORED}"
            )
        return super().losses(logits, labels, mask)

    def ids_of(self, history: Sequence[str | int]) -> list[int]:
        """Return the `input_ids` of events, which are called as in the data of the training; 10 and "10" are one name.

        Raises:
            ValueError: no events, or one that the model does not know.
        """
        return [row + 1 for row in rows_of_names(history, self.config.names(), "event")]

    @torch.no_grad()
    def next_events(
        self, history: Sequence[str | int], timestamps: Sequence[float], k: int | None = None
    ) -> list[tuple[str, float]]:
        """Return the k events that are likeliest to come after a history, the likeliest first.

        The model is in evaluation mode while it reads the last `max_history` events, as many as predictions of its
        training saw at most.

        Args:
            history: Names of events in the order of time, one or more; 10, as a number of any kind, is the event called
                "10". Events of a config without names are called "1" to `vocab_size` - 1.
            timestamps: A finite number for each, in the unit of the training data; they do not fall. Dates of the
                training were seconds since 1970; `ctxzoo.tasks.next_event.next_events` takes them as they are.
            k: Number of events; default: 10, or all where there are fewer.

        Returns:
            (name, probability) of each.

        Raises:
            ValueError: an empty history, an unknown event, other timestamps, or a k that cannot be.
        """
        ids, number = self.ids_of(history), self.config.vocab_size - 1
        if len(timestamps) != len(ids):
            raise ValueError(f"{len(timestamps)} timestamps of {len(ids)} events: expected as many")
        times = torch.tensor([[_number(time) for time in timestamps]], dtype=torch.float64)
        times = check_timestamps(times, torch.ones_like(times, dtype=torch.bool), ordered=True)
        k = min(TOP, number) if k is None else k
        if not 1 <= k <= number:
            raise ValueError(f"k={k}: expected 1 to {number}, the events that there are")
        was_training = self.training
        self.eval()
        try:
            inputs = {
                "input_ids": torch.tensor([ids[-self.config.max_history :]], device=self.device),
                "timestamps": times[:, -self.config.max_history :].to(self.device),
            }
            probabilities = self(**inputs, logits_to_keep=1, return_dict=True).logits[0, -1].float().softmax(dim=0)
        finally:
            self.train(was_training)
        likeliest = probabilities[1:].topk(k)
        events = likeliest.indices.tolist()
        names = [self.config.name_of(event + 1) for event in events]
        return list(zip(names, likeliest.values.tolist(), strict=True))


def _number(time: Any) -> float:
    """Return a time as a number.

    Raises:
        ValueError: text, a date or anything else that is no number.
    """
    try:
        if isinstance(time, (str, bytes, bool)):
            raise TypeError
        return float(time)
    except (TypeError, ValueError):
        raise ValueError(f"timestamps: {time!r} is no number; expected numbers, of dates seconds since 1970") from None


def _mean(terms: list[torch.Tensor | None]) -> torch.Tensor | None:
    """Return the mean over the layers; None where a layer has no such term."""
    known = _each(terms)
    return None if known is None else torch.stack(known).mean(dim=0)


def _each(values: list[torch.Tensor | None]) -> tuple[torch.Tensor, ...] | None:
    """Return what each layer has; None where one has no such thing."""
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else None


def _encoder_state(mask: torch.Tensor, read: torch.Tensor | None, results: list[AttentionAux]) -> EncoderState:
    count = mask.sum(dim=1)
    layers = []
    for aux in results:
        if aux.state is None:
            raise ValueError("this attention keeps no state of what it has read; use_cache must be False")
        layers.append(aux.state)
    return ((count if read is None else count + read,), *layers)
