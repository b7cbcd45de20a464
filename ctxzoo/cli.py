"""The command line: `ctxzoo list | info | evaluate | evaluate-embeddings | predict | push | verify | doctor`.

What a command needs is imported when it runs, so that help and usage errors come quickly.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ctxzoo

if TYPE_CHECKING:
    from rich.console import Console
    from transformers import TextClassificationPipeline

    from ctxzoo.hub.inspection import Part
    from ctxzoo.hub.task_facts import TaskFacts
    from ctxzoo.models import Architecture

OK, FAILED, USER_ERROR = 0, 1, 2
WIDTH_OF_FILES = 160  # where the output is no terminal
EMBEDDING_TASKS = ("pos_induction", "similarity", "analogy", "sentiment", "sentiment_means")  # of embedding_tasks
# Command -> task -> options that checkpoints of this task alone have.
OPTIONS_OF_TASKS = {
    "evaluate": {
        "question-answering": ("squad_version", "threshold"),
        "text-classification": ("text_column", "label_column", "folds", "fold", "fold_seed", "max_length"),
        "token-classification": ("tag_column",),
    },
    "predict": {
        "question-answering": ("question", "context", "na_prob", "threshold"),
        "text-classification": ("text", "explain"),
        "fill-mask": ("text",),
        "token-classification": ("text",),
    },
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 1 for a check that failed, 2 for a mistake of the user."""
    options = build_parser().parse_args(arguments)
    if not options.debug:
        _quieten()
    try:
        status: int = options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the pipe has seen enough (`| head`); Python must not write to it again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except (OSError, ValueError, TypeError, ImportError) as error:
        if options.debug:
            raise
        from ctxzoo.hub.advice import advice_for

        print(f"ctxzoo: error: {advice_for(_one_line(error), vars(options))}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt:
        return 130
    return status


def build_parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    parser = argparse.ArgumentParser(prog="ctxzoo", description="Context-aware text models: look, score, ask, publish.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show which release, or commit, this is")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--debug", action="store_true", help="show the traceback of an error, and all log messages")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, command: Any, help: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help, parents=[common])
        sub.set_defaults(command=command)
        return sub

    add("list", list_architectures, "Architectures of this release.")

    sub = add("info", info, "What an architecture or a checkpoint is: fields, variants, parameters, files.")
    sub.add_argument("subject", metavar="ARCHITECTURE_OR_CHECKPOINT", help="as `bidaf`, a folder, or a Hub id")

    sub = add("evaluate", evaluate, "Score a checkpoint on a split.")
    sub.add_argument("checkpoint", help="folder or Hub id")
    sub.add_argument("--dataset", required=True, help="Hub id, folder, file, or: sample")
    sub.add_argument(
        "--split", default="test", help="default: test; of a file of texts: train; of a SQuAD file by its name"
    )
    sub.add_argument("--data_dir", help="folder of datasets; default: $CTXZOO_DATA")
    sub.add_argument("--batch_size", type=_positive, default=128)
    sub.add_argument("--precision", choices=("32-true", "bf16-mixed", "16-mixed", "64-true"), default="32-true")
    sub.add_argument("--output", type=Path, help="also write the scores into this JSON file")
    readers = sub.add_argument_group("question answering")
    readers.add_argument("--squad_version", choices=("auto", "1.1", "2.0"), help="default: auto, as the data is")
    readers.add_argument(
        "--threshold", type=_probability, help="no-answer score above which it abstains; default: the model's"
    )
    classifiers = sub.add_argument_group("text classification")
    classifiers.add_argument("--text_column", help="default: text or the like")
    classifiers.add_argument("--label_column", help="default: label or the like")
    classifiers.add_argument("--folds", type=_positive, help="of the cross-validation that the checkpoint is from")
    classifiers.add_argument("--fold", type=int, help="which of them, from 0")
    classifiers.add_argument("--fold_seed", type=int, help="of the folds")
    classifiers.add_argument("--max_length", type=_positive, help="cut texts to so many known words")
    taggers = sub.add_argument_group("token classification")
    taggers.add_argument("--tag_column", help="default: pos_tags or the like")

    sub = add("evaluate-embeddings", evaluate_embeddings, "Score word vectors: POS induction, similarity and more.")
    sub.add_argument("vectors", help="file of word vectors, or folder or Hub id of a WordEmbedding checkpoint")
    sub.add_argument("--tasks", nargs="+", choices=EMBEDDING_TASKS, default=EMBEDDING_TASKS, help="default: all")
    sub.add_argument("--fold_digits", action="store_true", help="look words up with digits as 0; a checkpoint knows")
    sub.add_argument("--restarts", type=_positive, default=10, help="of POS induction; default: 10")
    sub.add_argument("--seed", type=int, default=0, help="of POS induction; default: 0")
    sub.add_argument("--data_dir", help="folder of datasets; default: $CTXZOO_DATA")
    sub.add_argument("--output", type=Path, help="also write all numbers into this JSON file")

    sub = add("predict", predict, "Answer questions, label texts, tag words, or fill a masked word.")
    sub.add_argument("checkpoint", help="folder or Hub id")
    sub.add_argument(
        "--file", type=Path, help="SQuAD JSON file (answers are not needed), or one text a line, or .jsonl"
    )
    sub.add_argument(
        "--output", type=Path, help="JSON file of id to answer, or of labels, tags or words and scores; with --file"
    )
    sub.add_argument("--batch_size", type=_positive, default=32)
    readers = sub.add_argument_group("question answering")
    readers.add_argument("--question")
    readers.add_argument("--context", help="the text that answers it")
    readers.add_argument("--na_prob", type=Path, help="JSON file of id to no-answer score; with --file")
    readers.add_argument("--threshold", type=_probability, help="no-answer score above which the answer is empty")
    sub.add_argument_group("text and token classification, masked words").add_argument(
        "--text",
        help="one text; for a tagger with words and signs set apart by spaces, of masked words with one [MASK]",
    )
    classifiers = sub.add_argument_group("text classification")
    classifiers.add_argument(
        "--explain",
        type=Path,
        help="of a text classifier: page (.html), or picture of one text (.png), of which words count",
    )

    sub = add("push", push, "Check a checkpoint folder and upload it to the Hub in one commit.")
    sub.add_argument("folder", type=Path)
    sub.add_argument("repo", metavar="USER/NAME")
    sub.add_argument("--private", action="store_true", help="make a new repository private")
    sub.add_argument("--revision", help="branch; default: the main one")
    sub.add_argument("--message", help="of the commit")
    sub.add_argument(
        "--replace", action="store_true", help="delete what a repository holds that is not a ctxzoo checkpoint's"
    )

    sub = add("verify", verify, "Check that a checkpoint is whole, its code that of this release; none is run.")
    sub.add_argument("checkpoint", metavar="CHECKPOINT", help="folder, or on the Hub USER/NAME or USER/NAME@REVISION")

    add("doctor", doctor, "Is this machine fit? Versions, devices, data, Hub.")
    return parser


def list_architectures(options: argparse.Namespace) -> int:
    from ctxzoo.hub.card_facts import architecture_facts
    from ctxzoo.hub.inspection import variants

    rows = []
    for architecture in ctxzoo.ARCHITECTURES.values():
        heads = ", ".join(
            head.removeprefix("AutoModelFor") for head in architecture.model_classes if head != "AutoModel"
        )
        title = architecture_facts(architecture).title
        page = f"docs/models/{architecture.name}.md"
        rows.append([architecture.name, title, heads, str(len(variants(architecture))), page])
    _print_table(["architecture", "title", "heads", "variants", "page"], rows)
    return OK


def info(options: argparse.Namespace) -> int:
    if options.subject in ctxzoo.ARCHITECTURES and not Path(options.subject).exists():
        return _architecture_info(ctxzoo.ARCHITECTURES[options.subject])
    if "/" not in options.subject and not Path(options.subject).exists():
        raise ValueError(
            f"{options.subject!r} is neither an architecture ({', '.join(ctxzoo.ARCHITECTURES)}) nor a checkpoint "
            "folder nor a Hub id (user/name)"
        )
    return _checkpoint_info(options.subject)


def evaluate(options: argparse.Namespace) -> int:
    from ctxzoo.evaluation.environment import versions
    from ctxzoo.evaluation.results import write_atomically

    task = _task_of(options.checkpoint)
    scorers = {
        "question-answering": _score_reader,
        "text-classification": _score_classifier,
        "token-classification": _score_tagger,
    }
    if task.pipeline_tag not in scorers:
        raise ValueError(f"{options.checkpoint!r} does {task.pipeline_tag}; evaluate scores {', '.join(scorers)}")
    own = _own_options("evaluate", options, task)
    scores = scorers[task.pipeline_tag](options, own)[options.split]
    rows = [
        [task.metrics[name].name if name in task.metrics else name, f"{value:.4f}"]
        for name, value in _in_order(scores, task).items()
    ]
    _print_table(["metric", options.split], rows, title=f"{options.checkpoint} on {options.dataset}")
    if options.output is not None:
        content = {
            "checkpoint": options.checkpoint,
            "dataset": options.dataset,
            "split": options.split,
            **own,
            "precision": options.precision,
            "metrics": scores,
            "versions": versions(),
        }
        write_atomically(options.output, (json.dumps(content, indent=1) + "\n").encode())
    return OK


def evaluate_embeddings(options: argparse.Namespace) -> int:
    from ctxzoo.data.word_vectors import read_word_vectors
    from ctxzoo.evaluation.embedding_tasks import HEADINGS, TASKS, EvaluationOptions, score_rows
    from ctxzoo.evaluation.environment import public_name, versions

    vectors = read_word_vectors(options.vectors, fold_digits=options.fold_digits or None)
    told = EvaluationOptions(data_dir=options.data_dir, restarts=options.restarts, seed=options.seed)
    evaluations = {name: TASKS[name].run(vectors, told) for name in options.tasks}
    rows = [row for name, evaluation in evaluations.items() for row in score_rows(name, evaluation)]
    _print_table(HEADINGS, rows, title=f"{vectors.name}: {len(vectors):,} words, {vectors.dim} numbers each")
    if options.output is not None:
        tasks = {
            name: {
                "dataset": evaluation.dataset,
                "split": evaluation.split,
                "fingerprint": evaluation.fingerprint,
                **TASKS[name].settings(told),
                "metrics": evaluation.metrics,
            }
            for name, evaluation in evaluations.items()
        }
        content = {"vectors": public_name(options.vectors), "fingerprint": vectors.fingerprint, "tasks": tasks}
        _write_json(options.output, {**content, "versions": versions()})
    return OK


def _score_reader(options: argparse.Namespace, own: dict[str, Any]) -> dict[str, dict[str, float]]:
    from ctxzoo.evaluation.question_answering import evaluate_reader

    return evaluate_reader(
        options.checkpoint,
        options.dataset,
        (options.split,),
        squad_version=own["squad_version"] or "auto",
        no_answer_threshold=own["threshold"],
        **_how_to_score(options),
    )


def _score_classifier(options: argparse.Namespace, own: dict[str, Any]) -> dict[str, dict[str, float]]:
    from ctxzoo.evaluation.text_classification import evaluate_classifier

    given = {name: value for name, value in own.items() if value is not None}
    if Path(options.dataset).is_file():
        given["dev_share"] = 0.0  # all its rows
    return evaluate_classifier(options.checkpoint, options.dataset, (options.split,), **_how_to_score(options), **given)


def _score_tagger(options: argparse.Namespace, own: dict[str, Any]) -> dict[str, dict[str, float]]:
    from ctxzoo.evaluation.token_classification import evaluate_tagger

    return evaluate_tagger(options.checkpoint, options.dataset, (options.split,), **_how_to_score(options), **own)


def _how_to_score(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "data_dir": options.data_dir,
        "batch_size": options.batch_size,
        "precision": options.precision,
        "progress": sys.stdout.isatty(),
    }


def predict(options: argparse.Namespace) -> int:
    task = _task_of(options.checkpoint)
    _own_options("predict", options, task)
    commands = {
        "question-answering": _predict_answers,
        "text-classification": _predict_labels,
        "fill-mask": _predict_words,
        "token-classification": _predict_tags,
    }
    return commands[task.pipeline_tag](options)


def _predict_answers(options: argparse.Namespace) -> int:
    one = options.question is not None or options.context is not None
    if one == (options.file is not None):
        raise ValueError("give either --question with --context, or --file with --output")
    if one and (options.question is None or options.context is None):
        raise ValueError("--question and --context belong together; only one of them was given")
    if one and (options.output is not None or options.na_prob is not None):
        raise ValueError("--output and --na_prob belong to --file")
    if not one and options.output is None:
        raise ValueError("--file needs --output, the JSON file to write")

    from ctxzoo.evaluation.predictions import answer_questions, load_reader, read_questions

    questions = [] if one else read_questions(options.file)
    reader = load_reader(options.checkpoint)
    if one:
        parameters = {} if options.threshold is None else {"no_answer_threshold": options.threshold}
        _print_answer(reader(question=options.question, context=options.context, **parameters))
        return OK
    texts, scores = answer_questions(
        reader, questions, no_answer_threshold=options.threshold, batch_size=options.batch_size
    )
    files = {options.output: texts} | ({} if options.na_prob is None else {options.na_prob: scores})
    for file, content in files.items():
        _write_json(file, content)
    empty = sum(not text for text in texts.values())
    print(f"{len(texts)} answers, {empty} of them empty: {', '.join(map(str, files))}")
    return OK


def _predict_labels(options: argparse.Namespace) -> int:
    _check_text_or_file(options)
    if options.file is not None and options.output is None and options.explain is None:
        raise ValueError("--file needs --output, the JSON file to write, or --explain, the page")
    if options.explain is not None:
        _check_explanation_file(options.explain)

    from ctxzoo.evaluation.text_predictions import classify_texts, left_out_note, load_classifier, read_text_lines

    texts = [options.text] if options.file is None else read_text_lines(options.file)
    classifier = load_classifier(options.checkpoint)
    note = left_out_note(classifier.tokenizer, texts)
    if note is not None:
        print(f"ctxzoo: {note}", file=sys.stderr)
    if options.explain is not None:
        _explain(classifier, texts, options.explain)
    if options.text is not None or options.output is not None:
        predictions = classify_texts(classifier, texts, batch_size=options.batch_size)
    if options.file is None:
        print(json.dumps(predictions[0], ensure_ascii=False))
        return OK
    if options.output is not None:
        _write_json(options.output, predictions)
    files = [str(file) for file in (options.output, options.explain) if file is not None]
    print(f"{len(texts)} labels: {', '.join(files)}")
    return OK


def _predict_words(options: argparse.Namespace) -> int:
    _check_text_or_file(options)
    if options.file is not None and options.output is None:
        raise ValueError("--file needs --output, the JSON file to write")

    from ctxzoo.evaluation.mask_predictions import fill_masks, load_mask_filler
    from ctxzoo.evaluation.text_predictions import read_text_lines

    texts = [options.text] if options.file is None else read_text_lines(options.file)
    found = fill_masks(load_mask_filler(options.checkpoint), texts, batch_size=options.batch_size)
    if options.output is None:
        for word in found[0]:
            print(json.dumps(word, ensure_ascii=False))
        return OK
    _write_json(options.output, found)
    print(f"words for {len(texts)} texts: {options.output}")
    return OK


def _predict_tags(options: argparse.Namespace) -> int:
    _check_text_or_file(options)
    if options.file is not None and options.output is None:
        raise ValueError("--file needs --output, the JSON file to write")

    from ctxzoo.evaluation.text_predictions import read_text_lines
    from ctxzoo.evaluation.token_predictions import load_tagger, tag_texts

    texts = [options.text] if options.file is None else read_text_lines(options.file)
    predictions = tag_texts(load_tagger(options.checkpoint), texts, batch_size=options.batch_size)
    if options.file is None:
        for word in predictions[0]:
            print(f"{word['word']}\t{word['tag']}\t{word['score']:.4f}")
        return OK
    _write_json(options.output, predictions)
    print(f"tags of {sum(map(len, predictions))} words in {len(texts)} texts: {options.output}")
    return OK


def _check_text_or_file(options: argparse.Namespace) -> None:
    if (options.text is not None) == (options.file is not None):
        raise ValueError("give either --text, or --file with --output")
    if options.text is not None and options.output is not None:
        raise ValueError("--output belongs to --file")
    if options.text is not None and not options.text.strip():
        raise ValueError(f"--text is {options.text!r}; expected a text")


def _check_explanation_file(file: Path) -> None:
    if file.suffix not in (".html", ".png"):
        raise ValueError(f"--explain is {str(file)!r}; expected a name that ends in .html (page) or .png (picture)")
    if not file.parent.is_dir():
        raise ValueError(f"--explain is {str(file)!r}, but there is no folder {str(file.parent)!r}; make it first")


def _explain(classifier: TextClassificationPipeline, texts: Sequence[str], file: Path) -> None:
    """Write the page, or the picture, of which words count."""
    from ctxzoo.evaluation.explanation import explain_text
    from ctxzoo.evaluation.explanation_page import write_explanation_page
    from ctxzoo.evaluation.explanation_picture import draw_explanation

    if file.suffix == ".png" and len(texts) != 1:
        raise ValueError(f"--explain is {str(file)!r}, a picture of one text, but there are {len(texts)}; take .html")
    explanations = [explain_text(classifier.model, classifier.tokenizer, text) for text in texts]
    if file.suffix == ".png":
        draw_explanation(explanations[0], file)
    else:
        write_explanation_page(explanations, file)


def push(options: argparse.Namespace) -> int:
    from ctxzoo.hub.push import push_folder

    url = push_folder(
        options.folder,
        options.repo,
        private=options.private,
        revision=options.revision,
        message=options.message,
        replace=options.replace,
    )
    print(url)
    return OK


def verify(options: argparse.Namespace) -> int:
    from ctxzoo.hub import hub_checks
    from ctxzoo.hub.folder_files import CheckpointFolderError

    try:
        what, saved = hub_checks.verify(options.checkpoint)
    except CheckpointFolderError as error:
        if options.debug:
            raise
        print(f"ctxzoo: not fit: {_one_line(error)}", file=sys.stderr)
        return FAILED
    saved = f"saved with {saved}" if saved else "its card names no release"
    print(f"{what}: whole, and its code is that of ctxzoo {ctxzoo.__version__} ({saved})")
    return OK


def doctor(options: argparse.Namespace) -> int:
    from ctxzoo.evaluation.doctor import examine
    from ctxzoo.hub.card_facts import DATASET_FACTS

    findings = examine(DATASET_FACTS)
    _print_table(["", "", f"ctxzoo {ctxzoo.__version__}"], [[f.status, f.subject, f.detail] for f in findings])
    missing = sorted(finding.subject for finding in findings if finding.status == "missing")
    if missing:
        print(f"not fit: {', '.join(missing)}")
    return FAILED if missing else OK


def _architecture_info(architecture: Architecture) -> int:
    from ctxzoo.hub import inspection
    from ctxzoo.hub.folder_checks import empty_model

    rows = [[field.name, field.type, repr(field.default)] for field in inspection.own_fields(architecture.config_class)]
    _print_table(["field", "type", "default"], rows, title=f"{architecture.name}: configuration")
    model_class = inspection.widest_head(architecture)
    named = inspection.variants(architecture)
    rows = []
    for name, settings in named.items():
        counted = inspection.parts(empty_model(model_class, inspection.variant_config(architecture, name)))
        changes = ", ".join(f"{key}={value!r}" for key, value in settings.items()) or "the defaults"
        rows.append([name, changes, f"{inspection.total(counted).trainable:,}"])
    if rows:
        sizes = ", ".join(f"{name}={value}" for name, value in inspection.NOMINAL_SIZES.items())
        _print_table(
            ["variant", "settings", "trained parameters"], rows, title=f"variants, with {sizes}, frozen vectors"
        )
    model = empty_model(model_class, architecture.config_class())
    _print_parts(inspection.parts(model), f"{model_class.__name__} with the defaults")
    print("files:")
    for file in inspection.project_files(architecture):
        print(f"  {file}")
    return OK


def _checkpoint_info(checkpoint: str) -> int:
    from ctxzoo.hub import inspection

    facts = inspection.read_checkpoint(checkpoint)
    rows = [
        [field.name, repr(field.value), "" if field.value == field.default else repr(field.default)]
        for field in inspection.own_fields(facts.config)
    ]
    _print_table(["field", "value", "default, where it differs"], rows, title=f"{checkpoint}: {facts.model_class}")
    _print_parts(facts.parts, "parameters")
    for name, what in (("vocab_size", "words"), ("char_vocab_size", "characters")):
        if hasattr(facts.config, name):
            print(f"{what}: {getattr(facts.config, name):,} rows, the special ones included")
    untrained = inspection.untrained_positions(facts.config)
    if untrained is not None:
        print(f"position rows {untrained[0]} to {untrained[1]} were never trained (training contexts end before them)")
    return OK


def _task_of(checkpoint: str) -> TaskFacts:
    """What a folder or Hub id does; a clear error before its weights are read where that is nothing we can score."""
    from ctxzoo.hub.inspection import check_loadable, read_checkpoint
    from ctxzoo.hub.tasks import task_of

    facts = read_checkpoint(checkpoint)
    check_loadable(checkpoint)
    try:
        return task_of(facts.architecture, facts.model_class)
    except ValueError as error:
        raise ValueError(f"{checkpoint!r}: {error}") from error


def _own_options(command: str, options: argparse.Namespace, task: TaskFacts) -> dict[str, Any]:
    """The options that only checkpoints of this task have; those of other tasks are refused."""
    names = OPTIONS_OF_TASKS[command]
    own = names[task.pipeline_tag]
    for other, others in names.items():
        given = [f"--{name}" for name in others if name not in own and getattr(options, name) is not None]
        if given:
            raise ValueError(
                f"{', '.join(given)}: for {other}, but {options.checkpoint!r} does {task.pipeline_tag}; "
                f"it takes {', '.join(f'--{name}' for name in own)}"
            )
    return {name: getattr(options, name) for name in own}


def _in_order(scores: dict[str, float], task: TaskFacts) -> dict[str, float]:
    """Metrics in the order of cards; the others after them."""
    names = (*task.metrics, *sorted(set(scores) - set(task.metrics)))
    return {name: scores[name] for name in names if name in scores}


def _write_json(file: Path, content: object) -> None:
    from ctxzoo.evaluation.results import write_atomically

    write_atomically(file, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def _print_answer(answer: dict[str, Any]) -> None:
    if answer["answer"]:
        print(answer["answer"])
        print(f"characters {answer['start']} to {answer['end']}, probability {answer['score']:.4f}")
    else:
        print("(no answer)")
    print(f"no-answer score {answer['no_answer_score']:.4f}")


def _print_parts(parts: list[Part], title: str) -> None:
    from ctxzoo.hub.inspection import total

    rows = [[part.name, f"{part.trainable:,}", f"{part.total:,}"] for part in (*parts, total(parts))]
    _print_table(["part", "trained", "with frozen"], rows, title=title)


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(*headings, title=None if title is None else escape(title), box=box.SIMPLE, title_justify="left")
    for row in rows:
        table.add_row(*map(escape, row))
    _console().print(table)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_OF_FILES)


def _quieten() -> None:
    """No progress bars and start-up messages of the libraries."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)


class _Version(argparse.Action):
    """argparse's own action wants the version before anybody has asked for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        print(f"ctxzoo {ctxzoo.__version__}")
        parser.exit()


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def _probability(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{value} is not between 0 and 1")
    return value


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
