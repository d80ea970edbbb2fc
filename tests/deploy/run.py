#!/usr/bin/env python3
"""Runs the tests of what deploy/ ships and docs/operations.md says, with a real Prometheus and a real nginx.

run.py --gateway PROGRAM --provider PROGRAM --store PROGRAM [--filter REGEX] [--counts FILE]

`prometheus`, `promtool` and `nginx` are those on PATH. FILE gets `PASSED FAILED`.
Exit status: 0 all passed, 1 some failed, 2 could not run.
"""
import argparse
import os
import re
import shutil
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def tests_of(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from tests_of(part)
        else:
            yield part


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gateway", type=Path, required=True, help="the gateway's program")
    parser.add_argument("--provider", type=Path, required=True, help="the faulty provider's program")
    parser.add_argument("--store", type=Path, required=True, help="the program that looks into a data directory")
    parser.add_argument("--filter", default="", help="only tests whose name matches")
    parser.add_argument("--counts", type=Path, help="file that gets `PASSED FAILED`")
    options = parser.parse_args()

    for program in ("prometheus", "promtool", "nginx"):
        if not shutil.which(program):
            print(f"tests/deploy/run.py: {program} is needed; ./dev setup brings it", file=sys.stderr)
            return 2
    os.environ["SWITCHYARD_GATEWAY"] = str(options.gateway.resolve())
    os.environ["SWITCHYARD_FAULTY_PROVIDER"] = str(options.provider.resolve())
    os.environ["SWITCHYARD_STORE"] = str(options.store.resolve())
    sys.path.insert(0, str(HERE))

    found = unittest.defaultTestLoader.discover(str(HERE), pattern="*_test.py")
    chosen = unittest.TestSuite(test for test in tests_of(found) if re.search(options.filter, test.id()))
    if not chosen.countTestCases():
        print(f"tests/deploy/run.py: no test matches '{options.filter}'", file=sys.stderr)
        return 2
    result = unittest.TextTestRunner(verbosity=2).run(chosen)
    bad = {str(test) for test, _ in result.failures + result.errors} | {str(test) for test in result.unexpectedSuccesses}
    failed = len(bad)
    if options.counts:
        options.counts.write_text(f"{max(0, result.testsRun - failed - len(result.skipped))} {failed}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
