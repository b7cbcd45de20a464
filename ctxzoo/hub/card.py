"""Model cards, from the results of a run and what the registry knows."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from huggingface_hub import ModelCardData

import ctxzoo
from ctxzoo.data.squad_batches import EVALUATION_LIMITS, TRAINING_LIMITS
from ctxzoo.evaluation.results import RunResult
from ctxzoo.evaluation.tables import PAPER, mean_and_deviation
from ctxzoo.hub.card_facts import DATASET_FACTS, ArchitectureFacts, DatasetFacts, architecture_facts
from ctxzoo.hub.card_snippets import REPO_PLACEHOLDER, WITH_PACKAGE, WITHOUT_PACKAGE, example_block, pipeline_block
from ctxzoo.hub.code_files import sha256, travelling_files
from ctxzoo.hub.eval_results import METRICS, TASK, is_hub_id, model_index, split_metrics
from ctxzoo.hub.inspection import untrained_positions
from ctxzoo.models import ARCHITECTURES
from ctxzoo.models.configuration_base import ZooConfig

LICENCE = "apache-2.0"
EXAMPLE_KEYS = ("question", "context", "answer", "score")
# Datasets whose test questions are those of the paper's table, or the whole of which these are a half.
PAPER_DATASETS = ("rajpurkar/squad_v2",)


def build_card(
    result: RunResult,
    config: ZooConfig,
    *,
    example: Mapping[str, Any],
    other_runs: Sequence[RunResult] = (),
    repo_id: str = REPO_PLACEHOLDER,
    dataset_facts: DatasetFacts | None = None,
) -> str:
    """The text of README.md for the checkpoint of one run.

    Args:
        result: of the run that trained this checkpoint.
        config: of the checkpoint.
        example: question, context, and what the pipeline answered: answer, score, and perhaps start, end and
            no_answer_score.
        other_runs: runs that differ from it in seed or fold only; the card then also gives mean and deviation.
        repo_id: what the snippets load.
        dataset_facts: of a dataset that `DATASET_FACTS` does not know.

    Raises:
        ValueError: the architecture is unknown, the example lacks a key, or another run is of another kind.
    """
    if result.architecture not in ARCHITECTURES:
        raise ValueError(f"unknown architecture {result.architecture!r}; known: {', '.join(ARCHITECTURES)}")
    missing = [key for key in EXAMPLE_KEYS if key not in example]
    if missing:
        raise ValueError(f"the card's example lacks {', '.join(missing)}; it needs {', '.join(EXAMPLE_KEYS)}")
    _refuse_other_kinds(result, other_runs)
    architecture = ARCHITECTURES[result.architecture]
    facts = architecture_facts(architecture)
    about = dataset_facts or DATASET_FACTS.get(result.dataset) or _unknown_dataset(result.dataset)
    template = Template(files("ctxzoo.hub").joinpath("card_template.md").read_text(encoding="utf-8"))
    body = template.substitute(
        title=f"{facts.title}, {result.variant}, on {result.dataset}",
        summary=facts.summary,
        identity=_identity(result, config),
        example=_code(example_block(example["question"], example["context"], repo_id)),
        with_package=_code(WITH_PACKAGE),
        without_package=_code(WITHOUT_PACKAGE),
        as_pipeline=_code(pipeline_block(example)),
        results=_results(result, other_runs),
        comparable=_comparable(result, about),
        limits=_bullets(_limits(result, config, facts, seeds=1 + len(other_runs))),
        data=_data(result, about),
        settings=_table(
            ["setting", "value"], [[name, _shown(value)] for name, value in sorted(result.settings.items())]
        ),
        environment=_environment(result),
        version=ctxzoo.__version__,
        code=_table(
            ["file", "sha256"],
            [[name, f"`{sha256(path)[:16]}`"] for name, path in travelling_files(architecture).items()],
        ),
        reproduce=_reproduce(result),
        citation=_code(facts.citation, "bibtex"),
    )
    return f"---\n{_metadata(result, facts, about).to_yaml()}\n---\n\n{body}"


def _metadata(result: RunResult, facts: ArchitectureFacts, about: DatasetFacts) -> ModelCardData:
    return ModelCardData(
        language=about.language,
        license=LICENCE,
        library_name="transformers",
        pipeline_tag=TASK,
        tags=["ctxzoo", "pytorch-lightning", *facts.tags],
        datasets=[result.dataset] if is_hub_id(result.dataset) else None,
        metrics=["exact_match", "f1"],
        model_name=f"{result.architecture}-{result.dataset.rsplit('/', 1)[-1]}-{result.variant}",
        eval_results=model_index(result),
    )


def _identity(result: RunResult, config: ZooConfig) -> str:
    levers = ", ".join(result.settings.get("levers") or [])
    rows = [
        ["architecture", f"`{result.architecture}` (model type `{config.model_type}`)"],
        ["variant", f"`{result.variant}`" + (f" with {levers}" if levers else "")],
        ["task", "extractive question answering, SQuAD " + str(getattr(config, "squad_version", "2.0"))],
        [
            "parameters",
            f"{result.parameters['trainable']:,} trained, {result.parameters['total']:,} in all",
        ],
        ["weights", "safetensors, no pickles"],
    ]
    return _table(["", ""], rows)


def _results(result: RunResult, other_runs: Sequence[RunResult]) -> str:
    """Both splits of this run, and mean ± sample deviation where there are more runs."""
    splits = dict.fromkeys([result.split, "validation", "test"])
    shown = {split: values for split in splits if (values := split_metrics(result, split))}
    headings = ["metric", *(f"{split}, this checkpoint (seed {result.seed})" for split in shown)]
    runs = [result, *other_runs]
    if other_runs:
        headings.append(f"{result.split}, mean ± sd of {len(runs)} runs")
    names = [name for name in METRICS if any(name in values for values in shown.values())]
    rows = []
    for name in names:
        row = [METRICS[name][1]]
        row += [f"{values[name]:.2f}" if name in values else "–" for values in shown.values()]
        if other_runs:
            row.append(mean_and_deviation([run.metrics.get(f"{result.split}/{name}") for run in runs]))
        rows.append(row)
    if not rows:
        return "This run reported none of the metrics of question answering."
    seeds = ", ".join(str(run.seed) for run in runs)
    note = "Percentages unless said otherwise, over the whole split, with the rules of the official SQuAD script."
    return f"{_table(headings, rows)}\n\n{note} Seeds: {seeds}."


def _comparable(result: RunResult, about: DatasetFacts) -> str:
    text = about.comparable
    if result.dataset in PAPER_DATASETS and result.architecture == "bidaf":
        rows = [[row.variant, row.split, _percent(row.f1), _percent(row.exact)] for row in PAPER]
        rows = [row for row in rows if row[0] == result.variant]
        if rows:
            text += "\n\n" + _table(["paper (Patel 2022)", "course split", "F1", "EM"], rows)
    return text


def _limits(result: RunResult, config: ZooConfig, facts: ArchitectureFacts, seeds: int) -> Iterable[str]:
    if result.settings.get("tiny"):
        yield "**A trial run on a few batches. Its answers mean nothing.**"
    yield from facts.limits
    metrics = split_metrics(result, result.split)
    if getattr(config, "squad_version", "2.0") == "1.1":
        yield "It was trained on answerable questions only and always answers, also where the text holds no answer."
    elif "NoAns_f1" in metrics and "HasAns_f1" in metrics:
        yield (
            f"Measured: F1 {metrics['HasAns_f1']:.2f} on answerable and {metrics['NoAns_f1']:.2f} on unanswerable "
            f"questions; it is right about which of the two a question is in {metrics.get('AvNA', 0):.2f} % of cases."
        )
    best = max((metrics[name] for name in ("f1", "f1_at_threshold") if name in metrics), default=None)
    if best is not None and best <= metrics.get("always_no_answer", -1):
        yield (
            f"Its F1 of {best:.2f} is not above the {metrics['always_no_answer']:.2f} of a reader that never answers: "
            "use the spans, not its choice of whether to answer."
        )
    if hasattr(config, "max_answer_length"):
        yield f"Answers are at most {config.max_answer_length} words long."
    yield (
        f"It was trained on texts of up to {TRAINING_LIMITS.context} words and scored on up to "
        f"{EVALUATION_LIMITS.context}; the pipeline reads longer ones in windows."
    )
    untrained = untrained_positions(config)
    if untrained is not None:
        yield f"Position rows {untrained[0]} to {untrained[1]} were never trained: expect less from words beyond them."
    if seeds == 1:
        yield "One seed: differences of a point or two to another checkpoint may be chance."


def _data(result: RunResult, about: DatasetFacts) -> str:
    vectors = result.settings.get("word_vectors")
    lines = [
        f"- data: `{result.dataset}`. {about.description}",
        f"- licence of the data: {about.licence}; of these weights and the code: Apache-2.0.",
        f"- content hashes: {result.data['fingerprint']}",
    ]
    if vectors == "learned":
        lines.append("- word vectors: learned from the training split.")
    elif vectors:
        lines.append(f"- word vectors: `{vectors}`, kept as they are; their own licence applies.")
    if result.settings.get("finish_source"):
        lines.append(f"- the last part of the training saw rows of source `{result.settings['finish_source']}` only.")
    return "\n".join(lines)


def _environment(result: RunResult) -> str:
    hardware = result.hardware
    gpus = ", ".join(hardware.get("gpus") or []) or "none"
    rows = [
        ["processor", f"{hardware.get('cpu', 'unknown')}, {hardware.get('cores', '?')} cores"],
        ["GPUs", gpus],
        ["training", f"{result.wall_seconds / 60:.1f} minutes, {result.peak_memory_mb:,.0f} MiB at most"],
        ["finished", result.created],
        *([name, version] for name, version in sorted(result.versions.items())),
    ]
    return _table(["", ""], rows)


def _reproduce(result: RunResult) -> str:
    note = f"Seed {result.seed}, commit `{result.commit}`."
    if result.commit.endswith("-dirty"):
        note += " The checkout had changes that are in no commit."
    return f"{_code(result.command, 'bash')}\n\n{note} Run it in a checkout of ctxzoo with the data in `$CTXZOO_DATA`."


def _refuse_other_kinds(result: RunResult, other_runs: Sequence[RunResult]) -> None:
    places = [(run.seed, run.fold) for run in (result, *other_runs)]
    for run in other_runs:
        for name in ("architecture", "variant", "dataset", "split", "settings"):
            if getattr(run, name) != getattr(result, name):
                raise ValueError(
                    f"a run with seed {run.seed} has another {name}: {getattr(run, name)!r}, not "
                    f"{getattr(result, name)!r}; a mean needs runs that differ in seed or fold only"
                )
    if len(set(places)) < len(places):
        twice = statistics.mode(places)
        raise ValueError(f"two runs with seed {twice[0]} and fold {twice[1]}; a mean would count one twice")


def _unknown_dataset(name: str) -> DatasetFacts:
    return DatasetFacts(
        description="ctxzoo keeps no description of it; see its source.",
        licence="that of the dataset; see its source",
        comparable=OTHER_DATA.format(name=name),
    )


OTHER_DATA = (
    "These scores compare with those of other models that were trained and tested on the same splits of `{name}`."
)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _shown(value: object) -> str:
    if value is None or value == []:
        return "–"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _code(text: str, language: str = "python") -> str:
    return f"```{language}\n{text}\n```"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)
