"""Words and sentence templates of the generated corpus (`sample_squad`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Relation:
    """What can be said and asked about entities of one type.

    Attributes:
        subject: Type of entity that the relation describes, such as "company".
        name: Name of the relation, unique among those of its entity type.
        kind: Kind of the relation's values: a key of `NAME_KINDS`, `THINGS` or `NUMBERS`, or "year".
        statements: Clause templates with {v} for the value and {s} for the entity as subject, or {o} elsewhere.
        questions: Question templates with {s} for the entity, which share no content word with the statements.
    """

    subject: str
    name: str
    kind: str
    statements: tuple[str, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True)
class NameWords:
    """Words that names of one kind are made of.

    Attributes:
        common: Words that many names share, such as "Port" and "Works".
        proper: Words that distinguish one name from another, combined with the common ones.
        unseen: Further distinguishing words, which occur in no name of the training split.
        common_first: Whether the common word stands before the distinguishing one.
    """

    common: list[str]
    proper: list[str]
    unseen: list[str]
    common_first: bool = True


def _split_at_blanks(text: str) -> list[str]:
    """Split a text at its blanks."""
    return text.split()


# The article before the name of an entity of each type; the type is also the kind of its name.
ARTICLES = {"company": "the ", "town": "", "person": ""}

WOMEN = _split_at_blanks("Ada Berit Clara Edith Greta Irma Katrin Nora")
MEN = _split_at_blanks("Anton Bruno Emil Gustav Henrik Jakob Magnus Otto")
_SURNAMES = _split_at_blanks(
    "Abelard Brandel Corvin Dorsett Falkner Hollander Ivarsen Kessler Lindqvist Montrose Norling Pellerin Rosendal "
    "Thorvald Vesterby Wexford"
)
_NEW_SURNAMES = _split_at_blanks("Eriksholm Castell Gallagher Hartwig Joubert")
_TOWNS = _split_at_blanks(
    "Brenford Cordale Elsmere Fenwick Garstead Halvik Ithaby Kelmouth Lorton Marwick Norby Peldale Quinham Rosmere "
    "Torstead Wendale"
)
_NEW_TOWNS = _split_at_blanks("Bramvik Corford Dunmere Farwick")

NAME_KINDS = {
    "person": NameWords(WOMEN + MEN, _SURNAMES, _NEW_SURNAMES),
    "town": NameWords(_split_at_blanks("Port North Upper Old Saint Great Little Castle"), _TOWNS, _NEW_TOWNS),
    "company": NameWords(_split_at_blanks("Works Mills Foundry Brewery Press Bank"), _SURNAMES, _NEW_SURNAMES, False),
}

THINGS = {
    "goods": [
        "bone china tea cups",
        "brass door bells",
        "candles",
        "copper kettles",
        "fishing nets",
        "garden tools",
        "glass bottles",
        "hand painted tiles",
        "honey cakes",
        "iron stoves",
        "leather saddles",
        "mustard",
        "oak barrels",
        "pianos",
        "pocket watches",
        "rubber boots",
        "silver spoons",
        "smoked herring",
        "wool blankets",
    ],
    "profession": [
        "bee keeper",
        "bookbinder",
        "botanist",
        "clock maker",
        "court musician",
        "glass painter",
        "lawyer",
        "map printer",
        "mathematician",
        "railway engineer",
        "ship builder",
        "stone carver",
        "theatre critic",
        "translator of sea charts",
        "village doctor",
        "wine merchant",
    ],
}

# Smallest value, largest value, step, unit.
NUMBERS = {
    "population": (1200, 64000, 100, "people"),
}

YEARS = (1620, 1949)

OPENERS = ("records show that ", "according to old letters, ", "people say that ")

RELATIONS = (
    Relation(
        "company",
        "founder",
        "person",
        ("{v} set up {o}", "{s} was the idea of {v}"),
        ("Who founded {s}?", "Which person established {s}?", "Who was the founder of {s}?"),
    ),
    Relation(
        "company",
        "year",
        "year",
        ("{s} opened its doors in {v}", "{s} has been in business since {v}"),
        ("When was {s} founded?", "In which year did {s} begin?", "What is the founding year of {s}?"),
    ),
    Relation(
        "company",
        "product",
        "goods",
        ("{s} sells {v}", "most customers buy {v} from {o}"),
        ("What does {s} make?", "Which goods are produced by {s}?", "What is manufactured by {s}?"),
    ),
    Relation(
        "town",
        "mayor",
        "person",
        ("{s} is led by {v}", "the voters of {o} elected {v}"),
        ("Who is the mayor of {s}?", "Who heads the council of {s}?", "Which person is mayor of {s}?"),
    ),
    Relation(
        "town",
        "year",
        "year",
        ("{s} received its charter in {v}", "settlers first came to {o} in {v}"),
        ("When was {s} founded?", "In which year did {s} begin?", "What is the founding year of {s}?"),
    ),
    Relation(
        "town",
        "population",
        "population",
        ("{s} counts {v}", "the last census found {v} in {o}"),
        ("How many inhabitants does {s} have?", "What is the population of {s}?", "How large is {s}?"),
    ),
    Relation(
        "person",
        "teacher",
        "person",
        ("{s} learned everything from {v}", "{s} studied under {v}"),
        ("Who taught {s}?", "Who was the teacher of {s}?", "Which person instructed {s}?"),
    ),
    Relation(
        "person",
        "year",
        "year",
        ("{s} was born in {v}", "the cradle of {o} carries the date {v}"),
        ("What is the birth year of {s}?", "When did the life of {s} begin?", "In which year did {s} enter the world?"),
    ),
    Relation(
        "person",
        "profession",
        "profession",
        ("{s} earned a living as a {v}", "{s} worked as a {v}"),
        ("What was the profession of {s}?", "What job did {s} have?", "Which trade did {s} follow?"),
    ),
)
