"""Layers of the models, to build with: in an `nn.Module` of your own, or as parts of sentence-transformers.

A tensor `x` is (B, n, width), and a mask boolean or of 0 and 1, (B, n), true at real tokens; None: all are.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors.torch import load_model, save_model
from torch import nn

from ctxzoo.models.layers_beta_lstm import BetaLSTM
from ctxzoo.models.layers_contextualizer import Contextualizer
from ctxzoo.models.layers_encoder import MultiHeadAttention
from ctxzoo.models.layers_higher_order_encoder import HigherOrderAttention
from ctxzoo.models.layers_kernel_encoder import ImplicitKernelAttention, SpectralDensity, initial_frequency_variance
from ctxzoo.models.layers_linear_encoder import EfficientAttention
from ctxzoo.models.modeling_lama import LearnedContext, LowRankAttention
from ctxzoo.models.ops_inputs import to_boolean_mask
from ctxzoo.models.ops_words import masked_mean

__all__ = [
    "BetaLSTM",
    "HigherOrderSelfAttention",
    "KernelSelfAttention",
    "LamaPooling",
    "LinearSelfAttention",
    "SecondOrderPooling",
    "SentencePooling",
]


class LamaPooling(nn.Module):
    """LAMA's attention as pooling (Mehta et al. 2019): each of m heads gives a weighted sum of the tokens.

    Args:
        width: Width D of the tokens.
        num_heads: Number of heads m.
        rank: Rank of each head's bilinear form.
        context: Vector that tokens are compared with: "learned", one for all texts, or "mean", that of the tokens.
        l2_normalize: Whether each token's logits are scaled to length 1 over the heads; one head never learns with it.
        logit_scale: Factor of the logits.

    Raises:
        ValueError: another context.
    """

    def __init__(
        self,
        width: int,
        num_heads: int = 4,
        *,
        rank: int = 1,
        context: str = "learned",
        l2_normalize: bool = False,
        logit_scale: float = 1.0,
    ) -> None:
        """Build the attention of `num_heads` heads, and the learned context if there is one."""
        super().__init__()
        if context not in ("learned", "mean"):
            raise ValueError(f"context={context!r}: expected learned or mean")
        self.output_size = num_heads * width
        self.context = LearnedContext(width) if context == "learned" else None
        self.attention = LowRankAttention(width, num_heads, rank, l2_normalize=l2_normalize, logit_scale=logit_scale)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return the weighted sums of all heads side by side, (B, m D); 0 for a text without tokens."""
        mask = _make_mask(x, mask)
        context = masked_mean(x, mask)[0] if self.context is None else self.context.vector.to(x.dtype)
        sums: torch.Tensor = self.attention(x, context, mask)[0]  # (B, m, D)
        return sums.flatten(1)


class SecondOrderPooling(nn.Module):
    """The Contextualizer's second-order attention as pooling (Maupomé and Meurs 2021): a context, corrected K times.

    Args:
        width: Width m of the tokens.
        rank: Rank u of the third-order tensor.
        num_steps: Number K of steps, from a context of ones.
        recurrent: Whether all steps share their weights.
    """

    def __init__(self, width: int, rank: int = 16, *, num_steps: int = 2, recurrent: bool = False) -> None:
        """Build the steps that correct the context."""
        super().__init__()
        self.output_size = width
        self.contextualizer = Contextualizer(width, rank, num_steps, recurrent)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return the last context, (B, m); 0 for a text without tokens."""
        start = x.new_ones(len(x), x.size(2))
        contexts, _ = self.contextualizer(x, _make_mask(x, mask), start)
        last: torch.Tensor = contexts[-1]
        return last


class _SelfAttention(MultiHeadAttention):
    """Linear maps to queries, keys and values, a way to attend, and a linear map, as in `nn.MultiheadAttention`."""

    def forward(  # type: ignore[override]
        self, x: torch.Tensor, mask: torch.Tensor | None = None, causal: bool = False
    ) -> torch.Tensor:
        """Return the tokens as they attend to each other, (B, n, width), in training with dropout where it has some.

        Args:
            x: (B, n, width) tokens.
            mask: (B, n) mask, true at real tokens; None: all are.
            causal: Whether a token sees none that come behind it.
        """
        return super().forward(x, _make_mask(x, mask), causal)[0]


class LinearSelfAttention(_SelfAttention):
    """Self-attention in linear time, by features of queries and keys (Choromanski et al. 2021).

    Args:
        width: Width of the tokens, a multiple of `num_heads`.
        num_heads: Number of heads.
        options: Options of the attention, such as feature_map ("favor", "learned", "elu" …), num_features and seed.

    Raises:
        ValueError: a width that the heads do not divide, or an option out of its range.
    """

    def __init__(self, width: int, num_heads: int, **options: Any) -> None:
        """Build the attention; `options` are those of `EfficientAttention`."""
        super().__init__(width, num_heads, EfficientAttention(num_heads, _head_size(width, num_heads), **options))


class HigherOrderSelfAttention(_SelfAttention):
    """Self-attention of higher order, to pairs of tokens or modulated by a context.

    Args:
        width: Width of the tokens, a multiple of `num_heads`.
        num_heads: Number of heads.
        options: Options of the attention, such as order_type ("contextual", "trilinear", "factorised" …) and window.

    Raises:
        ValueError: a width that the heads do not divide, or an option out of its range.
    """

    def __init__(self, width: int, num_heads: int, **options: Any) -> None:
        """Build the attention; `options` are those of `HigherOrderAttention`."""
        attention = HigherOrderAttention(num_heads, _head_size(width, num_heads), width, **options)
        super().__init__(width, num_heads, attention)


class KernelSelfAttention(_SelfAttention):
    """Self-attention by a kernel that is learned of each text, whose frequencies are drawn (Song et al. 2021).

    Args:
        width: Width of the tokens, a multiple of `num_heads`.
        num_heads: Number of heads.
        num_features: Number of frequencies, even.
        p_norm: Exponent of the importance of keys.
        copula: Whether the noise of the heads is joined (MIKAN).

    Raises:
        ValueError: a width that the heads do not divide, an odd number of frequencies, an exponent that is none.
    """

    def __init__(
        self, width: int, num_heads: int, *, num_features: int = 64, p_norm: float = 2.0, copula: bool = False
    ) -> None:
        """Build the attention with a learned density of frequencies for each head."""
        head_size = _head_size(width, num_heads)
        scale = math.sqrt(head_size)
        start = initial_frequency_variance(scale)
        density = SpectralDensity(num_heads, head_size, num_features, start_variance=start, copula=copula)
        super().__init__(width, num_heads, ImplicitKernelAttention(density, scale, p_norm))


class SentencePooling(nn.Module):
    """A pooling of this file as a part of sentence-transformers, behind its `Transformer`.

    It reads `token_embeddings` and `attention_mask`, and gives `sentence_embedding`. `SentenceTransformer` saves it
    with its weights, and loads it where trust_remote_code=True lets it import classes of this package.

    Args:
        width: Width of the tokens, that of the model before.
        pooling: Name of the pooling, "LamaPooling" or "SecondOrderPooling".
        options: Options of the pooling, such as num_heads.

    Raises:
        ValueError: another name.
    """

    save_in_root: ClassVar[bool] = False
    kinds: ClassVar[dict[str, type[nn.Module]]] = {one.__name__: one for one in (LamaPooling, SecondOrderPooling)}

    def __init__(self, width: int, pooling: str = "LamaPooling", **options: Any) -> None:
        """Build the pooling that is named; `options` are its arguments beside the width."""
        super().__init__()
        if pooling not in self.kinds:
            raise ValueError(f"pooling={pooling!r}: expected one of {', '.join(self.kinds)}")
        self.settings = {"width": width, "pooling": pooling, **options}
        self.pooling: Any = self.kinds[pooling](width, **options)

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the features with `sentence_embedding` (B, d) beside them."""
        found = self.pooling(features["token_embeddings"], features.get("attention_mask"))
        return {**features, "sentence_embedding": found}

    def get_embedding_dimension(self) -> int:
        """Return the width of a sentence's vector."""
        width: int = self.pooling.output_size
        return width

    get_sentence_embedding_dimension = get_embedding_dimension  # as earlier versions ask for it

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Write settings and weights into a folder."""
        Path(output_path, "config.json").write_text(json.dumps(self.settings), encoding="utf-8")
        save_model(self, str(Path(output_path, "model.safetensors")))

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **_: Any) -> SentencePooling:
        """Load what `save` wrote into a folder on this machine, and return it.

        Raises:
            OSError: there is no such folder.
        """
        folder = Path(model_name_or_path, subfolder)
        found = cls(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
        load_model(found, str(folder / "model.safetensors"))
        return found


def _make_mask(x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Return a boolean mask (B, n) for tokens (B, n, width): `mask` after a check of its shape, or all true.

    Raises:
        ValueError: tokens or mask of another shape.
    """
    if x.dim() != 3:
        raise ValueError(f"x has the shape {tuple(x.shape)}; expected (texts, tokens, width)")
    if mask is None:
        return torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
    if mask.shape != x.shape[:2]:
        raise ValueError(f"mask has the shape {tuple(mask.shape)}; expected {tuple(x.shape[:2])}, that of the tokens")
    return to_boolean_mask(mask, "mask")


def _head_size(width: int, num_heads: int) -> int:
    """Return the width of one head; raise ValueError if the heads do not divide the width."""
    if num_heads < 1 or width % num_heads:
        raise ValueError(f"width={width} is no multiple of num_heads={num_heads}; choose one that is")
    return width // num_heads
