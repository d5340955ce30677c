"""All answers of small models against brute force: a few seeds of scripts/check_truth.py."""

from __future__ import annotations

import os
import subprocess
import sys

from conftest import REPOSITORY, environment


def test_answers_are_those_of_the_joint_distribution(program):
    """Every kind of network and of holes, twice."""
    command = [sys.executable, REPOSITORY / "scripts" / "check_truth.py", "--seeds", "2"]
    done = subprocess.run(
        [*command, "--build", program.parent, "--jobs", str(min(2, os.cpu_count() or 1))],
        capture_output=True, text=True, timeout=600, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
