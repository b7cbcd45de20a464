"""A tiny BiDAF reader with its tokenizer, a results file that fits it, and the checkpoint folder of the two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ctxzoo.hub.card import build_card
from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.hub.eval_results import build_eval_results_files
from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.models.modeling_bidaf import BidafForQuestionAnswering
from ctxzoo.models.pipeline_question_answering import QuestionAnsweringPipeline
from ctxzoo.models.tokenization_word_char import WordCharTokenizer, build_word_char_tokenizer
from ctxzoo.results.result import RunResult
from ctxzoo.tasks.question_answering.card import CARD as QUESTION_ANSWERING

WORDS = ["the", "mill", "stands", "in", "Oda", "since", "1710", ",", ".", "?", "where", "when", "it", "was", "built"]
CHARACTERS = list("abcdehilnmorstuw0179OW")
QUESTION = "Where does the mill stand?"
CONTEXT = 'The mill was built in 1710, on the river\'s bank; it stands in Oda.\nIts owner said: "never sell".'


def tiny_tokenizer(words: list[str] = WORDS, characters: list[str] | None = CHARACTERS) -> WordCharTokenizer:
    return build_word_char_tokenizer(words, characters=characters, max_word_length=8)


def tiny_config(**changes: Any) -> BidafConfig:
    settings: dict[str, Any] = {
        "hidden_size": 8,
        "char_channels": 4,
        "char_embedding_size": 4,
        "max_word_length": 8,
        "vocab_size": len(WORDS) + 2,
        "word_embedding_size": 6,
        "char_vocab_size": len(CHARACTERS) + 2,
        "trained_positions": 90,
    }
    return BidafConfig.of_variant("learned_char3", **{**settings, **changes})


def tiny_model(seed: int = 2, **changes: Any) -> BidafForQuestionAnswering:
    """Weights larger than a fresh model's, so that it has opinions."""
    torch.manual_seed(seed)
    model = BidafForQuestionAnswering(tiny_config(**changes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return model


def tiny_result(**changes: Any) -> RunResult:
    result = RunResult(
        recipe="squad_bidaf",
        architecture="bidaf",
        variant="learned_char3",
        dataset="ctxzoo-data/squad_v2_mini",
        split="test",
        fold=None,
        seed=1,
        metrics={
            "test/exact": 40.25,
            "test/f1": 44.5,
            "test/HasAns_f1": 30.0,
            "test/NoAns_f1": 55.0,
            "test/AvNA": 52.0,
            "test/nll": 7.5,
            "test/always_no_answer": 54.4,
            "validation/f1": 43.0,
            "epochs": 3,
        },
        settings={"epochs": 3, "extensions": [], "finish_source": None, "word_vectors": "learned", "tiny": False},
        parameters={"trainable": 1234, "total": 5678},
        command="python recipes/squad_bidaf.py --dataset ctxzoo-data/squad_v2_mini --data_dir $CTXZOO_DATA",
        commit="0123abc",
        data={"source": "ctxzoo-data/squad_v2_mini", "fingerprint": "test 00ff"},
        hardware={"cpu": "Some CPU", "cores": 2, "memory_gb": 15.6, "gpus": []},
        versions={"python": "3.11.2", "torch": "2.13.0"},
        wall_seconds=60.0,
        peak_memory_mb=900.0,
        created="2026-01-31T12:00:00+00:00",
    )
    return replace(result, **changes)


def ask(model: BidafForQuestionAnswering, tokenizer: WordCharTokenizer) -> dict[str, Any]:
    answer = QuestionAnsweringPipeline(model=model, tokenizer=tokenizer)(question=QUESTION, context=CONTEXT)
    return {"question": QUESTION, "context": CONTEXT, **answer}


def write_tiny(folder: Path, *, seed: int = 2, result: RunResult | None = None, **changes: Any) -> Path:
    """The checkpoint folder; `changes` are fields of the config."""
    model, tokenizer = tiny_model(seed, **changes), tiny_tokenizer()
    result = result or tiny_result()
    card = build_card(result, model.config, task=QUESTION_ANSWERING, example=ask(model, tokenizer))
    return write_checkpoint_folder(
        folder,
        model=model,
        tokenizer=tokenizer,
        card=card,
        eval_results=build_eval_results_files(result, QUESTION_ANSWERING),
    )
