"""All answers of small models against brute force: a few seeds of scripts/check_truth.py."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import REPOSITORY, environment


@pytest.mark.parametrize(
    "arguments",
    [
        ["--seeds", "1"],  # every kind of network, each with another kind of holes
        ["--seeds", "2-4", "--only", "tree", "--only", "latent_class"],  # those that must be right to the last digit
    ],
    ids=["all networks", "exact networks"],
)
def test_answers_are_those_of_the_joint_distribution(program, arguments):
    done = subprocess.run(
        [sys.executable, REPOSITORY / "scripts" / "check_truth.py", *arguments,
         "--build", program.parent, "--jobs", str(min(2, os.cpu_count() or 1))],
        capture_output=True, text=True, timeout=600, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
