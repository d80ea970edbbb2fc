"""docs/operations.md does what it says: every command in it is run, its figures and settings are tried."""
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from support import DEPLOY, PATIENCE, ROOT, Program, Provider, call, gateway_program, promtool, store_program, temporary_folder

MANUAL = (ROOT / "docs/operations.md").read_text()
TOKEN = "the-token-of-the-operator"

# What the service manager does with the unit: SIGTERM and wait, SIGHUP, start with the environment file.
SYSTEMCTL = """#!/usr/bin/env bash
set -eu
running() { [[ -e $UNIT_PID ]] && kill -0 "$(<"$UNIT_PID")" 2>/dev/null; }
stop() { kill -TERM "$(<"$UNIT_PID")"; tail --pid="$(<"$UNIT_PID")" -f /dev/null; rm "$UNIT_PID"; }
start() {
  set -a && . "$UNIT_KEYS" && set +a
  : >"$UNIT_PID.out" # or the line of the run before may be taken for this one's
  $UNIT_COMMAND >"$UNIT_PID.out" 2>>"$UNIT_PID.log" </dev/null &
  echo $! >"$UNIT_PID"
  until grep -q '^ready ' "$UNIT_PID.out"; do
    running || { cat "$UNIT_PID.log" >&2; exit 1; }
    sleep 0.05 # between two looks
  done
}
[[ $1 == daemon-reload || ${!#} == switchyard-gateway ]]
case "$*" in
daemon-reload) ;;
stop\\ *) stop ;;
start\\ * | enable\\ --now\\ *) start ;;
restart\\ *) stop && start ;;
reload\\ *) kill -HUP "$(<"$UNIT_PID")" ;;
*) echo "this systemctl does not know: $*" >&2 && exit 2 ;;
esac
"""


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", MANUAL, re.S | re.M)


def table_rows(first_column):
    """The rows of the table whose first column has this title, each as title -> text, without the backticks."""
    lines = MANUAL.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(f"| {first_column} |"))
    cells = lambda line: [cell.strip().strip("`") for cell in line.strip("|").split("|")]  # noqa: E731
    rows = []
    for line in lines[at + 2:]:
        if not line.startswith("|"):
            break
        rows.append(dict(zip(cells(lines[at]), cells(line))))
    return rows


def check(config):
    with temporary_folder() as folder:
        file = Path(folder) / "switchyard.json"
        file.write_text(json.dumps(config))
        done = subprocess.run([gateway_program(), "--config", file, "--check"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout + done.stderr


class Machine:
    """A folder that stands for the machine in the manual: its paths, its service manager, its addresses."""

    def __init__(self, folder, openai, local):
        self.folder = Path(folder)
        self.host = "127.{}.{}.{}".format(*(random.randint(2, 250) for _ in range(3)))  # of its own, so that its ports are free
        self.paths = {"/etc/prometheus": "prometheus", "/etc/switchyard": "etc", "/etc/systemd/system": "units",
                      "/var/lib/private/switchyard": "var/switchyard", "/var/backups": "backups", "/usr/local/bin": "bin"}
        for name in ("prometheus", "units", "var", "backups", "bin", "fake", "cwd"):
            (self.folder / name).mkdir()
        shutil.copy(DEPLOY / "prometheus/prometheus.yml", self.folder / "prometheus")
        work = self.folder / "cwd"
        (work / "deploy").symlink_to(DEPLOY)
        for program in (gateway_program(), store_program()):
            place = work / f"build/release/examples/{'store' if 'store' in program.name else 'gateway'}"
            place.mkdir(parents=True)
            (place / program.name).symlink_to(program)
        (work / "keys.env").write_text(f"OPENAI_API_KEY=sk-1\nSWITCHYARD_ADMIN_TOKEN={TOKEN}\n")
        (work / "switchyard.json").write_text(json.dumps({
            "circuits": {"by-model": {"scope": "model"}},
            "providers": {"openai": {"base_url": f"{openai.url}/v1", "api_key_env": "OPENAI_API_KEY"},
                          "local": {"base_url": f"{local.url}/v1", "circuit": "by-model"}},
            "routes": {"chat": {"provider": "openai", "model": "gpt-4o"}, "chat-local": {"provider": "local", "model": "llama"}},
            "gateway": {"listen": f"{self.host}:8080"}, "admin": {"listen": f"{self.host}:9090", "token_env": "SWITCHYARD_ADMIN_TOKEN"}}))
        fake = self.folder / "fake/systemctl"
        fake.write_text(SYSTEMCTL)
        fake.chmod(0o755)
        self.pid_file = self.folder / "pid"
        command = f"{self.folder}/bin/switchyard-gateway --config {self.folder}/etc/switchyard.json --data-dir {self.folder}/var/switchyard"
        self.environment = os.environ | {"PATH": f"{self.folder}/fake:{self.folder}/bin:{os.environ['PATH']}", "EDITOR": "true",
                                         "SWITCHYARD_ADMIN_TOKEN": TOKEN, "UNIT_COMMAND": command, "UNIT_PID": str(self.pid_file),
                                         "UNIT_KEYS": str(self.folder / "etc/keys.env")}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid_file.exists():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(self.pid_file.read_text()), signal.SIGKILL)

    def here(self, command):
        """The command with the manual's paths and address as they are here."""
        for there, name in self.paths.items():
            command = command.replace(there, str(self.folder / name))
        return command.replace("127.0.0.1:9090", f"{self.host}:9090")

    def run(self, script):
        done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", script], cwd=self.folder / "cwd", env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=3 * PATIENCE, check=False)
        log = Path(f"{self.pid_file}.log")
        return done.returncode, done.stdout, log.read_text() if log.exists() else ""

    def keyed(self, key):
        """A command that submits a request with this idempotency key, and prints the answer's head."""
        body = json.dumps({"model": "chat", "messages": [{"role": "user", "content": key}]})
        return (f"curl -sS -m 30 -f -o /dev/null -D - -H 'Content-Type: application/json' -H 'Idempotency-Key: {key}' "
                f"http://{self.host}:8080/v1/chat/completions -d '{body}'\n")


class Commands(unittest.TestCase):
    def setUp(self):
        stack = self.enterContext(contextlib.ExitStack())
        folder = stack.enter_context(temporary_folder())
        providers = [stack.enter_context(Provider(folder, name)) for name in ("openai", "local")]
        self.machine = stack.enter_context(Machine(folder, *providers))

    def test_every_block_of_commands_works_in_order_and_a_backup_is_what_it_was(self):
        shown = blocks("sh")
        self.assertEqual(len(re.findall(r"^```", MANUAL, re.M)), 2 * (len(shown) + len(blocks("promql"))), "a block of a kind that nobody runs")
        steps = []
        for block in shown:
            block = re.sub(r"(?m)^(admin .*forced_open.*|admin .*disabled.*)$", r"\1\nadmin /admin/circuits", block)  # to see what came of it
            steps.append(self.machine.here(block))
            if "enable --now" in block:
                steps.append(self.machine.keyed("before"))
            if '"$copy" check' in block:
                steps.append(self.machine.keyed("after"))
        steps.append("echo restored\n" + self.machine.keyed("before") + "echo new\n" + self.machine.keyed("after"))
        status, said, log = self.machine.run("".join(steps))
        self.assertEqual(status, 0, said + log)
        for expected in ('"mode":"forced_open"', '"mode":"disabled"', " 0 problems"):
            self.assertIn(expected, said)
        self.assertEqual(log.count("reloaded "), 2, log)
        restored, new = said.split("restored\n")[1].split("new\n")
        self.assertIn("Idempotency-Replayed: true", restored)
        self.assertNotIn("Idempotency-Replayed", new)

    def test_every_path_and_every_curl_in_its_text_is_there(self):
        start = next(block for block in blocks("sh") if "enable --now" in block)
        asked = [f"admin '{path}'" for path in re.findall(r"`GET (/[^`]+)`", MANUAL)]
        asked += [f"admin '{path}' -d '{body}'" for path, body in re.findall(r"`POST (/[^`]+)` with `(\{[^`]+\})`", MANUAL)]
        asked += re.findall(r"`(curl [^`]+)`", MANUAL)
        self.assertGreater(len(asked), 5)
        admin = next(line for block in blocks("sh") for line in block.splitlines() if line.startswith("admin() "))
        script = [start, "ADMIN=http://127.0.0.1:9090", admin]
        for command in asked:
            command = re.sub(r"\bADMIN\b(?!=)", "127.0.0.1:9090", re.sub(r"(?<=[=/])(NAME|ID)\b", "openai", command))
            script.append(command.replace("curl ", "curl -sS -m 30 --fail-with-body "))
        status, said, log = self.machine.run(self.machine.here("\n".join(script)))
        self.assertEqual(status, 0, said + log)


class Advice(unittest.TestCase):
    def test_prometheus_understands_the_queries(self):
        queries = [line for block in blocks("promql") for line in block.splitlines()]
        self.assertGreater(len(queries), 2)
        rules = {"groups": [{"name": "manual", "rules": [{"record": f"manual:{i}", "expr": query} for i, query in enumerate(queries)]}]}
        with temporary_folder() as folder:
            file = Path(folder) / "rules.yml"
            file.write_text(json.dumps(rules))  # which is YAML, too
            status, said = promtool("check", "rules", file)
        self.assertEqual(status, 0, said)

    def test_the_thresholds_by_use_are_a_valid_configuration(self):
        rows = table_rows("use")
        self.assertEqual(len(rows), 6)
        circuits = {}
        for row in rows:
            name, cooldown = row.pop("use"), row.pop("cooldown")
            window = {key: value if key == "type" or not re.fullmatch(r"[\d.]+", value) else float(value) for key, value in row.items()}
            circuits[name] = {"window": window, "cooldown": cooldown}
        status, said = check({"circuits": circuits, "providers": {"p": {"base_url": "http://127.0.0.1:9/v1"}},
                              "routes": {"r": {"provider": "p", "model": "m"}}})
        self.assertEqual(status, 0, said)

    def test_exactly_the_settings_it_names_need_a_restart(self):
        sentence = re.search(r"These need a restart, and a file that changes one of them is refused: (.*?)\. Options", MANUAL, re.S)[1]
        named = re.findall(r"`([\w.]+)`", sentence)
        others = {"gateway.listen": "127.0.0.1:1", "admin.listen": "127.0.0.1:2", "telemetry.path": "elsewhere", "telemetry.retention": "9d",
                  "store.block_cache": "9MiB", "idempotency.durability": "power", "cluster": {"node": "a", "listen": "127.0.0.1:3"}}
        self.assertEqual(sorted(named), sorted(others))
        with temporary_folder() as folder:
            config = {"providers": {"p": {"base_url": "http://127.0.0.1:9/v1"}}, "routes": {"r": {"provider": "p", "model": "m"}},
                      "gateway": {"listen": "127.0.0.1:0"}, "admin": {"listen": "127.0.0.1:0"}, "telemetry": {"path": f"{folder}/data"}}
            file = Path(folder) / "switchyard.json"
            file.write_text(json.dumps(config))
            with Program("gateway", [str(gateway_program()), "--config", str(file)], folder) as gateway:
                admin = gateway.ready_value("admin")
                for name, value in others.items():
                    changed = json.loads(json.dumps(config))
                    section, _, key = name.partition(".")
                    changed |= {section: changed.get(section, {}) | {key: value} if key else value}
                    file.write_text(json.dumps(changed))
                    status, said = call(f"{admin}/admin/reload", "POST")
                    self.assertEqual(status, 400, f"{name}: {said}")
                    self.assertIn("/" + name.replace(".", "/"), said)


if __name__ == "__main__":
    unittest.main()
