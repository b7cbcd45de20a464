"""The registry of the architectures: one call of `register` for each."""

from typing import Any

from .configuration_base import ZooConfig
from .configuration_beta_lstm import BetaLstmConfig
from .configuration_bidaf import BidafConfig
from .configuration_bilstm_tagger import BilstmTaggerConfig
from .configuration_contextualizer import ContextualizerConfig
from .configuration_hcrnn import HcrnnConfig
from .configuration_higher_order_encoder import HigherOrderEncoderConfig
from .configuration_kernel_encoder import KernelEncoderConfig
from .configuration_lama import LamaConfig
from .configuration_linear_encoder import LinearEncoderConfig
from .configuration_nipen import NipenConfig
from .configuration_session_baseline import SessionBaselineConfig
from .configuration_text_baseline import TextBaselineConfig
from .configuration_time_encoder import TimeEncoderConfig
from .configuration_vote_baseline import VoteBaselineConfig
from .configuration_word_embedding import WordEmbeddingConfig
from .old_names import ENCODER, current_fields
from .registration import ARCHITECTURES, Architecture, register, register_old
from .tokenization_word import WordTokenizer
from .tokenization_word_char import WordCharTokenizer


def _beta_lstm() -> dict[str, Any]:
    from .modeling_beta_lstm import (
        BetaLstmForCausalLM,
        BetaLstmForSequenceClassification,
        BetaLstmForTokenClassification,
        BetaLstmModel,
    )

    return {
        "AutoModel": BetaLstmModel,
        "AutoModelForSequenceClassification": BetaLstmForSequenceClassification,
        "AutoModelForTokenClassification": BetaLstmForTokenClassification,
        "AutoModelForCausalLM": BetaLstmForCausalLM,
    }


def _bidaf() -> dict[str, Any]:
    from .modeling_bidaf import BidafForQuestionAnswering, BidafModel

    return {"AutoModel": BidafModel, "AutoModelForQuestionAnswering": BidafForQuestionAnswering}


def _bilstm_tagger() -> dict[str, Any]:
    from .modeling_bilstm_tagger import BilstmTaggerForTokenClassification, BilstmTaggerModel

    return {"AutoModel": BilstmTaggerModel, "AutoModelForTokenClassification": BilstmTaggerForTokenClassification}


def _contextualizer() -> dict[str, Any]:
    from .modeling_contextualizer import ContextualizerForSequenceClassification, ContextualizerModel

    return {
        "AutoModel": ContextualizerModel,
        "AutoModelForSequenceClassification": ContextualizerForSequenceClassification,
    }


def _hcrnn() -> dict[str, Any]:
    from .modeling_hcrnn import HcrnnForNextItem, HcrnnModel

    return {"AutoModel": HcrnnModel, "HcrnnForNextItem": HcrnnForNextItem}


def _higher_order_encoder() -> dict[str, Any]:
    from .modeling_higher_order_encoder import (
        HigherOrderEncoderForCausalLM,
        HigherOrderEncoderForSequenceClassification,
        HigherOrderEncoderForTokenClassification,
        HigherOrderEncoderModel,
    )

    return {
        "AutoModel": HigherOrderEncoderModel,
        "AutoModelForSequenceClassification": HigherOrderEncoderForSequenceClassification,
        "AutoModelForTokenClassification": HigherOrderEncoderForTokenClassification,
        "AutoModelForCausalLM": HigherOrderEncoderForCausalLM,
    }


def _kernel_encoder() -> dict[str, Any]:
    from .modeling_kernel_encoder import (
        KernelEncoderForCausalLM,
        KernelEncoderForRegression,
        KernelEncoderForSequenceClassification,
        KernelEncoderForTokenClassification,
        KernelEncoderModel,
    )

    return {
        "AutoModel": KernelEncoderModel,
        "AutoModelForSequenceClassification": KernelEncoderForSequenceClassification,
        "AutoModelForTokenClassification": KernelEncoderForTokenClassification,
        "AutoModelForCausalLM": KernelEncoderForCausalLM,
        "KernelEncoderForRegression": KernelEncoderForRegression,
    }


def _lama() -> dict[str, Any]:
    from .modeling_lama import LamaForSequenceClassification, LamaModel

    return {"AutoModel": LamaModel, "AutoModelForSequenceClassification": LamaForSequenceClassification}


def _linear_encoder() -> dict[str, Any]:
    from .modeling_linear_encoder import (
        LinearEncoderForCausalLM,
        LinearEncoderForSequenceClassification,
        LinearEncoderForTokenClassification,
        LinearEncoderModel,
    )

    return {
        "AutoModel": LinearEncoderModel,
        "AutoModelForSequenceClassification": LinearEncoderForSequenceClassification,
        "AutoModelForTokenClassification": LinearEncoderForTokenClassification,
        "AutoModelForCausalLM": LinearEncoderForCausalLM,
    }


def _nipen() -> dict[str, Any]:
    from .modeling_nipen import NipenForVotePrediction

    return {"NipenForVotePrediction": NipenForVotePrediction}


def _session_baseline() -> dict[str, Any]:
    from .modeling_session_baseline import SessionBaselineForNextItem, SessionBaselineModel

    return {"AutoModel": SessionBaselineModel, "SessionBaselineForNextItem": SessionBaselineForNextItem}


def _text_baseline() -> dict[str, Any]:
    from .modeling_text_baseline import TextBaselineForSequenceClassification, TextBaselineModel

    return {"AutoModel": TextBaselineModel, "AutoModelForSequenceClassification": TextBaselineForSequenceClassification}


def _time_encoder() -> dict[str, Any]:
    from .modeling_time_encoder import (
        TimeEncoderForNextEvent,
        TimeEncoderModel,
    )

    return {
        "AutoModel": TimeEncoderModel,
        "TimeEncoderForNextEvent": TimeEncoderForNextEvent,
    }


def _vote_baseline() -> dict[str, Any]:
    from .modeling_vote_baseline import VoteBaselineForVotePrediction

    return {"VoteBaselineForVotePrediction": VoteBaselineForVotePrediction}


def _word_embedding() -> dict[str, Any]:
    from .modeling_word_embedding import WordEmbeddingForMaskedLM, WordEmbeddingModel

    return {"AutoModel": WordEmbeddingModel, "AutoModelForMaskedLM": WordEmbeddingForMaskedLM}


def _question_answering() -> dict[str, Any]:
    from .pipeline_question_answering import QuestionAnsweringPipeline

    return {"question-answering": QuestionAnsweringPipeline}


register(BetaLstmConfig, load=_beta_lstm, tokenizer=WordTokenizer)
register(BidafConfig, load=_bidaf, tokenizer=WordCharTokenizer, load_pipelines=_question_answering)
register(BilstmTaggerConfig, load=_bilstm_tagger, tokenizer=WordTokenizer)
register(ContextualizerConfig, load=_contextualizer, tokenizer=WordTokenizer)
register(HcrnnConfig, load=_hcrnn)
register(HigherOrderEncoderConfig, load=_higher_order_encoder, tokenizer=WordTokenizer)
register(KernelEncoderConfig, load=_kernel_encoder, tokenizer=WordTokenizer)
register(LamaConfig, load=_lama, tokenizer=WordTokenizer)
register(LinearEncoderConfig, load=_linear_encoder, tokenizer=WordTokenizer)
register(NipenConfig, load=_nipen)
register(SessionBaselineConfig, load=_session_baseline)
register(TextBaselineConfig, load=_text_baseline, tokenizer=WordTokenizer)
register(TimeEncoderConfig, load=_time_encoder)
register(VoteBaselineConfig, load=_vote_baseline)
register(WordEmbeddingConfig, load=_word_embedding, tokenizer=WordTokenizer)

ZooConfig.of_today = staticmethod(current_fields)
register_old(f"ctxzoo_{ENCODER}", current_fields)

__all__ = ["ARCHITECTURES", "Architecture", "register"]
