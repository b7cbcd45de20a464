import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoModel, pipeline

from ctxzoo.models import ARCHITECTURES, register_architecture
from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.models.modeling_bidaf import BidafForQuestionAnswering, BidafModel, ExtractiveQuestionAnsweringOutput
from ctxzoo.models.ops_answer import decode_answers, no_answer_score
from ctxzoo.models.pipeline_question_answering import QuestionAnsweringPipeline, WindowScores, merge_window_scores
from ctxzoo.models.tokenization_word_char import WordCharTokenizer, build_word_char_tokenizer
from tests.support.doors import offline
from tests.support.warm_python import run_warm

WORDS = ["the", "cat", "is", "in", "Paris", '"', ".", "yes", "S", "E", "N"]
CHARACTERS = list("abcdeinprst")
QUESTION = "where is the cat ?"
ODD_CONTEXTS = [
    "The cat is in Paris. It ``sleeps'' there.",
    'She said  "yes" \t and  left.',
    "cafe\u0301 e\u0301te\u0301 is in Paris",
    "the 👩\u200d👩\u200d👧 cat 👍🏽 is 🇫🇷",
    "nul\x00 the \x00cat",
    "zero\u200bwidth cat \ufeff",
    "the cat\r\nis in\r\n\r\nParis",
    "החתול נמצא בפריז, the cat",
    "cat",
]


def tiny_model(**changes: Any) -> BidafForQuestionAnswering:
    torch.manual_seed(0)
    settings = {
        "vocab_size": len(WORDS) + 2,
        "word_embedding_size": 6,
        "hidden_size": 4,
        "char_vocab_size": len(CHARACTERS) + 2,
        "char_embedding_size": 3,
        "char_channels": 3,
        "char_kernel_size": 3,
        "max_word_length": 8,
        "train_word_embeddings": True,
        "word_features": True,
    }
    model = BidafForQuestionAnswering(BidafConfig(**{**settings, **changes}))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)  # so that probabilities differ clearly
    return model.eval()


@pytest.fixture(scope="module")
def tokenizer() -> WordCharTokenizer:
    return build_word_char_tokenizer(WORDS, characters=CHARACTERS, max_word_length=8, word_features=True)


MakePipeline = Callable[..., QuestionAnsweringPipeline]


@pytest.fixture(scope="module")
def make_pipeline(tokenizer: WordCharTokenizer) -> MakePipeline:
    def make(**changes: Any) -> QuestionAnsweringPipeline:
        return QuestionAnsweringPipeline(model=tiny_model(**changes), tokenizer=tokenizer, device="cpu")

    return make


@pytest.fixture(scope="module")
def pipe(make_pipeline: MakePipeline) -> QuestionAnsweringPipeline:
    return make_pipeline()


def assert_close(found: Any, expected: Any) -> None:
    """Answers are the same but for rounding of their scores."""
    found, expected = (value if isinstance(value, list) else [value] for value in (found, expected))
    assert [(a["start"], a["end"], a["answer"]) for a in found] == [
        (a["start"], a["end"], a["answer"]) for a in expected
    ]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours["score"] == pytest.approx(theirs["score"], rel=1e-4)
        assert ours["no_answer_score"] == pytest.approx(theirs["no_answer_score"], rel=1e-4)


def reference_answers(pipe: QuestionAnsweringPipeline, context: str, max_length: int) -> tuple[list[Any], float]:
    """Every span (probability, start, end) of a context, best first, and the probability of "no answer"."""
    encoded = pipe.tokenizer(QUESTION, context, return_tensors="pt", return_offsets_mapping=True)
    offsets = encoded.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        outputs = pipe.model(**encoded)
    start, end = outputs.start_logits[0].double().exp(), outputs.end_logits[0].double().exp()
    total = start.sum() * end.sum()
    spans = [
        (float(start[i] * end[j] / total), offsets[i][0], offsets[j][1])
        for i in range(1, len(offsets))
        for j in range(i, min(i + max_length, len(offsets)))
    ]
    return sorted(spans, key=lambda span: -span[0]), float(start[0] * end[0] / total)


@pytest.mark.parametrize("context", ODD_CONTEXTS)
def test_answers_equal_reference(make_pipeline: MakePipeline, context: str) -> None:
    pipe = make_pipeline(max_answer_length=4)
    spans, no_answer = reference_answers(pipe, context, max_length=4)
    answers = pipe(question=QUESTION, context=context, top_k=1000, handle_impossible_answer=False)
    assert len(answers) == len({(answer["start"], answer["end"]) for answer in answers}) == len(spans)
    assert [answer["score"] for answer in answers] == sorted((answer["score"] for answer in answers), reverse=True)
    for answer, (probability, start, end) in zip(answers, spans, strict=True):
        assert (answer["start"], answer["end"]) == (start, end)
        assert answer["score"] == pytest.approx(probability, rel=1e-4)
        assert answer["no_answer_score"] == pytest.approx(no_answer / (no_answer + spans[0][0]), rel=1e-4)
        assert answer["answer"] == context[start:end]


def test_decision_is_that_of_evaluation(pipe: QuestionAnsweringPipeline) -> None:
    for context in ODD_CONTEXTS:
        encoded = pipe.tokenizer(QUESTION, context, return_tensors="pt")
        with torch.no_grad():
            outputs = pipe.model(**encoded)
        spans = decode_answers(outputs, encoded["attention_mask"], pipe.model.config.max_answer_length)
        answer = pipe(question=QUESTION, context=context)
        assert answer["no_answer_score"] == pytest.approx(no_answer_score(spans).item(), rel=1e-4)
        assert (answer["answer"] == "") == bool(spans.no_answer_log_probs > spans.span_log_probs)


def test_batching_equals_single(pipe: QuestionAnsweringPipeline) -> None:
    examples = [{"question": f"{QUESTION} {'the ' * i}", "context": text} for i, text in enumerate(ODD_CONTEXTS)]
    single = [pipe(example, top_k=3, max_seq_len=4, doc_stride=1) for example in examples]
    for batch_size in (1, 2, 3, 50):
        for found, expected in zip(
            pipe(examples, top_k=3, max_seq_len=4, doc_stride=1, batch_size=batch_size), single, strict=True
        ):
            assert_close(found, expected)


def test_forms_of_input(pipe: QuestionAnsweringPipeline) -> None:
    first, second = ODD_CONTEXTS[:2]
    one, other = (pipe(question=QUESTION, context=context) for context in (first, second))
    assert isinstance(one, dict)
    row = {"id": "x", "title": "t", "question": QUESTION, "context": first, "answers": {"text": [], "answer_start": []}}
    assert pipe(row) == one
    assert pipe([row]) == [one]
    assert pipe((row, row)) == [one, one]
    assert list(pipe(row for _ in range(2))) == [one, one]
    assert pipe(question=[QUESTION, QUESTION], context=[first, second]) == [one, other]
    assert pipe(question=QUESTION, context=[first, second]) == [one, other]
    assert pipe({"question": [QUESTION], "context": [second]}) == [other]
    assert pipe(question=[QUESTION, QUESTION], context=first) == [one, one]
    assert pipe([]) == []


def test_no_answer_and_thresholds(make_pipeline: MakePipeline) -> None:
    pipe = make_pipeline()
    context = ODD_CONTEXTS[0]
    best = pipe(question=QUESTION, context=context, handle_impossible_answer=False)
    _, no_answer = reference_answers(pipe, context, max_length=15)
    score = best["no_answer_score"]
    for threshold, refused in ((score * 0.99, True), (score * 1.01, False), (1.0, False)):
        answer = pipe(question=QUESTION, context=context, no_answer_threshold=threshold)
        assert (answer["answer"] == "") == refused
        if refused:
            assert (answer["start"], answer["end"], answer["no_answer_score"]) == (0, 0, score)
            assert answer["score"] == pytest.approx(no_answer, rel=1e-4)
        else:
            assert answer == best
    # The checkpoint's own threshold is the default, an argument comes before it.
    pipe.model.config.no_answer_threshold = score * 0.99
    assert pipe(question=QUESTION, context=context)["answer"] == ""
    assert pipe(question=QUESTION, context=context, no_answer_threshold=1.0) == best
    assert pipe(question=QUESTION, context=context, handle_impossible_answer=False) == best


@pytest.mark.parametrize("shift", [-40.0, -3.0, 0.0, 3.0, 40.0])
def test_empty_answer_among_the_best(make_pipeline: MakePipeline, shift: float) -> None:
    pipe = make_pipeline()

    def moved(module: Any, inputs: Any, outputs: Any) -> Any:
        outputs.start_logits[:, 0] += shift
        return outputs

    pipe.model.register_forward_hook(moved)
    spans = pipe(question=QUESTION, context=ODD_CONTEXTS[0], top_k=1000, handle_impossible_answer=False)
    answers = pipe(question=QUESTION, context=ODD_CONTEXTS[0], top_k=1000)
    assert [answer["score"] for answer in answers] == sorted((answer["score"] for answer in answers), reverse=True)
    assert [answer for answer in answers if answer["answer"]] == spans
    (empty,) = [answer for answer in answers if not answer["answer"]]
    assert (answers[0] is empty) == (empty["score"] > spans[0]["score"]) == (empty["no_answer_score"] > 0.5)
    forced = pipe(question=QUESTION, context=ODD_CONTEXTS[0], top_k=3, no_answer_threshold=0.0)
    assert forced == [empty, *spans[:2]]
    never = pipe(question=QUESTION, context=ODD_CONTEXTS[0], top_k=3, no_answer_threshold=1.0)
    assert never[0] == spans[0]


def test_squad_1_never_refuses(make_pipeline: MakePipeline) -> None:
    pipe = make_pipeline(squad_version="1.1")
    for context in ODD_CONTEXTS:
        answers = pipe(question=QUESTION, context=context, top_k=1000)
        assert all(answer["answer"] and answer["no_answer_score"] == 0 for answer in answers)
    with pytest.raises(ValueError, match=r"squad_version='2.0'"):
        pipe(question=QUESTION, context="cat", handle_impossible_answer=True)


def test_lengths(pipe: QuestionAnsweringPipeline) -> None:
    context = "a b c d e f"
    for longest in (1, 3, 99):
        answers = pipe(
            question=QUESTION, context=context, top_k=99, max_answer_len=longest, handle_impossible_answer=False
        )
        lengths = {len(answer["answer"].split()) for answer in answers}
        assert lengths == set(range(1, min(longest, 6) + 1))
    cut = pipe(question="the cat is in Paris", context=context, max_question_len=2)
    assert_close(cut, pipe(question="the cat", context=context))


@pytest.mark.parametrize("option", [{"max_seq_len": 100}, {}])
def test_windows_respect_learned_positions(make_pipeline: MakePipeline, option: dict[str, int]) -> None:
    pipe = make_pipeline(position_embedding="learned", max_position_embeddings=12)
    long = "the cat is in Paris . " * 10
    answer = pipe(question="the cat " * 20, context=long, handle_impossible_answer=False, **option)
    assert answer["answer"] == long[answer["start"] : answer["end"]] != ""


class MarkedWords(torch.nn.Module):
    """Stands for a model: starts at words "S", ends at "E", no answer by how many "N" there are, whatever is around."""

    def __init__(self, squad_version: str) -> None:
        super().__init__()
        self.config = SimpleNamespace(squad_version=squad_version, max_answer_length=3)
        self.device = torch.device("cpu")
        self.ids = {word: WORDS.index(word) + 2 for word in "SEN"}

    def can_generate(self) -> bool:
        return False

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **_: Any) -> Any:
        pad = attention_mask == 0
        low = torch.finfo(torch.float32).min
        start, end = ((4.0 * (input_ids == self.ids[word])).masked_fill(pad, low) for word in "SE")
        for logits in (start, end):
            logits[:, 0] = (input_ids == self.ids["N"]).sum(dim=1)
        return ExtractiveQuestionAnsweringOutput(start_logits=start, end_logits=end)


@pytest.mark.parametrize("version", ["1.1", "2.0"])
@pytest.mark.parametrize(("max_seq_len", "doc_stride"), [(4, 2), (5, 4), (6, 2), (9, 3)])
def test_windows_find_the_answer_of_one_window(
    tokenizer: WordCharTokenizer, version: str, max_seq_len: int, doc_stride: int
) -> None:
    pipe = QuestionAnsweringPipeline(model=MarkedWords(version), tokenizer=tokenizer, device="cpu")
    words = ["w"] * 23
    for place in range(22):
        context = "  ".join([*words[:place], "S", "E", *words[place + 2 :]])
        options = {"question": QUESTION, "context": context, "handle_impossible_answer": False}
        whole = pipe(**options, top_k=5)
        parts = pipe(**options, top_k=500, max_seq_len=max_seq_len, doc_stride=doc_stride)
        assert whole[0]["answer"] == parts[0]["answer"] == "S  E"
        assert parts[0]["start"] == whole[0]["start"] == 3 * place
        assert len({(part["start"], part["end"]) for part in parts}) == len(parts)
        assert sum(part["score"] for part in parts) <= 1 + 1e-9
        assert parts == sorted(parts, key=lambda part: (-part["score"], part["start"], part["end"]))


def test_ties_go_to_the_first_then_the_shortest(tokenizer: WordCharTokenizer) -> None:
    pipe = QuestionAnsweringPipeline(model=MarkedWords("2.0"), tokenizer=tokenizer, device="cpu")
    answers = pipe(question=QUESTION, context="w w w", top_k=6, handle_impossible_answer=False)
    assert [(answer["start"], answer["end"]) for answer in answers] == [(0, 1), (0, 3), (0, 5), (2, 3), (2, 5), (4, 5)]
    assert len({answer["score"] for answer in answers}) == 1


def test_least_no_answer_of_the_windows_counts(tokenizer: WordCharTokenizer) -> None:
    pipe = QuestionAnsweringPipeline(model=MarkedWords("2.0"), tokenizer=tokenizer, device="cpu")
    options = {"question": QUESTION, "max_seq_len": 4, "doc_stride": 0, "no_answer_threshold": 0.0}
    alone = [pipe(context=context, **options)["score"] for context in ("N N N w", "w S E w")]
    together = pipe(context="N N N w w S E w", **options)
    assert together["answer"] == ""
    assert together["score"] == pytest.approx(min(alone))
    best = pipe(question=QUESTION, context="N N N w w S E w", max_seq_len=4, doc_stride=0)
    assert best["answer"] == "S E"


def window(start: list[float], end: list[float], no_answer: float, mass: float = 0.0, first: int = 0) -> WindowScores:
    """From probabilities of the words; the extra token gets a number that must not matter."""
    return WindowScores(
        torch.tensor([0.5, *start]).log(),
        torch.tensor([0.5, *end]).log(),
        torch.tensor(no_answer, dtype=torch.float64).log(),
        torch.tensor(mass),
        first,
    )


def test_merging_one_or_equal_windows_changes_nothing() -> None:
    only = window([0.1, 0.3], [0.2, 0.4], no_answer=0.25)
    for windows in ([only], [only, only], [only] * 5):
        scores, no_answer = merge_window_scores(windows, 2, can_refuse=True)
        assert no_answer.exp().item() == pytest.approx(0.25)
        expected = torch.tensor([[0.1 * 0.2, 0.1 * 0.4], [0.3 * 0.4, 0]], dtype=torch.float64)
        torch.testing.assert_close(scores.exp(), expected, rtol=1e-6, atol=0)


def test_merging_by_hand() -> None:
    first, second = window([0.6], [1.0], no_answer=0.4), window([0.1], [1.0], no_answer=0.9, first=1)
    scores, no_answer = merge_window_scores([first, second], 1, can_refuse=True)
    odds = [0.6 / 0.4, 0.1 / 0.9]
    assert no_answer.exp().item() == pytest.approx(0.4)
    assert scores.exp().flatten().tolist() == pytest.approx([0.6 * value / sum(odds) for value in odds])
    first, second = window([0.6], [1.0], 0.4, mass=math.log(3)), window([0.1], [1.0], 0.9, mass=0.0, first=1)
    scores, _ = merge_window_scores([first, second], 1, can_refuse=False)
    assert scores.exp().flatten().tolist() == pytest.approx([0.6 * 0.75, 0.1 * 0.25])


@pytest.mark.parametrize("log_probability", [0.0, -1e-30, -1e4, -math.inf])
def test_merging_survives_certainty(log_probability: float) -> None:
    certain = window([0.5, 0.5], [0.5, 0.5], 0.5)._replace(no_answer=torch.tensor(log_probability))
    other = window([0.5, 0.5], [0.5, 0.5], 0.5, first=2)
    for windows in ([certain], [certain, certain], [certain, other]):
        scores, _ = merge_window_scores(windows, 1, can_refuse=True)
        assert not scores.isnan().any()
        assert scores.exp().sum() <= 1 + 1e-9


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"question": "", "context": "cat"}, ValueError, "question"),
        ({"question": "who ?", "context": " \n"}, ValueError, r"who \?.*context"),
        ({"question": "who ?"}, ValueError, r"no context; its keys are \['question'\]"),
        ({"context": "cat"}, ValueError, "no question"),
        ({}, ValueError, "no question"),
        ({"inputs": "who ?"}, TypeError, "who"),
        ({"inputs": {"question": "a", "context": "b"}, "question": "c"}, TypeError, "not both"),
        ({"inputs": [{"question": "a", "context": 3}]}, TypeError, "context must be a string, got int"),
        ({"inputs": ["a"]}, TypeError, "must be a dict .*got str"),
        ({"question": ["a", "b"], "context": ["c"]}, ValueError, "2 questions do not match 1 contexts"),
        ({"question": "a", "context": "b", "top_k": 0}, ValueError, "top_k must be at least 1, got 0"),
        ({"question": "a", "context": "b", "top_k": 2.5}, TypeError, r"top_k must be a whole number, got 2\.5"),
        ({"question": "a", "context": "b", "top_k": "3"}, TypeError, "top_k must be a whole number, got '3'"),
        ({"question": "a", "context": "b", "top_k": True}, TypeError, "top_k must be a whole number, got True"),
        ({"question": "a", "context": "b", "max_seq_len": 9.0}, TypeError, r"max_seq_len must be a whole .* got 9\.0"),
        ({"question": "a", "context": "b", "max_answer_len": "9"}, TypeError, "max_answer_len must be a whole number"),
        (
            {"question": "a", "context": "b", "max_question_len": []},
            TypeError,
            "max_question_len must be a whole number",
        ),
        ({"question": "a", "context": "b", "doc_stride": "1"}, TypeError, "doc_stride must be a whole number, got '1'"),
        (
            {"question": "a", "context": "b", "no_answer_threshold": "0.5"},
            TypeError,
            r"no_answer_threshold must be a number from 0 to 1, got '0\.5'",
        ),
        (
            {"question": "a", "context": "b", "no_answer_threshold": float("nan")},
            ValueError,
            r"no_answer_threshold must be in \[0, 1\], got nan",
        ),
        (
            {"question": "a", "context": "b", "handle_impossible_answer": "no"},
            TypeError,
            "handle_impossible_answer must be True or False, got 'no'",
        ),
        ({"question": "a", "context": "b", "max_answer_len": 0}, ValueError, "max_answer_len"),
        ({"question": "a", "context": "b", "doc_stride": -1}, ValueError, "doc_stride"),
        (
            {"question": "a", "context": "b", "doc_stride": 5, "max_seq_len": 5},
            ValueError,
            "doc_stride=5 .*below the 5",
        ),
        ({"question": "a", "context": "b", "no_answer_threshold": 1.5}, ValueError, r"no_answer_threshold.*1\.5"),
        ({"question": "a", "context": "b", "topk": 3}, TypeError, "topk"),
    ],
)
def test_bad_input(
    pipe: QuestionAnsweringPipeline, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        pipe(**arguments)


def test_pipeline_needs_its_head() -> None:
    class HeadlessConfig(BidafConfig):
        model_type = "ctxzoo_headless"

    register_architecture(
        HeadlessConfig,
        load=lambda: {"AutoModel": BidafModel},
        load_pipelines=lambda: {"question-answering": QuestionAnsweringPipeline},
    )
    try:
        with pytest.raises(ValueError, match=r"QuestionAnsweringPipeline runs AutoModelForQuestionAnswering"):
            ARCHITECTURES["headless"]
    finally:
        del ARCHITECTURES.loaders["headless"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, tokenizer: WordCharTokenizer) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    tiny_model().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_checkpoint_names_and_carries_the_pipeline(checkpoint: Path, tmp_path: Path) -> None:
    config = json.loads((checkpoint / "config.json").read_text())
    assert config["custom_pipelines"] == {
        "question-answering": {
            "impl": "pipeline_question_answering.QuestionAnsweringPipeline",
            "pt": ["AutoModelForQuestionAnswering"],
        }
    }
    package = Path(__file__).parents[2] / "ctxzoo" / "models"
    for name in (
        "pipeline_question_answering",
        "ops_answer",
        "tokenization_word_char",
        "tokenization_base",
    ):
        assert (checkpoint / f"{name}.py").read_bytes() == (package / f"{name}.py").read_bytes()
    base = AutoModel.from_pretrained(checkpoint)
    BidafModel(BidafConfig()).save_pretrained(tmp_path)
    assert type(base) is BidafModel
    assert "custom_pipelines" not in json.loads((tmp_path / "config.json").read_text())


PROGRAM = """
    import json
    from transformers import pipeline

    folder, examples = FOLDER, EXAMPLES
    answers = []
    for number in range(2):
        pipe = pipeline("question-answering", model=folder, trust_remote_code=True, device="cpu")
        answers.append(pipe(examples, top_k=3, max_seq_len=4, doc_stride=1, batch_size=2))
        folder = folder + "/again"
        pipe.save_pretrained(folder)  # a copy of a copy still runs
    print(json.dumps([type(pipe).__module__, type(pipe.model).__module__, answers]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("without", [True, False])
def test_pipeline_from_a_folder(checkpoint: Path, tmp_path: Path, make_pipeline: MakePipeline, without: bool) -> None:
    examples = [{"question": QUESTION, "context": context} for context in ODD_CONTEXTS]
    program = PROGRAM.replace("FOLDER", repr(str(checkpoint))).replace("EXAMPLES", repr(examples))
    if not without:
        program = program.replace("import json", "import ctxzoo, json")
    finished = run_warm(program, env=offline(), without_ctxzoo=without)
    pipeline_module, model_module, answers = json.loads(finished.stdout.splitlines()[-1])
    assert pipeline_module.startswith("transformers_modules.")
    assert model_module.startswith("transformers_modules." if without else "ctxzoo.")
    expected = make_pipeline()(examples, top_k=3, max_seq_len=4, doc_stride=1)
    for found in answers:
        for ours, theirs in zip(found, expected, strict=True):
            assert_close(ours, theirs)


def test_pipeline_class_needs_no_flag(checkpoint: Path, make_pipeline: MakePipeline) -> None:
    loaded = pipeline(
        "question-answering", model=str(checkpoint), pipeline_class=QuestionAnsweringPipeline, device="cpu"
    )
    example = {"question": QUESTION, "context": ODD_CONTEXTS[0]}
    assert_close(loaded(example), make_pipeline()(example))
