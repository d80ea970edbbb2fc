"""The dashboard as a file: what Grafana would stumble over."""
import json
import unittest

from support import DEPLOY


class DashboardFile(unittest.TestCase):
    def setUp(self):
        self.dashboard = json.loads((DEPLOY / "grafana/switchyard.json").read_text())
        self.panels = self.dashboard["panels"]

    def test_panels_have_ids_of_their_own_and_do_not_overlap(self):
        ids = [panel["id"] for panel in self.panels]
        self.assertEqual(len(ids), len(set(ids)))
        taken = set()
        for panel in self.panels:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(taken & cells, f"{panel['title']} lies on another")
            taken |= cells

    def test_every_panel_asks_the_data_source_that_the_person_chose(self):
        chosen = {"type": "prometheus", "uid": "${datasource}"}
        for panel in self.panels:
            for asked in [panel, *panel.get("targets", [])] if panel["type"] != "row" else []:
                self.assertEqual(asked["datasource"], chosen, panel["title"])
        self.assertIn("datasource", [variable["name"] for variable in self.dashboard["templating"]["list"]])

    def test_it_imports_as_a_new_dashboard(self):
        self.assertNotIn("id", self.dashboard)
        self.assertEqual((self.dashboard["title"], self.dashboard["uid"]), ("Switchyard", "switchyard"))


if __name__ == "__main__":
    unittest.main()
