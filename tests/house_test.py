#!/usr/bin/env python3
"""Checks what segre/README.md, segre/segre.h and docs/notation.md claim, and the width of lines in documents.

  house_test.py SOURCE
"""

import re
import sys
from pathlib import Path

CODE = {".h", ".cpp", ".cu", ".cuh"}
DOCUMENTS = ("*.md", "docs/*.md", "segre/**/*.md", "tests/**/*.md")
COLUMNS = 120


def folders_of(source):
    """The folders in the order of segre/README.md."""
    return re.findall(r"^- `(\w+)/`: ", (source / "segre/README.md").read_text(), re.M)


def check_folders(source, order):
    there = {path.name for path in (source / "segre").iterdir() if path.is_dir()}
    for name in sorted(there ^ set(order)):
        yield f"segre/README.md: folder {name} is {'not listed' if name in there else 'listed and does not exist'}"


def check_includes(source, order):
    """A folder includes only itself and folders above it in the list."""
    for path in sorted((source / "segre").glob("*/*")):
        if path.suffix not in CODE or path.parent.name not in order:
            continue
        for line, text in enumerate(path.read_text().splitlines(), 1):
            found = re.match(r'#include "segre/(\w+)/', text)
            if found and order.index(found[1]) > order.index(path.parent.name):
                yield f"{path.relative_to(source)}:{line}: includes {found[1]}/, which is below {path.parent.name}/"


def is_internal(path):
    return path.read_text().startswith("#pragma once  // internal")


def check_umbrella(source, order):
    """segre.h has every public header and no internal one, the folders in the same order."""
    included = re.findall(r'#include "(segre/[^"]+)"', (source / "segre/segre.h").read_text())
    ranks = [order.index(name.split("/")[1]) for name in included]
    for before, after in zip(ranks, ranks[1:]):
        if before > after:
            yield f"segre/segre.h: {order[after]}/ comes after {order[before]}/"
    headers = {str(path.relative_to(source)): path for path in sorted((source / "segre").glob("*/*.h"))}
    public = {name for name, path in headers.items() if not is_internal(path)}
    for name in sorted(public ^ set(included)):
        yield f"segre/segre.h: {name} is {'public and missing' if name in public else 'internal, or does not exist'}"


def check_notation(source):
    """Every name is in the file that its line gives."""
    for line, text in enumerate((source / "docs/notation.md").read_text().splitlines(), 1):
        cells = [cell.strip() for cell in text.split("|")]
        if len(cells) != 6 or not cells[4].startswith("`"):
            continue
        files, folder = [], None
        for name in re.findall(r"`([^`]+)`", cells[4]):
            path = source / name if "/" in name else folder / name
            folder = path.parent
            if not path.exists():
                yield f"docs/notation.md:{line}: {path.relative_to(source)} does not exist"
                continue
            files.append(path)
        contents = "".join(path.read_text() for path in files)
        for name in re.findall(r"`([^`]+)`", cells[3]):
            word = re.match(r"\w+", name.split("::")[-1])[0]
            if not re.search(rf"\b{word}\b", contents):
                yield f"docs/notation.md:{line}: {word} is not in {', '.join(path.name for path in files)}"


def check_widths(source):
    """No line of a document is wider than the code's. A URL alone on its line cannot be broken."""
    for pattern in DOCUMENTS:
        for path in sorted(source.glob(pattern)):
            for line, text in enumerate(path.read_text().splitlines(), 1):
                if len(text) > COLUMNS and not re.fullmatch(r"\s*(- )?<?https?://\S+", text):
                    yield f"{path.relative_to(source)}:{line}: has {len(text)} columns, at most {COLUMNS} are allowed"


def main():
    source = Path(sys.argv[1])
    order = folders_of(source)
    wrong = [*check_folders(source, order)]
    if not wrong:
        wrong = [*check_includes(source, order), *check_umbrella(source, order), *check_notation(source), *check_widths(source)]
    if not order:
        wrong = ["segre/README.md: lists no folders"]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
