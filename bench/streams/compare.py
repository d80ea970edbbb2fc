#!/usr/bin/env python3
"""Measures streams through the gateway beside a direct connection, then lets clients leave at random points.

1. Many concurrent streams from the fake provider, direct and through the gateway, in turn: every stream must be whole and bring
   the same contents in the same order. The table shows the time to the first content, the gaps between contents, and what
   the gateway holds per stream.
2. Clients that leave at random points: in the request, before the head, amid the stream, by FIN or RST, half of them with an
   idempotency key. Afterwards nothing may be held: the program checks the admin plane, the provider, the gateway's descriptors
   and every key, and fails if something is.

Everything listens on loopback and ends with the program.

compare.py --gateway PATH --provider PATH --client PATH [--streams 2000] [--chunks 200] [--interval 50] [--rounds 3] [--leavers 10000]
"""
import argparse
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from processes import Server, all_ready, free_port  # noqa: E402

TEXT = " ".join(f"w{i}" for i in range(12))


def get(port, path, timeout=10):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as answer:
        return answer.read().decode()


def put_script(port, script):
    ask = urllib.request.Request(f"http://127.0.0.1:{port}/control/script", json.dumps(script).encode(), method="PUT")
    urllib.request.urlopen(ask, timeout=10).read()


def start_all(folder, options, log):
    provider_port, port, admin = free_port(), free_port(), free_port()
    config = folder / "switchyard.json"
    config.write_text(json.dumps({
        "circuits": {"default": {"window": {"type": "count", "size": 100, "minimum_calls": 50, "failure_rate": 0.5}}},
        "providers": {"fake": {"base_url": f"http://127.0.0.1:{provider_port}/v1", "max_concurrency": 100000}},
        "routes": {"chat": {"provider": "fake", "model": "m"}},
        "gateway": {"listen": f"127.0.0.1:{port}", "max_in_flight": 100000}, "admin": {"listen": f"127.0.0.1:{admin}"}}))
    provider, gateway = all_ready(
        Server("provider", [options.provider, "--listen", f"127.0.0.1:{provider_port}"], provider_port, log),
        Server("switchyard", [options.gateway, "--config", str(config), "--data-dir", str(folder / "data")], port, log))
    return provider, gateway, admin


class Peak(threading.Thread):
    """The largest memory of a server while it is watched."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.mib, self.over = server, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.2):
            self.mib = max(self.mib, self.server.memory_mib())


def clients(options, port, *more):
    done = subprocess.run([options.client, "--port", str(port), "--text", TEXT, *map(str, more)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"the clients failed: {done.stderr}")
    return json.loads(done.stdout)


def streams(options, provider, gateway):
    put_script(provider.port, {"stream": {"chunks": options.chunks, "interval": f"{options.interval}ms"}})
    rounds = {"direct": [], "switchyard": []}
    clients(options, gateway.port, "--streams", 50, "--ramp-ms", 100)  # warm
    contents, idle = set(), gateway.memory_mib()  # what is kept for the next round counts in each
    for n in range(options.rounds):
        for label, port in (("direct", provider.port), ("switchyard", gateway.port)):
            before = gateway.cpu_seconds()
            peak = Peak(gateway)
            peak.start()
            found = clients(options, port, "--streams", options.streams, "--ramp-ms", 2000)
            peak.over.set()
            if found["whole"] != options.streams or found["different_contents"] != 1:
                raise SystemExit(f"{label}: {found['whole']} of {options.streams} streams whole, {found['problems']}")
            contents.add(found["content_hash"])
            found["cpu_us_per_chunk"] = (gateway.cpu_seconds() - before) * 1e6 / (options.streams * options.chunks)
            found["kib_per_stream"] = max(0, peak.mib - idle) * 1024 / options.streams
            rounds[label].append(found)
        print(f"round {n + 1} of {options.rounds}", file=sys.stderr)
    if len(contents) != 1:
        raise SystemExit("the streams' contents differ between the direct connection and the gateway")
    print(f"\n{options.streams:,} concurrent streams of {options.chunks} chunks, {options.interval} ms apart: all whole, all contents in order.\n")
    print("| | first content p50 | p99 | gap p50 | p99 | p99.9 | server CPU per chunk | memory per stream |\n|---|---|---|---|---|---|---|---|")
    for label, all_rounds in rounds.items():
        def mid(*path):
            values = []
            for r in all_rounds:
                for key in path:
                    r = r[key]
                values.append(r)
            return statistics.median(values)
        own = label == "switchyard"
        print(f"| {label} | {mid('first_us', 'p50') / 1000:.2f} ms | {mid('first_us', 'p99') / 1000:.2f} ms | {mid('gap_us', 'p50') / 1000:.2f} ms | "
              f"{mid('gap_us', 'p99') / 1000:.2f} ms | {mid('gap_us', 'p999') / 1000:.2f} ms | "
              + (f"{mid('cpu_us_per_chunk'):.1f} us | {mid('kib_per_stream'):.1f} KiB |" if own else "| |"))
    return rounds


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def until(holds, what, seconds=20):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def metric(admin, name):
    return sum(float(v) for v in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", get(admin, "/metrics"), re.M))


def leavers(options, provider, gateway, admin):
    put_script(provider.port, {"latency": {"distribution": "uniform", "min": "0ms", "max": "40ms"},
                               "stream": {"chunks": 15, "interval": {"distribution": "uniform", "min": "0ms", "max": "30ms"}}})
    began = descriptors(gateway)
    found = clients(options, gateway.port, "--streams", options.leavers, "--at-once", 400, "--leave", "--key-prefix", "leaver-", "--seed", 7)
    until(lambda: metric(admin, "switchyard_in_flight") == 0, "requests in flight are none")
    until(lambda: json.loads(get(provider.port, "/control/stats"))["in_flight"] == 0, "the provider serves nobody")
    circuits = json.loads(get(admin, "/admin/circuits"))["circuits"]
    if any(c["state"] != "closed" or c["probes_in_flight"] for c in circuits):
        raise SystemExit(f"a circuit is not as before: {circuits}")
    until(lambda: descriptors(gateway) <= began + 300, "connections are closed, those kept for reuse aside")

    # Every key is free, or has nothing stored under it: a stream never has.
    put_script(provider.port, {"stream": {"chunks": 1}})

    def free(number):
        ask = urllib.request.Request(f"http://127.0.0.1:{gateway.port}/v1/chat/completions", headers={
            "Content-Type": "application/json", "Idempotency-Key": f"leaver-{number}"},
            data=json.dumps({"model": "chat", "stream": True, "messages": [{"role": "user", "content": TEXT}]}).encode())
        try:
            with urllib.request.urlopen(ask, timeout=20) as answer:
                return answer.status == 200 and b"[DONE]" in answer.read()
        except OSError:
            return False

    numbers = range(0, options.leavers, 2)
    with ThreadPoolExecutor(16) as pool:
        held = [n for n, ok in zip(numbers, pool.map(free, numbers)) if not ok]
    if held:
        raise SystemExit(f"{len(held)} keys are still reserved, e.g. leaver-{held[0]}")
    until(lambda: metric(admin, "switchyard_in_flight") == 0, "requests in flight are none")
    stats = json.loads(get(provider.port, "/control/stats"))
    print(f"\n{options.leavers:,} clients left at random points ({found['whole']:,} stayed to the end; the provider saw {stats['aborted']:,} calls cut): "
          f"afterwards no request in flight, no probe, no reserved key among {len(numbers):,}, no slot at the provider, every circuit closed.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for program in ("gateway", "provider", "client"):
        parser.add_argument(f"--{program}", required=True, type=lambda p: str(Path(p).resolve()))
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--chunks", type=int, default=200)
    parser.add_argument("--interval", type=int, default=50, help="ms between chunks")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--leavers", type=int, default=10000)
    parser.add_argument("--json", type=Path, help="write all rounds here")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < 3 * options.streams:
        raise SystemExit(f"{options.streams} streams need {3 * options.streams} descriptors, and {hard} are allowed: see ulimit -n")
    with tempfile.TemporaryDirectory(prefix="switchyard-bench-") as name:
        folder = Path(name)
        with (folder / "log").open("ab") as log:
            provider, gateway, admin = start_all(folder, options, log)
            try:
                rounds = streams(options, provider, gateway) if options.rounds else {}
                if options.leavers:
                    leavers(options, provider, gateway, admin)
                print(f"\n{os.cpu_count()} processors, {platform.machine()}, Linux {platform.release()}; provider, gateway and clients share them; "
                      f"medians of {options.rounds} rounds.")
                if options.json:
                    options.json.write_text(json.dumps(rounds, indent=1))
            except BaseException:
                sys.stderr.write((folder / "log").read_text(errors="replace")[-2000:])
                raise
            finally:
                gateway.stop()
                provider.stop()


if __name__ == "__main__":
    main()
