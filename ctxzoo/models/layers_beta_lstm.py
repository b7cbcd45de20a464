"""`BetaLSTM`, a layer in the place of `nn.LSTM` whose gates may be drawn."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, get_args

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence
from transformers import initialization as init

from .layers_beta_lstm_gates import Encoding, State, reverse_steps
from .ops_beta_lstm_gates import CELLS, Gating, draw_gumbel_noise, draw_log_uniform, draw_noisin_scale
from .ops_beta_lstm_steps import StepsImplementation, run_recurrent_steps
from .ops_execution import disable_autocast, dropout, refuse_jit_trace
from .ops_inputs import check_mask_without_gaps, to_boolean_mask

GateSampling = Literal["auto", "mean", "sample"]


class BetaLSTM(nn.Module):
    """An LSTM of one of several cells, with `nn.LSTM`'s calling convention.

    Weights have `nn.LSTM`'s names and shapes, but for the blocks, which are those of the cell, and a single bias. A
    second direction is a stack of its own: its layers read its own states, from the last real step to the first.

    Args:
        input_size: Number I of features of each input step.
        hidden_size: Number H of units of each layer and direction.
        num_layers: Number of layers, each over the whole sequence; default: 1.
        cell: Name of the cell, one of `CELLS`, see `BetaLstmConfig`; default: bibeta5.
        bias: Whether the layers have a bias; default: True.
        batch_first: Whether tensors are (B, n, ...) and not (n, B, ...); default: False.
        bidirectional: Whether a second stack reads from the end; default: False.
        dropout: Rate of locked dropout behind each layer, the last included, with one mask for all steps of a
            sequence; default: 0.
        proj_size: 0, since states are not projected.
        device, dtype: Device and type of the parameters; default: those of torch.
        weight_dropout: Rate at which recurrent weights are left out for a whole sequence; default: 0.
        gate_eps: Number that is added to the parameters of the gates' distributions, and to Gamma draws; default:
            0.001.
        gate_sampling: How gates are made: "sample", drawn; "mean", their means; "auto", the default, drawn in training
            only. The noise of g2 and noisin follows it too.
        gamma_prior: Shape of the Gamma prior: one number, or one for each Gamma variable of a unit; default: 0.5.


    Raises:
        ValueError: an unknown cell, a size below 1, a rate outside [0, 1), eps outside (0, 1), shapes that are not
            above 0 or of another number, a projection.
    """

    # How steps are run, see `run_recurrent_steps`: to be set on a layer, and kept in no configuration.
    implementation: StepsImplementation = "auto"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        cell: str = "bibeta5",
        bias: bool = True,
        batch_first: bool = False,
        bidirectional: bool = False,
        dropout: float = 0.0,
        proj_size: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        weight_dropout: float = 0.0,
        gate_eps: float = 1e-3,
        gate_sampling: GateSampling = "auto",
        gamma_prior: float | Sequence[float] = 0.5,
    ) -> None:
        super().__init__()
        if proj_size:
            raise ValueError(f"proj_size={proj_size}: the states of a BetaLSTM are not projected; set 0")
        _check_choice("cell", cell, tuple(CELLS))
        _check_choice("gate_sampling", gate_sampling, get_args(GateSampling))
        _check_sizes_and_rates(input_size, hidden_size, num_layers, dropout, weight_dropout, gate_eps)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.cell = cell
        self.batch_first, self.bidirectional = batch_first, bidirectional
        self.dropout, self.weight_dropout = float(dropout), float(weight_dropout)
        self.gate_eps = float(gate_eps)
        self.gate_sampling: GateSampling = gate_sampling
        self.generator: torch.Generator | None = None
        self.prior = _expand_prior(gamma_prior, CELLS[cell].blocks if CELLS[cell].has_gamma_gates else 0)
        self.ends = ("", "_reverse") if bidirectional else ("",)  # of the names of the weights of each direction
        rows = (CELLS[cell].blocks + 2) * hidden_size  # the blocks of the gates, then those of o and g
        for layer in range(num_layers):
            width = hidden_size if layer else input_size
            for end in self.ends:
                shapes = {
                    "weight_ih": (rows, width),
                    "weight_hh": (rows, hidden_size),
                    "bias": (rows,) if bias else None,
                }
                for name, shape in shapes.items():
                    empty = None if shape is None else nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
                    self.register_parameter(f"{name}_l{layer}{end}", empty)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw every parameter, the bias too, from U(-1/sqrt(H), 1/sqrt(H))."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    @classmethod
    def from_lstm(cls, lstm: nn.LSTM, cell: str = "lstm", **options: Any) -> "BetaLSTM":
        """Return a layer that goes on from the weights of an `nn.LSTM`; with the cell "lstm" it gives the same numbers.

        Args:
            lstm: `nn.LSTM` whose weights are copied, of any size, with one direction or two.
            cell: Name of the new cell, one with an LSTM's gates: lstm, or noisin, which is the same in evaluation.
            options: Further arguments of `BetaLSTM`, by name.

        Raises:
            ValueError: a cell whose gates have other blocks; projected states, dropout, which `nn.LSTM` does otherwise,
                or several layers of two directions, which it mixes.
        """
        if cell not in ("lstm", "noisin"):
            raise ValueError(f"cell {cell!r} has other gates than nn.LSTM; expected lstm or noisin")
        if lstm.dropout:
            raise ValueError(
                f"an nn.LSTM with dropout={lstm.dropout}, which a BetaLSTM drops otherwise (one mask for all steps): "
                "set lstm.dropout = 0, and give dropout= here"
            )
        _check_single_direction(lstm.num_layers, lstm.bidirectional)
        weight: Any = lstm.weight_ih_l0
        layer = cls(
            lstm.input_size,
            lstm.hidden_size,
            lstm.num_layers,
            cell=cell,
            bias=lstm.bias,
            batch_first=lstm.batch_first,
            bidirectional=lstm.bidirectional,
            proj_size=lstm.proj_size,
            device=weight.device,
            dtype=weight.dtype,
            **options,
        )
        with torch.no_grad():
            for name, parameter in layer.named_parameters():
                kind, _, end = name.partition("_l")
                sources = ("bias_ih", "bias_hh") if kind == "bias" else (kind,)
                # nn.LSTM has the blocks in the order i, f, g, o, and its two biases are added up.
                i, f, g, o = sum(getattr(lstm, f"{each}_l{end}") for each in sources).chunk(4)
                parameter.copy_(torch.cat([f, i, o, g]))
        return layer.train(lstm.training)

    def to_lstm(self) -> nn.LSTM:
        """Return an `nn.LSTM` with the outputs of this layer without draws; its second bias is 0.

        Raises:
            ValueError: a cell that is no LSTM without draws; dropout; or several layers of two directions.
        """
        if self.cell not in ("lstm", "noisin") or self.dropout or self.weight_dropout:
            raise ValueError(
                f"cell {self.cell!r}, dropout={self.dropout}, weight_dropout={self.weight_dropout}: expected lstm or "
                "noisin, and rates of 0, as nn.LSTM has no others"
            )
        _check_single_direction(self.num_layers, self.bidirectional)
        weight: Any = self.weight_ih_l0
        lstm = nn.LSTM(
            self.input_size,
            self.hidden_size,
            self.num_layers,
            bias=self.bias_l0 is not None,
            batch_first=self.batch_first,
            bidirectional=self.bidirectional,
            device=weight.device,
            dtype=weight.dtype,
        )
        with torch.no_grad():
            for name, parameter in lstm.named_parameters():
                kind, _, end = name.partition("_l")
                if kind == "bias_hh":
                    parameter.zero_()
                    continue
                f, i, o, g = getattr(self, f"{kind.replace('bias_ih', 'bias')}_l{end}").chunk(4)
                parameter.copy_(torch.cat([i, f, g, o]))
        return lstm.train(self.training)

    @property
    def samples_gates(self) -> bool:
        """Whether the next pass draws the gates, or the noise, that the cell can draw."""
        return self.gate_sampling == "sample" or (self.gate_sampling == "auto" and self.training)

    @contextmanager
    def gate_sampling_mode(self, mode: GateSampling, generator: torch.Generator | None = None) -> Iterator[None]:
        """Set how gates are made, and the generator of their draws, within a `with` block."""
        before = self.gate_sampling, self.generator
        self.gate_sampling, self.generator = mode, generator
        try:
            yield
        finally:
            self.gate_sampling, self.generator = before

    def forward(
        self, x: torch.Tensor | PackedSequence, state: State | None = None, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor | PackedSequence, State]:
        """Read a batch of sequences, as `nn.LSTM` does.

        Args:
            x: Sequences of floats, (n, B, I), or (B, n, I) with `batch_first`; (n, I) for one sequence; or a
                PackedSequence.
            state: First states h_0 and c_0, (num_layers, B, H) each, twice as many with two directions; default: 0.
            mask: Real steps of tensors, (B, n) boolean or 0 and 1, before those of padding; default: all are real.

        Returns:
            The output of the last layer in the form of x, and the state behind the last real step.

        Raises:
            ValueError: x of another shape or type, or with values that are not finite; a state or mask of another
                shape; a real step after padding.
        """
        if isinstance(x, PackedSequence):
            if mask is not None:
                raise ValueError("mask was given with a PackedSequence, which has its own lengths; give one of them")
            return self._encode_packed(x, state)
        if x.dim() == 2:
            one_state = None if state is None else (state[0].unsqueeze(1), state[1].unsqueeze(1))
            encoding = self.encode(x.unsqueeze(0), one_state, None if mask is None else mask.view(1, -1))
            hidden, memory = encoding.state
            return encoding.outputs[-1].squeeze(0), (hidden.squeeze(1), memory.squeeze(1))
        encoding = self.encode(x if self.batch_first else x.transpose(0, 1), state, mask)
        output = encoding.outputs[-1]
        return output if self.batch_first else output.transpose(0, 1), encoding.state

    def _encode_packed(self, x: PackedSequence, state: State | None) -> tuple[PackedSequence, State]:
        """Return the last layer's states, packed as `x` is, and h and c behind the last step of each sequence."""
        padded, lengths = pad_packed_sequence(x, batch_first=True)
        mask = torch.arange(padded.size(1)) < lengths.unsqueeze(1)  # (B, n)
        encoding = self.encode(padded, state, mask.to(padded.device))
        output, order = encoding.outputs[-1], x.sorted_indices
        # The padded rows are in the order of the caller; packed ones stand longest first.
        if order is not None:
            output, lengths = output.index_select(0, order), lengths[order.cpu()]
        packed = pack_padded_sequence(output, lengths, batch_first=True)
        return PackedSequence(packed.data, packed.batch_sizes, order, x.unsorted_indices), encoding.state

    def encode(self, x: torch.Tensor, state: State | None = None, mask: torch.Tensor | None = None) -> Encoding:
        """Encode x (B, n, I); return outputs, states and gates together; see `forward` for state, mask and errors."""
        refuse_jit_trace("BetaLSTM")
        mask, lengths = self._check_input(x, state, mask)
        if mask is not None:
            # Not a product: what a caller has left at padding may be no number.
            x = torch.where(mask.unsqueeze(-1), x, x.new_zeros(()))
        # Not on a GPU, which would wait until the value is read, nor in a traced program, which cannot branch on it.
        if not (torch.compiler.is_compiling() or x.is_cuda or bool(x.isfinite().all())):
            raise ValueError("the input of the BetaLSTM holds a value that is not finite")
        stacks = [self._run_direction(x, lengths, state, direction) for direction in range(len(self.ends))]
        outputs = []
        for directions in zip(*(stack[0] for stack in stacks), strict=True):
            output = torch.cat(directions, dim=-1)  # (B, n, H), or 2H of two directions
            outputs.append(output if mask is None else output * mask.unsqueeze(-1))
        # Layer by layer, the directions of each one after the other, as nn.LSTM has them.
        hidden, memory = (
            torch.stack(
                [values for directions in zip(*(stack[k] for stack in stacks), strict=True) for values in directions]
            )
            for k in (1, 2)
        )
        gates = [values for directions in zip(*(stack[3] for stack in stacks), strict=True) for values in directions]
        return Encoding(
            outputs, (hidden, memory), gates, mask, self.cell, self.gate_eps, tuple(self.prior), len(self.ends)
        )

    def _run_direction(
        self, x: torch.Tensor, lengths: torch.Tensor | None, state: State | None, direction: int
    ) -> tuple[list[torch.Tensor], list[torch.Tensor], list[torch.Tensor], list[torch.Tensor]]:
        """Run all layers over x (B, n, I) in one direction; return outputs, in the order of x, end states and gates."""
        outputs, hiddens, memories, gates = [], [], [], []
        x = reverse_steps(x, lengths) if direction else x
        for layer in range(self.num_layers):
            row = layer * len(self.ends) + direction
            initial = None if state is None else (state[0][row], state[1][row])
            x, hidden, memory, layer_gates = self._run_layer(x, f"_l{layer}{self.ends[direction]}", lengths, initial)
            outputs.append(reverse_steps(x, lengths) if direction else x)
            hiddens.append(hidden)
            memories.append(memory)
            gates.append(layer_gates)
        return outputs, hiddens, memories, gates

    def _run_layer(
        self, x: torch.Tensor, suffix: str, lengths: torch.Tensor | None, state: State | None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Run a layer from left to right; return its output (B, n, H), last h and c, and the gates' pre-activations."""
        # Attributes: in place of parameters there may be tensors, of weights that are normed, pruned, or an argument.
        weight_ih, weight_hh, bias = (getattr(self, f"{name}{suffix}") for name in ("weight_ih", "weight_hh", "bias"))
        size, kind = self.hidden_size, x.dtype
        inputs = F.linear(x.transpose(0, 1), weight_ih, bias)  # (n, B, G H), for all steps at once
        wide = torch.promote_types(inputs.dtype, torch.float32)
        with disable_autocast(x.device):
            inputs = inputs.to(wide).reshape(*inputs.shape[:2], CELLS[self.cell].blocks + 2, size)  # (n, B, G, H)
            if state is None:
                # Two tensors: a scan that carries the same one twice gives wrong values.
                hidden, memory = inputs.new_zeros(2, x.size(0), size).unbind(0)
            else:
                hidden, memory = state[0].to(wide), state[1].to(wide)
            inputs, noise, scale = self._draw_noise(inputs)
            gating = Gating(
                self.cell, self.gate_eps, self.samples_gates and CELLS[self.cell].has_gamma_gates, self.generator
            )
            # Weights are left out once for all steps of the batch, not anew at each.
            weight = dropout(weight_hh, self.weight_dropout, training=self.training).to(wide)
            states, memories, gates = run_recurrent_steps(
                inputs, weight, hidden, memory, gating, noise, scale, self.implementation
            )
            hidden, memory = _select_last_step(hidden, states, lengths), _select_last_step(memory, memories, lengths)
            output = states.transpose(0, 1)  # (B, n, H)
            if self.training and self.dropout:
                # One mask for all steps of a sequence: locked dropout.
                output = output * dropout(output.new_ones(x.size(0), 1, size), self.dropout, training=True)
        return output.to(kind), hidden.to(kind), memory.to(kind), gates

    def _draw_noise(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        """Return the inputs (n, B, G, H) of a layer, noise of its gates or None, and factors of its states or None."""
        if not self.samples_gates:
            return inputs, None, None
        length, batch, _, size = inputs.shape
        if self.cell == "g2":
            noise = draw_gumbel_noise((length, batch, 2, size), inputs, self.generator)
            # The first two blocks, f and i, have noise; o and g have none.
            return torch.cat([inputs[:, :, :2] + noise, inputs[:, :, 2:]], dim=2), None, None
        if self.cell == "noisin":
            return inputs, None, draw_noisin_scale((length, batch, size), inputs, self.generator)
        if self.cell == "kumaraswamy":
            return inputs, draw_log_uniform((length, batch, 2, size), inputs, self.generator), None
        return inputs, None, None

    def extra_repr(self) -> str:
        """Name sizes and cell where the module is printed."""
        return f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}, cell={self.cell!r}"

    def _check_input(
        self, x: torch.Tensor, state: State | None, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the mask as booleans and the number of real steps of each sequence, or None and None."""
        if x.dim() != 3 or x.size(2) != self.input_size or not x.is_floating_point():
            raise ValueError(
                f"input of shape {tuple(x.shape)} and type {x.dtype}: expected sequences of {self.input_size} numbers "
                "a step, as floats"
            )
        batch = x.size(0)
        if state is not None:
            expected = (self.num_layers * len(self.ends), batch, self.hidden_size)
            for name, value in zip(("h_0", "c_0"), state, strict=True):
                if tuple(value.shape) != expected:
                    raise ValueError(f"{name} has shape {tuple(value.shape)}; expected {expected}")
        if mask is None:
            return None, None
        if mask.shape != x.shape[:2]:
            raise ValueError(f"mask has shape {tuple(mask.shape)}; expected {tuple(x.shape[:2])}, (batch, steps)")
        mask = to_boolean_mask(mask, "mask")
        check_mask_without_gaps(mask)
        return mask, mask.sum(dim=1)


def _select_last_step(initial: torch.Tensor, steps: torch.Tensor, lengths: torch.Tensor | None) -> torch.Tensor:
    """Return the value after the last real step, (B, H), of steps (n, B, H); the initial value without steps."""
    if lengths is None:
        return steps[-1] if steps.size(0) else initial
    # The initial value stands in front: a sequence without a real step finds it at place 0.
    both = torch.cat([initial.unsqueeze(0), steps])  # (n + 1, B, H)
    return both.gather(0, lengths.view(1, -1, 1).expand(1, -1, both.size(2))).squeeze(0)


def _check_single_direction(num_layers: int, bidirectional: bool) -> None:
    """Raise ValueError for several layers of two directions, as `nn.LSTM` connects those otherwise."""
    if num_layers > 1 and bidirectional:
        raise ValueError(
            f"{num_layers} layers of two directions: those of nn.LSTM read both directions below, those of a BetaLSTM "
            "their own; the weights of one are none of the other"
        )


def _check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise ValueError unless `value`, of the argument `name`, is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def _check_sizes_and_rates(
    input_size: int, hidden_size: int, num_layers: int, dropout: float, weight_dropout: float, gate_eps: float
) -> None:
    """Raise ValueError for a size below 1, or a rate or `gate_eps` out of bounds."""
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")
    for name, rate in (("dropout", dropout), ("weight_dropout", weight_dropout)):
        if not 0 <= rate < 1:
            raise ValueError(f"{name} must be at least 0 and below 1, got {rate}")
    if not 0 < gate_eps < 1:
        raise ValueError(f"gate_eps must be above 0 and below 1, got {gate_eps}")


def _expand_prior(prior: float | Sequence[float], num_gammas: int) -> list[float]:
    """Return the shapes of the prior as a list of one for each of `num_gammas` Gamma variables, checked."""
    shapes = num_gammas * [float(prior)] if isinstance(prior, (int, float)) else [float(shape) for shape in prior]
    if len(shapes) != num_gammas:
        raise ValueError(f"gamma_prior has {len(shapes)} shapes; expected {num_gammas}, one for each Gamma variable")
    if not all(0 < shape < math.inf for shape in [*shapes, *([prior] if isinstance(prior, (int, float)) else [])]):
        raise ValueError(f"gamma_prior must be above 0 and finite, got {prior}")
    return shapes
