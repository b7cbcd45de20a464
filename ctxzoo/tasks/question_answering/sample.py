"""A generated corpus in the shape of SQuAD 2.0, for tests, tutorials and runs without any download.

A paragraph states facts about a few invented entities (companies, towns, people). A question names one entity and asks
for one relation in words that the paragraph does not use. The same relation of other entities, and other values of the
same kind, stand beside the answer, so a reader that only looks for "a year" or "a name" fails. A third of the questions
has no answer: the entity lacks the relation that another one has, or is not in the paragraph at all. Relation and
wording are drawn before answerability, so the question alone does not give it away.

Paragraphs are short and relations few, so that a small reader learns the corpus in minutes on a processor.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxzoo.data.formats import SPLITS
from ctxzoo.data.generated import RandomDraws
from ctxzoo.tasks.question_answering.sample_templates import (
    ARTICLES,
    NAME_KINDS,
    NUMBERS,
    OPENERS,
    RELATIONS,
    THINGS,
    WOMEN,
    YEARS,
    Relation,
)

if TYPE_CHECKING:
    import datasets

PARAGRAPHS_PER_TITLE = 5
MIN_WORDS, MAX_WORDS = 30, 60


@dataclass(frozen=True)
class Entity:
    """An invented thing or person: its type, its name, and the pronouns (subject, object) that stand for it."""

    type: str
    name: str
    pronouns: tuple[str, str]


@dataclass(frozen=True)
class Fact:
    """One stated fact; `start` is the character offset of `value` in the paragraph."""

    entity: Entity
    relation: Relation
    value: str
    start: int


@dataclass(frozen=True)
class Question:
    """A question about `relation` of `entity`; `fact` is None when the paragraph does not answer it."""

    text: str
    entity: Entity
    relation: Relation
    fact: Fact | None


@dataclass(frozen=True)
class Paragraph:
    """A generated paragraph with everything it states and the questions about it."""

    title: str
    context: str
    facts: tuple[Fact, ...]
    questions: tuple[Question, ...]


def _list_names(kind: str, split: str) -> list[str]:
    """Return the invented names of a kind for a split: no name is in two splits, but parts of names are."""
    words = NAME_KINDS[kind]
    proper_words = words.proper if split == "train" else words.proper + words.unseen
    return [
        f"{common} {proper}" if words.common_first else f"{proper} {common}"
        for j, proper in enumerate(proper_words)
        for i, common in enumerate(words.common)
        if SPLITS[max(0, (i + j) % 8 - 5)] == split
    ]


class _ParagraphWriter:
    """Writes the paragraphs of one split."""

    def __init__(self, seed: int, split: str) -> None:
        self._split = split
        self._draws = RandomDraws(f"ctxzoo sample_squad {seed} {split}")
        self._names = {kind: _list_names(kind, split) for kind in NAME_KINDS}
        self._relations = {
            entity_type: [relation for relation in RELATIONS if relation.subject == entity_type]
            for entity_type in ARTICLES
        }

    def write_paragraphs(self) -> Iterator[Paragraph]:
        """Yield paragraphs of the sample without end, each with its questions."""
        number = 0
        while True:
            title = f"{self._split.capitalize()} chronicle {number // PARAGRAPHS_PER_TITLE + 1}"
            paragraph = self._write_paragraph(title)
            if MIN_WORDS <= len(paragraph.context.split()) <= MAX_WORDS:
                yield paragraph
                number += 1

    def _draw_value(self, kind: str, used_values: set[str]) -> str:
        """Draw a value that stands nowhere else in the paragraph, so that an answer has one place only."""
        draws = self._draws
        while True:
            if kind in NAME_KINDS:
                value = draws.draw_item(self._names[kind])
            elif kind in THINGS:
                value = draws.draw_item(THINGS[kind])
            elif kind in NUMBERS:
                low, high, step, unit = NUMBERS[kind]
                value = f"{low + step * draws.draw_integer((high - low) // step + 1):,} {unit}"
            else:
                first, last = YEARS
                value = str(first + draws.draw_integer(last - first + 1))
            if value not in used_values:
                used_values.add(value)
                return value

    def _draw_entity(self, entity_type: str, used_values: set[str]) -> Entity:
        """Draw a person, place or thing with its pronouns, none of `used_values`, to which its name is added."""
        name = self._draw_value(entity_type, used_values)
        if entity_type == "person":
            pronouns = ("she", "her") if name.split()[0] in WOMEN else ("he", "him")
        else:
            pronouns = ("it", "it")
        return Entity(entity_type, ARTICLES[entity_type] + name, pronouns)

    def _write_paragraph(self, title: str) -> Paragraph:
        """Draw the entities and facts of a paragraph and write its text and its questions."""
        draws = self._draws
        used_values: set[str] = set()
        main, side = draws.draw_permutation(list(ARTICLES))[:2]
        counts = {main: 3, side: 1} if draws.draw_bool(0.5) else {main: 3}
        holders: dict[Relation, list[Entity]] = {}
        present: dict[str, list[Entity]] = {}
        for entity_type, count in counts.items():
            present[entity_type] = entities = [self._draw_entity(entity_type, used_values) for _ in range(count)]
            relations = draws.draw_permutation(self._relations[entity_type])[: 2 + draws.draw_integer(2)]
            for relation in relations:
                # Mostly all entities but one have it: values to confuse, and one entity whose question has no answer.
                have = max(1, count - 1) if draws.draw_bool(0.8) else 1 + draws.draw_integer(count)
                holders[relation] = draws.draw_permutation(entities)[:have]
            for entity in entities:
                if all(entity not in holders[relation] for relation in relations):
                    holders[draws.draw_item(relations)].append(entity)
        context, facts = self._write_context(holders, used_values)
        return Paragraph(title, context, facts, self._write_questions(holders, present, facts, used_values))

    def _write_context(
        self, holders: dict[Relation, list[Entity]], used_values: set[str]
    ) -> tuple[str, tuple[Fact, ...]]:
        """Return the paragraph's text with one or two facts of an entity in a row, in random order."""
        draws = self._draws
        runs: list[list[tuple[Entity, Relation]]] = []
        entities = [entity for owners in holders.values() for entity in owners]
        for entity in dict.fromkeys(entities):
            relations = draws.draw_permutation(
                [(entity, relation) for relation, owners in holders.items() if entity in owners]
            )
            while relations:
                length = 1 if draws.draw_bool(0.4) else 2
                runs.append(relations[:length])
                relations = relations[length:]
        context = ""
        facts: list[Fact] = []
        for run in draws.draw_permutation(runs):
            for position, (entity, relation) in enumerate(run):
                value = self._draw_value(relation.kind, used_values)
                continued = position > 0 and draws.draw_bool(0.8)
                clause, start = _fill_template(draws.draw_item(relation.statements), entity, value, continued)
                if continued and draws.draw_bool(0.4):
                    context = context[:-1] + ", and "
                else:
                    if draws.draw_bool(0.15):
                        opener = draws.draw_item(OPENERS)
                        clause, start = opener + clause, start + len(opener)
                    clause = clause[0].upper() + clause[1:]
                    context += " " if context else ""
                facts.append(Fact(entity, relation, value, len(context) + start))
                context += clause + "."
        return context, tuple(facts)

    def _write_questions(
        self,
        holders: dict[Relation, list[Entity]],
        present: dict[str, list[Entity]],
        facts: tuple[Fact, ...],
        used_values: set[str],
    ) -> tuple[Question, ...]:
        """Return three to six questions on the paragraph, some without an answer."""
        draws = self._draws
        number = 3 + draws.draw_integer(4)
        by_key = {(fact.entity, fact.relation): fact for fact in facts}
        questions: dict[tuple[Entity, Relation], Question] = {}
        relations = list(holders)
        while len(questions) < number:
            relation = draws.draw_item(relations)
            wording = draws.draw_item(relation.questions)
            if draws.draw_bool(0.7):
                entity = draws.draw_item(holders[relation])
            else:
                lacking = [entity for entity in present[relation.subject] if entity not in holders[relation]]
                is_lacking = bool(lacking) and draws.draw_bool(0.7)
                entity = draws.draw_item(lacking) if is_lacking else self._draw_entity(relation.subject, used_values)
            key = (entity, relation)
            if key not in questions:
                questions[key] = Question(wording.format(s=entity.name), entity, relation, by_key.get(key))
        return tuple(questions.values())


def _fill_template(template: str, entity: Entity, value: str, use_pronouns: bool) -> tuple[str, int]:
    """Return the sentence for an entity and a value by a template, and where the value begins in it."""
    subject, other = entity.pronouns if use_pronouns else (entity.name, entity.name)
    before, after = (part.format(s=subject, o=other) for part in template.split("{v}"))
    return before + value + after, len(before)


def generate_paragraphs(seed: int, split: str, num_questions: int) -> list[Paragraph]:
    """Return the paragraphs of one split with their fact tables, cut to exactly `num_questions` questions.

    Raises:
        ValueError: unknown split, negative seed, or fewer than one question.
    """
    if split not in SPLITS:
        raise ValueError(f"split is {split!r}; expected one of {', '.join(SPLITS)}")
    if seed < 0:
        raise ValueError(f"seed is {seed}; expected 0 or more")
    if num_questions < 1:
        raise ValueError(f"{split}={num_questions}; expected at least 1 question")
    result: list[Paragraph] = []
    questions_left = num_questions
    for paragraph in _ParagraphWriter(seed, split).write_paragraphs():
        questions = paragraph.questions[:questions_left]
        result.append(Paragraph(paragraph.title, paragraph.context, paragraph.facts, questions))
        questions_left -= len(questions)
        if questions_left == 0:
            break
    return result


def sample_squad(seed: int = 0, train: int = 6000, validation: int = 400, test: int = 400) -> datasets.DatasetDict:
    """Return the generated corpus; the same arguments give the same rows on every machine.

    The splits are independent of each other's size, and no named entity of one split occurs in another, though
    most words of their names do.

    Args:
        seed: Seed of the generator, 0 or more.
        train: Number of training questions to generate.
        validation: Number of validation questions to generate.
        test: Number of test questions to generate.

    Returns:
        Splits train, validation and test with the columns id, title, context, question and answers of SQuAD 2.0.

    Raises:
        ValueError: negative seed, or a split of fewer than one question.
    """
    import datasets

    features = build_squad_features()
    splits = {}
    for split, questions in zip(SPLITS, (train, validation, test), strict=True):
        rows = [
            _build_row(paragraph, question)
            for paragraph in generate_paragraphs(seed, split, questions)
            for question in paragraph.questions
        ]
        splits[split] = datasets.Dataset.from_list(rows, features=features)
    return datasets.DatasetDict(splits)


def build_squad_features() -> datasets.Features:
    """Return the columns and types of SQuAD on the Hub."""
    import datasets

    string = datasets.Value("string")
    return datasets.Features(
        {
            "id": string,
            "title": string,
            "context": string,
            "question": string,
            "answers": {"text": datasets.List(string), "answer_start": datasets.List(datasets.Value("int32"))},
        }
    )


def _build_row(paragraph: Paragraph, question: Question) -> dict[str, object]:
    """Return a question as a row in the format of SQuAD."""
    answers = [question.fact] if question.fact is not None else []
    return {
        "id": hashlib.sha1(f"{paragraph.context}\n{question.text}".encode()).hexdigest()[:24],
        "title": paragraph.title,
        "context": paragraph.context,
        "question": question.text,
        "answers": {"text": [fact.value for fact in answers], "answer_start": [fact.start for fact in answers]},
    }
