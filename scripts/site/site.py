# SPDX-License-Identifier: Apache-2.0
"""Hooks of mkdocs.yml: pages of the site that aren't in docs/ (README, CHANGELOG, man pages), and links to them."""
import logging
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changes.md"}
MAN = {page.name.removesuffix(".scd"): page for page in sorted((ROOT / "man").glob("*.scd"))}
SECTIONS = {"1": "Tools", "5": "Formats", "7": "Overviews"}
CSS = """.md-typeset dt { margin-top: 1em; } .md-typeset dd { margin: .2em 0 .6em 1.6em; }
.md-typeset td:first-child code { word-break: normal; }
"""
log = logging.getLogger("mkdocs.hooks.site")


def on_config(config):
    man = [{title: [f"reference/man/{name}.md" for name in MAN if name.endswith(section)]} for section, title in SECTIONS.items()]
    config.nav = [*config.nav, {"Man pages": man}]
    return config


def on_files(files, config):
    for source, uri in PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / source).read_text()))
    for name, page in MAN.items():
        files.append(File.generated(config, f"reference/man/{name}.md", content=man_markdown(page.read_text())))
    files.append(File.generated(config, "site.css", content=CSS))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    source = next((ROOT / path for path, target in PAGES.items() if target == uri), ROOT / "docs" / uri)
    if uri == "reference/man-pages.md":
        rows = "".join(f"| {name[:-2]}({name[-1]}) | {summary(text)} |\n" for name, text in MAN.items())
        markdown = markdown.replace("<!-- man pages -->", "| page | about |\n|---|---|\n" + rows)
    parts = re.split(r"(^```.*?^```$|`[^`\n]+`)", markdown, flags=re.S | re.M)
    for index in range(0, len(parts), 2):  # text between code
        parts[index] = re.sub(r"\[([^]]*)\]\(([^)#\s]+)(#[^)]*)?\)", lambda link: lead(link, source, uri), parts[index])
        if not uri.startswith("reference/man/"):
            parts[index] = re.sub(r"\b(tfd[a-z-]*)\((\d)\)(?!\])", lambda name: man_link(name[1], name[2], name[0], uri), parts[index])
    # A link's text may be code: it was cut in two above.
    return "".join(parts)


def lead(link, source, uri):
    """A link of a project's file as one of the site; a file that isn't in the site is only named."""
    text, target, anchor = link[1], link[2], link[3] or ""
    if "://" in target or uri.startswith("reference/man/"):
        return link[0]
    path = posixpath.normpath(posixpath.join(source.parent.relative_to(ROOT).as_posix(), target))
    to = PAGES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
    if to is None and (ROOT / path).exists():
        return text
    if to is None:
        log.warning("%s: %s is not in the project", source.relative_to(ROOT), target)
        return text
    return f"[{text}]({posixpath.relpath(to, posixpath.dirname(uri) or '.')}{anchor})"


def man_link(name, section, text, uri):
    if f"{name}.{section}" not in MAN:
        log.warning("%s: there is no page %s(%s)", uri, name, section)
        return text
    return f"[{text}]({posixpath.relpath(f'reference/man/{name}.{section}.md', posixpath.dirname(uri) or '.')})"


def summary(page):
    """The line below NAME, without the name."""
    return plain(re.search(r"# NAME\n\n\S+ - (.*)", page.read_text())[1].replace("\\", ""))


def plain(text):
    return re.sub(r"[<>&*_`\[\]\\|{}#]", lambda special: f"&#{ord(special[0])};", text)


def inline(text):
    """scdoc's *bold*, _underlined_ and escapes as HTML, all else as it is."""
    def token(found):
        escaped, bold, underlined = found.groups()
        if escaped:
            return plain(escaped)
        return f"<strong>{inline(bold)}</strong>" if bold else f"<em>{inline(underlined)}</em>" if underlined else plain(found[0])

    text = re.sub(r"\\(.)|\*((?:\\.|[^*\\])+)\*|(?<![A-Za-z0-9])_((?:\\.|[^_\\]|_(?=\w))+)_(?![A-Za-z0-9])|[<>&*_`\[\]|{}#]", token, text)
    return text.removesuffix("++") + "<br>" if text.endswith("++") else text


def man_markdown(text):
    """A page of scdoc as Markdown, whose definitions are lines indented by tabs below their terms."""
    title, _, body = text.partition("\n")
    out, depth, code, table = ["# " + title.split(" ")[0], ""], 0, False, []

    def end_table():
        if table:
            out.extend(["", "| " + " | ".join(table[0]) + " |", "|---" * len(table[0]) + "|"])
            out.extend("| " + " | ".join(row) + " |" for row in table[1:])
            table.clear()

    for line in body.split("\n"):
        tabs = len(line) - len(line.lstrip("\t"))
        stripped = line.strip()
        if stripped == "```" or code:
            if stripped == "```":
                code = not code
                if code and out[-1] != "":
                    out.append("")
                out.append("    " * tabs + ("```sh" if code else "```"))
            else:
                out.append(line.replace("\t", "    "))
        elif found := re.match(r"([|\[\]:])[\[\]\- ] ?(.*)", stripped) if not stripped.startswith("[*") else None:
            if found[1] != ":":
                table.append([])
            table[-1].append(inline(found[2]))
        elif table and stripped:
            table[-1][-1] += " " + inline(stripped)
        elif line.startswith(";"):
            continue
        elif line.startswith("#"):
            out.append("#" + line)
        elif not stripped:
            end_table()
            out.append("")
        else:
            mark = ":   " if tabs > depth and out[-1] != "" and not out[-1].lstrip().startswith("- ") else ""
            depth = tabs
            item = stripped.startswith("- ")
            if item and out[-1] != "" and not out[-1].lstrip().startswith(("- ", "  ")):
                out.append("")
            continued = line[tabs:].startswith("  ")
            words = "- " + inline(stripped[2:]) if item else inline(stripped)
            indent = "    " * (tabs - 1) + mark if mark else "    " * (tabs + continued)
            out.append(indent + words)
    end_table()
    links = re.compile(r"<strong>(tfd[a-z-]*)</strong>\((\d)\)")
    return links.sub(lambda name: man_link(name[1], name[2], name[0], "reference/man/") if f"{name[1]}.{name[2]}" in MAN else name[0], "\n".join(out))
