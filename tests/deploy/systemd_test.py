"""The systemd unit: what systemd says of it, and what the gateway needs of it."""
import json
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from support import DEPLOY, PATIENCE, ROOT, gateway_program, temporary_folder

UNIT = DEPLOY / "systemd/switchyard-gateway.service"
MOST_EXPOSURE = 1.5  # of 10, as `systemd-analyze security` counts


def settings():
    """(section, key) -> the values, in order."""
    found, section = {}, ""
    for line in UNIT.read_text().splitlines():
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section = header[1]
        elif line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found.setdefault((section, key), []).append(value)
    return found


def seconds(text):
    """Of a duration as a configuration has it."""
    amount, unit = re.fullmatch(r"([\d.]+)(ms|s|m|h|d)", text).groups()
    return float(amount) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}[unit]


class Unit(unittest.TestCase):
    def test_it_is_confined(self):
        service = {key: values for (section, key), values in settings().items() if section == "Service"}
        for key in ("DynamicUser", "NoNewPrivileges", "PrivateDevices", "PrivateTmp", "ProtectHome", "LockPersonality", "RestrictNamespaces"):
            self.assertEqual(service[key], ["yes"], key)
        self.assertEqual(service["ProtectSystem"], ["strict"])
        self.assertEqual(service["CapabilityBoundingSet"], [""])
        for limit in ("MemoryMax", "LimitNOFILE", "TasksMax"):
            self.assertIn(limit, service)

    def test_it_stops_and_reloads_as_the_gateway_does(self):
        service = {key: values for (section, key), values in settings().items() if section == "Service"}
        self.assertEqual(service["KillSignal"], ["SIGTERM"])
        self.assertEqual(service["ExecReload"], ["/bin/kill -HUP $MAINPID"])
        self.assertEqual((service["Restart"], service["RestartPreventExitStatus"]), (["on-failure"], ["2"]))
        schema = json.loads((ROOT / "docs/switchyard.schema.json").read_text())
        grace = seconds(schema["properties"]["gateway"]["properties"]["shutdown_grace"]["default"])
        self.assertGreater(int(service["TimeoutStopSec"][0]), grace)

    def test_the_gateway_takes_its_command_line(self):
        program, *arguments = settings()[("Service", "ExecStart")][0].split()
        self.assertEqual(Path(program).name, gateway_program().name)
        with temporary_folder() as folder:
            config = Path(folder) / "switchyard.json"
            config.write_text('{"providers":{"p":{"base_url":"http://127.0.0.1:9/v1"}},"routes":{"r":{"provider":"p","model":"m"}}}')
            arguments = [str(config) if argument == "/etc/switchyard/switchyard.json" else argument for argument in arguments]
            done = subprocess.run([gateway_program(), *arguments, "--check"], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze here; the other tests read the unit themselves")
    def test_systemd_finds_no_fault_and_little_exposure(self):
        with temporary_folder() as folder:
            unit = Path(folder) / UNIT.name
            unit.write_text(UNIT.read_text().replace("/usr/local/bin/switchyard-gateway", str(gateway_program())))
            for arguments in (["verify", "--man=no"], ["security", "--offline=true", f"--threshold={int(MOST_EXPOSURE * 10)}"]):
                done = subprocess.run(["systemd-analyze", *arguments, str(unit)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, timeout=PATIENCE, check=False)
                self.assertEqual(done.returncode, 0, done.stdout)
                if arguments[0] == "verify":  # what it does not know it only warns of
                    self.assertNotIn(UNIT.name, done.stdout)


if __name__ == "__main__":
    unittest.main()
