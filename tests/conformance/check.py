#!/usr/bin/env python3
"""Runs the conformance kit and compares its failures with the list of those that are expected.

check.py --kit RUN --gateway PATH --expected FILE [--filter SUBSTR] [--jobs N] [--counts FILE]

The list has one case name or glob (`streaming.*`) a line; `#` begins a comment. Fails when a case fails that is not
listed, and when an entry of the list is stale: none of its cases fails any more, so the list can only shrink.
A case that fails as listed counts neither as passed nor as failed.

Exit status: 0 as expected, 1 not, 2 the kit could not run.
"""
import argparse
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

RESULT = re.compile(r"(PASS|FAIL) (\S+) \[")


def read_expected(path):
    """The entries of the list, without comments; no file is an empty list."""
    if not path.exists():
        return []
    lines = (line.split("#", 1)[0].strip() for line in path.read_text().splitlines())
    return [line for line in lines if line]


def run_kit(options):
    """Passes the kit's output on. Returns ({case: passed}, exit status)."""
    command = [sys.executable, str(options.kit), "--gateway", str(options.gateway), "--jobs", str(options.jobs)]
    if options.filter:
        command += ["--filter", options.filter]
    results = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            if match := RESULT.match(line):
                results[match[2]] = match[1] == "PASS"
    return results, process.returncode


def compare(results, expected, partial):
    """(unexpected failures, stale entries, failures as listed); a partial run says nothing of entries it did not touch."""
    failing = {case for case, passed in results.items() if not passed}
    listed, stale = set(), []
    for entry in expected:
        cases = {case for case in results if fnmatchcase(case, entry)}
        if cases & failing:
            listed |= cases & failing
        elif cases or not partial:
            stale.append(entry)
    return sorted(failing - listed), stale, sorted(listed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kit", type=Path, required=True, help="the kit's program `run`")
    parser.add_argument("--gateway", type=Path, required=True, help="the gateway binary")
    parser.add_argument("--expected", type=Path, required=True, help="list of the cases that are expected to fail")
    parser.add_argument("--filter", default="", help="only cases whose name or rules contain this")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time")
    parser.add_argument("--counts", type=Path, help="file that gets `PASSED FAILED`")
    options = parser.parse_args()

    results, status = run_kit(options)
    if status not in (0, 1) or not results:
        print(f"the conformance kit ended with status {status} and {len(results)} results", file=sys.stderr)
        return 2

    unexpected, stale, listed = compare(results, read_expected(options.expected), partial=bool(options.filter))
    for case in unexpected:
        print(f"not expected to fail: {case}")
    for entry in stale:
        print(f"listed as failing, but none fails: {entry} (remove it from {options.expected.name})")
    passed = sum(results.values())
    print(f"conformance: {passed} passed, {len(unexpected)} failed unexpectedly, {len(listed)} failed as listed, {len(stale)} stale entries")
    failed = len(unexpected) + len(stale)
    if options.counts:
        options.counts.write_text(f"{passed} {failed}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
