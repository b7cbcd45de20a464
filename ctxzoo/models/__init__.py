"""The registry: one call per architecture."""

from .configuration_bidaf import BidafConfig
from .modeling_bidaf import BidafForQuestionAnswering, BidafModel
from .registration import ARCHITECTURES, Architecture, register

register(BidafConfig, AutoModel=BidafModel, AutoModelForQuestionAnswering=BidafForQuestionAnswering)

__all__ = ["ARCHITECTURES", "Architecture", "register"]
