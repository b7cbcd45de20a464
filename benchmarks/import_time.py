"""A measurement of how much `import ctxzoo` adds to `import transformers, torch`, and of how soon the command answers.

    python -m benchmarks.import_time

Each import runs in a fresh interpreter, in turns; seconds are medians. transformers loads most of itself only when it
is used: "the Auto classes" shows what it costs to use those that ctxzoo registers with, "the base classes"
what a package pays that imports its models at once. The command labels one text with a published checkpoint, beside
`from transformers import PreTrainedModel`, and prints its help.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reporting import RESULTS, Value, build_environment, write_rows
from ctxzoo.results.environment import git_commit

AIM_SECONDS = 0.3  # above the peer, or in all where there is none
PEER, MODEL_PEER = "transformers, torch", "transformers: PreTrainedModel"
PREDICT, HELP = "ctxzoo predict of one text", "ctxzoo --help"
IMPORTS = {
    PEER: "import transformers, torch",
    "transformers, torch, the Auto classes": (
        "import transformers, torch; from transformers import AutoConfig, AutoTokenizer"
    ),
    "transformers, torch, the base classes": (
        "import transformers, torch; from transformers import "
        "AutoModel, Pipeline, PreTrainedConfig, PreTrainedModel, TokenizersBackend, initialization"
    ),
    "ctxzoo": "import ctxzoo",
    MODEL_PEER: "from transformers import PreTrainedModel",
    PREDICT: (
        "import ctxzoo_command; "
        "ctxzoo_command.main(['predict', 'model_cards/lama-imdb', '--text', 'a fine film', '--device', 'cpu'])"
    ),
    HELP: "import contextlib, ctxzoo_command\nwith contextlib.suppress(SystemExit): ctxzoo_command.main(['--help'])\n",
}
PEERS = {PREDICT: MODEL_PEER, MODEL_PEER: MODEL_PEER, HELP: None}  # of the others: `PEER`
PROGRAM = "import time; begin = time.perf_counter()\n{}\nprint(time.perf_counter() - begin)"


def main(arguments: Sequence[str] | None = None) -> Path:
    """Time `import ctxzoo` beside the libraries it needs, print and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.import_time",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--output", type=Path, default=RESULTS / "import_time.csv")
    options = parser.parse_args(arguments)
    commit = git_commit()
    seconds: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for program in IMPORTS.values():
        measure_import_seconds(program)  # compiles what is not compiled yet, and fills the file cache
    for _ in range(options.rounds):
        for name, program in IMPORTS.items():
            seconds[name].append(measure_import_seconds(program))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    peers = {name: PEERS.get(name, PEER) for name in IMPORTS}
    rows: list[dict[str, Value]] = [
        {
            "imported": name,
            "rounds": options.rounds,
            "median_seconds": medians[name],
            "least_seconds": min(values),
            "peer": peers[name],
            "above_peer_seconds": medians[name] - (medians[peers[name]] if peers[name] else 0),
            "aim_seconds": AIM_SECONDS if name in ("ctxzoo", PREDICT, HELP) else None,
        }
        for name, values in seconds.items()
    ]
    for row in rows:
        print(f"{row['imported']:40} {row['median_seconds']:.2f} s, {row['above_peer_seconds']:+.2f} s")
    write_rows(options.output, rows, commit)
    return Path(options.output)


def measure_import_seconds(program: str) -> float:
    """Return the seconds that the imports in `program` take in a new interpreter, whose own start is not counted."""
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(program)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).resolve().parents[1],
        env=build_environment(),
    )
    return float(process.stdout.split()[-1])


if __name__ == "__main__":
    main(sys.argv[1:])
