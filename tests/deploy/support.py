"""Programs under test on loopback, in temporary folders: faulty providers, gateways, a Prometheus; and how to ask them."""
import http.client
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"

PATIENCE = 60  # seconds that a machine under load may take for anything


def wait_for(what, condition, each=lambda: None):
    """The first true value of `condition`, called again and again, after `each`; fails when it takes too long."""
    end = time.monotonic() + PATIENCE
    while True:
        each()
        if value := condition():
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {PATIENCE} s in vain for {what}")
        time.sleep(0.05)  # between two looks


def call(url, method="GET", body=None, headers=None):
    """(status, text) of one request."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


class Program:
    """A child process with its output in the folder; use as a context manager."""

    def __init__(self, name, command, folder, environment=None):
        self.name, self.log = name, Path(folder) / f"{name}.log"
        self.out = Path(folder) / f"{name}.out"
        with self.log.open("w") as log, self.out.open("w") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=log,
                                            env=os.environ | (environment or {}))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends it if it still runs."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def alive(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended with status {self.process.returncode}:\n{self.log.read_text()[-3000:]}")

    def ready_value(self, key):
        """The URL behind KEY= in its line `ready KEY=URL ...`."""
        return wait_for(f"{self.name} to be ready", lambda: re.search(rf"^ready .*\b{key}=(\S+)", self.out.read_text(), re.M),
                        each=self.alive)[1]


class Provider(Program):
    def __init__(self, folder, name):
        super().__init__(name, [os.environ["SWITCHYARD_FAULTY_PROVIDER"], "--name", name], folder)
        self.url = self.ready_value("provider")

    def control(self, what):
        status, text = call(f"{self.url}/control/{what}", "POST")
        assert status == 200, text


class Gateway(Program):
    def __init__(self, folder, config, environment=None):
        file = Path(folder) / "switchyard.json"
        file.write_text(json.dumps(config))
        command = [os.environ["SWITCHYARD_GATEWAY"], "--config", str(file), "--data-dir", str(Path(folder) / "data"),
                   "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
        super().__init__("gateway", command, folder, environment)
        self.url, self.admin = self.ready_value("gateway"), self.ready_value("admin")

    def chat(self, model, headers=None, **more):
        """(status, text) of a chat request."""
        body = {"model": model, "messages": [{"role": "user", "content": "hello"}]} | more
        return call(f"{self.url}/v1/chat/completions", "POST", json.dumps(body), {"Content-Type": "application/json"} | (headers or {}))

    def metrics(self):
        status, text = call(f"{self.admin}/metrics")
        assert status == 200, text
        return text


class Prometheus(Program):
    """One that scrapes a gateway every second, with the shipped configuration and the rules that are given."""

    def __init__(self, folder, admin, rules):
        self.folder = Path(folder)
        (self.folder / "alerts.yml").write_text(rules)
        (self.folder / "prometheus.yml").write_text(configuration(urllib.parse.urlsplit(admin).netloc))
        super().__init__("prometheus", ["prometheus", f"--config.file={self.folder / 'prometheus.yml'}",
                                        f"--storage.tsdb.path={self.folder / 'tsdb'}", "--web.listen-address=127.0.0.1:0"], folder)
        address = wait_for("prometheus to listen", lambda: re.search(r'msg="Listening on".* address=(\S+)', self.log.read_text()),
                           each=self.alive)[1]
        self.url = f"http://{address}"
        wait_for("prometheus to be ready", lambda: call(f"{self.url}/-/ready")[0] == 200, each=self.alive)

    def api(self, path, **parameters):
        """The data of an answer of its API; an error there is a failure."""
        status, text = call(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
        answer = json.loads(text)
        if answer["status"] != "success":
            raise AssertionError(f"{status} {answer.get('error')} for {parameters}")
        return answer["data"]

    def query(self, expression):
        """Of an instant query: a list of (labels, value)."""
        return [(found["metric"], float(found["value"][1])) for found in self.api("query", query=expression)["result"]]

    def firing(self, alert, **labels):
        """The labels of the alert's series that fire and have these labels."""
        wanted = {"alertname": alert, "alertstate": "firing"} | labels
        selector = ",".join(f'{name}="{value}"' for name, value in wanted.items())
        return [found for found, _ in self.query(f"ALERTS{{{selector}}}")]

    def rules(self):
        return [rule for group in self.api("rules")["groups"] for rule in group["rules"]]


def configuration(target):
    """The shipped configuration, scraping this address, every second."""
    text = (DEPLOY / "prometheus/prometheus.yml").read_text()
    text, targets = re.subn(r'"127\.0\.0\.1:9090"', f'"{target}"', text)
    text, intervals = re.subn(r"(?m)^(  (?:scrape|evaluation)_interval:) 15s$", r"\1 1s", text)
    assert (targets, intervals) == (1, 2), "the shipped prometheus.yml is another than this expects"
    return text


def shipped_rules():
    return (DEPLOY / "prometheus/alerts.yml").read_text()


def impatient_rules():
    """The shipped rules, but each fires as soon as its condition has held for two seconds."""
    text, changed = re.subn(r"(?m)^(\s+for:) \S+$", r"\1 2s", shipped_rules())
    assert changed, "the shipped alerts.yml has no `for:`"
    return text


def promtool(*arguments, given=None):
    """Runs promtool, and returns (status, what it said)."""
    done = subprocess.run(["promtool", *map(str, arguments)], input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout


def gateway_program():
    return Path(os.environ["SWITCHYARD_GATEWAY"])


def store_program():
    return Path(os.environ["SWITCHYARD_STORE"])


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="switchyard-deploy-")
