"""The configuration of the kernel encoder: which kernel compares queries and keys, and the sizes."""

from types import MappingProxyType
from typing import Any, Literal

from huggingface_hub.dataclasses import strict

from .configuration_encoder import TextEncoderConfig

LEARNED = ("ika", "ikan", "mikan")


@strict
class KernelEncoderConfig(TextEncoderConfig):
    """Attention as a kernel: the similarity of query and key times the importance of the key (Song et al. 2021).

    Args:
        attention: Attention: dot, scaled dot products; rbf, a fixed kernel; ika, a learned kernel with L2 importance;
            ikan, with L^p importance; mikan, ikan with heads joined by a copula.
        kernel: Source of the frequencies of ika and ikan: "direct", parameters; "implicit", draws from a density that a
            network computes. mikan is always implicit.
        p_norm: Exponent p of the keys' importance, for kernels other than ika (which has 2).
        num_features: Number M of frequencies of a learned kernel; None: 64.
        kernel_gate: Whether a learned kernel starts as dot products (exactly so with p_norm 2): a gate for each head, 0
            at the start, leads from the RBF kernel to the learned one; see `KernelAttention`.
        kl_lambda: Weight in the loss of the divergence of the frequencies from their prior, in nats per number of a
            frequency.
        attention_dropout: Dropout rate on the attention weights.
        memory_length: Largest number of earlier keys in a cached state; 0: no limit.
        feature_names: Names of the I features of a regression; None: they have no names.
        target_name: Name of the target of a regression.
        num_context_rows: Number of training rows that a regression model stores and attends to when it predicts.
        interval_errors: Sorted absolute errors of a regression on validation rows, in the unit of the target, from
            which prediction intervals follow; None: there are none.
    """

    model_type = "ctxzoo_kernel_encoder"
    variants = MappingProxyType(
        {
            "dot": {"attention": "dot"},
            "ika": {"attention": "ika"},
            "ikan": {"attention": "ikan", "kernel": "direct", "p_norm": 1.8},
            "mikan": {"attention": "mikan", "p_norm": 1.8},
        }
    )

    position: Literal["none", "sinusoidal", "rotary"] = "sinusoidal"
    attention: Literal["dot", "rbf", "ika", "ikan", "mikan"] = "dot"
    kernel: Literal["direct", "implicit"] = "implicit"
    p_norm: float | int = 2.0
    num_features: int | None = None
    kernel_gate: bool = False
    kl_lambda: float | int = 0.1
    attention_dropout: float | int = 0.0
    memory_length: int = 0
    feature_names: list[str] | None = None
    target_name: str = "target"
    num_context_rows: int = 0
    interval_errors: list[float] | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        """Take `row_scaling` of old configurations out of the fields and keep it as an attribute."""
        # Offsets and scales of a regression, which configurations of earlier versions hold: for `RowScaling` alone.
        self.row_scaling = kwargs.pop("row_scaling", None)
        super().__post_init__(**kwargs)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields but `row_scaling`, which only configurations of earlier versions hold."""
        fields: dict[str, Any] = super().to_dict()
        fields.pop("row_scaling", None)
        return fields

    def validate_attention(self) -> None:
        """Check the dropout rate of the weights and the length of the memory."""
        self.check_dropout_rates("attention_dropout")
        self.check_not_negative("memory_length")

    def validate_kernel(self) -> None:
        """Check the fields of the kernel and of the importance.

        Raises:
            ValueError: a p_norm that is not above 0, a negative weight, no feature, or an odd number of frequencies,
                of which one half mirrors the other.
        """
        if not self.p_norm > 0:
            raise ValueError(f"p_norm must be above 0, got {self.p_norm}")
        self.check_not_negative("kl_lambda")
        if self.kernel_gate and self.attention not in LEARNED:
            raise ValueError(
                f"kernel_gate=True with attention={self.attention!r}, which learns no kernel; expected ika, ikan or "
                "mikan"
            )
        if self.attention == "mikan" and self.kernel == "direct":
            raise ValueError("kernel='direct' with attention='mikan', which draws its frequencies; set 'implicit'")
        if self.num_features is not None and self.num_features < 1:
            raise ValueError(f"num_features must be at least 1, got {self.num_features}")
        if self.attention in LEARNED and (self.num_features or 0) % 2:
            raise ValueError(
                f"num_features must be even with attention={self.attention!r}: one half of the frequencies mirrors the "
                f"other; got {self.num_features}"
            )

    def validate_rows(self) -> None:
        """Check the fields that describe the rows of a regression.

        Raises:
            ValueError: another number of names than `input_size`, a negative number of rows, or errors that are not
                sorted or below 0.
        """
        self.check_names("feature_names", f"input_size is {self.input_size}", self.input_size, unique=False)
        self.check_not_negative("num_context_rows")
        errors = self.interval_errors or []
        if errors != sorted(errors) or (errors and errors[0] < 0):
            raise ValueError("interval_errors must be sorted and 0 or more, as `select_interval_errors` gives them")
