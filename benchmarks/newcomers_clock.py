"""Seconds and megabytes of a newcomer's first steps: installation, answer, own file, page, export, service.

    python3 benchmarks/newcomers_clock.py                          in a new environment, which is deleted behind it
    python3 benchmarks/newcomers_clock.py --environment .venv      in one that stays, or is there already
    .venv/bin/python -m benchmarks.newcomers_clock --output F      also writes the rows, with machine and versions

Each step is a command as its page has it, on generated reviews and the reader that comes with the checkout. A page and
a service count until they answer, and are then ended. Memory is that of the step's largest process, disk what
the step wrote. The script imports the standard library alone, for installation comes before all else.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = "train,app,serve,onnx"
ROWS, PATIENCE, PAUSE = 300, 180, 0.1  # reviews; seconds until a page must answer, and between two questions to it
QUESTION = """import ctxzoo
reader = ctxzoo.pipeline("model_cards/bidaf-squad")
context = "The lighthouse at Skarvnes was built in 1868 by the engineer Ingrid Solberg."
print(reader(question="Who built the lighthouse at Skarvnes?", context=context))"""
REVIEWS = {
    "good": ("a delight", "warm and funny", "worth every minute", "beautifully played", "a small wonder"),
    "bad": ("a bore", "cold and loud", "a waste of an evening", "badly cut", "two hours too long"),
}
SUBJECTS = ("the film", "this sequel", "the first act", "her new picture", "the cast", "the story", "that ending")


@dataclass(frozen=True)
class Step:
    """One command of a newcomer, for a shell.

    Attributes:
        name: Name in the table.
        command: Command line.
        writes: File or folder that the command writes; empty: nothing that is measured.
        address: Address that answers when the step is done; empty: it is done when the command ends.
        body: JSON that is sent to the address; None: it is only opened.
    """

    name: str
    command: str
    writes: str = ""
    address: str = ""
    body: bytes | None = None


def main(arguments: Sequence[str] | None = None) -> None:
    """Take all steps, print a line for each, and write the rows if asked; the first that fails is an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, help="folder of a virtual environment, made where there is none")
    parser.add_argument("--extras", default=EXTRAS, help=f"extras that are installed; default: {EXTRAS}")
    parser.add_argument("--output", type=Path, help="CSV file for the rows")
    options = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory(prefix="ctxzoo-newcomer-") as scratch:
        folder = Path(scratch)
        environment = (options.environment or folder / "environment").absolute()
        write_reviews(folder / "reviews.csv")
        for step in list_steps(environment, options.extras):
            rows.append(take_step(step, folder, environment))
            print("{step:<22}{seconds:8.1f} s{memory_mb:8.0f} MB of memory{disk_mb:8.1f} MB of disk".format(**rows[-1]))
    if options.output is not None:
        from benchmarks.reporting import write_rows
        from ctxzoo.results.environment import git_commit

        write_rows(options.output, rows, git_commit())


def list_steps(environment: Path, extras: str) -> list[Step]:
    """Return the steps in order; those behind the installation have the environment's commands."""
    root, python = shlex.quote(str(ROOT)), shlex.quote(sys.executable)
    installed = shlex.quote(str(environment))
    install = f"{installed}/bin/pip install --quiet -c constraints.txt -e '.[{extras}]'"
    checkpoint, page, service = "runs/*/*/checkpoint", find_free_port(), find_free_port()
    return [
        Step("install", f"cd {root} && {python} -m venv {installed} && {install}", str(environment)),
        Step("answer", f"cd {root} && python -c {shlex.quote(QUESTION)}"),
        Step("train", "ctxzoo train text-classification --data reviews.csv", "runs"),
        Step("predict", f"ctxzoo predict {checkpoint} --file reviews.csv --output answers.csv", "answers.csv"),
        Step("page", f"exec ctxzoo app {checkpoint} --no_open --port {page}", address=f"http://127.0.0.1:{page}/"),
        Step("export", f"ctxzoo export {checkpoint} --output exported", "exported"),
        Step(
            "service",
            f"exec ctxzoo serve {checkpoint} --port {service}",
            address=f"http://127.0.0.1:{service}/predict",
            body=json.dumps({"text": "the cast is a delight"}).encode(),
        ),
    ]


def write_reviews(file: Path) -> None:
    """Write generated reviews with their labels as a CSV file."""
    generator = random.Random(0)
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(("text", "label"))
        for _ in range(ROWS):
            label = generator.choice(sorted(REVIEWS))
            parts = [f"{generator.choice(SUBJECTS)} is {words}" for words in generator.sample(REVIEWS[label], 2)]
            writer.writerow((" and ".join(parts), label))


def find_free_port() -> int:
    """Return a port of the loopback that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def take_step(step: Step, folder: Path, environment: Path) -> dict[str, str | float]:
    """Run a step in `folder`; return its row.

    Raises:
        RuntimeError: the command failed, or its address did not answer in time; with the end of what was printed.
    """
    log, path = folder / "printed.txt", f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # Python is to keep what it compiles, as on a newcomer's machine.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    with log.open("w") as printed:
        process = subprocess.Popen(
            ["sh", "-c", step.command],
            cwd=folder,
            env={**kept, "PATH": path},
            stdout=printed,
            stderr=printed,
            start_new_session=True,
        )
        answers = bool(step.address) and wait_for_answer(step, process.pid)
        seconds = time.perf_counter() - begin
        if step.address:
            os.killpg(process.pid, signal.SIGTERM)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if not answers if step.address else process.returncode:
        raise RuntimeError(f"{step.name}: exit status {process.returncode}\n{log.read_text()[-3000:]}")
    return {
        "step": step.name,
        "seconds": seconds if step.address else time.perf_counter() - begin,
        "memory_mb": usage.ru_maxrss * 1024 / 1e6,
        "disk_mb": measure_size(folder / step.writes) / 1e6 if step.writes else 0.0,
    }


def wait_for_answer(step: Step, pid: int) -> bool:
    """Ask the address of a step until it answers; return False if its process ends first, or after `PATIENCE`."""
    request = urllib.request.Request(step.address, step.body, {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        try:
            with opener.open(request, timeout=PATIENCE) as answer:
                return bool(answer.read())
        except OSError:  # nobody listens yet
            time.sleep(PAUSE)
    return False


def measure_size(place: Path) -> int:
    """Return the bytes of a file, or of all files of a folder."""
    files = place.rglob("*") if place.is_dir() else [place]
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())


if __name__ == "__main__":
    main()
