"""A generated corpus in the shape of SQuAD 2.0, for tests, tutorials and runs without any download.

Every paragraph states facts about three or four invented entities (companies, towns, people, expeditions, landmarks,
books, rivers). A question names one entity and asks for one relation in words that the paragraph does not use. Facts of
the same relation about other entities, and values of the same kind, stand beside the answer, so a reader that only looks
for "a year" or "a name" fails. About a third of the questions have no answer: the entity lacks the relation that
another one has, or is not in the paragraph at all. Relation and wording are drawn before answerability, so the question
alone does not tell it.

Only `random.Random.random` is used, the one method whose sequence Python promises to keep: the same seed gives the same
bytes everywhere.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import datasets

T = TypeVar("T")

SPLITS = ("train", "validation", "test")
PARAGRAPHS_PER_TITLE = 5
MIN_WORDS, MAX_WORDS = 40, 110


@dataclass(frozen=True)
class Relation:
    """What can be said and asked about entities of one type.

    Attributes:
        subject: entity type the relation belongs to.
        name: name of the relation, unique within the type.
        kind: kind of its values, a key of `NAME_KINDS`, `THINGS`, `NUMBERS`, or "year".
        statements: clauses with {v} (value) and {s} (entity as subject) or {o} (entity in any other place).
        questions: questions with {s}; they share no content word with the statements.
    """

    subject: str
    name: str
    kind: str
    statements: tuple[str, ...]
    questions: tuple[str, ...]


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
    """A generated paragraph with everything it states and the questions asked about it."""

    title: str
    context: str
    facts: tuple[Fact, ...]
    questions: tuple[Question, ...]


# Entity types: article before the name, and the kind of name.
ENTITY_TYPES = {
    "company": ("", "company"),
    "town": ("", "town"),
    "person": ("", "person"),
    "expedition": ("the ", "expedition"),
    "landmark": ("the ", "landmark"),
    "book": ("", "book"),
    "river": ("the ", "river"),
}

_WOMEN = "Ada Berit Clara Dagny Edith Frida Greta Hedda Irma Johanna Katrin Lydia Marta Nora Olga Petra".split()
_MEN = "Anton Bruno Casper Dietrich Emil Felix Gustav Henrik Isak Jakob Klaus Leopold Magnus Nils Otto Pavel".split()
_SURNAMES = (
    "Abelard Brandel Corvin Dorsett Ekman Falkner Grimaldi Hollander Ivarsen Jarnfelt Kessler Lindqvist Montrose Norling "
    "Ostrander Pellerin Quist Rosendal Sandoval Thorvald Ullmann Vesterby Wexford Ystad Zeller Amundsen Borgstrom Castell"
).split()
_TOWNS = (
    "Halvik Brenford Cordale Elsmere Fenwick Garstead Ithaby Jorham Kelmouth Lorton Marwick Norby Orford Peldale Quinham "
    "Rosmere Selvik Torstead Ulmouth Varton Wendale Yarby Zelham Dalford"
).split()
_WILD = (
    "Arvenna Bellis Carrow Druna Estrel Foss Galdra Hespen Imber Jessa Korvan Lunda Mirren Nessel Ondra Pirova Ravna "
    "Sorrel Tamsin Ulvar Vireo Wyndel"
).split()
_ADJECTIVES = "Silent Golden Broken Distant Hidden Crimson Wandering Frozen Patient Hollow Burning Restless Gentle".split()
_NOUNS = "Orchard Lantern Harbour Winter Garden Mirror Letter Shepherd Island Window Staircase Meadow Compass".split()
_BIRDS = "Heron Falcon Swallow Petrel Osprey Curlew Kestrel Gannet Plover Raven Cormorant Sparrow Tern".split()

# Words that no training name contains; names with one of them are for validation and test only.
_UNSEEN = {
    "person": "Eriksholm Fonseca Gallagher Hartwig Iselin Joubert",
    "town": "Bramvik Corford Dunmere Elstead Farwick Granby",
    "wild": "Ambrel Brisna Coldra Dervan Essenor Fallow",
    "noun": "Cathedral Fountain Avalanche",
    "bird": "Kingfisher Albatross Wagtail",
}


def _unseen(key: str) -> list[str]:
    return _UNSEEN[key].split()


# Kind of name: first words, last words seen in training, last words that are not; a name is "first last".
NAME_KINDS: dict[str, tuple[list[str], list[str], list[str]]] = {
    "person": (_WOMEN + _MEN, _SURNAMES, _unseen("person")),
    "town": (["Port", "North", "Upper", "Old", "Saint", "Great", "Little", "Castle"], _TOWNS, _unseen("town")),
    "river": (["White", "Black", "Blue", "Green", "Red", "Cold", "Swift", "Deep"], _WILD, _unseen("wild")),
    "peak": (["Mount", "Cape", "Fort", "Crag", "Point", "Glacier"], _WILD, _unseen("wild")),
    "water": (["Lake", "Bay", "Lagoon", "Gulf", "Fjord", "Sound"], _WILD, _unseen("wild")),
    "book": (_ADJECTIVES, _NOUNS, _unseen("noun")),
    "ship": (["Grey", "Brave", "Royal", "Lucky", "Lonely", "Proud", "Silver", "Northern"], _BIRDS, _unseen("bird")),
    # Named after a family or a place: here the varying word comes first, see `_full_name`.
    "company": (["Works", "Mills", "Foundry", "Brothers", "Brewery", "Press"], _SURNAMES, _unseen("person")),
    "expedition": (["Expedition", "Survey", "Voyage", "Mission", "Crossing"], _SURNAMES, _unseen("person")),
    "landmark": (["Bridge", "Tower", "Lighthouse", "Viaduct", "Observatory", "Theatre"], _TOWNS, _unseen("town")),
}
_LAST_WORD_FIRST = {"company", "expedition", "landmark"}

THINGS: dict[str, list[str]] = {
    "goods": [
        "copper kettles",
        "glass bottles",
        "wool blankets",
        "brass door bells",
        "fishing nets",
        "leather saddles",
        "iron stoves",
        "silver spoons",
        "rubber boots",
        "paper lamps",
        "hand painted tiles",
        "pocket watches",
        "garden tools",
        "honey cakes",
        "smoked herring",
        "music boxes",
        "oak barrels",
        "bone china tea cups",
        "silk ribbons",
        "candles",
        "mustard",
        "pianos",
    ],
    "profession": [
        "clock maker",
        "glass painter",
        "ship builder",
        "botanist",
        "court musician",
        "map printer",
        "village doctor",
        "stone carver",
        "railway engineer",
        "translator of sea charts",
        "bee keeper",
        "lawyer",
        "mathematician",
        "theatre critic",
        "wine merchant",
        "bookbinder",
    ],
    "material": [
        "red granite",
        "white marble",
        "riveted steel",
        "cast iron",
        "yellow sandstone",
        "tarred oak beams",
        "grey limestone",
        "reinforced concrete",
        "burnt brick",
        "black basalt",
        "slate",
        "cedar wood",
        "copper plates and timber",
    ],
}

# Smallest value, largest value, step, unit.
NUMBERS: dict[str, tuple[int, int, int, str]] = {
    "population": (1200, 64000, 100, "people"),
    "workers": (30, 950, 10, "people"),
    "crew": (11, 96, 1, "people"),
    "height": (21, 189, 1, "metres"),
    "distance": (60, 990, 10, "kilometres"),
    "pages": (90, 880, 2, "pages"),
}

RELATIONS: tuple[Relation, ...] = (
    Relation(
        "company",
        "founder",
        "person",
        ("{v} set up {o} with borrowed money", "{s} was the idea of {v}", "{s} was started by {v}"),
        ("Who founded {s}?", "Which person established {s}?", "Who was the founder of {s}?"),
    ),
    Relation(
        "company",
        "year",
        "year",
        ("{s} opened its doors in {v}", "{s} has been in business since {v}", "in {v} the first order reached {o}"),
        ("When was {s} founded?", "In which year did {s} begin?", "What is the founding year of {s}?"),
    ),
    Relation(
        "company",
        "seat",
        "town",
        ("{s} runs its main office in {v}", "the managers of {o} work in {v}", "{s} has its headquarters in {v}"),
        ("Where is {s} based?", "In which town is the seat of {s}?", "Which town is home to {s}?"),
    ),
    Relation(
        "company",
        "product",
        "goods",
        ("{s} sells {v}", "{s} is best known for {v}", "most customers buy {v} from {o}"),
        ("What does {s} make?", "Which goods are produced by {s}?", "What is manufactured by {s}?"),
    ),
    Relation(
        "company",
        "workers",
        "workers",
        ("{s} has {v} on its payroll", "{s} gives jobs to {v}", "{o} pays the wages of {v}"),
        ("How many employees does {s} have?", "What is the staff size of {s}?", "How large is the workforce of {s}?"),
    ),
    Relation(
        "town",
        "river",
        "river",
        ("{s} lies on the {v}", "the {v} flows past {o}", "{s} grew up beside the {v}"),
        ("Which river runs through {s}?", "What is the river at {s} called?", "On which river does {s} stand?"),
    ),
    Relation(
        "town",
        "year",
        "year",
        ("{s} received its charter in {v}", "settlers first came to {o} in {v}", "{s} dates from {v}"),
        ("When was {s} founded?", "In which year was {s} established?", "What is the founding year of {s}?"),
    ),
    Relation(
        "town",
        "population",
        "population",
        ("{s} counts {v}", "{v} live in {o}", "the last census found {v} in {o}"),
        ("How many inhabitants does {s} have?", "What is the population of {s}?", "How large is {s}?"),
    ),
    Relation(
        "town",
        "product",
        "goods",
        ("visitors come to {o} for its {v}", "{s} is famous for its {v}", "traders buy {v} in {o}"),
        ("What is {s} known for?", "Which goods are produced in {s}?", "What do the craftsmen of {s} make?"),
    ),
    Relation(
        "town",
        "mayor",
        "person",
        ("{v} governs {o}", "{s} is led by {v}", "the voters of {o} elected {v}"),
        ("Who is the mayor of {s}?", "Who heads the council of {s}?", "Which person is mayor of {s}?"),
    ),
    Relation(
        "person",
        "birthplace",
        "town",
        ("{s} was born in {v}", "{s} spent the first years of life in {v}", "the parents of {o} lived in {v}"),
        ("What is the birthplace of {s}?", "Where does {s} come from?", "Which town is the home of {s}?"),
    ),
    Relation(
        "person",
        "year",
        "year",
        ("{s} was baptised in {v}", "{s} was born in {v}", "the cradle of {o} carries the date {v}"),
        ("What is the birth year of {s}?", "When did the life of {s} begin?", "In which year did {s} enter the world?"),
    ),
    Relation(
        "person",
        "profession",
        "profession",
        ("{s} earned a living as a {v}", "{s} worked as a {v}", "{s} became a respected {v}"),
        ("What was the profession of {s}?", "What job did {s} have?", "Which trade did {s} follow?"),
    ),
    Relation(
        "person",
        "teacher",
        "person",
        ("{s} learned everything from {v}", "{s} took the first steps under {v}", "{s} studied under {v}"),
        ("Who taught {s}?", "Who was the teacher of {s}?", "Which person instructed {s}?"),
    ),
    Relation(
        "expedition",
        "leader",
        "person",
        ("{v} commanded {o}", "{s} obeyed the orders of {v}", "the captain of {o} was {v}"),
        ("Who led {s}?", "Who was in charge of {s}?", "Which person headed {s}?"),
    ),
    Relation(
        "expedition",
        "goal",
        "peak",
        ("{s} set out for {v}", "{s} finally reached {v}", "the maps of {o} show the way to {v}"),
        ("What was the destination of {s}?", "Where did {s} go?", "Which place did {s} explore?"),
    ),
    Relation(
        "expedition",
        "year",
        "year",
        ("{s} sailed in {v}", "{s} left harbour in {v}", "crowds waved farewell to {o} in {v}"),
        ("When did {s} take place?", "In which year did {s} depart?", "What was the year of {s}?"),
    ),
    Relation(
        "expedition",
        "crew",
        "crew",
        ("{s} had {v} on board", "{v} joined {o}", "the cook of {o} fed {v} every day"),
        ("How many members did {s} have?", "What was the crew size of {s}?", "How large was {s}?"),
    ),
    Relation(
        "expedition",
        "ship",
        "ship",
        ("{s} travelled on the {v}", "the {v} carried {o}", "{s} hired the {v}"),
        ("Which ship was used by {s}?", "What was the vessel of {s} called?", "What was the name of the boat of {s}?"),
    ),
    Relation(
        "landmark",
        "architect",
        "person",
        ("{v} drew the plans for {o}", "{s} is the work of {v}", "{s} follows a sketch by {v}"),
        ("Who designed {s}?", "Who was the architect of {s}?", "Which person planned {s}?"),
    ),
    Relation(
        "landmark",
        "year",
        "year",
        ("{s} was finished in {v}", "the ribbon at {o} was cut in {v}", "masons laid the last stone of {o} in {v}"),
        ("When was {s} completed?", "In which year did {s} open?", "What is the opening year of {s}?"),
    ),
    Relation(
        "landmark",
        "height",
        "height",
        ("{s} rises {v} above the ground", "{s} measures {v} from foot to top", "{s} stands {v} over the valley"),
        ("How tall is {s}?", "What is the height of {s}?", "How high is {s}?"),
    ),
    Relation(
        "landmark",
        "town",
        "town",
        ("{s} is the pride of {v}", "children in {v} see {o} every day", "{s} belongs to {v}"),
        ("Where is {s} located?", "In which town can {s} be found?", "Which town contains {s}?"),
    ),
    Relation(
        "landmark",
        "material",
        "material",
        ("{s} consists of {v}", "masons used {v} for {o}", "{s} was put together from {v}"),
        ("What is {s} made of?", "Which material was chosen for {s}?", "What is {s} built from?"),
    ),
    Relation(
        "book",
        "author",
        "person",
        ("{v} wrote {o}", "{s} came from the pen of {v}", "{s} brought fame to {v}"),
        ("Who is the author of {s}?", "Who composed {s}?", "Which person is the writer of {s}?"),
    ),
    Relation(
        "book",
        "year",
        "year",
        ("{s} went on sale in {v}", "shops first offered {o} in {v}", "{s} was printed in {v}"),
        ("When was {s} published?", "In which year did {s} appear?", "What is the publication year of {s}?"),
    ),
    Relation(
        "book",
        "setting",
        "town",
        ("the story of {o} plays in {v}", "{s} follows a family through {v}", "readers of {o} walk the streets of {v}"),
        ("Where is {s} set?", "In which town does the plot of {s} unfold?", "Which town is the scene of {s}?"),
    ),
    Relation(
        "book",
        "length",
        "pages",
        ("{s} runs to {v}", "{s} fills {v}", "{v} make up {o}"),
        ("How long is {s}?", "What is the length of {s}?", "How thick is {s}?"),
    ),
    Relation(
        "river",
        "length",
        "distance",
        ("{s} winds for {v}", "{s} covers {v} in all", "boats can travel along {o} for {v}"),
        ("How long is {s}?", "What is the length of {s}?", "How far does {s} flow?"),
    ),
    Relation(
        "river",
        "source",
        "peak",
        ("{s} springs from {v}", "melting snow on {v} feeds {o}", "{s} comes down from {v}"),
        ("Where does {s} begin?", "What is the source of {s}?", "Where does {s} start?"),
    ),
    Relation(
        "river",
        "mouth",
        "water",
        ("{s} empties into {v}", "{s} joins {v} at last", "{v} takes in {o}"),
        ("Where does {s} end?", "What is the mouth of {s}?", "Where does {s} flow to?"),
    ),
    Relation(
        "river",
        "explorer",
        "person",
        ("{v} mapped {o}", "{s} was charted by {v}", "{v} measured every bend of {o}"),
        ("Who explored {s}?", "Who surveyed {s}?", "Which person investigated {s}?"),
    ),
)

_OPENERS = ("records show that ", "according to old letters, ", "as far as anyone knows, ", "people say that ")


class _Draws:
    """Random choices made from `random.Random.random` alone."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def below(self, bound: int) -> int:
        return int(self._random.random() * bound)

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        result = list(items)
        for i in range(len(result) - 1, 0, -1):
            j = self.below(i + 1)
            result[i], result[j] = result[j], result[i]
        return result


def _split_of_name(first: int, last: int, unseen: bool) -> str:
    """The one split that owns the name made of words number `first` and `last`: 6 of 8 pairs are for training."""
    if unseen:
        return SPLITS[1 + (first + last) % 2]
    return SPLITS[max(0, (first + last) % 8 - 5)]


def _names_of_split(kind: str, split: str) -> list[str]:
    firsts, lasts, unseen = NAME_KINDS[kind]
    names = []
    for j, last in enumerate(lasts + unseen):
        for i, first in enumerate(firsts):
            if _split_of_name(i, j, j >= len(lasts)) == split:
                names.append(f"{last} {first}" if kind in _LAST_WORD_FIRST else f"{first} {last}")
    return names


class _Writer:
    """Writes the paragraphs of one split."""

    def __init__(self, seed: int, split: str) -> None:
        self._split = split
        self._draws = _Draws(f"ctxzoo sample_squad {seed} {split}")
        self._names = {kind: _names_of_split(kind, split) for kind in NAME_KINDS}
        self._relations = {
            entity_type: [relation for relation in RELATIONS if relation.subject == entity_type]
            for entity_type in ENTITY_TYPES
        }

    def paragraphs(self) -> Iterator[Paragraph]:
        number = 0
        while True:
            title = f"{self._split.capitalize()} chronicle {number // PARAGRAPHS_PER_TITLE + 1}"
            paragraph = self._paragraph(title)
            if MIN_WORDS <= len(paragraph.context.split()) <= MAX_WORDS:
                yield paragraph
                number += 1

    def _value(self, kind: str, used: set[str]) -> str:
        """A value that stands nowhere else in the paragraph, so that each answer has one place."""
        draws = self._draws
        while True:
            if kind in NAME_KINDS:
                value = draws.pick(self._names[kind])
            elif kind in THINGS:
                value = draws.pick(THINGS[kind])
            elif kind in NUMBERS:
                low, high, step, unit = NUMBERS[kind]
                value = f"{low + step * draws.below((high - low) // step + 1):,} {unit}"
            else:
                value = str(1620 + draws.below(330))
            if value not in used:
                used.add(value)
                return value

    def _entity(self, entity_type: str, used: set[str]) -> Entity:
        article, kind = ENTITY_TYPES[entity_type]
        name = self._value(kind, used)
        if entity_type == "person":
            pronouns = ("she", "her") if name.split()[0] in _WOMEN else ("he", "him")
        else:
            pronouns = ("it", "it")
        return Entity(entity_type, article + name, pronouns)

    def _paragraph(self, title: str) -> Paragraph:
        draws = self._draws
        used: set[str] = set()
        main, side = draws.shuffled(list(ENTITY_TYPES))[:2]
        main_count, side_count = draws.pick([(2, 1), (2, 2), (3, 0), (3, 1)])
        holders: dict[Relation, list[Entity]] = {}
        present: dict[str, list[Entity]] = {}
        for entity_type, count in ((main, main_count), (side, side_count)):
            if count == 0:
                continue
            entities = [self._entity(entity_type, used) for _ in range(count)]
            present[entity_type] = entities
            for relation in self._planned_relations(entity_type, count):
                # Mostly all but one have it: values to confuse, and one entity to ask for in vain.
                have = max(1, count - 1) if draws.chance(0.6) else 1 + draws.below(count)
                holders[relation] = draws.shuffled(entities)[:have]
            for entity in entities:
                if all(entity not in owners for owners in holders.values()):
                    draws.pick([owners for relation, owners in holders.items() if relation.subject == entity_type]).append(entity)
        context, facts = self._write(holders, used)
        return Paragraph(title, context, facts, self._questions(holders, present, facts, used))

    def _planned_relations(self, entity_type: str, count: int) -> list[Relation]:
        relations = self._draws.shuffled(self._relations[entity_type])
        return relations[: 3 if count >= 2 else 2]

    def _write(self, holders: dict[Relation, list[Entity]], used: set[str]) -> tuple[str, tuple[Fact, ...]]:
        """The paragraph's text: each entity's facts in runs of one or two, the runs in random order."""
        draws = self._draws
        runs: list[list[tuple[Entity, Relation]]] = []
        entities = [entity for owners in holders.values() for entity in owners]
        for entity in dict.fromkeys(entities):
            own = draws.shuffled([(entity, relation) for relation, owners in holders.items() if entity in owners])
            while own:
                length = 1 if draws.chance(0.5) else 2
                runs.append(own[:length])
                own = own[length:]
        context = ""
        facts: list[Fact] = []
        for run in draws.shuffled(runs):
            for position, (entity, relation) in enumerate(run):
                value = self._value(relation.kind, used)
                continued = position > 0 and draws.chance(0.75)
                clause, start = _clause(draws.pick(relation.statements), entity, value, continued)
                if continued and draws.chance(0.4):
                    context = context[:-1] + ", and "
                else:
                    if draws.chance(0.15):
                        opener = draws.pick(_OPENERS)
                        clause, start = opener + clause, start + len(opener)
                    clause = clause[0].upper() + clause[1:]
                    context += " " if context else ""
                facts.append(Fact(entity, relation, value, len(context) + start))
                context += clause + "."
        return context, tuple(facts)

    def _questions(
        self,
        holders: dict[Relation, list[Entity]],
        present: dict[str, list[Entity]],
        facts: tuple[Fact, ...],
        used: set[str],
    ) -> tuple[Question, ...]:
        """Three to six questions. Relation, wording and answerability are independent draws."""
        draws = self._draws
        wanted = 3 + draws.below(4)
        by_key = {(fact.entity, fact.relation): fact for fact in facts}
        questions: dict[tuple[Entity, Relation], Question] = {}
        relations = list(holders)
        while len(questions) < wanted:
            relation = draws.pick(relations)
            wording = draws.pick(relation.questions)
            if draws.chance(0.7):
                entity = draws.pick(holders[relation])
            else:
                lacking = [entity for entity in present[relation.subject] if entity not in holders[relation]]
                entity = draws.pick(lacking) if lacking and draws.chance(0.7) else self._entity(relation.subject, used)
            key = (entity, relation)
            if key not in questions:
                questions[key] = Question(wording.format(s=entity.name), entity, relation, by_key.get(key))
        return tuple(questions.values())


def _clause(template: str, entity: Entity, value: str, continued: bool) -> tuple[str, int]:
    """The clause and the offset of its value."""
    subject, other = entity.pronouns if continued else (entity.name, entity.name)
    before, after = (part.format(s=subject, o=other) for part in template.split("{v}"))
    return before + value + after, len(before)


def generate_paragraphs(seed: int, split: str, questions: int) -> list[Paragraph]:
    """The paragraphs of one split with their fact tables, cut to exactly `questions` questions.

    Raises:
        ValueError: unknown split, negative seed, or fewer than one question.
    """
    if split not in SPLITS:
        raise ValueError(f"split is {split!r}; expected one of {', '.join(SPLITS)}")
    if seed < 0:
        raise ValueError(f"seed is {seed}; expected 0 or more")
    if questions < 1:
        raise ValueError(f"{split}={questions}; expected at least 1 question")
    result: list[Paragraph] = []
    left = questions
    for paragraph in _Writer(seed, split).paragraphs():
        kept = paragraph.questions[:left]
        result.append(Paragraph(paragraph.title, paragraph.context, paragraph.facts, kept))
        left -= len(kept)
        if left == 0:
            break
    return result


def sample_squad(
    seed: int = 0, train: int = 3000, validation: int = 400, test: int = 400
) -> datasets.DatasetDict:
    """The generated corpus; the same arguments give the same rows on every machine.

    The splits are independent of each other's size, and no named entity of one split occurs in another, though
    most words of their names do.

    Args:
        seed: 0 or more.
        train: number of training questions.
        validation: number of validation questions.
        test: number of test questions.

    Returns:
        Splits train, validation and test with the columns id, title, context, question and answers of SQuAD 2.0.

    Raises:
        ValueError: negative seed, or a split of fewer than one question.
    """
    features = squad_features()
    splits = {}
    for split, questions in zip(SPLITS, (train, validation, test), strict=True):
        rows = [
            _row(paragraph, question)
            for paragraph in generate_paragraphs(seed, split, questions)
            for question in paragraph.questions
        ]
        splits[split] = datasets.Dataset.from_list(rows, features=features)
    return datasets.DatasetDict(splits)


def squad_features() -> datasets.Features:
    """Columns and types of SQuAD on the Hub."""
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


def _row(paragraph: Paragraph, question: Question) -> dict[str, object]:
    answers = [question.fact] if question.fact is not None else []
    return {
        "id": hashlib.sha1(f"{paragraph.context}\n{question.text}".encode()).hexdigest()[:24],
        "title": paragraph.title,
        "context": paragraph.context,
        "question": question.text,
        "answers": {"text": [fact.value for fact in answers], "answer_start": [fact.start for fact in answers]},
    }
