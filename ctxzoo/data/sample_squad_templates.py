"""Words and sentence templates of the generated corpus (`sample_squad`)."""

from __future__ import annotations

from dataclasses import dataclass


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
class NameWords:
    """Words that names of one kind are made of.

    Attributes:
        common: few words that many names share ("Port", "Works").
        proper: the other words.
        unseen: further such words, which no training name has.
        common_first: whether the common word comes first.
    """

    common: list[str]
    proper: list[str]
    unseen: list[str]
    common_first: bool = True


def _words(text: str) -> list[str]:
    return text.split()


# The article before the name of an entity of each type; the type is also the kind of its name.
ARTICLES = {"company": "", "town": "", "person": "", "expedition": "the ", "landmark": "the "}

WOMEN = _words("Ada Berit Clara Edith Greta Irma Katrin Nora")
MEN = _words("Anton Bruno Emil Gustav Henrik Jakob Magnus Otto")
_SURNAMES = _words(
    "Abelard Brandel Corvin Dorsett Falkner Hollander Ivarsen Kessler Lindqvist Montrose Norling Pellerin Rosendal "
    "Thorvald Vesterby Wexford"
)
_NEW_SURNAMES = _words("Eriksholm Castell Gallagher Hartwig Joubert")
_TOWNS = _words(
    "Brenford Cordale Elsmere Fenwick Garstead Halvik Ithaby Kelmouth Lorton Marwick Norby Peldale Quinham Rosmere "
    "Torstead Wendale"
)
_NEW_TOWNS = _words("Bramvik Corford Dunmere Farwick")
_WILDS = _words("Arvenna Bellis Carrow Druna Estrel Galdra Hespen Korvan Lunda Mirren Ondra Pirova Ravna Sorrel")
_NEW_WILDS = _words("Ambrel Brisna Coldra Essenor")

NAME_KINDS = {
    "person": NameWords(WOMEN + MEN, _SURNAMES, _NEW_SURNAMES),
    "town": NameWords(_words("Port North Upper Old Saint Great Little Castle"), _TOWNS, _NEW_TOWNS),
    "river": NameWords(_words("White Black Blue Green Red Swift"), _WILDS, _NEW_WILDS),
    "peak": NameWords(_words("Mount Cape Fort Crag Point Glacier"), _WILDS, _NEW_WILDS),
    "company": NameWords(_words("Works Mills Foundry Brothers Brewery Press"), _SURNAMES, _NEW_SURNAMES, False),
    "expedition": NameWords(_words("Expedition Survey Voyage Mission Crossing"), _SURNAMES, _NEW_SURNAMES, False),
    "landmark": NameWords(_words("Bridge Tower Lighthouse Viaduct Observatory Theatre"), _TOWNS, _NEW_TOWNS, False),
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
    "crew": (11, 96, 1, "people"),
    "height": (21, 189, 1, "metres"),
}

YEARS = (1620, 1949)

OPENERS = ("records show that ", "according to old letters, ", "people say that ")

RELATIONS = (
    Relation(
        "company",
        "founder",
        "person",
        ("{v} set up {o} with borrowed money", "{s} was the idea of {v}"),
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
        "seat",
        "town",
        ("{s} runs its main office in {v}", "the managers of {o} work in {v}"),
        ("Where is {s} based?", "In which town is the seat of {s}?", "Which town is home to {s}?"),
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
        "river",
        "river",
        ("{s} lies on the {v}", "the {v} flows past {o}"),
        ("Which river runs through {s}?", "What is the river at {s} called?", "On which river does {s} stand?"),
    ),
    Relation(
        "town",
        "year",
        "year",
        ("{s} received its charter in {v}", "settlers first came to {o} in {v}"),
        ("When was {s} founded?", "In which year was {s} established?", "What is the founding year of {s}?"),
    ),
    Relation(
        "town",
        "population",
        "population",
        ("{s} counts {v}", "the last census found {v} in {o}"),
        ("How many inhabitants does {s} have?", "What is the population of {s}?", "How large is {s}?"),
    ),
    Relation(
        "town",
        "mayor",
        "person",
        ("{s} is led by {v}", "the voters of {o} elected {v}"),
        ("Who is the mayor of {s}?", "Who heads the council of {s}?", "Which person is mayor of {s}?"),
    ),
    Relation(
        "person",
        "birthplace",
        "town",
        ("{s} spent the first years of life in {v}", "the parents of {o} lived in {v}"),
        ("What is the birthplace of {s}?", "Where does {s} come from?", "Which town is the home of {s}?"),
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
    Relation(
        "person",
        "teacher",
        "person",
        ("{s} learned everything from {v}", "{s} studied under {v}"),
        ("Who taught {s}?", "Who was the teacher of {s}?", "Which person instructed {s}?"),
    ),
    Relation(
        "expedition",
        "leader",
        "person",
        ("{v} commanded {o}", "the captain of {o} was {v}"),
        ("Who led {s}?", "Who was in charge of {s}?", "Which person headed {s}?"),
    ),
    Relation(
        "expedition",
        "goal",
        "peak",
        ("{s} set out for {v}", "the maps of {o} show the way to {v}"),
        ("What was the destination of {s}?", "Where did {s} go?", "Which place did {s} explore?"),
    ),
    Relation(
        "expedition",
        "year",
        "year",
        ("{s} left harbour in {v}", "crowds waved farewell to {o} in {v}"),
        ("When did {s} take place?", "In which year did {s} depart?", "What was the year of {s}?"),
    ),
    Relation(
        "expedition",
        "crew",
        "crew",
        ("{s} had {v} on board", "the cook of {o} fed {v} every day"),
        ("How many members did {s} have?", "What was the crew size of {s}?", "How large was {s}?"),
    ),
    Relation(
        "landmark",
        "architect",
        "person",
        ("{v} drew the plans for {o}", "{s} follows a sketch by {v}"),
        ("Who designed {s}?", "Who was the architect of {s}?", "Which person planned {s}?"),
    ),
    Relation(
        "landmark",
        "year",
        "year",
        ("{s} was finished in {v}", "the ribbon at {o} was cut in {v}"),
        ("When was {s} completed?", "In which year did {s} open?", "What is the opening year of {s}?"),
    ),
    Relation(
        "landmark",
        "height",
        "height",
        ("{s} rises {v} above the ground", "{s} stands {v} over the valley"),
        ("How tall is {s}?", "What is the height of {s}?", "How high is {s}?"),
    ),
    Relation(
        "landmark",
        "town",
        "town",
        ("{s} is the pride of {v}", "children in {v} see {o} every day"),
        ("Where is {s} located?", "In which town can {s} be found?", "Which town contains {s}?"),
    ),
)
