"""The number of metric series is bounded by the configuration, whatever names clients send [U5]."""
import contextlib
import http.client
import json
import random
import unittest
import urllib.parse

from support import PATIENCE, Gateway, Provider, temporary_folder, wait_for

REQUESTS = 10_000
KEY = "the-only-key"


class Series(unittest.TestCase):
    def setUp(self):
        stack = self.enterContext(contextlib.ExitStack())
        folder = stack.enter_context(temporary_folder())
        provider = stack.enter_context(Provider(folder, "alpha"))
        self.gateway = stack.enter_context(Gateway(folder, {
            "providers": {"alpha": {"base_url": f"{provider.url}/v1"}},
            "routes": {"chat": {"provider": "alpha", "model": "m"}},
            "budgets": [{"requests": 1_000_000}],
            "gateway": {"tenants": {"acme": {"key_env": "ACME_KEY"}}},
        }, {"ACME_KEY": KEY}))

    def series(self):
        return sorted(line.rsplit(" ", 1)[0] for line in self.gateway.metrics().splitlines() if not line.startswith("#"))

    def test_ten_thousand_random_models_and_tenants_add_no_series(self):
        draw = random.Random(1)
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.gateway.url).netloc, timeout=PATIENCE)
        self.addCleanup(connection.close)

        def send(model, key):
            body = json.dumps({"model": model, "messages": [{"role": "user", "content": "hello"}]})
            connection.request("POST", "/v1/chat/completions", body, {"Authorization": f"Bearer {key}"})
            response = connection.getresponse()
            response.read()
            return response.status

        def name():
            return f"{draw.getrandbits(64):x}"

        self.assertEqual(send("chat", KEY), 200)
        for late in ("switchyard_health_score", "switchyard_budget_used_ratio"):  # told behind the answer's back
            wait_for(late, lambda late=late: any(line.startswith(late) for line in self.series()))
        before = self.series()
        answers = {}
        for _ in range(REQUESTS // 2):
            for status in (send(name(), KEY), send(draw.choice([name(), "chat"]), name())):
                answers[status] = answers.get(status, 0) + 1
        self.assertEqual(answers, {404: REQUESTS // 2, 401: REQUESTS // 2})
        self.assertEqual(self.series(), before)


if __name__ == "__main__":
    unittest.main()
