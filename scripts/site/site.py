#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the site: README.md, the guides and the man pages as HTML, with an index, and no link that leads nowhere.

    scripts/site/site.py DIR

Needs scdoc, mandoc and python3-markdown. Links between pages lead to pages; what else a link of README.md names in the project
must be there. Exits with 1 and a line for each link that leads nowhere.
"""
import html
import pathlib
import re
import subprocess
import sys

import markdown

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; color: #1b1b1b; background: #fff; }
nav { border-bottom: 1px solid #ccc; margin-bottom: 1rem; padding-bottom: .5rem; } nav a { margin-right: 1rem; }
pre { background: #f4f4f4; overflow-x: auto; padding: .7rem; } code { font-size: .92em; }
table { border-collapse: collapse; } td, th { border: 1px solid #ccc; padding: .2rem .6rem; text-align: left; vertical-align: top; }
table.head, table.foot { display: none; } .Nd { display: inline; }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #ddd; } pre { background: #222; } a { color: #8ab4f8; } }
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}</style></head>
<body><nav>{nav}</nav>
{body}
</body></html>
"""


def name_of(page):
    """tfd-run.1.scd: tfd-run.1.html."""
    return page.name.removesuffix(".scd") + ".html"


def pages():
    return sorted(ROOT.glob("man/*.scd"))


def guides():
    return sorted(ROOT.glob("guides/*.md"))


def man_html(page):
    roff = subprocess.run(["scdoc"], stdin=page.open(), capture_output=True, check=True).stdout
    out = subprocess.run(["mandoc", "-Thtml", "-Ofragment"], input=roff, capture_output=True, check=True).stdout.decode()
    known = {name_of(one).removesuffix(".html"): name_of(one) for one in pages()}

    def link(match):  # <b>tfd-run</b>(1)
        target = known.get(f"{match[2]}.{match[4]}")
        return f'<a href="{target}">{match[0]}</a>' if target else match[0]

    return re.sub(r"(<b>)(tfd[a-z-]*)(</b>)\((\d)\)", link, out)


def markdown_html(path):
    body = markdown.markdown(path.read_text(), extensions=["fenced_code", "tables", "toc"])

    def link(match):
        target, _, anchor = match[1].partition("#")
        file = (path.parent / target).resolve()
        if not target or "://" in target:
            return match[0]
        if file in guides() or file == ROOT / "README.md":
            target = "index.html" if file.name == "README.md" else file.stem + ".html"
            return f'href="{target}{"#" + anchor if anchor else ""}"'
        return f'href="{target}" data-in-project="1"'

    return re.sub(r'href="([^"]*)"', link, body)


def write(directory, name, title, body):
    nav = '<a href="index.html">tfd</a>' + "".join(f'<a href="{g.stem}.html">{g.stem}</a>' for g in guides())
    nav += '<a href="pages.html">man pages</a>'
    (directory / name).write_text(PAGE.format(title=html.escape(title), style=STYLE, nav=nav, body=body))


def summary_of(page):
    """The line below NAME."""
    lines = page.read_text().splitlines()
    return lines[lines.index("# NAME") + 2].replace("\\", "")


def broken_links(directory):
    anchors = {file.name: set(re.findall(r'id="([^"]+)"', file.read_text())) for file in directory.glob("*.html")}
    for file in sorted(directory.glob("*.html")):
        for target, in_project in re.findall(r'href="([^"]*)"( data-in-project)?', file.read_text()):
            name, _, anchor = target.partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            if in_project:
                if not (ROOT / name).exists() and not (ROOT / "guides" / name).exists():
                    yield f"{file.name}: {target} is not in the project"
            elif (name or file.name) not in anchors:
                yield f"{file.name}: there is no {name}"
            elif anchor and html.unescape(anchor) not in anchors[name or file.name]:
                yield f"{file.name}: {name or file.name} has no #{anchor}"


def main(directory):
    directory.mkdir(parents=True, exist_ok=True)
    write(directory, "index.html", "tfd", markdown_html(ROOT / "README.md"))
    for guide in guides():
        write(directory, guide.stem + ".html", f"tfd: {guide.stem}", markdown_html(guide))
    for page in pages():
        write(directory, name_of(page), page.name.removesuffix(".scd"), man_html(page))
    rows = "".join(
        f'<tr><td><a href="{name_of(one)}">{one.name.removesuffix(".scd")}</a></td><td>{html.escape(summary_of(one))}</td></tr>'
        for one in pages()
    )
    write(directory, "pages.html", "tfd: man pages", f"<h1>Man pages</h1><table>{rows}</table>")
    broken = list(broken_links(directory))
    print("\n".join(broken), file=sys.stderr, end="\n" if broken else "")
    return 1 if broken else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: site.py DIR")
    sys.exit(main(pathlib.Path(sys.argv[1])))
