"""The shipped files by themselves, as promtool reads them."""
import re
import unittest

from support import DEPLOY, ROOT, promtool, shipped_rules

PROMETHEUS = DEPLOY / "prometheus"


class ShippedFiles(unittest.TestCase):
    def assert_clean(self, *arguments):
        status, said = promtool(*arguments)
        self.assertEqual(status, 0, said)
        self.assertIn("SUCCESS", said)

    def test_the_configuration_and_the_rules_are_valid(self):
        self.assert_clean("check", "config", PROMETHEUS / "prometheus.yml")
        self.assert_clean("check", "rules", PROMETHEUS / "alerts.yml")

    def test_every_alert_fires_when_it_should_and_not_in_a_near_miss(self):
        self.assert_clean("test", "rules", PROMETHEUS / "alerts_test.yml")
        tests = (PROMETHEUS / "alerts_test.yml").read_text()
        for alert in self.alerts():
            cases = re.findall(rf"alertname: {alert}\s+exp_alerts: *(\[\])?", tests) + re.findall(rf"alertname: {alert}, exp_alerts: (\[\])", tests)
            self.assertIn("", cases, f"no test in which {alert} fires")
            self.assertIn("[]", cases, f"no test in which {alert} does not fire")

    def test_every_alert_says_what_to_do(self):
        manual = (ROOT / "docs/operations.md").read_text()
        sections = [re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"(?m)^#+ (.+)$", manual)]
        anchors = re.findall(r'runbook: "docs/operations\.md#(\S+)"', shipped_rules())
        self.assertEqual(anchors, [alert.lower() for alert in self.alerts()])
        for anchor in anchors:
            self.assertEqual(sections.count(anchor), 1, f"docs/operations.md has no one section for #{anchor}")

    def alerts(self):
        found = re.findall(r"- alert: (\w+)", shipped_rules())
        self.assertTrue(found)
        return found


if __name__ == "__main__":
    unittest.main()
