"""What the benchmarks of missing values share: tables as lists of strings, cells deleted at random, running segre."""

import csv
import gzip
import random
import subprocess
import sys


def has_header(options):
    return "header=0" not in options.split("&")


def read_table(path, options=""):
    """Column names and rows of strings; the names are segre's x1, x2, ... if the file has no header."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if has_header(options):
        return rows[0], rows[1:]
    return [f"x{i + 1}" for i in range(len(rows[0]))], rows


def write_table(path, names, rows, options=""):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        if has_header(options):
            writer.writerow(names)
        writer.writerows(rows)


def delete_cells(rows, share, seed):
    """The rows with each cell emptied with probability `share`; a larger share empties these cells and more."""
    rng = random.Random(seed)
    return [["" if rng.random() < share else cell for cell in row] for row in rows]


def source(path, *options):
    """The name of a table for segre: source("a.csv", "header=0", "missing=unknown")."""
    given = "&".join(option for option in options if option)
    return f"csv:{path}" + (f"?{given}" if given else "")


def run(command):
    """Everything that the command prints."""
    command = [str(word) for word in command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stdout}")
    return done.stdout


def print_markdown(header, rows):
    """First column to the left, numbers to the right."""
    print("| " + " | ".join(header) + " |")
    print("|---|" + "---:|" * (len(header) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
