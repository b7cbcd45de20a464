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

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from ctxzoo.results.result import RunResult
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.word_embeddings.experiments import (
    BY_CUSTOM,
    MIN_COUNT,
    SAMPLE_MIN_COUNT,
    build_paper_experiment,
    replace_architecture,
)
from ctxzoo.tasks.word_embeddings.problem import WORD_EMBEDDINGS
from ctxzoo.tasks.word_embeddings.settings import CUSTOMS

BASE = build_paper_experiment().copy_with(
    recipe="wikipedia_attention_cbow",
    dataset="ctxzoo-data/wikipedia_en_2015",
    min_count=None,
    threads=1,  # one and a seed give the same vectors each time
    **{"word_logits": True, "position_logits": True, "logit_rank": 0},
    **dict.fromkeys(BY_CUSTOM),
)


def main(
    experiment: Experiment,
    architecture: Sequence[str] = ("attention_cbow",),
    window: Sequence[int] = (),
    seeds: Sequence[int] = (0,),
) -> None:
    """Train word vectors with each architecture, window and seed, and print their scores side by side.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        architecture: Names of word embedding architectures, one training each.
        window: Numbers of context words on each side, one training each; default: 20, or 2 for a tiny training.
        seeds: Seeds of all random draws, one training each.
    """
    rare = SAMPLE_MIN_COUNT if experiment.data.dataset == "sample" else MIN_COUNT
    experiment = experiment.copy_with(min_count=experiment.values()["min_count"] or rare)
    rows = [replace_architecture(experiment, one) for one in architecture]
    runs = [
        ExperimentRun(WORD_EMBEDDINGS, row.copy_with(window=width, seed=seed))
        for row in rows
        for width in window or (experiment.values()["window"],)
        for seed in seeds
    ]
    Console().print(build_summary_table([execute(run, resume=experiment.run.resume) for run in runs]))


def build_summary_table(results: list[RunResult]) -> Table:
    """Return the table that is printed at the end: a row for each training, with loss, perplexity and speed."""
    table = Table(title="word vectors")
    for heading in ("architecture", "b", "seed", "words", "loss", "test perplexity", "words/s"):
        table.add_column(heading, justify="left" if heading == "architecture" else "right")
    for result in results:
        losses = [value for name, value in result.metrics.items() if name.endswith("/loss")]
        perplexity = result.metrics.get(f"{result.split}/perplexity")
        table.add_row(
            result.variant,
            str(result.settings["window"]),
            str(result.seed),
            f"{result.metrics['words']:,}",
            f"{losses[-1]:.4f}" if losses else "",
            "" if perplexity is None else f"{perplexity:,.1f}",
            f"{result.metrics['words_per_second']:,.0f}",
        )
    return table


# In a run's file of settings `architecture` is word_embedding, and the `variant` behind it what is asked for here.
SHORT = {"column": "text_column", "variant": "architecture"}
STUDY = Study(main, WORD_EMBEDDINGS, BASE, SHORT, {"architecture": tuple(CUSTOMS)})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
