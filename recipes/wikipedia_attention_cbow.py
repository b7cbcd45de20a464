"""Word vectors from running text: attention CBOW of Ling et al. (EMNLP 2015) and its relatives.

    python recipes/wikipedia_attention_cbow.py                                   attention CBOW on a part of Wikipedia
    python recipes/wikipedia_attention_cbow.py --architecture cbow skip_gram --seeds 0 1 2 --threads 2
    python recipes/wikipedia_attention_cbow.py --dataset sample                  seconds, no network needed
    python recipes/wikipedia_attention_cbow.py --dataset my_text.txt.gz --test_split ""      a file, a line a sentence
    python recipes/wikipedia_attention_cbow.py --backend torch --accelerator gpu --batch_size 4096     PyTorch, on a GPU
    python recipes/wikipedia_attention_cbow.py --resume                          goes on where a training stopped

Settings are the paper's, or those of docs/models/word_embedding.md where it is silent; what differs from architecture
to architecture (learning rate, schedule, random window, gradient of CBOW) is customary for each unless it is given.
--name tells runs with other settings from them. The checkpoint folders are read by every recipe that takes --vectors.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from rich.console import Console
from rich.table import Table

from ctxzoo.results.environment import git_commit
from ctxzoo.results.result import RunResult
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.runs.run import execute
from ctxzoo.tasks.word_embeddings.training_settings import WordVectorSettings as Settings
from ctxzoo.tasks.word_embeddings.training_settings import word_vector_run

RECIPE = "wikipedia_attention_cbow"


def main(settings: Settings) -> None:
    commit = git_commit()
    runs = [
        word_vector_run(settings, architecture, window, seed, recipe=RECIPE, commit=commit)
        for architecture in settings.architecture
        for window in settings.window
        for seed in settings.seeds
    ]
    results = []
    for run in runs:
        results.append(execute(run, resume=settings.resume))
        print(f"checkpoint {run.spec.checkpoint}")
    Console().print(summary(results))


def summary(results: list[RunResult]) -> Table:
    table = Table(title="word vectors")
    for heading in ("architecture", "b", "seed", "words", "loss", "test perplexity", "words/s"):
        table.add_column(heading, justify="left" if heading == "architecture" else "right")
    for one in results:
        losses = [value for name, value in one.metrics.items() if name.endswith("/loss")]
        perplexity = one.metrics.get(f"{one.split}/perplexity")
        table.add_row(
            one.variant,
            str(one.settings["window"]),
            str(one.seed),
            f"{one.metrics['words']:,}",
            f"{losses[-1]:.4f}" if losses else "",
            "" if perplexity is None else f"{perplexity:,.1f}",
            f"{one.metrics['words_per_second']:,.0f}",
        )
    return table


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
