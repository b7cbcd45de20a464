"""The command line: `ctxzoo list | info | data | train | evaluate | predict | pack | push | verify | doctor` and more.

What a command needs is imported when it runs, so that help and usage errors come quickly.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from huggingface_hub.errors import StrictDataclassError

import ctxzoo
from ctxzoo.cli.data import add_data_commands
from ctxzoo.cli.printing import print_json, print_table
from ctxzoo.cli.train import add_problem_parsers, parse_train_options
from ctxzoo.data.files import DATA_SUFFIXES, HUB_VARIABLE, check_output_file, refuse_output_among_inputs
from ctxzoo.data.notices import format_error_on_one_line, format_error_with_row_hint
from ctxzoo.data.pipes import BY_CONTENT, KINDS, OPTIONS, replace_pipes_by_files
from ctxzoo.data.reading_notes import collect_reading_notes, get_reading_notes
from ctxzoo.serving.limits import Limits
from ctxzoo.tasks import PROBLEMS, get_problem
from ctxzoo.tasks.commands import (
    FORMAT,
    NO_HEADER,
    SKIP_BAD,
    Option,
    add_device_options,
    add_file_options,
    parse_positive_number,
)
from ctxzoo.training.libraries import LIGHTNING_LOGGERS
from ctxzoo_command import build_command_parser

if TYPE_CHECKING:
    from ctxzoo.cli.inspection import Part
    from ctxzoo.hub.task_card import TaskCard
    from ctxzoo.models import Architecture

OK, FAILED, USER_ERROR = 0, 1, 2
OUTPUTS = ("output", "na_prob", "picture")  # options that name a file to write; `--explain` is checked by its problem
OUTPUT_FOLDERS = ("output_dir", "results_dir")
LONGEST_VALUE = 100  # characters of a field of a config that `print_info` shows
EMBEDDING_TASKS = (
    "pos_induction",
    "similarity",
    "analogy",
    "sentiment",
    "sentiment_means",
)  # `evaluations.TASKS`


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0, 1 for a check that failed, 2 for a mistake of the user.

    Raises:
        KeyboardInterrupt: Ctrl-C, which `ctxzoo_command` turns into a line.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = argparse.Namespace(debug="--debug" in words)
    try:
        options = parse_train_options(words) or build_parser().parse_args(words)
        if not options.debug:
            _silence_libraries()
        options.json = sys.stdout if getattr(options, "json", False) else None  # all else goes to the standard error
        how = {name: getattr(options, name, False) for name in ("skip_bad", "no_header")}
        _check_output_files(options)
        with replace_pipes_by_files(options), collect_reading_notes(**how) as notes:
            try:
                with redirect_stdout(sys.stderr if options.json else sys.stdout):
                    status: int = options.command(options)
            finally:
                print(*(f"{line}\n" for line in notes.format_new_lines()), sep="", end="", file=sys.stderr)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the pipe has seen enough (`| head`); Python must not write to it again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except (OSError, ValueError, TypeError, ImportError, StrictDataclassError) as error:
        if options.debug:
            raise
        from ctxzoo.runs.command_line import rewrite_advice_for_command

        print(
            f"ctxzoo: error: {rewrite_advice_for_command(format_error_with_row_hint(error), vars(options))}",
            file=sys.stderr,
        )
        return USER_ERROR
    return status


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands and their options."""
    parser, commands = build_command_parser()

    def add_command(name: str, command: Any) -> argparse.ArgumentParser:
        """Let the parser of the command `name` call the function `command`, and return that parser."""
        sub = commands[name]
        sub.set_defaults(command=command)
        return sub

    add_command("list", list_architectures)

    sub = add_command("info", print_info)
    sub.add_argument("subject", metavar="ARCHITECTURE_OR_CHECKPOINT", help="as `bidaf`, a folder, or a Hub id")

    add_data_commands(add_command("data", None))

    sub = add_command("train", None)
    add_problem_parsers(sub)

    sub = add_command("evaluate", evaluate_checkpoint)
    sub.add_argument("checkpoint", help="folder or Hub id")
    sub.add_argument("--dataset", required=True, help="Hub id, folder, file, or: sample")
    sub.add_argument(
        "--split", help="default: test; of a file all of its rows: train, of a SQuAD file as its name says"
    )
    sub.add_argument("--data_dir", help="folder of datasets; default: $CTXZOO_DATA")
    sub.add_argument("--format", choices=KINDS, help=FORMAT)
    sub.add_argument("--no_header", action="store_true", help=NO_HEADER)
    sub.add_argument("--skip_bad", action="store_true", help=SKIP_BAD)
    sub.add_argument("--batch_size", type=parse_positive_number, default=128)
    sub.add_argument("--precision", choices=("32-true", "bf16-mixed", "16-mixed", "64-true"), default="32-true")
    add_device_options(sub)
    sub.add_argument("--output", type=Path, help="also write the scores into this JSON file")
    _add_options_of_problems(sub, "evaluate")

    sub = add_command("evaluate-embeddings", evaluate_word_embeddings)
    sub.add_argument("vectors", help="file of word vectors, or folder or Hub id of a WordEmbedding checkpoint")
    sub.add_argument("--tasks", nargs="+", choices=EMBEDDING_TASKS, default=EMBEDDING_TASKS, help="default: all")
    sub.add_argument("--fold_digits", action="store_true", help="look words up with digits as 0; a checkpoint knows")
    sub.add_argument("--restarts", type=parse_positive_number, default=10, help="of POS induction; default: 10")
    sub.add_argument("--seed", type=int, default=0, help="of POS induction; default: 0")
    sub.add_argument("--data_dir", help="folder of datasets; default: $CTXZOO_DATA")
    sub.add_argument("--output", type=Path, help="also write all numbers into this JSON file")

    sub = add_command("predict", write_predictions)
    sub.add_argument("checkpoint", help="folder or Hub id")
    add_file_options(sub)
    sub.add_argument("--no_header", action="store_true", help=NO_HEADER)
    sub.add_argument("--skip_bad", action="store_true", help=SKIP_BAD)
    add_device_options(sub)
    sub.add_argument("--batch_size", type=parse_positive_number, default=32)
    _add_options_of_problems(sub, "predict")

    sub = add_command("app", open_app)
    sub.add_argument("checkpoint", help="folder or Hub id")
    sub.add_argument("--host", default="127.0.0.1", help="address to listen at; default: 127.0.0.1, this machine alone")
    sub.add_argument("--port", type=parse_positive_number, default=7860, help="default: 7860")
    sub.add_argument("--no_open", action="store_true", help="do not open it in a browser")
    sub.add_argument("--space", metavar="FOLDER", type=Path, help="write a folder that runs as a Space instead")
    add_device_options(sub)

    sub = add_command("export", export_checkpoint)
    sub.add_argument("checkpoint", help="folder or Hub id")
    sub.add_argument(
        "--output", dest="out", required=True, type=Path, metavar="FOLDER", help="a new folder, or an empty one"
    )
    sub.add_argument("--format", dest="kind", choices=("onnx", "torch"), default="onnx", help="default: onnx")
    sub.add_argument("--int8", action="store_true", help="8-bit weights, of onnx; how much changes is reported")

    sub = add_command("serve", serve_checkpoint)
    sub.add_argument("checkpoint", help="folder or Hub id")
    sub.add_argument("--host", default="127.0.0.1", help="address to listen at; default: 127.0.0.1, this machine alone")
    sub.add_argument("--port", type=int, default=8000, help="default: 8000; 0: a free one")
    sub.add_argument("--skip_bad", action="store_true", help="leave bad rows out of the answers, and note which")
    add_device_options(sub)
    sub.set_defaults(threads=1)  # with more, what a row gets would depend on the rows beside it
    sub.add_argument(
        "--batch_size",
        type=parse_positive_number,
        help="default: 32, or 1 where rows of a batch change each other's bits",
    )
    for limit in fields(Limits):
        text = f"{limit.metadata['help']}; default: {limit.default:,}"
        sub.add_argument(f"--{limit.name}", type=parse_positive_number, default=limit.default, help=text)
    _add_options_of_problems(sub, "serve")

    sub = add_command("pack", pack_checkpoint_folder)
    sub.add_argument("folder", type=Path, help="with code or without")
    sub.add_argument("out", metavar="OUT", type=Path, help="a new folder, or an empty one")

    sub = add_command("push", push_to_hub)
    sub.add_argument("folder", type=Path)
    sub.add_argument("repo", metavar="USER/NAME")
    sub.add_argument("--private", action="store_true", help="make a new repository private")
    sub.add_argument("--revision", help="branch; default: the main one")
    sub.add_argument("--tag", help="a new name for the commit, to load it by: USER/NAME@TAG")
    sub.add_argument("--message", help="of the commit")
    sub.add_argument("--replace", action="store_true", help="delete what a repository holds that no ctxzoo wrote")
    sub.add_argument("--license", help="of the weights, for the card, as the Hub names it: apache-2.0")
    sub.add_argument("--language", nargs="+", help="of the texts, for the card: en")

    sub = add_command("verify", verify_checkpoint_folder)
    sub.add_argument("checkpoint", metavar="CHECKPOINT", help="folder, or on the Hub USER/NAME or USER/NAME@REVISION")

    add_command("doctor", print_installation_report)
    return parser


def list_architectures(options: argparse.Namespace) -> int:
    """Print the table of `ctxzoo list`, one architecture a row; return the exit status."""
    from ctxzoo.cli.inspection import list_variants
    from ctxzoo.hub.card_facts import load_architecture_facts

    listed: list[dict[str, Any]] = [
        {
            "architecture": one.name,
            "title": load_architecture_facts(one).title,
            "heads": [head.removeprefix("AutoModelFor") for head in one.model_classes if head != "AutoModel"],
            "variants": list(list_variants(one)),
            "page": f"docs/models/{one.name}.md",
        }
        for one in ctxzoo.ARCHITECTURES.values()
    ]
    if options.json:
        print_json(listed, options.json)
        return OK
    rows = [
        [row["architecture"], row["title"], ", ".join(row["heads"]), str(len(row["variants"])), row["page"]]
        for row in listed
    ]
    print_table(["architecture", "title", "heads", "variants", "page"], rows)
    return OK


def print_info(options: argparse.Namespace) -> int:
    """Print what `ctxzoo info` says of an architecture or a checkpoint; return the exit status."""
    if options.subject in ctxzoo.ARCHITECTURES and not Path(options.subject).exists():
        return _print_architecture_info(ctxzoo.ARCHITECTURES[options.subject], options.json)
    if "/" not in options.subject and not Path(options.subject).exists() and HUB_VARIABLE not in os.environ:
        raise ValueError(
            f"{options.subject!r} is neither an architecture ({', '.join(ctxzoo.ARCHITECTURES)}) nor a checkpoint "
            "folder nor a Hub id (user/name)"
        )
    return _print_checkpoint_info(options.subject, options.json)


def evaluate_checkpoint(options: argparse.Namespace) -> int:
    """Run `ctxzoo evaluate`: print the scores of a checkpoint, and write them if asked; return the exit status."""
    from ctxzoo.checkpoints import open_checkpoint
    from ctxzoo.hub.classification_facts import build_label_tables
    from ctxzoo.results.environment import get_library_versions
    from ctxzoo.tasks.commands import write_json

    name = options.checkpoint
    card, saved = open_checkpoint(name)
    problem_options = _select_problem_options("evaluate", options, card)
    _set_num_threads(options)
    options.checkpoint = str(saved.folder)  # of a Hub id, where it is cached
    problem, file = get_problem(card.name), Path(options.dataset)
    options.split = options.split or (problem.get_split_of_file(file) if file.is_file() else "test")
    scores = problem.evaluate(options, problem_options)
    labels = getattr(options, "labels", None)  # scores of each label, which classifiers of texts have
    content = {
        "checkpoint": name,
        "dataset": options.dataset,
        "split": options.split,
        **problem_options,
        "precision": options.precision,
        "metrics": scores,
        **({} if labels is None else {"labels": labels}),
        "reading": get_reading_notes().to_json_dict(),
        "versions": get_library_versions(),
    }
    if options.output is not None:
        write_json(options.output, content)
    if options.json:
        print_json(content, options.json)
        return OK
    rows = [
        [
            card.metrics[metric].name if metric in card.metrics else metric.replace("_", " "),
            f"{value:,}" if isinstance(value, int) else f"{value:.4f}",
        ]
        for metric, value in _sort_metrics(scores, card).items()
    ]
    print_table(["metric", options.split], rows, title=f"{name} on {options.dataset}")
    for one in [] if labels is None else build_label_tables(labels, options.split):
        print_table(one.rows[0], one.rows[1:], title=one.title)
    return OK


def evaluate_word_embeddings(options: argparse.Namespace) -> int:
    """Print, and write if asked, scores of word vectors in the tasks of `options`; return the exit status."""
    from ctxzoo.results.environment import get_library_versions, strip_local_path
    from ctxzoo.tasks.commands import write_json
    from ctxzoo.tasks.word_embeddings.evaluations import HEADINGS, TASKS, EvaluationOptions, format_score_rows
    from ctxzoo.word_vectors.vectors import read_word_vectors

    vectors = read_word_vectors(options.vectors, fold_digits=options.fold_digits or None)
    evaluation_options = EvaluationOptions(data_dir=options.data_dir, restarts=options.restarts, seed=options.seed)
    evaluations = {name: TASKS[name].run(vectors, evaluation_options) for name in options.tasks}
    rows = [row for name, evaluation in evaluations.items() for row in format_score_rows(name, evaluation)]
    print_table(HEADINGS, rows, title=f"{vectors.name}: {len(vectors):,} words, {vectors.dim} numbers each")
    if options.output is not None:
        tasks = {
            name: {
                "dataset": evaluation.dataset,
                "split": evaluation.split,
                "fingerprint": evaluation.fingerprint,
                **TASKS[name].settings(evaluation_options),
                "metrics": evaluation.metrics,
            }
            for name, evaluation in evaluations.items()
        }
        content = {"vectors": strip_local_path(options.vectors), "fingerprint": vectors.fingerprint, "tasks": tasks}
        write_json(options.output, {**content, "versions": get_library_versions()})
    return OK


def write_predictions(options: argparse.Namespace) -> int:
    """Run `ctxzoo predict`: write what a checkpoint predicts for rows; return the exit status."""
    from ctxzoo.checkpoints import open_checkpoint

    card, options.saved = open_checkpoint(options.checkpoint)
    own = _select_problem_options("predict", options, card)
    _set_num_threads(options)
    get_problem(card.name).predict(options, own)
    return OK


def open_app(options: argparse.Namespace) -> int:
    """Run `ctxzoo app`: serve the page of a checkpoint until Ctrl-C, or write it as a Space; return the exit status."""
    from ctxzoo.app.server import serve_page
    from ctxzoo.app.space import write_space
    from ctxzoo.checkpoints import build_app
    from ctxzoo.tasks.commands import get_device

    if options.space is not None:
        for line in write_space(options.checkpoint, options.space):
            print(line)
        return OK
    _set_num_threads(options)
    page = build_app(options.checkpoint, device=get_device(options))
    serve_page(page, options.host, options.port, open_browser=not options.no_open)
    return OK


def export_checkpoint(options: argparse.Namespace) -> int:
    """Run `ctxzoo export`: write a model as a program with all that runs it; return the exit status."""
    from ctxzoo.checkpoints import open_checkpoint
    from ctxzoo.export import folder

    card, saved = open_checkpoint(options.checkpoint)
    task = get_problem(card.name).load_export()
    folder.export_checkpoint(saved, task, options.out, kind=options.kind, int8=options.int8)
    return OK


def serve_checkpoint(options: argparse.Namespace) -> int:
    """Run `ctxzoo serve`: answer requests over HTTP until Ctrl-C or SIGTERM; return the exit status."""
    from ctxzoo.serving.service import check_service_libraries, run_service

    check_service_libraries()

    from ctxzoo.checkpoints import open_checkpoint
    from ctxzoo.serving.asked_model import AskedModel
    from ctxzoo.serving.service import build_service
    from ctxzoo.tasks.commands import load_model

    card, options.saved = open_checkpoint(options.checkpoint)
    own = _select_problem_options("serve", options, card)
    _set_num_threads(options)
    asked = AskedModel(card.name, *load_model(options), own, batch_size=options.batch_size, skip_bad=options.skip_bad)
    limits = Limits(**{limit.name: getattr(options, limit.name) for limit in fields(Limits)})
    run_service(build_service(asked, options.checkpoint, limits), options.host, options.port)
    return OK


def pack_checkpoint_folder(options: argparse.Namespace) -> int:
    """Run `ctxzoo pack`: copy a checkpoint folder with the code it needs; return the exit status."""
    from ctxzoo.hub import packing

    packed = packing.pack(options.folder, options.out)
    print(f"{options.out}: {packed.files} files of code added, {packed.lines:,} lines, of ctxzoo {ctxzoo.__version__}")
    return OK


def push_to_hub(options: argparse.Namespace) -> int:
    """Run `ctxzoo push`: upload a checkpoint folder and print its address; return the exit status."""
    from ctxzoo.hub.push import push_folder

    url = push_folder(
        options.folder,
        options.repo,
        private=options.private,
        revision=options.revision,
        tag=options.tag,
        message=options.message,
        replace=options.replace,
        licence=options.license,
        language=options.language or (),
    )
    print(url)
    return OK


def verify_checkpoint_folder(options: argparse.Namespace) -> int:
    """Run `ctxzoo verify`: say whether a checkpoint folder is whole; return the exit status."""
    from ctxzoo.hub import repository
    from ctxzoo.hub.folder_files import CheckpointFolderError

    try:
        verified = repository.verify(options.checkpoint)
    except CheckpointFolderError as error:
        if options.debug:
            raise
        print(f"ctxzoo: not fit: {format_error_on_one_line(error)}", file=sys.stderr)
        return FAILED
    if verified.packed:
        saved = f"saved with {verified.release}" if verified.release else "its card names no release"
        count = verified.listed
        hashes = f"{count} files have the hashes that its card lists" if count else "its card lists no hashes"
        release = f"its code is that of ctxzoo {ctxzoo.__version__} ({saved}; {hashes})"
        print(f"{verified.name}: whole and packed, and {release}")
    else:
        print(
            f"{verified.name}: whole, without code: it loads where ctxzoo is installed, as {ctxzoo.__version__} is here"
        )
    return OK


def print_installation_report(options: argparse.Namespace) -> int:
    """Run `ctxzoo doctor`: print what is installed and what is missing; return the exit status."""
    from ctxzoo.catalogue.entries import ENTRIES
    from ctxzoo.cli.doctor import examine_installation

    findings = examine_installation(ENTRIES)
    missing = sorted(finding.subject for finding in findings if finding.status == "missing")
    if options.json:
        found = [asdict(finding) for finding in findings]
        print_json({"ctxzoo": ctxzoo.__version__, "fit": not missing, "findings": found}, options.json)
        return FAILED if missing else OK
    print_table(["", "", f"ctxzoo {ctxzoo.__version__}"], [[f.status, f.subject, f.detail] for f in findings])
    if missing:
        print(f"not fit: {', '.join(missing)}")
    return FAILED if missing else OK


def _print_architecture_info(architecture: Architecture, json_stream: TextIO | None) -> int:
    """Print fields, variants and numbers of parameters of an architecture; return the exit status."""
    from ctxzoo.cli import inspection
    from ctxzoo.hub.folder_checks import build_meta_model

    fields = inspection.list_architecture_fields(architecture.config_class)
    model_class = inspection.get_last_head_class(architecture)
    variants = inspection.list_variants(architecture)
    sizes_of_variants = {
        name: inspection.count_parameters_by_part(
            build_meta_model(model_class, inspection.build_variant_config(architecture, name))
        )
        for name in variants
    }
    files = inspection.list_files_of_architecture(architecture)
    default_parts = inspection.count_parameters_by_part(build_meta_model(model_class, architecture.config_class()))
    if json_stream is not None:
        of_variants = [
            {"variant": name, "settings": settings, **_sum_for_json(sizes_of_variants[name])}
            for name, settings in variants.items()
        ]
        of_fields = [{"field": one.name, "type": one.type, "default": one.default} for one in fields]
        content = {"architecture": architecture.name, "fields": of_fields, "variants": of_variants}
        model = {"class": model_class.__name__, "parts": [asdict(part) for part in default_parts]}
        print_json({**content, "model": model, "files": files}, json_stream)
        return OK
    rows = [[field.name, field.type, repr(field.default)] for field in fields]
    print_table(["field", "type", "default"], rows, title=f"{architecture.name}: configuration")
    rows = []
    for name, settings in variants.items():
        changes = ", ".join(f"{key}={value!r}" for key, value in settings.items()) or "the defaults"
        rows.append([name, changes, f"{inspection.sum_parts(sizes_of_variants[name]).trainable:,}"])
    if rows:
        sizes = ", ".join(f"{name}={value}" for name, value in architecture.config_class.nominal_sizes.items())
        print_table(
            ["variant", "settings", "trained parameters"], rows, title=f"variants, with {sizes}, frozen vectors"
        )
    _print_parts(default_parts, f"{model_class.__name__} with the defaults")
    print("files:")
    for file in files:
        print(f"  {file}")
    return OK


def _print_checkpoint_info(checkpoint: str, json_stream: TextIO | None) -> int:
    """Print the configuration, parameters and facts of a checkpoint; return the exit status."""
    from ctxzoo.cli import inspection

    facts = inspection.read_checkpoint_facts(checkpoint)
    fields = inspection.list_architecture_fields(facts.config)
    if json_stream is not None:
        content = {
            "checkpoint": checkpoint,
            "architecture": facts.architecture.name,
            "class": facts.model_class.__name__,
            "fields": [{"field": one.name, "value": one.value, "default": one.default} for one in fields],
            "parts": [asdict(part) for part in facts.parts],
            **_sum_for_json(facts.parts),
            "notes": inspection.format_info_lines(facts),
        }
        print_json(content, json_stream)
        return OK
    rows = [
        [field.name, _truncate_text(repr(field.value)), "" if field.value == field.default else repr(field.default)]
        for field in fields
    ]
    print_table(
        ["field", "value", "default, where it differs"], rows, title=f"{checkpoint}: {facts.model_class.__name__}"
    )
    _print_parts(facts.parts, "parameters")
    for line in inspection.format_info_lines(facts):
        print(line)
    return OK


def _add_options_of_problems(sub: argparse.ArgumentParser, command: str) -> None:
    """Add options of `command` that only some tasks have, in a group for these tasks."""
    owners: dict[str, list[str]] = {}
    options: dict[str, Option] = {}
    for problem in PROBLEMS:
        commands = get_problem(problem)
        for option in commands.options(command):
            owners.setdefault(option.name, []).append(commands.title)
            options.setdefault(option.name, option)
    groups: dict[str, Any] = {}
    for name, option in options.items():
        title = ", ".join(owners[name])
        group = groups.get(title) or groups.setdefault(title, sub.add_argument_group(title))
        option.add_to(group)


def _select_problem_options(command: str, options: argparse.Namespace, card: TaskCard) -> dict[str, Any]:
    """Return the options that checkpoints of this task have, and refuse those of other tasks.

    Raises:
        ValueError: an option of another problem; the problem does not have the command.
    """
    if not get_problem(card.name).has_command(command):
        able = ", ".join(name for name in PROBLEMS if get_problem(name).has_command(command))
        raise ValueError(f"{options.checkpoint!r} does {card.name}; {command} takes checkpoints of {able}")
    taken_names = [option.name for option in get_problem(card.name).options(command)]
    for other_problem in PROBLEMS:
        other_names = [option.name for option in get_problem(other_problem).options(command)]
        refused = [
            f"--{name}" for name in other_names if name not in taken_names and getattr(options, name) is not None
        ]
        if refused:
            raise ValueError(
                f"{', '.join(refused)}: for {other_problem}, but {options.checkpoint!r} does {card.name}; "
                f"it takes {', '.join(f'--{name}' for name in taken_names)}"
            )
    return {option.name: _get_option_value(option, options, card) for option in get_problem(card.name).options(command)}


def _get_option_value(option: Option, options: argparse.Namespace, card: TaskCard) -> Any:
    """Return the value given for an option of a task, as one value or a list, as this task takes it."""
    value = getattr(options, option.name)
    if option.many or not isinstance(value, list) or option.type is not str:
        return value
    if len(value) > 1:
        raise ValueError(f"--{option.name} {' '.join(value)}: {card.name} takes one")
    return value[0]


def _check_output_files(options: argparse.Namespace) -> None:
    """Raise an error for an output that cannot be written or that the command also reads."""
    inputs = {name: value for name in ("file", *OPTIONS) if (value := getattr(options, name, None)) is not None}
    data = [value for name, value in inputs.items() if name != BY_CONTENT]
    for name in OUTPUTS:
        if (path := getattr(options, name, None)) is not None:
            if path.suffix.lower() in DATA_SUFFIXES:
                refuse_output_among_inputs(path, f"--{name}", data)
            check_output_file(path, f"--{name}", inputs.values())
    for name in OUTPUT_FOLDERS:
        if (folder := getattr(options, name, None)) is not None:
            refuse_output_among_inputs(Path(folder), f"--{name}", data)


def _set_num_threads(options: argparse.Namespace) -> None:
    """Let PyTorch use as many threads as the command line says, if it does."""
    if options.threads is not None:
        import torch

        torch.set_num_threads(options.threads)


def _sort_metrics(scores: dict[str, float], card: TaskCard) -> dict[str, float]:
    """Return the metrics in the order in which model cards list them, then the others."""
    names = (*card.metrics, *sorted(set(scores) - set(card.metrics)))
    return {name: scores[name] for name in names if name in scores}


def _truncate_text(text: str) -> str:
    """Return the text, shortened to `LONGEST_VALUE` characters."""
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _print_parts(parts: list[Part], title: str) -> None:
    """Print a table of the numbers of parameters of the parts of a model, and their sum."""
    from ctxzoo.cli.inspection import sum_parts

    rows = [[part.name, f"{part.trainable:,}", f"{part.total:,}"] for part in (*parts, sum_parts(parts))]
    print_table(["part", "trained", "with frozen"], rows, title=title)


def _sum_for_json(parts: list[Part]) -> dict[str, int]:
    """Return the numbers of parameters of a model's parts together."""
    from ctxzoo.cli.inspection import sum_parts

    of_all = sum_parts(parts)
    return {"trainable": of_all.trainable, "total": of_all.total}


def _silence_libraries() -> None:
    """Switch off progress bars and start-up messages of the libraries."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    for name in LIGHTNING_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)


if __name__ == "__main__":
    sys.exit(main())
