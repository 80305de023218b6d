#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names the comments of C++ sources that begin with a preposition, conjunction or relative pronoun instead of their subject.

    scripts/comments.py [FOLDER…]

Looked at is the beginning of each doc comment (///, ///<) and of each paragraph of // lines, in lib, tools, examples and tests
by default; not what follows code on its line. "Of the loaded program." is a fragment: "Epoch of the loaded program." names
the thing. Words of OPENING may begin a sentence whose main clause follows a comma or colon, "In a replica: its own copy.",
unless that begins with such a word, too. Exits 1, with a count, where there are fragments. Standard library only.
"""
import re
import subprocess
import sys

NEVER = "Against And As Behind Beside Besides But By Instead Into Of Or Than That Until Which Who Whom Whose".split()
OPENING = ("After Among At Because Before Between For From In Like On Over Per Since Through To Toward Under While With Within "
           "Without").split()


def first_sentences(path):
    """(line, first sentence) of each doc comment and each block of // lines in a source."""
    blocks, marker = [], None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = re.match(r"\s*(///?)(?![/<!])\s?(.*)", line) or re.search(r"(///<)\s*(.*)", line)
            text = found[2].strip() if found else ""
            if not text or found[1] != marker:  # an empty // line ends a paragraph
                blocks.append((number, []))
            if text:
                blocks[-1][1].append(text)
            marker = found[1] if text else None
    for number, texts in blocks:
        yield number, re.split(r"(?<=[.;])\s", " ".join(texts), maxsplit=1)[0]


def is_fragment(sentence):
    first = re.match(r"[A-Z][a-z]*\b", sentence)
    if not first or first[0] not in NEVER + OPENING:
        return False
    clauses = re.split(r"[,:]\s", sentence)[1:]
    words = {word.lower() for word in NEVER + OPENING}
    return first[0] in NEVER or all(clause.split()[0] in words or " " not in clause for clause in clauses)


def main():
    sources = subprocess.run(["git", "ls-files", *(sys.argv[1:] or ["lib", "tools", "examples", "tests"])],
                             stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    fragments = [(path, number, sentence.split()[0]) for path in sources if path.endswith((".hpp", ".cpp", ".h", ".c"))
                 for number, sentence in first_sentences(path) if is_fragment(sentence)]
    for path, number, word in fragments:
        print(f'{path}:{number}: the comment begins with "{word}": name the thing first', file=sys.stderr)
    if fragments:
        sys.exit(f"{len(fragments)} comments begin with a fragment")


if __name__ == "__main__":
    main()
