#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flags prose that readers have to read twice: in documents, man pages, comments and messages.

    scripts/prose.py [FOLDER | FILE …]

Checked:
- Markdown and scdoc pages, without their code blocks, and without the options that ./dev gen writes from the tools' tables;
- comments of C++, Python (docstrings too), shell, bats and meson sources;
- string literals of C++ in lib/ and tools/ and of Python in share/: messages, help and events.

Prints `path:line: reason: the words`, one per finding, then a count; exits 1 if it found something. RULES has the phrases; besides:
- a sentence that begins with Who, What, Of or By and isn't a question (headings and "By default" may);
- "who" or "whom" without a person or a verb of asking before it ("a user who", "shows who waits"); "whose" without a noun before it;
- "what is" and the like as a noun: at the beginning of a clause, or after a preposition or conjunction;
- a C++ comment that begins with a fragment ("Of the loaded program."; write "Epoch of the loaded program.");
- British spelling.

scripts/prose.txt lists exceptions, one per line: `PATH: WORDS: reason`. A finding is ignored if PATH matches (it may contain *) and
WORDS occur in its sentence; WORDS may be *. Exceptions that match nothing are errors, too, when everything is checked.

Without arguments everything is checked. Standard library only.
"""
import ast
import fnmatch
import io
import os
import re
import subprocess
import sys
import tokenize

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXCEPTIONS = os.path.join(SOURCE, "scripts", "prose.txt")

# Never prose of this project: copies, data, results.
SKIPPED = ["LICENSE", "subprojects", "tests/golden", "tests/fuzz/corpus", "tests/cluster/apiserver", "completions", "CODE_OF_CONDUCT.md"]

PERSONS = set("""
    people person user users reader readers writer writers owner owners developer developers engineer engineers operator operators author authors
    administrator administrators admin admins reviewer reviewers maintainer maintainers contributor contributors newcomer newcomers colleague colleagues
    anyone anybody someone somebody everyone everybody nobody noone human humans attacker attackers programmer programmers stranger strangers others
    researcher researchers team teams customer customers""".split())
ASKING = set("""
    know knows known ask asks asked say says said tell tells told see sees show shows shown decide decides decided determine determines matter matters
    report reports reported state states stated name names named learn learns find finds out check checks print prints printed list lists and or""".split())
PREPOSITIONS = set("about after as at before behind between but by for from in into like of on over per since than through to under until upon with without".split())
JOINING = PREPOSITIONS | set("and because if nor or that then unless when where while whether".split())

# (pattern, reason), matched without regard to case.
RULES = [(re.compile(pattern, re.IGNORECASE), reason) for pattern, reason in [
    (r"\bso many\b", 'say how many, instead of "so many"'),
    (r"\bany ?more\b(?! than)", '"no longer", instead of "any more"'),
    (r"\bfor ever\b", 'US spelling: "forever"'),
    (r"\b(is|are|be|was|were|being) done without\b", 'name the subject: "continues without"'),
    (r"\bstands? for\b", '"means", "represents" or "is short for", instead of "stands for"'),
    (r"\b(is|are|was|were|isn't|aren't|wasn't|weren't) there(?=\s*([.,;:)]|$))", '"exists" or "is missing", instead of "is there"'),
    (r"\bthere (is|are|was|were|isn't|aren't)(?=\s*([.,;:)]|$))", 'a clause that ends with "there is": name the thing'),
    (r"\bof one's own\b", '"your own", or name the owner'),
    (r"\bthose (of|for|from|to|by|in|with|on|at) (whom|which)\b", '"those of whom": name the things'),
    (r"\bwhat (is|was) trained\b", 'name it: "the model", "the variables"'),
    (r"\b(own|its|their) affair\b", 'say what tfd does not do, instead of "affair"'),
    (r"\bimages? of containers\b", '"container image"'),
    (r"\b(is|are|was|were) to be had\b", '"is available"'),
    (r"\bwho has none\b", 'name the subject: "a client without a key"'),
    (r"\bwhat of (all|its|the|that)\b", '"which of", or name the things'),
    (r"\bof which one is\b", '"including", or two sentences'),
    (r"\bof (one|itself|themselves) alone\b", '"only"'),
    (r"\b(is|are) it that\b", 'begin with the subject'),
]]

# Verbs in -ise whose US spelling is -ize, by their stems; then other words, as a regular expression each.
ISE = """amort anonym author canonical capital categor central custom deserial digit emphas equal external factor final general human immun initial internal
    item local maxim memo memor minim modern modular monopol normal optim organ parallel parametr penal polar prior public quant random real recogn
    regular reinitial sanit serial special stabil standard summar symbol synchron token transpos util vector virtual visual""".split()
BRITISH = re.compile(r"\b(" + "|".join([
    *(r"(un|re|de)?" + stem + r"is(e|es|ed|er|ers|ing|ation|ations)" for stem in ISE), r"(mis)?behaviours?", r"colou?r(?<=our)(s|ed|ing|less)?", r"favour\w*", r"honour\w*",
    r"neighbour\w*", r"labour\w*", r"rumour\w*", r"harbour\w*", r"flavour\w*", r"endeavour\w*", r"vapour", r"armour\w*", r"centre[sd]?", r"metres?", r"litres?",
    r"fibres?", r"theatres?", r"analys(e|es|ed|ing)", r"paralys(e|ed|es|ing)", r"catalogue[sd]?", r"dialogue box", r"grey\w*", r"licences?", r"defences?",
    r"offences?", r"pretences?", r"cancell(ed|ing|er|able)", r"label+(?<=ll)(ed|ing)", r"unlabelled", r"model+(?<=ll)(ed|ing|er)", r"travell(ed|ing|er|ers)",
    r"signall(ed|ing)", r"marshall(ed|ing)", r"tunnell(ed|ing)", r"channell(ed|ing)", r"totall(ed|ing)", r"levell(ed|ing)", r"fuell(ed|ing)", r"fulfils?",
    r"fulfilment", r"enrol", r"enrolment", r"instalment", r"skilful", r"wilful", r"artefacts?", r"judgements?", r"acknowledgements?", r"ageing", r"programmes?",
    r"whilst", r"amongst", r"learnt", r"spelt", r"burnt", r"dreamt", r"towards", r"afterwards", r"forwards", r"upwards", r"downwards", r"sceptical",
    r"manoeuvre\w*", r"plough", r"draught", r"tyres?", r"cheques?", r"kerb", r"mould", r"smoulder", r"cosy", r"sulphur", r"aluminium", r"storeys?", r"maths",
]) + r")\b", re.IGNORECASE)

FRAGMENT = "Against And As Behind Beside Besides But By Instead Into Of Or Than That Those Until Which Who Whom Whose".split()
OPENING = ("After Among At Because Before Between For From In Like On Over Per Since Through To Toward Under While With Within "
           "Without").split()


def is_fragment(sentence):
    """Words of OPENING may begin a sentence whose main clause follows a comma or colon, unless that begins with such a word, too."""
    first = re.match(r"[A-Z][a-z]*\b", sentence)
    if not first or first[0] not in FRAGMENT + OPENING:
        return False
    clauses = re.split(r"[,:]\s", sentence)[1:]
    words = {word.lower() for word in FRAGMENT + OPENING}
    return first[0] in FRAGMENT or all(clause.split()[0] in words or " " not in clause for clause in clauses)


class Block:
    """A paragraph: its words with single spaces, and the line of each."""

    def __init__(self, kind):
        self.kind = kind  # "text", "heading", "comment" (of C++), "message"
        self.text, self.starts = "", []

    def add(self, number, text):
        text = text.strip()
        if text:
            self.text += " " if self.text else ""
            self.starts.append((len(self.text), number))
            self.text += text

    def line(self, offset):
        return [number for start, number in self.starts if start <= offset][-1]

    def sentences(self):
        """(offset, sentence)"""
        begin = 0
        for end in re.finditer(r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_]*[A-Z`])|(?<=[.!?])\s*$", self.text):
            if not re.search(r"(\b(e\.g|i\.e|etc|vs|cf)\.|…)$", self.text[begin:end.start()]):
                yield begin, self.text[begin:end.start() + 1].strip()
                begin = end.end()
        if begin < len(self.text):
            yield begin, self.text[begin:]


def blocks_of_markdown(text):
    block, fenced = Block("text"), False
    for number, line in enumerate(re.sub(r"<!--.*?-->", lambda found: "\n" * found[0].count("\n"), text, flags=re.S).split("\n"), 1):
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
            continue
        if fenced or not line.strip() or re.match(r"\s*[|:-]+\s*$", line):
            yield block
            block = Block("text")
            continue
        line = re.sub(r"`[^`]*`", lambda found: "`" + "x" * (len(found[0]) - 2) + "`", line)
        line = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line)
        if line.startswith("#"):
            yield block
            block = Block("heading")
            block.add(number, line.lstrip("# "))
            yield block
            block = Block("text")
        elif line.lstrip().startswith("|"):
            yield block
            for cell in line.strip().strip("|").split("|"):
                block = Block("text")
                block.add(number, cell)
                yield block
            block = Block("text")
        else:
            if re.match(r"\s*([-*+]|\d+\.)\s", line):
                yield block
                block = Block("text")
                line = re.sub(r"^\s*([-*+]|\d+\.)\s+", "", line)
            block.add(number, line)
    yield block


def blocks_of_scdoc(text):
    block, literal, generated, indent = Block("text"), False, False, None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("; begin"):
            generated = True
        elif line.startswith("; end"):
            generated = False
        if line.strip() == "```":
            literal = not literal
        tabs = len(line) - len(line.lstrip("\t"))
        if literal or generated or not line.strip() or line.startswith(";") or line.strip() == "```" or tabs != indent or re.match(r"\s*([-.|\[\]]|\d+\.)", line):
            yield block
            block = Block("text")
            indent = tabs
        if literal or generated or line.startswith((";", "#")) or line.strip() == "```":
            continue
        line = re.sub(r"^\s*([-.]|\d+\.|[|\[\]][-\]<>|[]*)\s", "", line)
        block.add(number, re.sub(r"(?<![\w\\])([*_])(\S|\S.*?\S)\1(?!\w)", r"\2", line).replace("\\", ""))
    yield block


CPP = re.compile(r"""
    (?P<include>^[ \t]*\#[ \t]*include[^\n]*) | (?P<comment>//[^\n]*) | (?P<long>/\*.*?\*/) |
    R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | (?P<string>"(?:\\.|[^"\\\n])*") | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""", re.S | re.M | re.X)


def is_message(text):
    """More than a name, a path, an option or JSON."""
    return " " in text.strip() and len(re.findall(r"[A-Za-z]{2,}", text)) > 1 and not re.search(r'"\s*:|::', text)


def blocks_of_cpp(text, with_messages):
    number, position, block, marker, last_line, message, message_end = 1, 0, Block("comment"), None, 0, None, 0
    for found in CPP.finditer(text):
        number += text.count("\n", position, found.start())
        position = found.start()
        if found["comment"]:
            mark, words = re.match(r"(//[/!]?<?)(.*)", found[0]).groups()
            alone = not text[text.rfind("\n", 0, found.start()) + 1:found.start()].strip()
            is_code = words.startswith("   ") or words.strip().startswith("```")
            if not words.strip() or is_code or mark != marker or not alone or number != last_line + 1 or re.match(r"\s*([-*]|\d+\.)\s", words):
                yield block
                # A comment behind code is a remark, and may be a fragment; a doc comment may not.
                block = Block("comment" if alone or mark == "///<" else "text")
            if not is_code and not re.search(r"SPDX|NOLINT|clang-format|IWYU", words):
                block.add(number, re.sub(r"^\s*([-*]|\d+\.)\s", "", re.sub(r"`[^`]*`", lambda code: "`" + "x" * (len(code[0]) - 2) + "`", words)))
            marker, last_line = (mark, number) if alone else (None, 0)
        elif found["long"]:
            yield block
            block = Block("text")
            for at, line in enumerate(found["long"][2:-2].split("\n")):
                block.add(number + at, line.strip(" *"))
        elif found["string"] and with_messages:
            words = found["string"][1:-1].replace('\\"', '"').replace("\\n", " ")
            if message is None or text[message_end:found.start()].strip():
                if message is not None and is_message(message.text):
                    yield message
                message = Block("message")
            message.add(number, words)
            message_end = found.end()
    yield block
    if message is not None and is_message(message.text):
        yield message


def blocks_of_python(text, with_messages):
    block, last = Block("text"), 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            alone = not token.line[:token.start[1]].strip()
            words = token.string.lstrip("#! ")
            if not alone or token.start[0] != last + 1 or not words:
                yield block
                block = Block("text")
            if not re.search(r"SPDX|noqa|pylint|usr/bin", words):
                block.add(token.start[0], words)
            last = token.start[0] if alone else 0
    yield block
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    tree, docstrings = ast.parse(text), set()
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant) \
                and isinstance(node.body[0].value.value, str):
            docstrings.add(node.body[0].value)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and with_messages:
            words = "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values).replace("\n", " ")
            if is_message(words):
                block = Block("message")
                block.add(node.lineno, words)
                yield block
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or node in parts:
            continue
        if node in docstrings:
            block = Block("text")
            for at, line in enumerate(node.value.split("\n")):
                if not line.strip() or line.startswith("        ") or re.match(r"\s*([-*]|\d+\.)\s", line):
                    yield block
                    block = Block("text")
                if not line.startswith("        "):
                    block.add(node.lineno + at, re.sub(r"^\s*([-*]|\d+\.)\s", "", line))
            yield block
        elif with_messages and is_message(node.value):
            block = Block("message")
            block.add(node.lineno, node.value.replace("\n", " "))
            yield block


def blocks_of_shell(text):
    """Shell, bats, meson, YAML and Debian's files: comments from # to the end of a line."""
    block, last = Block("text"), 0
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r"(.*?)(?:(?<=\s)|^)#\s(.*)", line)
        if not found or found[1].count("'") % 2 or found[1].count('"') % 2:
            continue
        alone = not found[1].strip()
        if not alone or number != last + 1:
            yield block
            block = Block("text")
        if "SPDX" not in found[2] and not found[2].startswith(("shellcheck", "   ")):
            block.add(number, re.sub(r"`[^`]*`", lambda code: "`" + "x" * (len(code[0]) - 2) + "`", found[2]))
        last = number if alone else 0
    yield block


def blocks(path, text):
    name = os.path.basename(path)
    if name.endswith(".md"):
        return blocks_of_markdown(text)
    if name.endswith(".scd"):
        return blocks_of_scdoc(text)
    if name.endswith((".cpp", ".hpp", ".c", ".h")):
        return blocks_of_cpp(text, re.search(r"(^|/)(lib|tools)/", path))
    if name.endswith(".py"):
        return blocks_of_python(text, re.search(r"(^|/)share/", path))
    if name.endswith((".sh", ".bash", ".bats", ".sbatch", ".yml", ".yaml", ".txt")) or name in ("meson.build", "meson_options.txt", "dev", "run"):
        return blocks_of_shell(text)
    return []


def last_word(text):
    found = re.search(r"([\w'-]+)[\"'*_)]*\s*$", text)
    return found[1].lower() if found else ""


def findings_about_who(sentence):
    for found in re.finditer(r"\b([Ww]ho|[Ww]hom|[Ww]hose)\b", sentence):
        before = sentence[:found.start()]
        word, word_before_comma = last_word(before), last_word(before.rstrip().rstrip(","))
        at_start = not before.strip(" *_\"'([")
        if at_start and found[0][0] == "W":
            continue  # the rule about the beginnings of sentences has it
        if found[0] == "whose":
            if at_start or word in PREPOSITIONS - {"but"} or word in ("those", "all", "ones"):
                yield found.start(), '"whose" without a noun before it: name the thing'
        elif not (word in PERSONS or word in ASKING - {"and", "or"} or (before.rstrip().endswith(",") and word_before_comma in PERSONS)
                  or (word in ("and", "or", "of", "for", "by", "to", "from") and re.search(r"\b(" + "|".join(ASKING | PERSONS) + r")\b.*\b(who|whom|what|which|when|where|" +
                                                            "|".join(ASKING - {"and", "or"}) + r")\b", before))):
            yield found.start(), f'"{found[0]}" for a thing, or without a noun: name the subject'


def findings_about_what(sentence):
    for found in re.finditer(r"\bwhat (is|was|are|were|isn't|wasn't|has|had|there|comes|came|goes|went|remains|follows|belongs)\b", sentence):
        before = sentence[:found.start()].rstrip()
        asked = re.search(r"\b(" + "|".join(ASKING - {"and", "or", "state", "name", "find", "list", "check"}) + r"|about)\b", before)
        if (not before.strip(" *_\"'([") or before.endswith((";", ":", "(", ",")) or last_word(before) in JOINING) and not asked:
            yield found.start(), f'"{found[0]}" as a noun: name the thing'


def findings(block):
    """(offset, reason, sentence)"""
    for begin, sentence in block.sentences():
        bare = sentence.lstrip("\"'([*_ ")
        if block.kind != "heading" and not sentence.rstrip("\"')]*_ ").endswith("?"):
            first = re.match(r"(Who|Whom|Whose|What|Of|By)\b(?! (default|course|contrast|convention)\b)", bare)
            if first:
                yield begin, f'a sentence that begins with "{first[0]}": begin with the subject', sentence
            for offset, reason in findings_about_who(sentence):
                yield begin + offset, reason, sentence
            if not first:
                for offset, reason in findings_about_what(sentence):
                    yield begin + offset, reason, sentence
        for pattern, reason in RULES:
            for found in pattern.finditer(sentence):
                if block.kind == "message" and found.end() == len(sentence) and reason.startswith("a clause"):
                    continue  # a string that others continue
                yield begin + found.start(), reason, sentence
        for found in BRITISH.finditer(sentence):
            yield begin + found.start(), f'US spelling, not "{found[0]}"', sentence
    first = re.split(r"(?<=[.;])\s", block.text, maxsplit=1)[0]
    if block.kind == "comment" and is_fragment(first) and first.split()[0] not in ("Who", "Whom", "Whose", "Of", "By"):
        yield 0, f'a comment that begins with the fragment "{first.split()[0]} …": name the thing first', first


def is_under(path, folders):
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def tracked():
    paths = subprocess.run(["git", "ls-files"], stdout=subprocess.PIPE, text=True, check=True, cwd=SOURCE).stdout.split("\n")
    return [path for path in paths if path and not is_under(path, SKIPPED) and os.path.isfile(os.path.join(SOURCE, path))]


def walk(arguments):
    for argument in arguments:
        if os.path.isfile(argument):
            yield argument
        elif not os.path.isdir(argument):
            sys.exit(f"prose.py: no file or folder {argument}")
        for folder, _, names in sorted(os.walk(argument)):
            yield from (os.path.join(folder, name) for name in sorted(names))


def load_exceptions():
    with open(EXCEPTIONS, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return {tuple(line.split(": ")[:2]): line for line in lines}


def main():
    arguments = sys.argv[1:]
    if not arguments:
        paths = [(path, os.path.join(SOURCE, path)) for path in tracked()]
    else:
        skipped = [os.path.join(SOURCE, folder) for folder in SKIPPED]
        paths = [(os.path.relpath(path, SOURCE) if os.path.abspath(path).startswith(SOURCE + "/") else path, path) for path in walk(arguments)
                 if not is_under(os.path.abspath(path), skipped)]
    exceptions, used, lines = load_exceptions(), set(), []
    for path, place in paths:
        try:
            with open(place, encoding="utf-8") as file:
                text = file.read()
        except UnicodeDecodeError:
            continue
        for block in blocks(path, text):
            for offset, reason, sentence in findings(block):
                excused = [key for key in exceptions if fnmatch.fnmatch(path, key[0]) and (key[1] == "*" or key[1] in sentence)]
                used.update(excused)
                if not excused:
                    words = block.text[max(0, offset - 30):offset + 50].strip()
                    lines.append(f"{path}:{block.line(offset)}: {reason}: {words}")
    for key in sorted(exceptions.keys() - used) if not arguments else []:
        lines.append(f"scripts/prose.txt: no finding matches: {exceptions[key]}")
    for line in lines:
        print(line)
    if lines:
        print(f"prose.py: {len(lines)} findings")
        sys.exit(1)


if __name__ == "__main__":
    main()
