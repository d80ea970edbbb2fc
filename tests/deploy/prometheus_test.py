"""A real Prometheus with the shipped rules watches a gateway through an outage, and its API says what it saw."""
import contextlib
import json
import re
import unittest

from support import DEPLOY, ROOT, Gateway, Prometheus, Provider, impatient_rules, promtool, temporary_folder, wait_for

DASHBOARD = DEPLOY / "grafana/switchyard.json"


def configuration(alpha, beta):
    """Two providers, the second a fallback, and a budget on a route of its own."""
    prices = {"m": {"input_per_million": 2, "output_per_million": 8}}
    return {
        "circuits": {"watched": {"consecutive_failures": 3, "cooldown": "1s",
                                 "window": {"type": "count", "size": 1000, "minimum_calls": 1000, "failure_rate": 0.9,
                                            "slow_call_rate": 0.9, "slow_call_after": "60s"}}},
        "providers": {name: {"base_url": f"{provider.url}/v1", "circuit": "watched", "prices": prices}
                      for name, provider in (("alpha", alpha), ("beta", beta))},
        "routes": {"chat": {"provider": "alpha", "model": "m", "fallback": ["backup"], "retry": {"max_attempts": 1}},
                   "backup": {"provider": "beta", "model": "m"},
                   "metered": {"provider": "beta", "model": "m"}},
        "budgets": [{"route": "metered", "window": "20s", "requests": 10}],
    }


class Watched(unittest.TestCase):
    def setUp(self):
        stack = self.enterContext(contextlib.ExitStack())
        self.folder = stack.enter_context(temporary_folder())
        self.alpha = stack.enter_context(Provider(self.folder, "alpha"))
        beta = stack.enter_context(Provider(self.folder, "beta"))
        self.gateway = stack.enter_context(Gateway(self.folder, configuration(self.alpha, beta)))
        self.prometheus = stack.enter_context(Prometheus(self.folder, self.gateway.admin, impatient_rules()))
        wait_for("the first scrape", lambda: self.prometheus.query('up{job="switchyard"} == 1'))
        wait_for("the rules to be evaluated", lambda: all(not rule["lastEvaluation"].startswith("0001-") for rule in self.prometheus.rules()))

    def chat(self, model="chat", **more):
        status, text = self.gateway.chat(model, **more)
        self.assertEqual(status, 200, text)

    def fires(self, alert, each=lambda: None, **labels):
        return wait_for(f"{alert} to fire", lambda: self.prometheus.firing(alert, **labels), each)

    def clears(self, alert, each=lambda: None, **labels):
        wait_for(f"{alert} to clear", lambda: not self.prometheus.firing(alert, **labels), each)

    def summaries(self):
        return [alert["annotations"]["summary"] for alert in self.prometheus.api("alerts")["alerts"] if alert["state"] == "firing"]

    def state(self):
        return [value for _, value in self.prometheus.query('switchyard_circuit_state{circuit="alpha"}')]


class Alerts(Watched):
    def test_an_outage_raises_the_alert_and_its_end_clears_it(self):
        for _ in range(5):
            self.chat()
        for alert in ("SwitchyardCircuitOpen", "SwitchyardFallbackSurge"):
            self.assertEqual(self.prometheus.firing(alert), [])

        self.alpha.control("down")
        fired = self.fires("SwitchyardCircuitOpen", each=self.chat)
        self.assertEqual([(found["circuit"], found["provider"], found["severity"]) for found in fired], [("alpha", "alpha", "critical")])
        wait_for("the alert's text", lambda: "Circuit alpha is open" in self.summaries(), each=self.chat)
        wait_for("refusals", lambda: self.prometheus.query('switchyard_circuit_rejected_total{circuit="alpha"} > 0'), each=self.chat)
        self.fires("SwitchyardFallbackSurge", each=self.chat, route="chat")

        self.alpha.control("up")
        wait_for("the circuit to close", lambda: self.state() == [0], each=self.chat)
        self.clears("SwitchyardCircuitOpen", each=self.chat)
        self.assertEqual(self.prometheus.firing("SwitchyardRequestsFailing"), [])  # the fallback answered all of them

    def test_a_spent_budget_raises_the_alert_until_its_window_ends_with_nobody_asking(self):
        def spend():
            self.gateway.chat("metered")  # 429 once it is spent

        fired = self.fires("SwitchyardBudgetNearlySpent", each=spend)
        self.assertEqual([(found["route"], found["unit"], found["window"]) for found in fired], [("metered", "requests", "20s")])
        wait_for("the window to end", lambda: [value for _, value in self.prometheus.query("switchyard_budget_used_ratio")] == [0])
        self.clears("SwitchyardBudgetNearlySpent")

    def test_a_gateway_that_is_gone_is_reported(self):
        self.gateway.stop()
        self.fires("SwitchyardDown")


class Dashboard(Watched):
    def test_after_an_outage_every_panel_shows_something_and_every_name_exists(self):
        self.have_seen_everything()
        for title, expression in self.expressions():
            wait_for(f"something to show in {title}: {expression}", lambda expression=expression: self.prometheus.query(expression))

        text = self.gateway.metrics()
        self.assertEqual(promtool("check", "metrics", given=text), (0, ""))
        served = set(re.findall(r"(?m)^# TYPE (\S+)", text))
        manual = (ROOT / "docs/operations.md").read_text()
        self.assertEqual(set(re.findall(r"`(switchyard_\w+)`", manual)), served)
        rules = [(rule["name"], rule["query"]) for rule in self.prometheus.rules()]
        for where, expression in self.expressions() + rules:
            for name in re.findall(r"switchyard_\w+", expression):
                self.assertIn(re.sub(r"_(bucket|sum|count)$", "", name), served, f"{where}: no such metric")

    def have_seen_everything(self):
        """An outage, a stream, a key and a budget, all of it scraped twice, so that there are rates."""
        def requests():
            self.chat()
            self.chat(stream=True)
            self.chat(headers={"Idempotency-Key": "the-same"})

        requests()
        self.alpha.control("down")
        wait_for("an open circuit to be scraped", lambda: 1 in self.state(), each=requests)
        self.alpha.control("up")
        wait_for("a closed circuit to be scraped", lambda: self.state() == [0], each=requests)
        self.chat("metered")
        for name in ("switchyard_time_to_first_token_seconds_count", "switchyard_fallbacks_total", "switchyard_cost_total",
                     "switchyard_budget_used_ratio", "switchyard_health_score"):
            wait_for(f"{name} to be scraped", lambda name=name: self.prometheus.query(f"{name} > 0"), each=requests)
        for name in ("switchyard_idempotency_total", "switchyard_requests_total"):
            wait_for(f"a rate of {name}", lambda name=name: self.prometheus.query(f"rate({name}[5m]) > 0"), each=requests)

    def expressions(self):
        """(panel's title, expression) of the dashboard, its variables replaced."""
        dashboard = json.loads(DASHBOARD.read_text())
        found = [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel.get("targets", [])]
        found += [(note["name"], note["expr"]) for note in dashboard["annotations"]["list"]]
        self.assertGreater(len(found), 20)
        values = {"$instance": ".*", "$__rate_interval": "5m", "$__interval": "5m"}
        return [(title, re.sub(r"\$\w+", lambda variable: values[variable[0]], expression)) for title, expression in found]


if __name__ == "__main__":
    unittest.main()
