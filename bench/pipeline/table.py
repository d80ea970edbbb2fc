#!/usr/bin/env python3
"""Runs the pipeline benchmark and prints its table: rates beside the rate without a key of the same run.

table.py BINARY [--dir FOLDER] [--json FILE] [OPTIONS OF THE BINARY]
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from programs import measured, read_options  # noqa: E402

YARDSTICK = "without a key"


def main():
    options, rest = read_options(__doc__, "the stores go below it; durability depends on its disk")
    modes = measured(options.binary, options.dir, rest)
    print("| requests | per second | of those without a key | CPU of the process per request |\n|---|---|---|---|")
    for name, m in modes.items():
        ratio = "" if name == YARDSTICK else f"{m['rate'] / modes[YARDSTICK]['rate']:.2f}x"
        print(f"| {name} | {m['rate']:,.0f} | {ratio} | {m['cpu_us']:.1f} us |")
    print("\n(Medians of interleaved rounds in one process, telemetry to disk and metrics on.)")
    if options.json:
        options.json.write_text(json.dumps(modes, indent=1))


if __name__ == "__main__":
    main()
