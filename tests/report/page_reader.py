"""Reads a page as a person would: its text, its pictures and what it would fetch."""

import re
from html.parser import HTMLParser

VOID = {"meta", "img", "br", "link", "input", "hr"}
FETCHING = {"src", "srcset", "href", "data", "action", "poster", "background"}


class Page(HTMLParser):
    """A parsed page.

    Attributes:
        text: visible text and alternative texts, in single spaces.
        attributes: every (tag, name, value).
        open_tags: tags left open, which must be none.
        faults: tags closed in the wrong order.
    """

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.pieces, self.attributes, self.open_tags, self.faults = [], [], [], []
        self.feed(html)
        self.close()
        self.text = " ".join(" ".join(self.pieces).split())

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.pieces += [value for name, value in attrs if name == "alt"]
        if tag not in VOID:
            self.open_tags.append(tag)

    def handle_endtag(self, tag):
        if not self.open_tags or self.open_tags.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        if "style" not in self.open_tags:
            self.pieces.append(data)

    @property
    def images(self):
        """(src, alt) of each picture."""
        of = {name: [value for tag, each, value in self.attributes if (tag, each) == ("img", name)]
              for name in ("src", "alt")}
        return list(zip(of["src"], of["alt"]))

    @property
    def fetched(self):
        """Addresses that a browser would follow or load, inlined data left out."""
        return [value for _, name, value in self.attributes
                if name in FETCHING and not value.startswith("data:")]


def numbers(text):
    """Every number of a text, as written, with a plain minus sign."""
    plain = text.replace("\N{MINUS SIGN}", "-")
    return re.findall(r"(?<![\w.\-])-?\d+(?:\.\d+)?(?![\w]|\.\d)", plain)
