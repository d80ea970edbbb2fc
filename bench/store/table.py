#!/usr/bin/env python3
"""Runs the store benchmark and prints its table: each figure beside that of the smallest store of the same run.

table.py BINARY [--dir FOLDER] [--json FILE] [OPTIONS OF THE BINARY]
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from programs import measured, read_options  # noqa: E402


def main():
    options, rest = read_options(__doc__, "the stores go below it; they take some 3 GiB")
    stores = list(measured(options.binary, options.dir, rest).values())
    least = stores[0]
    print("| keys | reserve p50 | p99 | replay p50 | p99 | memory | disk | to fill | to open |\n" + "|---" * 9 + "|")
    for s in stores:
        def cell(kind, figure):
            value = s[kind][figure]
            ratio = "" if s is least else f" ({value / least[kind][figure]:.2f}x)"
            return f"{value:.1f} us{ratio}"
        print(f"| {s['keys']:,} | {cell('reserve', 'p50_us')} | {cell('reserve', 'p99_us')} | {cell('replay', 'p50_us')} "
              f"| {cell('replay', 'p99_us')} | {s['resident_mib']:.0f} MiB | {s['disk_mib']:,.0f} MiB "
              f"| {s['fill_seconds']:.1f} s | {s['open_seconds'] * 1000:.0f} ms |")
    print("\n(Medians of interleaved rounds in one process. Reserve: look up a fresh key and write its reservation, "
          "durability process. Memory: what opening and using the store adds to the process.)")
    if options.json:
        options.json.write_text(json.dumps(stores, indent=1))


if __name__ == "__main__":
    main()
