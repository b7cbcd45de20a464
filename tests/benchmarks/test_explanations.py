"""The measure of explanations: what it says where it is known which word decides, and of the published classifiers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.explanations import (
    DEFAULT,
    FILM_REVIEWS,
    METHODS,
    Case,
    build_cases,
    compute_missing_fraction,
    count_passes,
    explain_by_contributions,
    find_published_classifiers,
    load_test_texts,
    score_explanation,
    train_default_classifier,
)
from benchmarks.explanations_tables import format_explanations_table
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.modeling_text_baseline import TextBaselineForSequenceClassification
from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.tasks.text_classification.contributions import explain_text
from tests.support.subprocesses import REPOSITORY_ROOT

WORDS = [f"w{number}" for number in range(12)]
TEXT = " ".join(WORDS)


def case_where_one_word_decides() -> Case:
    """Word 7 alone has a vector, and label 1 follows from it."""
    tokenizer = build_word_tokenizer(WORDS)
    config = TextBaselineConfig(vocab_size=13, word_dim=1, position_dim=0, encoder="mean", num_labels=2)
    model: Any = TextBaselineForSequenceClassification(config).eval()
    with torch.no_grad():
        model.get_input_embeddings().weight.zero_()
        model.get_input_embeddings().weight[8] = 12.0
        model.classifier.weight.copy_(torch.tensor([[-1.0], [1.0]]))
        model.classifier.bias.copy_(torch.tensor([0.5, -0.5]))
    return Case(model, tokenizer, explain_text(model, tokenizer, TEXT))


@pytest.mark.parametrize("method", METHODS)
def test_the_measure_finds_the_word_that_decides(method: str) -> None:
    case = case_where_one_word_decides()
    values = METHODS[method](case, 0)
    assert values.shape == (12,)
    # This model's attention is the same for all words: its five are w0 to w4, as good as others at random.
    best = (
        case.mask_all_words_but([0, 1, 2, 3, 4])
        if method == "attention"
        else case.mask_all_words_but(np.argsort(-values, kind="stable")[:5])
    )
    assert best[7] == (method != "attention")
    found = score_explanation(case, values, seed=0)
    whole, without, alone = (1 / (1 + np.exp(1 - 2 * 12 * share)) for share in (1 / 12, 0, 1 / 5))
    if method == "attention":
        assert found["fall"] < 0
        assert found["rank"] > 0
        assert found["kept"] == pytest.approx(without)
    else:
        assert found["fall"] == pytest.approx(whole - without)
        assert found["kept"] == pytest.approx(alone)
        assert found["rank"] == 0
        assert found["random_fall"] < found["fall"]
        assert found["random_kept"] < found["kept"]
    assert compute_missing_fraction(case.explanation) < 1e-5
    assert count_passes(case.model, case.tokenizer, TEXT) == 1 + 17 + 1


def test_the_table_has_random_words_first_and_both_parts() -> None:
    common = {"texts": "100", "words": "20.4", "random_fall": ".1", "random_kept": ".5", "fall": ".4", "kept": ".9"}
    ours = {"method": "contributions", "rank": "0.02", "passes": "19", "missing": "0.012", "cpu_seconds_a_text": "0.05"}
    theirs = {"method": "attention", "rank": "0.45", "passes": "", "missing": "", "cpu_seconds_a_text": ""}
    rows = [{"classifier": "c", "part": part, **common, **one} for part in ("main", "choice") for one in (theirs, ours)]
    lines = format_explanations_table(rows).splitlines()
    assert lines[4] == "| c | random | 100 | 20 | 0.10 | 0.50 | – | – | – | – |"
    assert lines[5] == "| c | attention (before) | 100 | 20 | 0.40 | 0.90 | 0.45 | – | – | – |"
    assert lines[6] == "| c | contributions (now) | 100 | 20 | 0.40 | 0.90 | 0.02 | 19 | 1.2% | 0.05 |"
    assert lines[-1] == lines[6]


@pytest.mark.data
@pytest.mark.parametrize("name", [*find_published_classifiers(REPOSITORY_ROOT), DEFAULT])
def test_five_top_words_decide_more_than_five_at_random(name: str, tmp_path: Path) -> None:
    if name == DEFAULT:
        checkpoint, dataset, options = train_default_classifier(tmp_path, seed=0), FILM_REVIEWS, {}
    else:
        checkpoint, dataset, options = find_published_classifiers(REPOSITORY_ROOT)[name]
    model, tokenizer = load_saved_model(str(checkpoint))
    texts = load_test_texts(dataset, tokenizer, 0, **options)
    explained = [case for case, _ in build_cases(model, tokenizer, texts, 0, 30)]
    assert len(explained) == 30
    scores = [score_explanation(case, explain_by_contributions(case, 0), 0) for case in explained]
    mean = {name: float(np.mean([one[name] for one in scores])) for name in scores[0]}
    # Twice as far as by chance, and half of what five words at random leave open.
    assert mean["fall"] > 2 * max(mean["random_fall"], 0.01)
    assert 1 - mean["kept"] < 0.5 * (1 - mean["random_kept"])
    assert mean["rank"] < 0.25
    assert max(count_passes(model, tokenizer, case.explanation.text) for case in explained[:3]) <= 200
