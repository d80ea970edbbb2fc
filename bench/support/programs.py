"""A measuring program with stores of its own: run in a fresh folder, its JSON read."""
import json
import subprocess
import tempfile


def measured(binary, below, options):
    """What the program prints; `below` is where its folder goes, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="switchyard-bench-", dir=below) as folder:
        out = subprocess.run([binary, "--dir", folder, *options], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out)
