"""A measuring program with stores of its own: run in a fresh folder, its JSON read."""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path


def read_options(doc, dir_help):
    """The options that the tables have in common, and those of the program that is measured."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--dir", type=Path, default=Path.cwd(), help=dir_help)
    parser.add_argument("--json", type=Path)
    return parser.parse_known_args()


def measured(binary, below, options):
    """What the program prints; `below` is where its folder goes, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="switchyard-bench-", dir=below) as folder:
        out = subprocess.run([binary, "--dir", folder, *options], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out)
