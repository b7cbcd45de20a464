"""Samples of larger collections: Yelp reviews, headlines, Wikipedia articles."""

from __future__ import annotations

import hashlib
import html
import io
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ctxzoo.catalogue.archives import open_zip_texts
from ctxzoo.catalogue.entry import Files, RawFileError, Splits
from ctxzoo.catalogue.order import apply_stored_order, rows_to_columns
from ctxzoo.catalogue.read_lines import parse_csv_rows, read_lines, read_text

Row = dict[str, Any]
STARS = ("very negative", "negative", "neutral", "positive", "very positive")
CATEGORIES = ("b", "t", "e", "m")  # business, science and technology, entertainment, health
WORDS = 1000  # of a row of Wikipedia, at most
SHORTEST = 400  # characters of an article that is kept
_PARTS = 1000  # into which articles are divided by the hash of their number
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,80}>")  # longer ones are in our copy
_BLANKS = re.compile(r"[^\S\n]+")
_ARTICLE = re.compile(r'<doc id="(\d+)"[^>]*title="([^"]*)">\n')


def read_yelp_sample(files: Files) -> Splits:
    """Return reviews of three selections, line breaks and quotes written as in the set on the Hub."""
    return apply_stored_order(list(_read_yelp_reviews(files)), ("text", "label"), "yelp")


def _read_yelp_reviews(files: Files) -> Iterator[Row]:
    """Yield text and label, 0 to 4, of each review of the sample's files and of the larger file."""
    try:
        for row in json.loads(read_text(files["train.json"])):
            yield {"label": STARS.index(row["label"]), "text": row["sentence"].removeprefix("Text: ").strip()}
    except (ValueError, KeyError, TypeError) as error:
        raise RawFileError(f"train.json has another form: {error!r}; expected the file of the source") from error
    for name in ("dev.csv", "test.csv"):
        for row in parse_csv_rows(io.StringIO(read_text(files[name]), newline=""), name, ("text", "label2")):
            yield {
                "label": _parse_stars(row["label2"].rpartition(" ")[2], name),
                "text": _escape_line_breaks_and_quotes(row["text"]),
            }
    with open_zip_texts(files["yelp.csv.zip"]) as member:
        text = member("yelp.csv")
    for row in parse_csv_rows(io.StringIO(text, newline=""), "yelp.csv", ("text", "stars")):
        yield {"label": _parse_stars(row["stars"], "yelp.csv"), "text": _escape_line_breaks_and_quotes(row["text"])}


def _parse_stars(value: str, name: str) -> int:
    """Return the label, 0 to 4, of a number of stars, such as "5" or "5.0"; `name` is that of the file."""
    if value.removesuffix(".0") not in tuple("12345"):
        raise RawFileError(f"{name}: {value!r} stars; expected 1 to 5")
    return int(value[0]) - 1


def _escape_line_breaks_and_quotes(text: str) -> str:
    """Return the text with line breaks and quotes written as `\\n` and `\\"`, as the sample has them."""
    return text.strip().replace("\r\n", "\n").replace("\n", "\\n").replace('"', '\\"')


def read_headline_sample(files: Files) -> Splits:
    """Return headlines with their category and publisher, of two excerpts of the UCI News Aggregator."""
    return apply_stored_order(list(_read_headlines(files)), ("title", "label"), "news_aggregator")


def _read_headlines(files: Files) -> Iterator[Row]:
    """Yield title, category and publisher of each headline of the sample's files and of the larger file."""
    publisher_of = {}
    for part in ("train", "valid", "test"):
        for cells in _read_tab_separated_rows(files[f"publishers-{part}.txt"], 8):
            publisher_of[_clean_title(cells[1])] = cells[3]
    for part in ("train", "valid", "test"):
        for label, text in _read_tab_separated_rows(files[f"{part}.txt"], 2):
            if label in CATEGORIES:
                title = _clean_title(text)
                # The lists of publishers leave one of the five out.
                publisher = publisher_of.get(title, "Daily Mail")
                yield {"title": title, "label": CATEGORIES.index(label), "publisher": publisher}
    name = "uci-news-aggregator.csv"
    for row in parse_csv_rows(
        io.StringIO(read_text(files[name]), newline=""), name, ("TITLE", "CATEGORY", "PUBLISHER")
    ):
        if row["CATEGORY"] in CATEGORIES:
            number = CATEGORIES.index(row["CATEGORY"])
            yield {"title": repair_mojibake(row["TITLE"].strip()), "label": number, "publisher": row["PUBLISHER"]}


def _read_tab_separated_rows(path: Path, num_columns: int) -> Iterator[list[str]]:
    """Yield the lines that have that many cells, divided by tabs; a stray quote broke one record into several."""
    for line in read_lines(path):
        cells = line.split("\t")
        if len(cells) == num_columns:
            yield cells


def _clean_title(cell: str) -> str:
    """Return a cell without the quotes of CSV, and with characters repaired."""
    cell = cell.strip()
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        cell = cell[1:-1].replace('""', '"')
    return repair_mojibake(cell.strip())


def repair_mojibake(text: str) -> str:
    """Return a text with the characters that UTF-8 means by bytes that were read as Windows-1252."""
    return _NOT_ASCII.sub(_repair_matched_characters, text)


def _repair_matched_characters(match: re.Match[str]) -> str:
    """Return the characters that were read as Windows-1252 where they had been UTF-8."""
    try:
        # What Windows-1252 leaves undefined was kept as the control character of that number.
        return b"".join(sign.encode("latin-1") if sign < "\xa0" else sign.encode("cp1252") for sign in match[0]).decode(
            "utf-8"
        )
    except UnicodeError:
        return match[0]


def read_wikipedia_sample(files: Files) -> Splits:
    """Return about a quarter of the articles of an extract, in rows of up to 1,000 words that end with a paragraph."""
    rows: dict[str, list[Row]] = {"train": [], "validation": [], "test": []}
    for path in files.values():
        text = read_text(path)
        starts = list(_ARTICLE.finditer(text))
        if not starts:
            raise RawFileError(f'{path.name} holds no <doc id="…" … title="…">; expected the file of the source')
        for match in starts:
            number, title = int(match[1]), html.unescape(match[2])
            end = text.find("\n</doc>", match.end())
            if (split := _choose_split_of_article(number)) is not None:
                paragraphs = _extract_paragraphs(text[match.end() : end], title)
                if sum(map(len, paragraphs)) + len(paragraphs) > SHORTEST:
                    rows[split] += [
                        {"curid": number, "title": title, "text": row} for row in _join_paragraphs(paragraphs)
                    ]
    ordered = {split: sorted(found, key=lambda row: row["curid"]) for split, found in rows.items()}
    return {split: rows_to_columns(found) for split, found in ordered.items()}


def _choose_split_of_article(number: int) -> str | None:
    """Return the split of an article by its page number, or None where it is left out."""
    digest = hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()
    part = int(digest[:8], 16) % _PARTS
    return "validation" if part < 3 else "test" if part < 6 else "train" if part < 262 else None


def _extract_paragraphs(text: str, title: str) -> list[str]:
    """Return paragraphs without the title above them, without entities and tags, words one blank apart.

    A tag leaves the blank beside it where that stands at the end of a line, as in our copy.
    """
    lines = [_BLANKS.sub(" ", _TAG.sub("", html.unescape(line).strip())) for line in text.split("\n")]
    lines = [line for line in lines if line]
    return lines[1:] if lines and lines[0].strip() == " ".join(title.split()) else lines


def _join_paragraphs(paragraphs: Iterable[str]) -> Iterator[str]:
    """Yield texts of whole paragraphs, joined up to `WORDS` words."""
    row: list[str] = []
    words = 0
    for paragraph in paragraphs:
        more = len(paragraph.split())
        if row and words + more > WORDS:
            yield "\n".join(row)
            row, words = [], 0
        row.append(paragraph)
        words += more
    if row:
        yield "\n".join(row)
