"""The processes of a measurement: started on loopback ports, watched through /proc, ended with their children."""
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A process of the comparison, with all its children."""

    def __init__(self, name, command, port, log):
        self.name, self.port = name, port
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def pids(self):
        found = [self.process.pid]
        for pid in found:
            try:
                found += [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
            except OSError:
                pass
        return found

    def cpu_seconds(self):
        total = 0
        for pid in self.pids():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            total += int(fields[11]) + int(fields[12])
        return total / TICKS

    def memory_mib(self):
        total = 0
        for pid in self.pids():
            try:
                found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
            except OSError:
                continue
            total += int(found[1]) if found else 0
        return total / 1024

    def wait_ready(self):
        for _ in range(200):
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} ended by itself with status {self.process.returncode}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"{self.name} did not listen on port {self.port}")

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


def all_ready(*servers):
    """The servers once all of them listen; none is left when one does not."""
    try:
        for s in servers:
            s.wait_ready()
    except BaseException:
        for s in servers:
            s.stop()
        raise
    return servers
