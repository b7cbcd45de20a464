"""The registry: one call per architecture."""

from .configuration_bidaf import BidafConfig
from .modeling_bidaf import BidafForQuestionAnswering, BidafModel
from .pipeline_question_answering import QuestionAnsweringPipeline
from .registration import ARCHITECTURES, Architecture, register
from .tokenization_word_char import WordCharTokenizer

register(
    BidafConfig,
    tokenizer=WordCharTokenizer,
    pipelines={"question-answering": QuestionAnsweringPipeline},
    AutoModel=BidafModel,
    AutoModelForQuestionAnswering=BidafForQuestionAnswering,
)

__all__ = ["ARCHITECTURES", "Architecture", "register"]
