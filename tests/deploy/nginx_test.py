"""The gateway behind nginx with the shipped configuration: a real nginx, on a socket in the folder, with a certificate of its own."""
import contextlib
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import unittest
from pathlib import Path

from support import DEPLOY, PATIENCE, Gateway, Program, Provider, call, temporary_folder, wait_for

SHIPPED = DEPLOY / "nginx/switchyard.conf"
NAME = "llm.example.org"
CONFIGURATION = {"providers": {"alpha": {"base_url": "PROVIDER", "timeouts": {"idle": "10m"}}}, "routes": {"chat": {"provider": "alpha", "model": "m"}}}


def replaced(text, pattern, by, times):
    """With the changes that a test needs; fails where the shipped file is another than expected."""
    text, count = re.subn(pattern, by, text)
    assert count == times, f"{pattern} is {count} times in {SHIPPED}, not {times}"
    return text


class Nginx(Program):
    def __init__(self, folder, gateway):
        self.folder = Path(folder) / "nginx"
        (self.folder / "tmp").mkdir(parents=True)
        self.certificate = self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={NAME}",
                        "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", self.folder / "key.pem", "-out", self.certificate],
                       check=True, capture_output=True, timeout=PATIENCE)
        self.socket = self.folder / "https"
        (self.folder / "switchyard.conf").write_text(self.shipped(gateway))
        temporary = "\n".join(f"  {kind}_temp_path tmp/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;\n" if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(
            f"{user}worker_processes 1;\ndaemon off;\npid nginx.pid;\nerror_log error.log warn;\nevents {{ }}\n"
            f"http {{\n{temporary}\n  include switchyard.conf;\n}}\n")
        command = ["nginx", "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")]
        self.checked = subprocess.run([*command, "-t"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False)
        super().__init__("nginx-program", command, folder)
        wait_for("nginx to listen", self.listens, each=self.alive)

    def shipped(self, gateway):
        text = replaced(SHIPPED.read_text(), r"127\.0\.0\.1:8080", gateway.url.removeprefix("http://"), 1)
        text = replaced(text, r"listen 443 ssl", f"listen unix:{self.socket} ssl", 1)
        text = replaced(text, r"(?m)^ *listen \[::\]:443 .*\n", "", 1)
        text = replaced(text, r"/etc/ssl/certs/\S+\.pem", str(self.certificate), 1)
        text = replaced(text, r"/etc/ssl/private/\S+\.key", str(self.folder / "key.pem"), 1)
        return replaced(text, r"/var/log/nginx/switchyard\.log", str(self.folder / "access.log"), 1)

    def listens(self):
        with contextlib.suppress(OSError):
            self.connection().close()
            return True
        return False

    def connection(self):
        plain = socket.socket(socket.AF_UNIX)
        plain.settimeout(PATIENCE)
        try:
            plain.connect(str(self.socket))
            secured = ssl.create_default_context(cafile=str(self.certificate)).wrap_socket(plain, server_hostname=NAME)
        except BaseException:
            plain.close()
            raise
        connection = http.client.HTTPConnection(NAME, timeout=PATIENCE)
        connection.sock = secured
        return connection

    def access_log(self):
        return (self.folder / "access.log").read_text()


class BehindNginx(unittest.TestCase):
    def setUp(self):
        stack = self.enterContext(contextlib.ExitStack())
        folder = stack.enter_context(temporary_folder())
        self.provider = stack.enter_context(Provider(folder, "alpha"))
        configuration = json.loads(json.dumps(CONFIGURATION).replace("PROVIDER", f"{self.provider.url}/v1"))
        self.gateway = stack.enter_context(Gateway(folder, configuration))
        self.nginx = stack.enter_context(Nginx(folder, self.gateway))

    def request(self, method, target, body=None, **headers):
        """The connection and its response, whose body is still to be read."""
        connection = self.nginx.connection()
        self.addCleanup(connection.close)
        connection.request(method, target, body, {name.replace("_", "-"): value for name, value in headers.items()})
        return connection, connection.getresponse()

    def chat(self, **more):
        body = {"model": "chat", "messages": [{"role": "user", "content": "hello"}], "stream": True} | more
        return self.request("POST", "/v1/chat/completions", json.dumps(body), Content_Type="application/json", X_Request_Id="from-a-client")

    def script(self, script):
        connection = http.client.HTTPConnection(self.provider.url.removeprefix("http://"), timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("PUT", "/control/script", json.dumps(script))
        self.assertEqual(connection.getresponse().status, 200)

    def test_nginx_takes_the_configuration_without_a_warning(self):
        self.assertEqual(self.nginx.checked.returncode, 0, self.nginx.checked.stdout)
        for word in ("warn", "emerg"):
            self.assertNotIn(f"[{word}]", self.nginx.checked.stdout)

    def test_a_stream_comes_whole_and_both_logs_have_its_id(self):
        _, response = self.chat()
        text = response.read().decode()
        self.assertEqual(response.status, 200)
        self.assertIn("data: [DONE]", text)
        self.assertEqual(response.headers["X-Request-Id"], "from-a-client")
        wait_for("the line in nginx's log", lambda: "from-a-client" in self.nginx.access_log())
        rows = json.loads(call(f"{self.gateway.admin}/admin/telemetry?request_id=from-a-client")[1])["rows"]
        self.assertIn("request", [row["kind"] for row in rows])

    def test_events_come_before_the_stream_ends_and_a_client_that_leaves_ends_it(self):
        self.script({"stream": {"chunks": 10, "faults": {"stall": {"after": 3}}}})  # and then nothing, for ever
        connection, response = self.chat()
        events = 0
        while events < 4:  # the role and three chunks
            events += response.readline().startswith(b"data: ")
        connection.close()
        response.close()
        wait_for("the request to end", lambda: "\nswitchyard_in_flight 0" in self.gateway.metrics())

    def test_an_id_that_the_gateway_would_not_take_is_made_by_nginx(self):
        _, response = self.request("GET", "/v1/nothing", X_Request_Id="not good")
        self.assertEqual(response.status, 404)
        made = response.headers["X-Request-Id"]
        self.assertRegex(made, r"^[0-9a-f]{32}$")
        wait_for("the line in nginx's log", lambda: made in self.nginx.access_log())

    def test_what_is_too_long_and_what_is_not_public_is_refused(self):
        _, response = self.request("POST", "/v1/chat/completions", b"x" * (17 << 20))
        self.assertEqual(response.status, 413)
        for target, status in (("/readyz", 200), ("/admin/circuits", 404), ("/metrics", 404), ("/", 404)):
            self.assertEqual(self.request("GET", target)[1].status, status, target)


if __name__ == "__main__":
    unittest.main()
