"""The registry of the architectures: one call of `register_architecture` for each."""

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
from .old_names import ENCODER, convert_config_fields
from .registration import ARCHITECTURES, Architecture, register_architecture, register_old_model_type
from .tokenization_word import WordTokenizer
from .tokenization_word_char import WordCharTokenizer


def _load_beta_lstm_classes() -> dict[str, Any]:
    """Import the model classes of the Beta-LSTM and return them by the names of their Auto classes."""
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


def _load_bidaf_classes() -> dict[str, Any]:
    """Import the model classes of BiDAF and return them by the names of their Auto classes."""
    from .modeling_bidaf import BidafForQuestionAnswering, BidafModel

    return {"AutoModel": BidafModel, "AutoModelForQuestionAnswering": BidafForQuestionAnswering}


def _load_bilstm_tagger_classes() -> dict[str, Any]:
    """Import the model classes of the BiLSTM tagger and return them by the names of their Auto classes."""
    from .modeling_bilstm_tagger import BilstmTaggerForTokenClassification, BilstmTaggerModel

    return {"AutoModel": BilstmTaggerModel, "AutoModelForTokenClassification": BilstmTaggerForTokenClassification}


def _load_contextualizer_classes() -> dict[str, Any]:
    """Import the model classes of the Contextualizer and return them by the names of their Auto classes."""
    from .modeling_contextualizer import ContextualizerForSequenceClassification, ContextualizerModel

    return {
        "AutoModel": ContextualizerModel,
        "AutoModelForSequenceClassification": ContextualizerForSequenceClassification,
    }


def _load_hcrnn_classes() -> dict[str, Any]:
    """Import the model classes of HCRNN and return them by Auto class, or by their own name where none fits."""
    from .modeling_hcrnn import HcrnnForNextItem, HcrnnModel

    return {"AutoModel": HcrnnModel, "HcrnnForNextItem": HcrnnForNextItem}


def _load_higher_order_encoder_classes() -> dict[str, Any]:
    """Import the model classes of the higher-order encoder and return them by Auto class."""
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


def _load_kernel_encoder_classes() -> dict[str, Any]:
    """Import the model classes of the kernel encoder and return them by Auto class, or by their own name."""
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


def _load_lama_classes() -> dict[str, Any]:
    """Import the model classes of LAMA and return them by the names of their Auto classes."""
    from .modeling_lama import LamaForSequenceClassification, LamaModel

    return {"AutoModel": LamaModel, "AutoModelForSequenceClassification": LamaForSequenceClassification}


def _load_linear_encoder_classes() -> dict[str, Any]:
    """Import the model classes of the linear encoder and return them by the names of their Auto classes."""
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


def _load_nipen_classes() -> dict[str, Any]:
    """Import the model class of NIPEN and return it by its own name, as no Auto class fits."""
    from .modeling_nipen import NipenForVotePrediction

    return {"NipenForVotePrediction": NipenForVotePrediction}


def _load_session_baseline_classes() -> dict[str, Any]:
    """Import the model classes of the session baselines and return them by Auto class, or by their own name."""
    from .modeling_session_baseline import SessionBaselineForNextItem, SessionBaselineModel

    return {"AutoModel": SessionBaselineModel, "SessionBaselineForNextItem": SessionBaselineForNextItem}


def _load_text_baseline_classes() -> dict[str, Any]:
    """Import the model classes of the text baselines and return them by the names of their Auto classes."""
    from .modeling_text_baseline import TextBaselineForSequenceClassification, TextBaselineModel

    return {"AutoModel": TextBaselineModel, "AutoModelForSequenceClassification": TextBaselineForSequenceClassification}


def _load_time_encoder_classes() -> dict[str, Any]:
    """Import the model classes of the time encoder and return them by Auto class, or by their own name."""
    from .modeling_time_encoder import (
        TimeEncoderForNextEvent,
        TimeEncoderModel,
    )

    return {
        "AutoModel": TimeEncoderModel,
        "TimeEncoderForNextEvent": TimeEncoderForNextEvent,
    }


def _load_vote_baseline_classes() -> dict[str, Any]:
    """Import the model class of the vote baselines and return it by its own name, as no Auto class fits."""
    from .modeling_vote_baseline import VoteBaselineForVotePrediction

    return {"VoteBaselineForVotePrediction": VoteBaselineForVotePrediction}


def _load_word_embedding_classes() -> dict[str, Any]:
    """Import the model classes of word embeddings and return them by the names of their Auto classes."""
    from .modeling_word_embedding import WordEmbeddingForMaskedLM, WordEmbeddingModel

    return {"AutoModel": WordEmbeddingModel, "AutoModelForMaskedLM": WordEmbeddingForMaskedLM}


def _load_question_answering_pipeline() -> dict[str, Any]:
    """Import the pipeline class of question answering and return it by the name of its pipeline task."""
    from .pipeline_question_answering import QuestionAnsweringPipeline

    return {"question-answering": QuestionAnsweringPipeline}


register_architecture(BetaLstmConfig, load=_load_beta_lstm_classes, tokenizer=WordTokenizer)
register_architecture(
    BidafConfig, load=_load_bidaf_classes, tokenizer=WordCharTokenizer, load_pipelines=_load_question_answering_pipeline
)
register_architecture(BilstmTaggerConfig, load=_load_bilstm_tagger_classes, tokenizer=WordTokenizer)
register_architecture(ContextualizerConfig, load=_load_contextualizer_classes, tokenizer=WordTokenizer)
register_architecture(HcrnnConfig, load=_load_hcrnn_classes)
register_architecture(HigherOrderEncoderConfig, load=_load_higher_order_encoder_classes, tokenizer=WordTokenizer)
register_architecture(KernelEncoderConfig, load=_load_kernel_encoder_classes, tokenizer=WordTokenizer)
register_architecture(LamaConfig, load=_load_lama_classes, tokenizer=WordTokenizer)
register_architecture(LinearEncoderConfig, load=_load_linear_encoder_classes, tokenizer=WordTokenizer)
register_architecture(NipenConfig, load=_load_nipen_classes)
register_architecture(SessionBaselineConfig, load=_load_session_baseline_classes)
register_architecture(TextBaselineConfig, load=_load_text_baseline_classes, tokenizer=WordTokenizer)
register_architecture(TimeEncoderConfig, load=_load_time_encoder_classes)
register_architecture(VoteBaselineConfig, load=_load_vote_baseline_classes)
register_architecture(WordEmbeddingConfig, load=_load_word_embedding_classes, tokenizer=WordTokenizer)


def __getattr__(name: str) -> Any:
    """Return a model class of any architecture, whose code is imported when it is asked for."""
    for short in ARCHITECTURES:
        if name.startswith(short.title().replace("_", "")):
            for model_class in ARCHITECTURES[short].model_classes.values():
                if model_class.__name__ == name:
                    globals()[name] = model_class  # found without this function from now on
                    return model_class
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that are there, and those of all model classes."""
    classes = (one.__name__ for known in ARCHITECTURES.values() for one in known.model_classes.values())
    return sorted({*globals(), *classes})


ZooConfig.of_today = staticmethod(convert_config_fields)
register_old_model_type(f"ctxzoo_{ENCODER}", convert_config_fields)

__all__ = ["ARCHITECTURES", "Architecture", "register_architecture"]
