#!/usr/bin/env python3
"""Measures the gateway over loopback beside a direct connection and an nginx reverse proxy.

A request is a chat completion with an answer of 1 KB from an nginx that returns a constant; wrk sends them on kept-alive
connections. All systems run in each round, in turn, so that what the machine does besides hits them alike. Server CPU is the
process's own user and system time over the round, by request. Everything listens on loopback and ends with the program.

compare.py --gateway PATH [--rounds 5] [--seconds 4] [--connections 32] [--json FILE]
"""
import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from processes import Server, all_ready, free_port  # noqa: E402

REQUEST = {"model": "chat", "messages": [{"role": "user", "content": "Say hello, and then tell me something about the sea. " * 16}]}


def answer():
    """A usable chat completion of about 1 KB."""
    text = "The sea is wide and deep, and it has been there for longer than anybody can tell. " * 8
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
                       "usage": {"prompt_tokens": 210, "completion_tokens": 160, "total_tokens": 370}})


def nginx(folder, name, server, log, upstream=""):
    """An nginx of our own with one worker; its files are in the folder."""
    place = folder / name
    (place / "tmp").mkdir(parents=True)
    temporary = "\n".join(f"  {kind}_temp_path tmp/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    port = free_port()
    config = place / "nginx.conf"
    user = "user root;\n" if os.geteuid() == 0 else ""
    config.write_text(f"""{user}worker_processes 1;
daemon off;
pid nginx.pid;
error_log error.log error;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  keepalive_requests 100000000;
  default_type application/json;
{temporary}
  {upstream}
  server {{
    listen 127.0.0.1:{port} reuseport backlog=4096;
    {server}
  }}
}}
""")
    return Server(name, ["nginx", "-p", str(place), "-c", str(config)], port, log)


def start_all(folder, gateway_binary, log):
    text = answer().replace("'", "\\'")
    upstream = nginx(folder, "upstream", f"location / {{ return 200 '{text}'; }}", log)
    proxy = nginx(folder, "nginx", "location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ''; }", log,
                  f"upstream up {{ server 127.0.0.1:{upstream.port}; keepalive 256; keepalive_requests 100000000; }}")
    port, admin = free_port(), free_port()
    config = folder / "switchyard.json"
    window = {"type": "count", "size": 100, "minimum_calls": 50, "failure_rate": 0.5}
    config.write_text(json.dumps({
        "circuits": {"default": {"window": window}},
        "providers": {"up": {"base_url": f"http://127.0.0.1:{upstream.port}/v1", "max_concurrency": 10000}},
        "routes": {"chat": {"provider": "up", "model": "m"}},
        "gateway": {"listen": f"127.0.0.1:{port}"}, "admin": {"listen": f"127.0.0.1:{admin}"}}))
    gateway = Server("switchyard", [gateway_binary, "--config", str(config), "--data-dir", str(folder / "data")], port, log)
    return all_ready(upstream, proxy, gateway)


def write_script(folder):
    script = folder / "post.lua"
    body = json.dumps(REQUEST).replace("\\", "\\\\").replace('"', '\\"')
    script.write_text(f"""wrk.method = "POST"
wrk.path = "/v1/chat/completions"
wrk.headers["Content-Type"] = "application/json"
wrk.body = "{body}"
done = function(summary, latency, requests)
  io.write(string.format("RESULT %d %d %d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    summary.errors.status, summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
""")
    return script


def one_round(server, script, seconds, connections):
    before = server.cpu_seconds()
    out = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), f"http://127.0.0.1:{server.port}"],
                         capture_output=True, text=True, timeout=seconds + 30)
    found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)", out.stdout)
    if not found:
        raise SystemExit(f"wrk said nothing of {server.name}: {out.stdout}{out.stderr}")
    count, microseconds, p50, p99, bad_status, broken = map(int, found.groups())
    if bad_status or broken or not count:
        raise SystemExit(f"{server.name}: {count} requests, {bad_status} with a bad status, {broken} broken")
    return {"requests_per_second": count / (microseconds / 1e6), "cpu_us": (server.cpu_seconds() - before) / count * 1e6,
            "p50_ms": p50 / 1000, "p99_ms": p99 / 1000}


def table(rounds):
    nginx_cpu = statistics.median(r["cpu_us"] for r in rounds["nginx"])
    print(f"\n| system | req/s | server CPU per request | of nginx | p50 | p99 |\n|---|---|---|---|---|---|")
    result = {}
    for name, found in rounds.items():
        m = {key: statistics.median(r[key] for r in found) for key in found[0]}
        m["cpu_of_nginx"] = statistics.median(a["cpu_us"] / b["cpu_us"] for a, b in zip(found, rounds["nginx"])) if nginx_cpu else None
        result[name] = m
        print(f"| {name} | {m['requests_per_second']:,.0f} | {m['cpu_us']:.1f} us | {m['cpu_of_nginx']:.2f}x | {m['p50_ms']:.2f} ms | {m['p99_ms']:.2f} ms |")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--json", type=Path, help="write all rounds here")
    options = parser.parse_args()
    for tool in ("nginx", "wrk"):
        if not shutil.which(tool):
            raise SystemExit(f"{tool} is missing; ./dev bench brings it")
    with tempfile.TemporaryDirectory(prefix="switchyard-bench-") as name:
        folder = Path(name)
        with (folder / "log").open("ab") as log:
            servers = start_all(folder, str(Path(options.gateway).resolve()), log)
            try:
                upstream, proxy, gateway = servers
                for url in (proxy, gateway):  # the answers are right before their speed is of interest
                    ask = urllib.request.Request(f"http://127.0.0.1:{url.port}/v1/chat/completions", json.dumps(REQUEST).encode(),
                                                 {"Content-Type": "application/json"})
                    assert json.load(urllib.request.urlopen(ask, timeout=10))["choices"], url.name
                script = write_script(folder)
                idle = gateway.memory_mib()
                rounds = {"direct": [], "nginx": [], "switchyard": []}
                for n in range(options.rounds + 1):
                    for label, server in (("direct", upstream), ("nginx", proxy), ("switchyard", gateway)):
                        found = one_round(server, script, 1 if n == 0 else options.seconds, options.connections)
                        if n:  # the first round only warms up
                            rounds[label].append(found)
                    print(f"round {n} of {options.rounds}", file=sys.stderr)
                result = table(rounds)
                print(f"\nGateway memory: {idle:.0f} MiB idle, {gateway.memory_mib():.0f} MiB after; "
                      f"{os.cpu_count()} processors, {platform.machine()}, Linux {platform.release()}; "
                      f"wrk -t1 -c{options.connections}, {options.rounds} rounds of {options.seconds} s, medians.")
                if options.json:
                    options.json.write_text(json.dumps({"rounds": rounds, "medians": result}, indent=1))
            except BaseException:
                sys.stderr.write((folder / "log").read_text(errors="replace")[-2000:])
                raise
            finally:
                for s in servers:
                    s.stop()


if __name__ == "__main__":
    main()
