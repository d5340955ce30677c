#!/usr/bin/env python3
"""Plants the small mistakes of tests/mutants/mistakes.toml one at a time and reports which of them the tests find.

All mistakes are compiled into one scratch copy of the tree, each behind a switch that the environment variable
SEGRE_MISTAKE turns on, so that one build serves them all. For each mistake, the tests that should notice run first,
then all unit tests, then those that drive the program; the first failure, crash or hang counts. The working tree is
never touched.

  scripts/mutants.py                        the current tree, all mistakes
  scripts/mutants.py --revision 1a2b3c4     the tree and tests of a revision; mistakes that do not apply are skipped
  scripts/mutants.py --only 'net-*' --list  what would be planted
  scripts/mutants.py --check                whether every mistake in tests/mutants still has its place in the tree
"""

import argparse
import concurrent.futures
import fnmatch
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
LIST = REPOSITORY / "tests" / "mutants" / "mistakes.toml"
PLACE = re.compile(r"@@(.*?)@@", re.DOTALL)  # around the expression to replace
UNIT = "*-*_CUDA:*_Slow:Cli*:Browser*"  # as tests/CMakeLists.txt
PROGRAM = "Cli*"
NAMED_SECONDS = 240
ALL_SECONDS = 2400

SWITCH = """#pragma once
// Written by scripts/mutants.py: which planted mistake is active.
#include <cstdlib>
inline bool segre_mistake(int number) {
  static const int on = [] {
    const char* text = std::getenv("SEGRE_MISTAKE");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return on == number;
}
"""


def read_list(path, patterns):
    with open(path, "rb") as file:
        mistakes = tomllib.load(file)["mistake"]
    for number, mistake in enumerate(mistakes, start=1):
        mistake["number"] = number
        if len(PLACE.findall(mistake["text"])) != 1:
            sys.exit(f"{path}: {mistake['name']}: the text needs exactly one place between @@ and @@")
    names = [mistake["name"] for mistake in mistakes]
    if len(set(names)) != len(names):
        sys.exit(f"{path}: a name occurs twice")
    return [m for m in mistakes if any(fnmatch.fnmatch(m["name"], pattern) for pattern in patterns)]


def command(arguments, **options):
    return subprocess.run(arguments, check=True, capture_output=True, text=True, **options).stdout


def files_of(revision):
    """Names and contents of the tree: of a revision, or the current one."""
    if revision:
        names = command(["git", "ls-tree", "-r", "--name-only", "-z", revision], cwd=REPOSITORY).split("\0")
        for name in filter(None, names):
            yield name, subprocess.run(["git", "show", f"{revision}:{name}"], cwd=REPOSITORY, check=True,
                                       capture_output=True).stdout
        return
    names = command(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=REPOSITORY).split("\0")
    for name in filter(None, names):
        if (REPOSITORY / name).is_file():
            yield name, (REPOSITORY / name).read_bytes()


def plain_text(mistake):
    """What the file has where there is no mistake."""
    return PLACE.sub(lambda place: place.group(1), mistake["text"])


def check_places():
    """Lines that name the mistakes whose text does not occur exactly once in the current tree."""
    for path in sorted(LIST.parent.glob("*.toml")):
        for mistake in read_list(path, ["*"]):
            source = REPOSITORY / mistake["file"]
            called = f"{path.relative_to(REPOSITORY)}: {mistake['name']}"
            if not source.is_file():
                yield f"{called}: {mistake['file']} does not exist"
            elif (count := source.read_text().count(plain_text(mistake))) != 1:
                yield f"{called}: {mistake['file']} has its text {count} times, expected once"


def plant(mistake, contents):
    """The file with the mistake behind its switch; None unless its text occurs exactly once."""
    plain = plain_text(mistake)
    if contents.count(plain) != 1:
        return None
    right = PLACE.search(mistake["text"]).group(1)
    switched = f"(segre_mistake({mistake['number']}) ? ({mistake['wrong']}) : ({right}))"
    return contents.replace(plain, PLACE.sub(lambda _: switched, mistake["text"]))


def make_tree(scratch, revision, mistakes):
    """Writes the tree with all mistakes into the scratch folder; unchanged files keep their time stamp."""
    by_file = {}
    for mistake in mistakes:
        by_file.setdefault(mistake["file"], []).append(mistake)
    written = set()
    for name, contents in files_of(revision):
        for mistake in by_file.get(name, []):
            changed = plant(mistake, contents.decode())
            mistake["planted"] = changed is not None
            contents = contents if changed is None else changed.encode()
        if any(mistake.get("planted") for mistake in by_file.get(name, [])):
            contents = b'#include "segre_mistake.h"\n' + contents
        target = scratch / name
        written.add(name)
        if target.is_file() and target.read_bytes() == contents:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents)
        source = REPOSITORY / name
        target.chmod(source.stat().st_mode & 0o777 if source.exists() else 0o755)
    for folder in ("segre", "cli", "tests", "bench"):  # leftovers of another revision
        for path in list((scratch / folder).rglob("*")):
            if path.is_file() and str(path.relative_to(scratch)) not in written:
                path.unlink()
    switch = scratch / "segre_mistake.h"
    if not switch.exists() or switch.read_text() != SWITCH:
        switch.write_text(SWITCH)
    libraries = scratch / ".venv"
    if not libraries.exists():
        libraries.symlink_to(REPOSITORY / ".venv")


def build(scratch, jobs):
    log = scratch / "mutants.log"
    torch = os.environ.get("TORCH_DIR", "")
    with open(log, "w") as out:
        for step in (["cmake", "--preset", "cpu"] + ([f"-DSEGRE_TORCH_DIR={torch}"] if torch else []),
                     ["cmake", "--build", "build", "--target", "segre_tests", "segre_cli", "segre_share", "-j", str(jobs)]):
            if subprocess.run(step, cwd=scratch, stdout=out, stderr=subprocess.STDOUT).returncode != 0:
                errors = [line for line in log.read_text().splitlines() if "error" in line][:20]
                sys.exit("\n".join(errors + [f"the scratch tree does not build, see {log}"]))


def run_tests(scratch, number, test_filter, seconds, fail_fast=True):
    """Runs tests: (failed tests, how), with how None if all pass."""
    environment = dict(os.environ, SEGRE_MISTAKE=str(number), OMP_NUM_THREADS="1")
    arguments = [scratch / "build" / "segre_tests", f"--gtest_filter={test_filter}", "--gtest_color=no"]
    if fail_fast:
        arguments.append("--gtest_fail_fast")
    process = subprocess.Popen(arguments, cwd=scratch / "build", env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    how = "failed"
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # including the program under test
        output, _ = process.communicate()
        how = f"hung for {seconds} s"
    if how == "failed" and process.returncode == 0:
        return [], None
    failed = sorted(set(re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", output, re.MULTILINE)))
    started = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
    if not failed or how != "failed":
        how = how if how != "failed" else "crashed"
        failed = failed or started[-1:] or ["before any test"]
    return failed, how


def try_mistake(scratch, mistake, broken, options):
    """Records in the mistake which test finds it and how, or None."""
    start = time.monotonic()
    without = "".join(f":{name}" for name in broken)
    mistake["found"] = None
    for stage, test_filter, seconds in (("named", mistake["tests"], NAMED_SECONDS), ("unit", UNIT, ALL_SECONDS),
                                        ("program", PROGRAM, ALL_SECONDS)):
        if without:
            test_filter += without if "-" in test_filter else "-" + without[1:]
        failed, how = run_tests(scratch, mistake["number"], test_filter, seconds)
        if failed:
            mistake["found"] = f"{failed[0]} ({how}, {stage} tests)"
            break
        if options.named_only:
            break
    mistake["seconds"] = time.monotonic() - start
    verdict = f"found   {mistake['name']}: {mistake['found']}" if mistake["found"] else \
        f"MISSED  {mistake['name']}: {mistake['file']}: {mistake['about']}"
    print(f"{verdict}  [{mistake['seconds']:.0f} s]", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--revision", help="plant in this revision and run its tests (default: the current tree)")
    parser.add_argument("--mistakes", type=Path, default=LIST, help="list other than tests/mutants/mistakes.toml")
    parser.add_argument("--only", action="append", help="names of mistakes, with * and ?; may be repeated")
    parser.add_argument("--list", action="store_true", help="print what would be planted, and stop")
    parser.add_argument("--check", action="store_true", help="check the places of all lists, and stop")
    parser.add_argument("--named-only", action="store_true", help="run only the tests that should notice")
    parser.add_argument("--scratch", type=Path, help="folder of the scratch copy (build-mutants/REVISION)")
    parser.add_argument("--no-plant", action="store_true", help="the scratch copy already has the mistakes")
    parser.add_argument("--no-build", action="store_true", help="only plant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mistakes to try in parallel")
    options = parser.parse_args()

    if options.check:
        sys.exit("\n".join(check_places()) or 0)
    mistakes = read_list(options.mistakes, options.only or ["*"])
    everything = read_list(options.mistakes, ["*"])
    if options.list:
        for mistake in mistakes:
            print(f"{mistake['name']:28} {mistake['file']:36} {mistake['about']}")
        return
    revision = command(["git", "rev-parse", "--short", options.revision], cwd=REPOSITORY).strip() \
        if options.revision else ""
    scratch = (options.scratch or REPOSITORY / "build-mutants" / (revision or "tree")).absolute()
    scratch.mkdir(parents=True, exist_ok=True)
    planted_list = scratch / "planted.txt"
    if not options.no_plant:
        make_tree(scratch, options.revision, everything)  # all of them, so that --only needs no rebuild
        planted_list.write_text("".join(m["name"] + "\n" for m in everything if m.get("planted")))
    planted = set(planted_list.read_text().split())
    skipped = [m["name"] for m in mistakes if m["name"] not in planted]
    for name in skipped:
        print(f"skipped {name}: its text is not in this tree", flush=True)
    if options.no_build:
        print(f"planted {len(planted)} mistakes in {scratch}")
        return
    build(scratch, options.jobs)
    broken = []
    if not options.named_only:
        for test_filter in (UNIT, PROGRAM):
            broken += run_tests(scratch, 0, test_filter, ALL_SECONDS, fail_fast=False)[0]
        for name in broken:
            print(f"left out {name}: fails without a mistake", flush=True)
    tried = [m for m in mistakes if m["name"] in planted]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda mistake: try_mistake(scratch, mistake, broken, options), tried))
    found = sum(m["found"] is not None for m in tried)
    print(f"{revision or 'this tree'}: {found} of {len(tried)} mistakes found, {len(skipped)} skipped")
    sys.exit(0 if found == len(tried) else 1)


if __name__ == "__main__":
    main()
