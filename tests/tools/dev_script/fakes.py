"""A copy of the project's scripts in a temporary folder, with fake tools, so that `dev` runs without building anything."""
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COPIED = ["dev", ".ci/run", "examples/gateway/stack.sh", "examples/gateway/demo.json.in", "CMakePresets.json",
          "tests/conformance/check.py", "tests/conformance/expected-failures.txt", "tests/support/node_tests.sh", "tests/clients/run", "tests/clients/package.json",
          "tests/clients/package-lock.json", "tests/clients/.npmrc", "tests/clients/openai.test.mjs"]

# Each fake appends its command line to $CALLS first.
CMAKE = """mkdir -p "build/$PRESET_OF_CALL"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >"build/$PRESET_OF_CALL/CMakeCache.txt"
touch "build/$PRESET_OF_CALL/build.ninja"
"""
NINJA = """exit "${NINJA_FAILS:-0}"
"""
CTEST = """for argument; do
  if [[ $argument == -N ]]; then printf '  Test  #1: tsan_one\\n  Test #12: tsan_two\\n\\nTotal Tests: 2\\n'; exit; fi
done
printf '%s\\n' "$CTEST_PRINTS"
exit "${CTEST_STATUS:-0}"
"""
DPKG_QUERY = """shift 2 2>/dev/null
for package; do
  if [[ " ${MISSING-} " != *" $package "* || -e $CALLS.installed ]]; then echo "$package installed"; fi
done
"""
APT_GET = """for argument; do
  if [[ $argument == install ]]; then touch "$CALLS.installed"; fi
  if [[ $argument == download ]]; then touch "${@: -1}_1.0_all.deb"; fi
done
exit "${APT_STATUS:-0}"
"""
# Every package has the same programs.
DPKG_DEB = """mkdir -p usr/bin
for program in prometheus promtool nginx; do printf '#!/bin/sh\n' >usr/bin/$program; done
chmod +x usr/bin/*
"""
# Asked for its version, or to run the tests and report on them.
NODE = """[[ $1 != -e ]] || exit "${NODE_IS_OLD:-0}"
for argument; do
  [[ $argument != --test-reporter-destination=/* ]] || printf '%s\\n' "$CLIENTS_REPORT" >"${argument#*=}"
done
exit "${CLIENTS_STATUS:-0}"
"""
# The tests of the dashboard: the last argument is the file for the counts.
DASHBOARD = """echo "${DASHBOARD_COUNTS:-0 0}" >"${!#}"
exit "${DASHBOARD_STATUS:-0}"
"""
NPM = """exit "${NPM_STATUS:-0}"
"""
# A program that says it is ready, and notes its process id and how it was called.
SERVER = """#!/usr/bin/env python3
import os, signal, sys
with open(os.environ["CALLS"], "a") as calls:
    print(os.path.basename(sys.argv[0]), *sys.argv[1:], file=calls)
with open(os.environ["CALLS"] + ".pids", "a") as pids:
    print(os.getpid(), file=pids)
if os.environ.get("NOT_READY", "nobody") in sys.argv[0]:
    sys.exit("no licence to serve")
if "--help" in sys.argv or "--check" in sys.argv:
    print("as was asked")
    sys.exit(0)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
if "gateway" in sys.argv[0]:
    print("ready gateway=http://127.0.0.1:18080 admin=http://127.0.0.1:19090", flush=True)
else:
    print("ready provider=http://127.0.0.1:17001", flush=True)
signal.pause()
"""
DEMO = """#!/usr/bin/env bash
printf '%s\\n' "demo $*" >>"$CALLS"
exit "${DEMO_STATUS:-0}"
"""
DEPLOY_TESTS = """import os, sys
from pathlib import Path
with open(os.environ["CALLS"], "a") as calls:
    print("deploy tests", *sys.argv[1:], file=calls)
Path(sys.argv[sys.argv.index("--counts") + 1]).write_text(os.environ.get("DEPLOY_COUNTS", "0 0") + "\\n")
sys.exit(int(os.environ.get("DEPLOY_STATUS", "0")))
"""
FUZZER = """#!/usr/bin/env bash
printf '%s\\n' "${0##*/} $*" >>"$CALLS"
[[ ${FINDING-} != "${0##*/}" ]]
"""
PASSING = "100% tests passed, 0 tests failed out of 3"
CLIENTS_PASSING = "# pass 1\n# fail 0\n# cancelled 0\n# skipped 0"


class Checkout:
    """Use as a context manager. `calls` has the command lines of the fakes."""

    def __init__(self, presets=("dev", "release")):
        self._folder = tempfile.TemporaryDirectory(prefix="switchyard dev ")  # the space is meant
        self.root = Path(self._folder.name).resolve() / "check out"
        self._calls = Path(self._folder.name) / "calls"
        self._presets = presets

    def __enter__(self):
        for name in COPIED:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        # The fake kit has cases of its own: the project's list is not theirs.
        (self.root / "tests/conformance/expected-failures.txt").write_text("")
        for folder in ("engine", "actors", "adapters", "bench", "cmake"):
            (self.root / folder).mkdir()
        (self.root / "CMakeLists.txt").touch()
        note = f'#!/usr/bin/env bash\nprintf "%s\\n" "${{0##*/}} $*" >>"$CALLS"\n'
        preset = 'previous=; for a; do [[ $previous != --preset ]] || PRESET_OF_CALL=$a; previous=$a; done\n'
        for name, body in {"cmake": preset + CMAKE, "ninja": NINJA, "ctest": CTEST, "dpkg-query": DPKG_QUERY,
                           "apt-get": APT_GET, "dpkg-deb": DPKG_DEB, "node": NODE, "npm": NPM, "prometheus": "", "promtool": "", "nginx": "",
                           "clang-format": 'echo "clang-format version 14.0.6"\n'}.items():
            self.program(f"tools/{name}", note + body)
        self.program("tests/deploy/run.py", DEPLOY_TESTS)
        for preset_name in self._presets:
            build = f"build/{preset_name}/examples"
            self.program(f"{build}/gateway/switchyard-gateway", SERVER)
            self.program(f"{build}/faulty_provider/switchyard-faulty-provider", SERVER)
            self.program(f"{build}/demo/switchyard-demo", DEMO)
        self.program("tests/dashboard/run", note + DASHBOARD)
        for target in ("sse", "http"):
            self.program(f"build/fuzz/tests/fuzz/{target}_fuzz", FUZZER)
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def install(self, name):
        """The project's own file in place of its fake."""
        shutil.copy(ROOT / name, self.root / name)

    def program(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def path_without(self, *names):
        """A PATH on which these programs are missing, whatever the machine has."""
        folder = self.root.parent / "bin"
        folder.mkdir()
        for place in [f"{self.root}/tools", *os.environ["PATH"].split(":")]:
            for program in Path(place).iterdir() if Path(place).is_dir() else ():
                if program.name not in names and not (folder / program.name).is_symlink():
                    (folder / program.name).symlink_to(program)
        return str(folder)

    def environment(self, **more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SWITCHYARD_")}
        temporary = self.root.parent / "tmp"
        temporary.mkdir(exist_ok=True)
        return clean | {"PATH": f"{self.root}/tools:{os.environ['PATH']}", "CALLS": str(self._calls), "CTEST_PRINTS": PASSING,
                        "CLIENTS_REPORT": CLIENTS_PASSING,
                        "TMPDIR": str(temporary)} | more

    def start(self, *arguments, script="dev", **environment):
        return subprocess.Popen(["bash", str(self.root / script), *arguments], cwd=self._folder.name, text=True, start_new_session=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(**environment))

    def run(self, *arguments, **more):
        process = self.start(*arguments, **more)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    @property
    def calls(self):
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    def calls_of(self, name):
        return [call for call in self.calls if call.split(" ")[0] == name]

    @property
    def pids(self):
        """Of the fake servers that were started."""
        return [int(pid) for pid in Path(f"{self._calls}.pids").read_text().split()]

    @property
    def left_behind(self):
        """Temporary files that are still there."""
        return list((self.root.parent / "tmp").iterdir())
