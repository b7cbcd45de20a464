"""The HTTP service: its forms of requests and answers, what it refuses and how, its limits, and how it stops."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from ctxzoo.checkpoints import open_checkpoint
from ctxzoo.cli.main import main
from ctxzoo.serving.asked_model import AskedModel
from ctxzoo.serving.limits import Limits
from ctxzoo.serving.service import build_service
from tests.support.subprocesses import REPOSITORY_ROOT

CHECKPOINT = REPOSITORY_ROOT / "model_cards" / "contextualizer-mr"
TAGGER = REPOSITORY_ROOT / "model_cards" / "tagger-ewt"
LIMITS = Limits(max_bytes=2000, max_rows=5, max_characters=300, queue=2, timeout=5)
LINES = {"content-type": "application/x-ndjson"}


def build_client(checkpoint: Path, limits: Limits = LIMITS, **options: Any) -> TestClient:
    card, saved = open_checkpoint(str(checkpoint))
    return TestClient(build_service(AskedModel(card.name, *saved.load(), options), checkpoint.name, limits))


@pytest.fixture(scope="module")
def client() -> TestClient:
    return build_client(CHECKPOINT)


def test_rows_in_every_form(client: TestClient) -> None:
    row = {"id": "07", "text": "a charming film"}
    (expected,) = client.post("/predict", json=row).json()["rows"]
    assert list(expected)[:3] == ["id", "text", "predicted_label"]
    assert sum(expected["probabilities"].values()) == pytest.approx(1)
    for content in ([row], {"rows": [row]}):
        assert client.post("/predict", json=content).json() == {"rows": [expected], "notes": []}
    assert client.post("/predict", json={"texts": [row["text"]] * 2}).json()["rows"][1] == {
        name: value for name, value in expected.items() if name != "id"
    }
    lines = client.post("/predict", content=f"{json.dumps(row)}\n\n{json.dumps(row)}\n", headers=LINES)
    assert lines.headers["content-type"] == LINES["content-type"]
    assert [json.loads(line) for line in lines.text.splitlines()] == [expected] * 2


def test_notes_are_those_of_the_request(client: TestClient) -> None:
    (note,) = client.post("/predict", json={"texts": ["qqqq", "film"]}).json()["notes"]
    assert "1 of 2 texts" in note
    answer = client.post("/predict", content='{"text": "qqqq"}', headers=LINES)
    assert "text" in json.loads(answer.headers["ctxzoo-notes"])[0]
    assert client.post("/predict", json={"texts": ["film"]}).json()["notes"] == []


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (400, b"{", "the request is not JSON"),
        (400, b"\xff", "not UTF-8"),
        (400, b'{"text": "a", "text": "b"}', "'text' stands there twice"),
        (400, b'{"text": "\\ud800"}', "half a character"),
        (400, b"[" * 1500, "the request is not JSON"),
        (422, b"[]", "no row"),
        (422, b"7", "the request is 7; expected"),
        (422, b'{"rows": [3]}', "row 0 of the request is 3; expected an object"),
        (422, b'[{"text": "a"}, {}]', "row 1 of the request is {}"),
        (422, b'{"txt": "a"}', "'txt'"),
        (422, b'{"text": 5}', "row 0: '5' in 'text'; expected a text"),
        (422, b'{"texts": [" "]}', "expected a text"),
        (422, b'{"text": "a", "predicted_label": 1}', "already"),
        (413, b'{"text": "' + b"a" * 301 + b'"}', "301 characters; send 300 at most (--max_characters)"),
        (413, json.dumps([{"text": "a"}] * 6).encode(), "6 rows; send 5 at most (--max_rows)"),
        (413, b'{"text": "' + b"a" * 2000, "2,000 at most (--max_bytes)"),
    ],
)
def test_what_is_wrong_is_one_line(client: TestClient, status: int, body: bytes, says: str) -> None:
    answer = client.post("/predict", content=body)
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert says in answer.json()["error"]
    assert "\n" not in answer.json()["error"]
    assert "Traceback" not in answer.text


def test_a_broken_line_is_named(client: TestClient) -> None:
    answer = client.post("/predict", content='{"text": "a"}\n{"text"\n', headers=LINES)
    assert answer.status_code == 400
    assert "line 2 of the request" in answer.json()["error"]


def test_other_paths_and_methods_say_what_there_is(client: TestClient) -> None:
    for method, path, status in (("GET", "/", 404), ("GET", "/predict", 405), ("POST", "/health", 405)):
        answer = client.request(method, path)
        assert answer.status_code == status
        assert "expected POST /predict" in answer.json()["error"]


def test_bad_rows_are_left_out_where_the_service_says_so() -> None:
    card, saved = open_checkpoint(str(CHECKPOINT))
    asked = AskedModel(card.name, *saved.load(), {"unsure": "0.9"}, skip_bad=True)
    answer = TestClient(build_service(asked, "a")).post(
        "/predict", json=[{"id": 1, "text": ""}, {"id": 2, "text": "a"}]
    )
    assert [row["id"] for row in answer.json()["rows"]] == [2]
    assert "unsure" in answer.json()["rows"][0]
    assert any("left out 1 of the data" in note for note in answer.json()["notes"])


def test_explanations_are_signed_and_of_classifiers_of_texts(client: TestClient) -> None:
    (row,) = client.post("/explain", json={"id": 3, "text": "a dull film"}).json()["rows"]
    assert row["id"] == 3
    assert [word["word"] for word in row["words"]] == ["a", "dull", "film"]
    assert set(row["words"][1]["contributions"]) == set(row["probabilities"]) == set(row["bias"])
    answer = build_client(TAGGER).post("/explain", json={"text": "a dull film"})
    assert answer.status_code == 404
    assert answer.json() == {"error": "token-classification is not explained by words; text-classification is"}


def test_a_full_queue_is_told_to_come_back_and_health_says_so() -> None:
    card, saved = open_checkpoint(str(CHECKPOINT))
    asked, begin = AskedModel(card.name, *saved.load(), {}), threading.Event()
    service = TestClient(build_service(asked, "a", LIMITS))
    held = asked.thread.submit(begin.wait, 10)
    answers: list[Any] = []
    clients = [
        threading.Thread(target=lambda: answers.append(service.post("/predict", json={"text": "a"}))) for _ in range(2)
    ]
    with service:
        for one in clients:
            one.start()
        while service.get("/health").json()["queue"] < 2:
            time.sleep(0.01)
        refused = service.post("/predict", json={"text": "a"})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        begin.set()
        for one in clients:
            one.join()
    assert held.result()
    assert [answer.status_code for answer in answers] == [200, 200]
    health = service.get("/health").json()
    assert (health["status"], health["problem"], health["queue"]) == ("ready", "text-classification", 0)
    assert (health["requests"], health["rows"], health["refused"]) == (2, 2, 1)


def test_a_fault_of_ours_is_one_line_and_the_next_request_is_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    card, saved = open_checkpoint(str(CHECKPOINT))
    asked = AskedModel(card.name, *saved.load(), {})
    service = TestClient(build_service(asked, "a"))
    with monkeypatch.context() as patch:
        patch.setattr(asked, "_build", lambda: {}["missing"])
        answer = service.post("/predict", json={"text": "a"})
    assert answer.status_code == 500
    assert "failed" in answer.json()["error"]
    assert "ctxzoo: a request failed: KeyError" in capsys.readouterr().err
    assert service.post("/predict", json={"text": "a"}).status_code == 200


def test_a_request_that_takes_too_long_is_told_so() -> None:
    card, saved = open_checkpoint(str(CHECKPOINT))
    asked = AskedModel(card.name, *saved.load(), {})
    service = TestClient(build_service(asked, "a", Limits(timeout=0.2)))
    end = threading.Event()
    asked.thread.submit(end.wait, 10)
    answer = service.post("/predict", json={"text": "a"})
    end.set()
    assert answer.status_code == 503
    assert "not answered in 0.2 seconds" in answer.json()["error"]


def test_command_refuses_options_of_other_problems_and_a_taken_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(CHECKPOINT), "--threshold", "0.3"]) == 2
    assert "--threshold: for question-answering" in capsys.readouterr().err
    assert main(["serve", "nowhere/at/all"]) == 2


def test_without_the_extra_the_command_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", str(CHECKPOINT)]) == 2
    said = "ctxzoo: error: ctxzoo serve needs FastAPI and uvicorn, of the extra serve: pip install fastapi uvicorn\n"
    assert capsys.readouterr().err == said


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command with a published checkpoint at a free port, and its address."""
    command = [sys.executable, "-m", "ctxzoo.cli", "serve", str(CHECKPOINT), "--port", "0"]
    with (tmp_path / "errors").open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=REPOSITORY_ROOT)
        assert process.stdout is not None
        line = process.stdout.readline()
        yield process, line.split()[3]
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_answers_what_is_in_flight(served: tuple[subprocess.Popen[str], str], number: int) -> None:
    process, address = served
    answers: list[httpx.Response] = []
    rows = [{"text": "a dull film with a good story " * 10}] * 30

    def ask() -> None:
        answers.append(httpx.post(f"{address}/explain", json=rows, timeout=60))

    client = threading.Thread(target=ask)
    client.start()
    while httpx.get(f"{address}/health").json()["queue"] < 1:
        time.sleep(0.01)
    process.send_signal(number)
    client.join()
    assert answers[0].status_code == 200
    assert len(answers[0].json()["rows"]) == 30
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out == "ctxzoo: stopped after 1 answered request, 0 refused\n"
