"""Planted secrets are looked for wherever the gateway says something: log, errors, metrics, admin plane, data directory."""
import contextlib
import http.client
import http.server
import json
import signal
import subprocess
import threading
import unittest
import urllib.parse
from pathlib import Path

from support import PATIENCE, Gateway, Program, call, gateway_program, store_program, temporary_folder, wait_for

# Nothing else looks like them.
PLANTED = {name: f"planted-{name}-5e7c0ffee" for name in (
    "provider-key", "header-key", "tenant-key", "other-tenants-key", "unknown-tenants-key", "admin-token", "wrong-admin-token",
    "pasted-key", "pasted-header", "idempotency-key", "prompt", "answer")}
ENVIRONMENT = {"PROVIDER_KEY": PLANTED["provider-key"], "HEADER_KEY": PLANTED["header-key"], "ACME_KEY": PLANTED["tenant-key"],
               "OTHER_KEY": PLANTED["other-tenants-key"], "ADMIN_TOKEN": PLANTED["admin-token"]}


class Echo(http.server.BaseHTTPRequestHandler):
    """A provider that says its caller's keys again; the model says how."""
    protocol_version = "HTTP/1.1"
    heard = set()

    def do_POST(self):  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.heard.update((self.headers["Authorization"], self.headers["api-key"]))
        echoed = f"no such key: {self.headers['Authorization']}, {self.headers['api-key']}; you asked: {body['messages'][0]['content']}"
        error = json.dumps({"error": {"message": echoed, "type": "invalid_request_error", "code": "bad_key"}})
        good = {"choices": [{"index": 0, "message": {"role": "assistant", "content": PLANTED["answer"]}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
        chunk = "data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": PLANTED["answer"]}}]}) + "\n\n"
        model = body["model"]
        if model.isdigit():
            self.answer(int(model), error)
        elif model == "garbage":
            self.wfile.write(f"HTTP/1.1 {echoed}\r\n\r\n".encode())
            self.close_connection = True
        else:
            self.answer(200, {"good": json.dumps(good), "error-in-200": error, "half": error[:-9], "stream": chunk + "data: [DONE]\n\n",
                              "stream-of-an-error": f"data: {error}\n\n", "stream-with-an-error": f"{chunk}data: {error}\n\n"}[model],
                        "text/event-stream" if model.startswith("stream") else "application/json")

    def answer(self, status, text, kind="application/json"):
        self.send_response(status, "no thanks")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


ROUTES = ("good", "stream", "401", "403", "400", "429", "500", "garbage", "error-in-200", "half", "stream-of-an-error", "stream-with-an-error")
STREAMS = [name for name in ROUTES if name.startswith("stream")]
# Answers of the provider go to the client, with what it said itself; but the gateway's keys in them are blanked.
PASSED_ON = ("good", "stream", "401", "403", "400", "429", "500")


def configuration(url):
    return {
        "circuits": {"default": {"consecutive_failures": 3, "cooldown": "10ms"}},
        "providers": {name: {"base_url": url, "api_key_env": "PROVIDER_KEY", "headers": {"api-key": {"env": "HEADER_KEY"}},
                             "circuit": "default" if name == "tripping" else None} for name in ("echo", "tripping")},
        "routes": {name: {"provider": "echo", "model": name, "retry": {"max_attempts": 2, "base_delay": "1ms"}} for name in ROUTES}
        | {"chain": {"provider": "tripping", "model": "500", "fallback": ["garbage", "half"], "retry": {"max_attempts": 1}}},
        "budgets": [{"requests": 1000}],
        "cache": {"enabled": True},
        "gateway": {"tenants": {"acme": {"key_env": "ACME_KEY"}, "other": {"key_env": "OTHER_KEY"}}},
        "admin": {"token_env": "ADMIN_TOKEN"},
    }


class Secrets(unittest.TestCase):
    def setUp(self):
        stack = self.enterContext(contextlib.ExitStack())
        self.folder = Path(stack.enter_context(temporary_folder()))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        stack.callback(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        self.config = configuration(f"http://127.0.0.1:{server.server_port}/v1")
        self.gateway = stack.enter_context(Gateway(self.folder, self.config, ENVIRONMENT))
        self.said = {}  # where -> what was said there

    def chat(self, model, key="tenant-key", **headers):
        """(status, text) as a tenant; the secret prompt is in it."""
        body = {"model": model, "messages": [{"role": "user", "content": PLANTED["prompt"]}], "stream": model in STREAMS}
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return call(f"{self.gateway.url}/v1/chat/completions", "POST", json.dumps(body),
                    {"Authorization": f"Bearer {PLANTED[key]}", "Content-Type": "application/json"} | headers)

    def admin(self, target, method="GET", token="admin-token"):
        status, text = call(self.gateway.admin + target, method, headers={"Authorization": f"Bearer {PLANTED[token]}"})
        self.said[f"{method} {target} with the {token}"] = text
        return status

    def assert_silent(self, but=()):
        """Nothing that was said has a secret in it, in whatever case."""
        for where, text in self.said.items():
            for name, secret in PLANTED.items():
                if name not in but:
                    self.assertNotIn(secret.lower(), text.lower(), f"{name} is in {where}")

    def note_outputs(self):
        """What the log and the admin plane say by now."""
        for target in ("/metrics", "/admin", "/admin/circuits", "/admin/health", "/admin/budgets", "/admin/config", "/", "/healthz",
                       "/admin/telemetry?limit=1000", *(f"/admin/usage?group_by={by}" for by in ("tenant", "route", "model"))):
            self.assertEqual(self.admin(target), 200, target)
        self.said["the log"] = self.gateway.log.read_text()
        self.said["stdout"] = self.gateway.out.read_text()

    def test_service_and_errors_that_echo_the_keys_tell_no_secret(self):
        events = self.enterContext(Program("events", ["curl", "-sN", "-m", "300", "-H", f"Authorization: Bearer {PLANTED['admin-token']}",
                                                      f"{self.gateway.admin}/admin/events"], self.folder))
        wait_for("the events", lambda: "switchyard events" in events.out.read_text(), each=events.alive)
        for model in (*ROUTES, "chain", "chain", "chain", "chain", "no-such-route"):
            status, text = self.chat(model, Cache_Control="no-store")
            self.assertIn({"good": PLANTED["answer"], "stream": PLANTED["answer"]}.get(model, "***") if model in PASSED_ON else "switchyard_error",
                          text, model)
            for own in ("answer", "prompt") if model in PASSED_ON or model == "stream-with-an-error" else ():
                text = text.replace(PLANTED[own], "")
            self.said[f"the answer of {model}"] = text
        self.assertEqual(Echo.heard, {f"Bearer {PLANTED['provider-key']}", PLANTED["header-key"]})
        wait_for("the events of the requests", lambda: events.out.read_text().count("event: request\n") >= len(ROUTES) + 4)
        wait_for("the events of a circuit", lambda: "event: circuit_state\n" in events.out.read_text())
        self.said["/admin/events"] = events.out.read_text()
        self.note_outputs()
        self.assertIn("refuses its key", self.said["the log"])
        self.assert_silent()

    def test_refusals_tell_no_secret(self):
        key = {"Idempotency_Key": PLANTED["idempotency-key"]}
        refused = {
            "an unknown tenant": (401, self.chat("good", "unknown-tenants-key")),
            "a key that is none": (400, self.chat("good", Idempotency_Key=f"{PLANTED['idempotency-key']} and more")),
            "another path": (404, call(f"{self.gateway.url}/v1/nothing", headers={"Authorization": f"Bearer {PLANTED['tenant-key']}"})),
            "a failure with a key": (502, self.chat("half", **key)),
        }
        self.assertEqual(self.chat("good", **key)[0], 200)
        refused["the key with another payload"] = (422, self.chat("error-in-200", **key))
        for what, (expected, (status, text)) in refused.items():
            self.assertEqual(status, expected, what)
            self.said[what] = text
        for token, status in (("wrong-admin-token", 401), ("tenant-key", 401)):
            self.assertEqual(self.admin("/admin/config", token=token), status)
        self.assertEqual(self.admin(f"/admin/nothing?token={PLANTED['admin-token']}"), 404)
        self.note_outputs()
        self.said.pop(f"GET /admin/nothing?token={PLANTED['admin-token']} with the admin-token")
        self.assert_silent()

    def test_wrong_configurations_tell_no_secret(self):
        wrong = json.loads(json.dumps(self.config))
        wrong["providers"]["echo"] |= {"api_key": PLANTED["pasted-key"], "api_key_env": PLANTED["pasted-key"],
                                       "headers": {"api-key": {"env": PLANTED["pasted-header"]}, "x": [PLANTED["pasted-header"]]}}
        wrong["gateway"]["tenants"]["acme"] = {"key": PLANTED["pasted-key"]}
        wrong["admin"]["token_env"] = PLANTED["pasted-key"]
        text = json.dumps(wrong, indent=1)
        wrong["gateway"]["tenants"]["acme"] = wrong["providers"]["echo"] = wrong["admin"] = PLANTED["pasted-key"]
        file = self.folder / "switchyard.json"
        for what, content in (("mistakes", text), ("no JSON", text[:-20]), ("keys in place of objects", json.dumps(wrong))):
            file.write_text(content)
            done = subprocess.run([gateway_program(), "--config", file], capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 2, what)
            self.said[f"a start with {what}"] = done.stdout + done.stderr
            self.assertEqual(self.admin(f"/admin/reload?{urllib.parse.quote(what)}", "POST"), 400)
            before = self.gateway.log.read_text().count("not reloaded")
            self.gateway.process.send_signal(signal.SIGHUP)
            wait_for("the reload to be refused", lambda before=before: self.gateway.log.read_text().count("not reloaded") > before)
        self.note_outputs()
        self.assert_silent()

    def test_the_data_directory_has_no_secret_but_the_keys_and_answers_it_is_there_for(self):
        self.assertEqual(self.chat("good", Idempotency_Key=PLANTED["idempotency-key"], X_Request_Id="of-the-key")[0], 200)
        for model in ROUTES:
            self.chat(model)
        self.gateway.stop()
        data = self.folder / "data"
        for command in (["stats"], ["check"], ["request", "of-the-key"]):
            done = subprocess.run([store_program(), "--data-dir", data, *command], capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.said[f"switchyard-store {command[0]}"] = done.stdout + done.stderr
        self.assert_silent()
        self.said = {str(file): file.read_bytes().decode("latin-1") for file in data.rglob("*") if file.is_file()}
        self.assertTrue(any(PLANTED["idempotency-key"] in text for text in self.said.values()), "the search finds nothing in these files")
        self.assert_silent(but=("idempotency-key", "answer"))


if __name__ == "__main__":
    unittest.main()
