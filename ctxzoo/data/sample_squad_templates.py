"""Words and sentence templates of the generated corpus (`sample_squad`)."""

from __future__ import annotations

from dataclasses import dataclass


def _words(text: str) -> list[str]:
    return text.split()


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

WOMEN = _words("Ada Berit Clara Dagny Edith Frida Greta Hedda Irma Johanna Katrin Lydia Marta Nora Olga Petra")
MEN = _words("Anton Bruno Casper Dietrich Emil Felix Gustav Henrik Isak Jakob Klaus Leopold Magnus Nils Otto Pavel")
_SURNAMES = _words(
    "Abelard Brandel Corvin Dorsett Ekman Falkner Grimaldi Hollander Ivarsen Jarnfelt Kessler Lindqvist Montrose "
    "Norling Ostrander Pellerin Quist Rosendal Sandoval Thorvald Ullmann Vesterby Wexford Ystad Zeller Aldersen "
    "Borgstrom Castell"
)
_TOWNS = _words(
    "Halvik Brenford Cordale Elsmere Fenwick Garstead Ithaby Jorham Kelmouth Lorton Marwick Norby Orford Peldale "
    "Quinham Rosmere Selvik Torstead Ulmouth Varton Wendale Yarby Zelham Dalford"
)
_WILD = _words(
    "Arvenna Bellis Carrow Druna Estrel Foss Galdra Hespen Imber Jessa Korvan Lunda Mirren Nessel Ondra Pirova Ravna "
    "Sorrel Tamsin Ulvar Vireo Wyndel"
)
_ADJECTIVES = _words(
    "Silent Golden Broken Distant Hidden Crimson Wandering Frozen Patient Hollow Burning Restless Gentle"
)
_NOUNS = _words("Orchard Lantern Harbour Winter Garden Mirror Letter Shepherd Island Window Staircase Meadow Compass")
_BIRDS = _words("Heron Falcon Swallow Petrel Osprey Curlew Kestrel Gannet Plover Raven Cormorant Sparrow Tern")
# Words that no training name contains; names with one of them are for validation and test only.
_UNSEEN = {
    "person": "Eriksholm Fonseca Gallagher Hartwig Iselin Joubert",
    "town": "Bramvik Corford Dunmere Elstead Farwick Granby",
    "wild": "Ambrel Brisna Coldra Dervan Essenor Fallow",
    "noun": "Cathedral Fountain Avalanche",
    "bird": "Kingfisher Albatross Wagtail",
}


# Kind of name: first words, last words seen in training, last words that are not; a name is "first last".
NAME_KINDS: dict[str, tuple[list[str], list[str], list[str]]] = {
    "person": (WOMEN + MEN, _SURNAMES, _words(_UNSEEN["person"])),
    "town": (["Port", "North", "Upper", "Old", "Saint", "Great", "Little", "Castle"], _TOWNS, _words(_UNSEEN["town"])),
    "river": (["White", "Black", "Blue", "Green", "Red", "Cold", "Swift", "Deep"], _WILD, _words(_UNSEEN["wild"])),
    "peak": (["Mount", "Cape", "Fort", "Crag", "Point", "Glacier"], _WILD, _words(_UNSEEN["wild"])),
    "water": (["Lake", "Bay", "Lagoon", "Gulf", "Fjord", "Sound"], _WILD, _words(_UNSEEN["wild"])),
    "book": (_ADJECTIVES, _NOUNS, _words(_UNSEEN["noun"])),
    "ship": (
        ["Grey", "Brave", "Royal", "Lucky", "Lonely", "Proud", "Silver", "Northern"],
        _BIRDS,
        _words(_UNSEEN["bird"]),
    ),
    # Named after a family or a place: `LAST_WORD_FIRST`.
    "company": (["Works", "Mills", "Foundry", "Brothers", "Brewery", "Press"], _SURNAMES, _words(_UNSEEN["person"])),
    "expedition": (["Expedition", "Survey", "Voyage", "Mission", "Crossing"], _SURNAMES, _words(_UNSEEN["person"])),
    "landmark": (
        ["Bridge", "Tower", "Lighthouse", "Viaduct", "Observatory", "Theatre"],
        _TOWNS,
        _words(_UNSEEN["town"]),
    ),
}
LAST_WORD_FIRST = {"company", "expedition", "landmark"}

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

OPENERS = ("records show that ", "according to old letters, ", "as far as anyone knows, ", "people say that ")
