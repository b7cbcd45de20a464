"""Requests a second of `ctxzoo serve` and how long they wait, beside the plainest endpoint around the same model.

    python -m benchmarks.serving                          two published checkpoints, 1, 8 and 32 clients
    python -m benchmarks.serving --quick --output F       does it run? (few requests of one checkpoint)

Clients are threads that ask for one row a request over the loopback, each the next as soon as the last is answered.
The peer is FastAPI in its plainest form: one endpoint that calls `ctxzoo.pipeline(checkpoint)` with the row, in
uvicorn, with one thread of torch as ours. Before it is timed, each service of ours answers 1,000 rows with 32 clients,
in requests of 1, 2 and 5 rows in a drawn order, which must be what `ctxzoo predict --threads 1` writes for a file of
them, byte for byte; and 1,000 malformed requests of 16 kinds, each of which must be refused in one line.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx

from benchmarks.reporting import RESULTS, Value, format_number, write_rows
from ctxzoo.results.environment import git_commit
from ctxzoo.results.table_parts import format_markdown_table

ROOT = Path(__file__).resolve().parents[1]
CHECKPOINTS = ("lama-reuters8", "tagger-ewt")
CLIENTS = (1, 8, 32)
ROWS, SECONDS = 1000, 6.0  # rows, and malformed requests; seconds of each number of clients
WORDS = ("the", "of", "company", "said", "shares", "oil", "bank", "rates", "in", "a", "year", "rose", "market", "to")
PEER = """
import json, sys
import torch, uvicorn
from fastapi import FastAPI
import ctxzoo
torch.set_num_threads(1)
pipeline = ctxzoo.pipeline(sys.argv[1])
all_labels = {"top_k": None} if pipeline.task == "text-classification" else {}
app = FastAPI()
@app.post("/predict")
def predict(row: dict):
    answer = pipeline(row["text"], **all_labels)
    return {**row, "answer": json.loads(json.dumps(answer, default=float))}
@app.get("/health")
def health():
    return {}
uvicorn.run(app, port=int(sys.argv[2]), log_level="warning")
"""


def main(arguments: Sequence[str] | None = None) -> Path:
    """Check and time both services of each checkpoint, print and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.serving", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one checkpoint, few requests")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    if options.quick and options.output is None:
        parser.error("--quick measures nothing worth keeping: give --output a file outside results/")
    commit, rows, seconds = git_commit(), 40 if options.quick else ROWS, 0.5 if options.quick else SECONDS
    measured: list[dict[str, Value]] = []
    target: Path = options.output or RESULTS / "serving.csv"
    for name in CHECKPOINTS[:1] if options.quick else CHECKPOINTS:
        checkpoint = ROOT / "model_cards" / name
        texts = draw_rows(rows)
        with serve(build_command(checkpoint)) as (address, process):
            facts = {
                "equal_rows": count_equal_rows(address, texts, predict_lines(checkpoint, texts)),
                "refused": count_refused(address, rows),
            }
            measured += time_clients(name, "ctxzoo serve", address, process, texts, seconds, facts)
        with serve(build_peer_command(checkpoint)) as (address, process):
            empty: dict[str, Value] = {"equal_rows": None, "refused": None}
            measured += time_clients(name, "one endpoint, one pipeline call", address, process, texts, seconds, empty)
        write_rows(target, measured, commit)  # what is measured is kept, whatever becomes of the rest
    return target


def draw_rows(number: int) -> list[dict[str, str]]:
    """Return rows of texts of 5 to 60 words."""
    draws = random.Random(0)
    return [
        {"id": f"{row:04}", "text": " ".join(draws.choices(WORDS, k=draws.randint(5, 60)))} for row in range(number)
    ]


def build_command(checkpoint: Path) -> list[str]:
    """Return the command of our service, without its port."""
    return [sys.executable, "-m", "ctxzoo.cli", "serve", str(checkpoint), "--port"]


def build_peer_command(checkpoint: Path) -> list[str]:
    """Return the command of the peer, without its port."""
    return [sys.executable, "-c", PEER, str(checkpoint)]


@contextmanager
def serve(command: list[str]) -> Iterator[tuple[str, int]]:
    """Run a service at a free port; yield its address and the number of its process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
    process = subprocess.Popen([*command, port], cwd=ROOT)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                httpx.get(f"{address}/health").raise_for_status()
                break
            except httpx.TransportError:
                time.sleep(0.5)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait()


def predict_lines(checkpoint: Path, rows: Sequence[dict[str, str]]) -> list[str]:
    """Return what `ctxzoo predict --threads 1` writes for a file of the rows, line by line."""
    with tempfile.TemporaryDirectory() as scratch:
        source, target = Path(scratch) / "rows.jsonl", Path(scratch) / "answers.jsonl"
        source.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        command = [sys.executable, "-m", "ctxzoo.cli", "predict", str(checkpoint), "--threads", "1"]
        subprocess.run([*command, "--file", str(source), "--output", str(target)], check=True, cwd=ROOT)
        return target.read_text(encoding="utf-8").splitlines()


def count_equal_rows(address: str, rows: Sequence[dict[str, str]], expected: Sequence[str]) -> int:
    """Return how many of the rows the service answers as expected, in requests of several sizes side by side."""
    draws, places, parts = random.Random(1), list(range(len(rows))), []
    draws.shuffle(places)
    while places:
        number = draws.choice((1, 2, 5))
        parts.append(places[:number])
        places = places[number:]
    with httpx.Client(timeout=120) as client, ThreadPoolExecutor(max(CLIENTS)) as threads:

        def ask(part: Sequence[int]) -> list[str]:
            content = "".join(f"{json.dumps(rows[place])}\n" for place in part)
            headers = {"content-type": "application/x-ndjson"}
            return client.post(f"{address}/predict", content=content, headers=headers).text.splitlines()

        answers = threads.map(ask, parts)
        return sum(
            line == expected[place]
            for part, lines in zip(parts, answers, strict=True)
            for place, line in zip(part, lines, strict=True)
        )


def count_refused(address: str, number: int) -> int:
    """Return how many malformed requests are refused in one line, after which the service is still ready."""
    huge = json.dumps([{"text": "a"}] * 1001).encode()
    bodies: list[bytes] = [
        *(b"", b"{", b"[", b"nul", b"7", b'"a"', b"[]", b"[[]]", b"{}", b'{"txt": "a"}', b'{"text": 3}'),
        *(b"\xff\xfe", b'{"text": "a", "text": "b"}', b"[" * 50_000, huge, b'{"text": "' + b"a" * 1_100_000 + b'"}'),
    ]
    refused = 0
    with httpx.Client(timeout=120) as client:
        for one in range(number):
            answer = client.post(f"{address}/predict", content=bodies[one % len(bodies)])
            refused += 400 <= answer.status_code < 500 and "\n" not in answer.json()["error"]
        client.get(f"{address}/health").raise_for_status()
    return refused


def time_clients(
    name: str,
    side: str,
    address: str,
    process: int,
    rows: Sequence[dict[str, str]],
    seconds: float,
    facts: dict[str, Any],
) -> list[dict[str, Value]]:
    """Return a row of results for each number of clients."""
    ask_for(address, rows, 1, seconds / 8)
    measured: list[dict[str, Value]] = []
    for clients in CLIENTS:
        before = read_processor_seconds(process)
        waits, elapsed = ask_for(address, rows, clients, seconds)
        processor = read_processor_seconds(process) - before
        measured.append(
            {
                "checkpoint": name,
                "side": side,
                "clients": clients,
                "requests": len(waits),
                "requests_per_second": len(waits) / elapsed,
                "processor_ms_per_request": 1000 * processor / len(waits),
                "p50_ms": 1000 * waits[len(waits) // 2],
                "p99_ms": 1000 * waits[int(len(waits) * 0.99)],
                "load_before": os.getloadavg()[0],
                **facts,
            }
        )
        print(measured[-1], flush=True)
    return measured


def read_processor_seconds(process: int) -> float:
    """Return the seconds of the processor that a process has used (Linux), which other work does not change much."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask_for(address: str, rows: Sequence[dict[str, str]], clients: int, seconds: float) -> tuple[list[float], float]:
    """Ask for so many seconds; return how long each request took, in seconds, ascending, and how long all did."""
    bodies = [json.dumps(row) for row in rows]
    end = time.perf_counter() + seconds

    def ask(first: int) -> list[float]:
        # The plainest client: a heavier one would be timed itself.
        waits, client = [], HTTPConnection(address.removeprefix("http://"), timeout=120)
        while time.perf_counter() < end:
            begin = time.perf_counter()
            body = bodies[(first + len(waits)) % len(bodies)]
            client.request("POST", "/predict", body, {"Content-Type": "application/json"})
            answer = client.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()
            waits.append(time.perf_counter() - begin)
        client.close()
        return waits

    begin = time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        waits = [wait for of_one in threads.map(ask, range(0, 31 * clients, 31)) for wait in of_one]
    return sorted(waits), time.perf_counter() - begin


def format_serving_table(rows: list[dict[str, str]]) -> str:
    """Return the Markdown table of requests a second and how long they wait."""
    headings = [
        "checkpoint",
        "side",
        "clients",
        "requests/s",
        "processor ms",
        "p50 ms",
        "p99 ms",
        "rows as predict",
        "malformed, refused",
    ]
    cells = [
        [
            *(row[name] for name in ("checkpoint", "side", "clients")),
            *(
                format_number(row[name], 1)
                for name in ("requests_per_second", "processor_ms_per_request", "p50_ms", "p99_ms")
            ),
            *(format_number(row[name], 0) for name in ("equal_rows", "refused")),
        ]
        for row in rows
    ]
    return format_markdown_table(headings, cells, left_aligned=2)


if __name__ == "__main__":
    main()
