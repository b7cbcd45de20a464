from __future__ import annotations

import copy
import json
import math
import pickle
import random
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.metrics import SquadV2
from ctxzoo.metrics.squad_text import compute_exact_match_and_f1, normalise_answer
from ctxzoo.metrics.squad_v2 import get_evaluate_module_path, hash_question_id, no_answer_auc
from tests.references.squad_v2 import reference_squad_v2, reference_words

# Articles, ASCII and other punctuation, odd white space, upper case that changes length in lower case, glued words.
PIECES = [
    *("the", "The", "THE", "a", "A", "an", "An", "cat", "Cat", "cats", "CAT", "dog", "1990", "1,990", "$5", "U.S."),
    *("rock'n'roll", "a-b", "a_b", "the-cat", "th.e", "a.n", "É", "é", "ÉCOLE", "straße", "İstanbul", "猫"),
    *("—", "–", "“the”", "«a»", "…a", "¿an?", "the\u2019s", "a\u0301", ",", ".", "!?", "-", "_", "'", '"', "`^~|@"),
]
SPACES = (" ", "  ", "\t", "\n", "\u00a0", "\u2003", "", "\u200b")


def question(
    key: str, prediction: str, golds: list[str], probability: float = 0.0
) -> tuple[dict[str, Any], dict[str, Any]]:
    return (
        {"id": key, "prediction_text": prediction, "no_answer_probability": probability},
        {"id": key, "answers": {"text": golds, "answer_start": [0] * len(golds)}},
    )


def split(questions: list[tuple[dict[str, Any], dict[str, Any]]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return [prediction for prediction, _ in questions], [reference for _, reference in questions]


def random_text(source: random.Random) -> str:
    if source.random() < 0.15:
        return source.choice(["", "the", "a", "An the", " ", ".", "—", "_"])
    words = [source.choice(PIECES) for _ in range(source.randint(1, 5))]
    return "".join(word + source.choice(SPACES) for word in words)


def random_questions(source: random.Random, count: int, few_probabilities: bool) -> list[Any]:
    questions = []
    for number in range(count):
        golds = [random_text(source) for _ in range(source.choice([0, 0, 1, 1, 2, 3, 5]))]
        prediction = source.choice([random_text(source), "", *golds, *(gold.upper() + " the!" for gold in golds)])
        probability = source.choice([0.0, 0.25, 0.5, 1.0]) if few_probabilities else source.random()
        questions.append(question(f"{number:06d}é", prediction, golds, probability))
    source.shuffle(questions)
    return questions


def updated_in_chunks(metric: SquadV2, questions: list[Any], source: random.Random) -> SquadV2:
    start = 0
    while start < len(questions):
        stop = start + source.randint(0, 60)
        predictions, references = split(questions[start:stop])
        source.shuffle(references)
        metric.update(predictions, references)
        start = stop
    return metric


def scored(questions: list[Any], threshold: float = 1.0) -> dict[str, float | int]:
    metric = SquadV2(no_answer_threshold=threshold)
    metric.update(*split(questions))
    return metric.compute()


# ---- against the reference ----


@pytest.mark.parametrize("seed", range(20))
def test_equals_the_reference_on_random_and_adversarial_answers(seed: int) -> None:
    source = random.Random(seed)
    questions = random_questions(source, 500, few_probabilities=seed % 2 == 0)
    threshold = source.choice([1.0, 0.5, 0.25, 0.0, -1.0, 0.37])
    result = updated_in_chunks(SquadV2(no_answer_threshold=threshold), questions, source).compute()
    expected = reference_squad_v2(*split(questions), threshold)
    assert list(result) == list(expected)
    for name, value in expected.items():
        if name.endswith(("thresh", "total")):
            assert result[name] == value, name
        else:
            assert result[name] == pytest.approx(value, abs=1e-10), name
    assert {type(value) for value in result.values()} == {float, int}


def test_normalisation_equals_the_reference() -> None:
    source = random.Random(7)
    for _ in range(5000):
        text = random_text(source)
        assert normalise_answer(text) == " ".join(reference_words(text))


def test_normalisation_equals_the_reference_for_every_character_beside_an_article() -> None:
    for code in range(0x3000):
        text = f"the{chr(code)}x {chr(code)}a"
        assert normalise_answer(text) == " ".join(reference_words(text)), hex(code)


# ---- worked by hand ----


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Cat, an U.S. a", "cat us"),
        ("a-b", "ab"),  # punctuation goes first: no article is left
        ("a—b", "—b"),  # a dash outside ASCII stays and bounds the article
        ("“the” cat", "“ ” cat"),
        ("a\u00a0cat\u2003sat", "cat sat"),
        ("theatre an", "theatre"),
        ("the", ""),
    ],
)
def test_normalise_answer(text: str, expected: str) -> None:
    assert normalise_answer(text) == expected


@pytest.mark.parametrize(
    ("prediction", "golds", "exact", "f1"),
    [
        ("the cat", ["Cat!"], 1.0, 1.0),
        ("black cat sat", ["cat", "black dog sat here"], 0.0, 4 / 7),  # precision 2/3, recall 2/4
        ("cat cat", ["cat"], 0.0, 2 / 3),  # a word is matched once
        ("", [], 1.0, 1.0),
        ("cat", [], 0.0, 0.0),
        ("the", [], 1.0, 1.0),  # normalises to the empty answer
        ("", ["the", "."], 1.0, 1.0),  # no annotated answer is left
        ("", ["the", "cat"], 0.0, 0.0),  # one is
    ],
)
def test_exact_and_f1(prediction: str, golds: list[str], exact: float, f1: float) -> None:
    assert compute_exact_match_and_f1(prediction, golds) == (exact, pytest.approx(f1))


def test_exact_and_f1_refuses_a_single_text() -> None:
    with pytest.raises(TypeError, match="'cat'"):
        compute_exact_match_and_f1("c", "cat")


def test_scores_worked_by_hand() -> None:
    questions = [
        question("q1", "the cat", ["cat"], 0.1),
        question("q2", "black cat", ["cat", "dog"], 0.5),  # F1 2/3
        question("q3", "dog", [], 0.6),
        question("q4", "", [], 0.9),
    ]
    # At 0.5 only q3 becomes "no answer": a probability equal to the threshold does not.
    assert scored(questions, 0.5) == pytest.approx(
        {
            "exact": 75.0,
            "f1": 100 * (3 + 2 / 3) / 4,
            "total": 4,
            "HasAns_exact": 50.0,
            "HasAns_f1": 100 * (1 + 2 / 3) / 2,
            "HasAns_total": 2,
            "NoAns_exact": 100.0,
            "NoAns_f1": 100.0,
            "NoAns_total": 2,
            "best_exact": 75.0,
            "best_exact_thresh": 0.1,
            "best_f1": 100 * (3 + 2 / 3) / 4,
            "best_f1_thresh": 0.5,
            "AvNA": 100.0,
            "no_answer_auc": 1.0,
        }
    )
    raw = scored(questions)
    assert (raw["NoAns_exact"], raw["AvNA"]) == (50.0, 75.0)


def test_threshold_walk_visits_ties_in_the_order_of_the_predictions() -> None:
    good, bad = question("good", "cat", ["cat"], 0.5), question("bad", "dog", [], 0.5)
    assert (scored([good, bad])["best_exact"], scored([good, bad])["best_exact_thresh"]) == (100.0, 0.5)
    assert (scored([bad, good])["best_exact"], scored([bad, good])["best_exact_thresh"]) == (50.0, 0.0)


def test_threshold_walk_charges_an_answer_that_normalises_to_nothing() -> None:
    result = scored([question("q1", "the", [], 0.1), question("q2", "cat", ["cat"], 0.2)])
    assert (result["exact"], result["best_exact"], result["best_exact_thresh"]) == (100.0, 50.0, 0.0)


def test_groups_without_questions_have_no_keys() -> None:
    answerable = scored([question("q", "cat", ["cat"])])
    assert not any(key.startswith("NoAns") or key == "no_answer_auc" for key in answerable)
    assert answerable["HasAns_total"] == 1
    unanswerable = scored([question("q", "", [])])
    assert not any(key.startswith("HasAns") or key == "no_answer_auc" for key in unanswerable)
    assert unanswerable["best_exact"] == 100.0


def test_no_answer_auc() -> None:
    assert no_answer_auc([0.1, 0.4, 0.4, 0.9], [True, True, False, False]) == 3.5 / 4
    assert no_answer_auc(torch.tensor([9.0, -3.0]), torch.tensor([1, 0])) == 0.0
    with pytest.raises(ValueError, match="got 2 and 0"):
        no_answer_auc([0.1, 0.2], [True, True])
    with pytest.raises(ValueError, match=r"\(2,\) and \(1,\)"):
        no_answer_auc([0.1, 0.2], [True])
    with pytest.raises(ValueError, match="nan"):
        no_answer_auc([0.1, math.nan], [True, False])


# ---- as a metric ----


def test_scores_are_kept_in_double_precision() -> None:
    probability = 0.1 + 2.0**-50
    result = scored([question("q", "cat", ["cat"], probability), question("r", "x y z", ["x"], 0.3)])
    assert result["best_exact_thresh"] == probability
    assert result["f1"] == 75.0


def test_answers_may_come_as_a_list_of_mappings() -> None:
    prediction, reference = question("q", "cat", ["dog", "cat"])
    listed = {"id": "q", "answers": [{"text": "dog", "answer_start": 0}, {"text": "cat", "answer_start": 9}]}
    metric, other = SquadV2(), SquadV2()
    metric.update([prediction], [listed])
    other.update([prediction], [reference])
    assert metric.compute() == other.compute()
    none = SquadV2()
    none.update([prediction], [{"id": "q", "answers": []}])
    assert none.compute()["NoAns_total"] == 1


def test_reset_forgets_scores_and_ids() -> None:
    metric = SquadV2()
    metric.update(*split([question("q", "cat", ["cat"])]))
    metric.reset()
    metric.update(*split([question("q", "dog", ["cat"])]))
    assert (metric.compute()["exact"], metric.compute()["total"]) == (0.0, 1)


def test_forward_returns_the_batch_and_keeps_the_rest() -> None:
    metric = SquadV2()
    assert metric(*split([question("q", "cat", ["cat"])]))["exact"] == 100.0
    assert metric(*split([question("r", "dog", ["cat"])]))["exact"] == 0.0
    with pytest.raises(ValueError, match="'q'"):
        metric(*split([question("q", "cat", ["cat"])]))
    with pytest.raises(ValueError, match="'r'"):
        metric.update(*split([question("r", "cat", ["cat"])]))
    assert (metric.compute()["exact"], metric.compute()["total"]) == (50.0, 2)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda metric: pickle.loads(pickle.dumps(metric))])
def test_a_copy_goes_on_by_itself(duplicate: Any) -> None:
    metric = SquadV2(no_answer_threshold=0.5)
    metric.update(*split([question("q", "cat", [], 0.7)]))
    other = duplicate(metric)
    other.update(*split([question("r", "dog", ["cat"])]))
    assert (metric.compute()["total"], metric.compute()["exact"]) == (1, 100.0)
    assert (other.compute()["total"], other.compute()["exact"]) == (2, 50.0)
    with pytest.raises(ValueError, match="'q'"):
        other.update(*split([question("q", "cat", ["cat"])]))


def test_ids_hash_to_63_bits_alike_in_every_process() -> None:
    assert hash_question_id("56ddde6b9a695914005b9628") == 1851465715172156059
    hashes = {hash_question_id(f"{number}") for number in range(20_000)}
    assert len(hashes) == 20_000
    assert 0 <= min(hashes) <= max(hashes) < 2**63
    assert max(hashes) > 2**62


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_equals_the_cpu_on_a_gpu() -> None:
    questions = random_questions(random.Random(3), 300, few_probabilities=False)
    metric = SquadV2(no_answer_threshold=0.5).to("cuda")
    updated_in_chunks(metric, questions, random.Random(4))
    assert metric.compute() == scored(questions, 0.5)


# ---- bad input ----


GOOD = question("q", "cat", ["cat"])


@pytest.mark.parametrize(
    ("predictions", "references", "error", "message"),
    [
        ([GOOD[0]], [], ValueError, "without a reference: 'q'"),
        ([], [GOOD[1]], ValueError, "without a prediction: 'q'"),
        ([GOOD[0], GOOD[0]], [GOOD[1]], ValueError, "more than once in predictions: 'q'"),
        ([GOOD[0]], [GOOD[1], GOOD[1]], ValueError, "more than once in references: 'q'"),
        ([GOOD[0] | {"no_answer_probability": math.nan}], [GOOD[1]], ValueError, "of 'q' must be finite, got nan"),
        ([GOOD[0] | {"no_answer_probability": "0.5"}], [GOOD[1]], TypeError, "of 'q' must be a number, got '0.5'"),
        ([GOOD[0] | {"prediction_text": None}], [GOOD[1]], TypeError, "prediction_text of 'q' must be a str, got None"),
        ([{"id": "q", "prediction_text": "cat"}], [GOOD[1]], ValueError, "'q' has no 'no_answer_probability'"),
        ([GOOD[0] | {"id": 3}], [GOOD[1]], TypeError, "must be a str, got 3"),
        (["cat"], [GOOD[1]], TypeError, r"predictions\[0\] must be a mapping"),
        (GOOD[0], [GOOD[1]], TypeError, "predictions must be a list"),
        ([GOOD[0]], [{"id": "q"}], ValueError, "'q' has no 'answers'"),
        ([GOOD[0]], [{"id": "q", "answers": {"answer_start": [0]}}], ValueError, "'q' has no 'text'"),
        ([GOOD[0]], [{"id": "q", "answers": {"text": "cat"}}], TypeError, "answers of 'q'"),
        ([GOOD[0]], [{"id": "q", "answers": {"text": [None]}}], TypeError, "answers of 'q'"),
        ([GOOD[0]], [{"id": "q", "answers": {"text": 3}}], TypeError, "answers of 'q'"),
        ([GOOD[0]], [{"id": "q", "answers": ["cat"]}], TypeError, "answers of 'q'"),
        ([GOOD[0]], [{"id": "q", "answers": ""}], TypeError, "answers of 'q'"),
        ([GOOD[0]], [{"id": "q", "answers": None}], TypeError, "answers of 'q'"),
    ],
)
def test_bad_input_is_named_and_leaves_the_metric_as_it_was(
    predictions: Any, references: Any, error: type[Exception], message: str
) -> None:
    metric = SquadV2()
    metric.update(*split([question("earlier", "cat", ["cat"])]))
    with pytest.raises(error, match=message):
        metric.update(predictions, references)
    assert metric.compute()["total"] == 1
    metric.update([GOOD[0]], [GOOD[1]])
    assert metric.compute()["total"] == 2


def test_a_repeated_id_is_named() -> None:
    metric = SquadV2()
    questions = [question(f"q{number}", "", []) for number in range(9)]
    metric.update(*split(questions))
    with pytest.raises(ValueError, match=r"'q0', 'q1', 'q2', 'q3', 'q4' and 3 more.*reset\(\)"):
        metric.update(*split(questions[:8]))


@pytest.mark.filterwarnings("ignore:The ``compute`` method")
def test_no_questions_is_an_error() -> None:
    with pytest.raises(ValueError, match="update"):
        SquadV2().compute()
    metric = SquadV2()
    metric.update([], [])
    with pytest.raises(ValueError, match="update"):
        metric.compute()


def test_nan_threshold_is_an_error() -> None:
    with pytest.raises(ValueError, match="NaN"):
        SquadV2(no_answer_threshold=math.nan)


# ---- through evaluate ----


@pytest.fixture
def evaluate_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``evaluate`` without a network, keeping its copies of modules in the test's folder."""
    import evaluate

    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", tmp_path / "modules")
    monkeypatch.setattr(evaluate.config, "HF_EVALUATE_OFFLINE", True)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield evaluate
    for name in [name for name in sys.modules if name.split(".")[0] == "evaluate_modules"]:
        del sys.modules[name]


def test_evaluate_opens_the_folder_and_agrees(tmp_path: Path, evaluate_offline: Any) -> None:
    questions = random_questions(random.Random(11), 200, few_probabilities=False)
    predictions, references = split(questions)
    loaded = evaluate_offline.load(get_evaluate_module_path(), cache_dir=str(tmp_path / "cache"))
    result = loaded.compute(predictions=predictions, references=references, no_answer_threshold=0.4)
    assert result == scored(questions, 0.4)
    assert loaded.compute(predictions=predictions, references=references) == scored(questions)


# ---- with several processes ----


def shards(questions: list[Any], scenario: str) -> tuple[list[Any], list[Any]]:
    match scenario:
        case "uneven, the first repeated at the end":
            return questions[0::2], [*questions[1::2], questions[0], questions[2]]
        case "empty on the second":
            return questions, []
        case "empty on the first":
            return [], questions
    raise AssertionError(scenario)


SCENARIOS = ("uneven, the first repeated at the end", "empty on the second", "empty on the first")


def score_one_shard(rank: int, folder: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2)
    questions = random_questions(random.Random(5), 101, few_probabilities=False)
    metric = SquadV2(no_answer_threshold=0.5)
    results = {}
    for scenario in SCENARIOS:
        mine = shards(questions, scenario)[rank]
        for start in range(0, len(mine), 20):
            metric.update(*split(mine[start : start + 20]))
        results[scenario] = metric.compute()
        # Gathered states are put away again: going on adds to this process's own.
        metric.update(*split([question(f"extra {rank}", "", [])]))
        results[f"{scenario}, and one more each"] = metric.compute()
        metric.reset()
    Path(folder, f"{rank}.json").write_text(json.dumps(results))
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_two_processes_score_like_one_and_count_every_question_once(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(score_one_shard, (str(tmp_path),), nprocs=2)
    questions = random_questions(random.Random(5), 101, few_probabilities=False)
    alone = scored(questions, 0.5)
    with_extra = scored([*questions, question("extra 0", "", []), question("extra 1", "", [])], 0.5)
    for rank in range(2):
        results = json.loads((tmp_path / f"{rank}.json").read_text())
        for scenario in SCENARIOS:
            assert results[scenario] == alone, (rank, scenario)
            assert results[f"{scenario}, and one more each"]["exact"] == with_extra["exact"], (rank, scenario)
            assert results[f"{scenario}, and one more each"]["total"] == 103, (rank, scenario)
