"""Word vectors on every task: POS induction, word similarity, analogies, sentiment.

    python recipes/embedding_evaluation.py --vectors runs/…/checkpoint                   all tasks
    python recipes/embedding_evaluation.py --vectors A B C --seeds 0 1 2 --resume        finished tasks are kept
    python recipes/embedding_evaluation.py --vectors vectors.txt --tasks similarity analogy
    python recipes/embedding_evaluation.py --vectors A --name subsampled                 for vectors of other settings

Vectors are files of word vectors, checkpoint folders of the architecture WordEmbedding, or Hub ids of such. Each task
of each leaves results/embedding_evaluation/<architecture>-b<window>-seed<seed>[-<name>]-<task>.json; of a file, which
says nothing of architecture and window, its name stands in their place. A YAML file of settings may come first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from ctxzoo.evaluation.embedding_run import EmbeddingRun, EmbeddingSource, evaluate_embedding
from ctxzoo.evaluation.embedding_tasks import HEADINGS, POS_TAGS, EvaluationOptions, check_tasks, score_rows
from ctxzoo.evaluation.embedding_tasks import TASKS as EMBEDDING_TASKS
from ctxzoo.evaluation.environment import git_commit
from ctxzoo.evaluation.pos_induction import DATASET, RESTARTS
from ctxzoo.hub.recipe import run_recipe
from ctxzoo.training.writable import check_writable

RECIPE = "embedding_evaluation"
TASKS = dict(EMBEDDING_TASKS)


@dataclass
class Settings:
    vectors: list[str] = field(default_factory=list, metadata={"help": "files, checkpoint folders or Hub ids"})
    seeds: list[int] = field(
        default_factory=lambda: [0], metadata={"help": "of the training that made them: one for each, or one for all"}
    )
    name: str = field(default="", metadata={"help": "tells vectors of other settings apart"})
    tasks: list[str] = field(default_factory=lambda: list(TASKS), metadata={"help": f"of {', '.join(TASKS)}"})
    fold_digits: bool | None = field(
        default=None,
        metadata={"help": "look words up with digits as 0; default: as a checkpoint's tokenizer does"},
    )
    pos_dataset: str = field(default=DATASET, metadata={"help": "of POS induction: Hub id or folder"})
    pos_tags: list[str] = field(default_factory=lambda: list(POS_TAGS), metadata={"help": "its columns of tags"})
    restarts: int = field(default=RESTARTS, metadata={"help": "of POS induction"})
    evaluation_seed: int = field(default=0, metadata={"help": "of what an evaluation draws"})
    threads: int = field(default=0, metadata={"help": "restarts at once; 0: one for each core"})
    data_dir: str | None = field(default=None, metadata={"help": "folder of datasets; default: $CTXZOO_DATA"})
    resume: bool = field(default=False, metadata={"help": "keep finished evaluations"})
    results_dir: str = "results"

    def __post_init__(self) -> None:
        check_tasks(self.tasks, tuple(TASKS))
        if not self.vectors:
            raise ValueError("--vectors names nothing; give files, checkpoint folders or Hub ids")
        if len(self.seeds) not in (1, len(self.vectors)):
            raise ValueError(
                f"{len(self.seeds)} --seeds for {len(self.vectors)} --vectors; give one for each, or one for all"
            )


def main(settings: Settings) -> None:
    commit = git_commit()
    seeds = settings.seeds if len(settings.seeds) > 1 else settings.seeds * len(settings.vectors)
    sources = [
        EmbeddingSource(path=path, seed=seed, name=settings.name, fold_digits=settings.fold_digits)
        for path, seed in zip(settings.vectors, seeds, strict=True)
    ]
    runs = [[run_of(source, task, settings, commit) for task in settings.tasks] for source in sources]
    refuse_shared_files([run for of_source in runs for run in of_source])
    check_writable(runs[0][0].results_file.parent)
    for of_source in runs:
        table = Table(*HEADINGS, title=f"{of_source[0].source.variant}, seed {of_source[0].source.seed}")
        for run in of_source:
            result, found = evaluate_embedding(run, resume=settings.resume)
            rows = [[run.task, "finished before", "", "", ""]] if found is None else score_rows(run.task, found)
            for row in rows:
                table.add_row(*row)
            print(f"{run.results_file.name}: {result.wall_seconds:.1f} s", flush=True)
        Console().print(table)


def run_of(source: EmbeddingSource, task: str, settings: Settings, commit: str) -> EmbeddingRun:
    options = EvaluationOptions(
        data_dir=settings.data_dir,
        pos_dataset=settings.pos_dataset,
        pos_tags=tuple(settings.pos_tags),
        restarts=settings.restarts,
        seed=settings.evaluation_seed,
        threads=settings.threads,
    )
    return EmbeddingRun(
        source=source,
        task=task,
        evaluation=TASKS[task],
        options=options,
        recipe=RECIPE,
        commit=commit,
        results_dir=settings.results_dir,
    )


def refuse_shared_files(runs: list[EmbeddingRun]) -> None:
    """Before anything is evaluated."""
    owner: dict[str, str] = {}
    for run in runs:
        first = owner.setdefault(run.results_file.name, run.source.path)
        if first != run.source.path:
            raise ValueError(
                f"{first} and {run.source.path} would both write {run.results_file.name}; give them --seeds of their "
                "own, or a --name in a run of their own"
            )


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
