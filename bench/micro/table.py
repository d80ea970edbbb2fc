#!/usr/bin/env python3
"""Runs the microbenchmarks and prints them as a table, each beside the yardstick of the same run at the same thread count.

table.py BINARY [--repetitions 5] [--json FILE]
"""
import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

YARDSTICK = "two_mutex_pairs"


def run(binary, repetitions):
    with tempfile.TemporaryDirectory(prefix="switchyard-bench-") as folder:
        out = Path(folder) / "out.json"
        subprocess.run([binary, f"--benchmark_repetitions={repetitions}", "--benchmark_enable_random_interleaving=true",
                        "--benchmark_report_aggregates_only=true", f"--benchmark_out={out}", "--benchmark_out_format=json",
                        "--benchmark_min_time=0.2"], check=True, stdout=subprocess.DEVNULL)
        return json.loads(out.read_text())["benchmarks"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    medians = {}
    for b in run(options.binary, options.repetitions):
        if b.get("aggregate_name") != "median":
            continue
        name = re.sub(r"/(real_time|threads:\d+)", "", b["run_name"])
        threads = int((re.search(r"threads:(\d+)", b["run_name"]) or [0, 1])[1])
        # Google Benchmark divides the wall time by the operations of all threads; this is what one thread sees.
        medians.setdefault(name, {})[threads] = b["real_time"] * (threads if b["time_unit"] == "ns" else 1)
    counts = sorted({t for by in medians.values() for t in by})
    print("| | " + " | ".join(f"{t} thread{'s' * (t > 1)}" for t in counts) + " |\n|---" * 1 + "|---" * len(counts) + "|")
    for name, by in medians.items():
        cells = []
        for t in counts:
            if t not in by:
                cells.append("")
                continue
            ratio = by[t] / medians[YARDSTICK][t] if YARDSTICK in medians and t in medians[YARDSTICK] else None
            cells.append(f"{by[t]:.1f} ns" + (f" ({ratio:.2f}x)" if ratio and name != YARDSTICK else ""))
        print(f"| {name.replace('_', ' ').replace('/', ', ')} | " + " | ".join(cells) + " |")
    print(f"\n(x: of {YARDSTICK.replace('_', ' ')} at the same thread count in the same run; medians of {options.repetitions}, interleaved.)")
    if options.json:
        options.json.write_text(json.dumps(medians, indent=1))


if __name__ == "__main__":
    main()
