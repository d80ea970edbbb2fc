#!/usr/bin/env python3
"""The entry points `dev` and `.ci/run`, run against fake tools: what they install, build, start, count and leave behind."""
import contextlib
import os
import signal
import unittest

from fakes import Checkout

KIT = """import sys
print("PASS circuit.opens [C1] 0.1s")
print("{verdict} streaming.cut [S2] 0.2s")
print("the kit's own total")
sys.exit({status})
"""


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class DevTest(unittest.TestCase):
    def setUp(self):
        self.checkout = self.enterContext(Checkout())

    def run_dev(self, *arguments, status=0, **environment):
        result = self.checkout.run(*arguments, **environment)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def last_line(self, result):
        return result.stdout.splitlines()[-1]

    def kit(self, verdict="PASS"):
        self.checkout.program("kit/run", KIT.format(verdict=verdict, status=int(verdict != "PASS")))
        return {"SWITCHYARD_CONFORMANCE": str(self.checkout.root / "kit")}

    def expect_failures(self, text):
        (self.checkout.root / "tests/conformance/expected-failures.txt").write_text(text)


class CommandLine(DevTest):
    def test_no_command_is_help(self):
        self.assertIn("usage: ./dev", self.run_dev().stdout)

    def test_an_unknown_command_lists_the_known_ones(self):
        result = self.run_dev("rnu", status=2)
        self.assertIn("run, demo, test, bench, fuzz, format, lint, setup, help", result.stderr)

    def test_wrong_options_are_refused_before_anything_is_done(self):
        for arguments in (["test", "--preset", "fast"], ["test", "--preset"], ["test", "-R"], ["test", "--what"],
                          ["fuzz", "--what"], ["fuzz", "json"],
                          ["fuzz", "--minutes"], ["fuzz", "--minutes", "0"], ["fuzz", "--minutes", "1h"], ["format", "--what"], ["lint", "--what"], ["setup", "--what"], ["test", "-j", "0"]):
            with self.subTest(arguments):
                self.run_dev(*arguments, status=2)
        self.assertEqual(self.checkout.calls, [])


class Packages(DevTest):
    def test_nothing_missing_means_no_apt(self):
        self.run_dev("setup")
        self.assertEqual(self.checkout.calls_of("apt-get"), [])
        self.assertEqual(len(self.checkout.calls_of("dpkg-query")), 1)

    @unittest.skipUnless(os.geteuid() == 0, "as another user, sudo would be asked")
    def test_only_what_is_missing_is_installed(self):
        result = self.run_dev("setup", MISSING="cmake catch2")
        update, install = self.checkout.calls_of("apt-get")
        self.assertTrue(update.endswith(" update"), update)
        self.assertTrue(install.endswith(" install -y --no-install-recommends cmake catch2"), install)
        self.assertIn("cmake catch2", result.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "as another user, sudo would be asked")
    def test_node_and_npm_are_installed_only_where_there_is_none(self):
        self.run_dev("setup", MISSING="nodejs npm")
        self.assertEqual(self.checkout.calls_of("apt-get"), [])
        self.run_dev("setup", MISSING="nodejs npm", PATH=self.checkout.path_without("node", "nodejs", "npm"))
        self.assertTrue(self.checkout.calls_of("apt-get")[-1].endswith(" nodejs npm"))

    def test_prometheus_is_unpacked_and_not_installed_where_there_is_none(self):
        self.run_dev("setup")
        self.assertEqual(self.checkout.calls_of("apt-get"), [])
        without = self.checkout.path_without("prometheus", "promtool")
        for _ in range(2):  # the second time it is there
            self.run_dev("setup", PATH=without)
            self.assertEqual(self.checkout.calls_of("apt-get"), ["apt-get -qq download prometheus"])
        tools = self.checkout.root / "build/tools/prometheus"
        self.assertTrue((tools / "usr/bin/promtool").exists())
        self.assertEqual(list(tools.glob("*.deb")), [])

    @unittest.skipUnless(os.geteuid() == 0, "as another user, sudo would be asked")
    def test_chromium_is_installed_only_where_there_is_none(self):
        self.checkout.program("tools/chromium", "")
        self.run_dev("setup", MISSING="chromium")
        self.assertEqual(self.checkout.calls_of("apt-get"), [])
        self.run_dev("setup", MISSING="chromium", PATH=self.checkout.path_without("chromium"))
        self.assertTrue(self.checkout.calls_of("apt-get")[-1].endswith(" chromium"))

    @unittest.skipUnless(os.geteuid() == 0, "as another user, sudo would be asked")
    def test_a_failing_apt_ends_it(self):
        self.run_dev("setup", status=1, MISSING="cmake", APT_STATUS="100")


class Building(DevTest):
    def test_a_configured_folder_is_not_configured_again(self):
        self.run_dev("test")
        self.run_dev("test")
        self.assertEqual(len(self.checkout.calls_of("cmake")), 1)

    def test_a_newer_build_description_configures_again(self):
        self.run_dev("test")
        (self.checkout.root / "engine/CMakeLists.txt").touch()
        os.utime(self.checkout.root / "build/dev/build.ninja", (1, 1))
        self.run_dev("test")
        self.assertEqual(len(self.checkout.calls_of("cmake")), 2)

    def test_a_folder_configured_for_another_checkout_starts_afresh(self):
        build = self.checkout.root / "build/dev"
        (build / "CMakeCache.txt").write_text("CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n")
        (build / "build.ninja").touch()
        self.run_dev("test")
        self.assertIn("--fresh", self.checkout.calls_of("cmake")[0])

    def test_the_preset_comes_from_option_then_environment_then_command(self):
        for arguments, environment, folder in ((["demo"], {}, "release"), (["demo"], {"SWITCHYARD_PRESET": "dev"}, "dev"),
                                               (["demo", "--preset=release"], {"SWITCHYARD_PRESET": "dev"}, "release")):
            self.run_dev(*arguments, **environment)
            self.assertIn(f"build/{folder} ", self.checkout.calls_of("ninja")[-1])


class Testing(DevTest):
    def test_the_last_line_has_the_totals(self):
        self.assertEqual(self.last_line(self.run_dev("test")), "4 passed, 0 failed")

    def test_failed_and_skipped_tests_are_told_apart(self):
        output = "3/5 Test  #3: skip ....***Skipped   0.00 sec\n60% tests passed, 2 tests failed out of 5"
        result = self.run_dev("test", status=1, CTEST_PRINTS=output, CTEST_STATUS="8")
        self.assertEqual(self.last_line(result), "3 passed, 2 failed")

    def test_a_build_that_fails_is_a_failure(self):
        self.assertEqual(self.last_line(self.run_dev("test", status=1, NINJA_FAILS="1")), "0 passed, 1 failed")

    def test_no_test_at_all_is_a_failure(self):
        result = self.run_dev("test", "-R", "nonsense", status=1, CTEST_PRINTS="No tests were found!!!", CTEST_STATUS="8")
        self.assertEqual(self.last_line(result), "0 passed, 1 failed")
        self.assertIn("none matches 'nonsense'", result.stderr)

    def test_a_missing_kit_is_said(self):
        self.assertIn("conformance kit is not beside this checkout", self.run_dev("test").stderr)

    def test_a_named_kit_that_is_missing_is_a_failure(self):
        self.run_dev("test", status=1, SWITCHYARD_CONFORMANCE="/nowhere")

    def test_the_kit_counts_too(self):
        self.assertEqual(self.last_line(self.run_dev("test", **self.kit())), "6 passed, 0 failed")
        self.assertEqual(self.last_line(self.run_dev("test", "--conformance", **self.kit())), "2 passed, 0 failed")
        self.assertEqual(self.last_line(self.run_dev("test", "-R", "x", **self.kit())), "3 passed, 0 failed")

    def test_a_kit_beside_the_checkout_is_found(self):
        self.checkout.program("../shared/conformance/run", KIT.format(verdict="PASS", status=0))
        self.assertEqual(self.last_line(self.run_dev("test")), "6 passed, 0 failed")

    def test_an_unlisted_failure_fails(self):
        result = self.run_dev("test", status=1, **self.kit("FAIL"))
        self.assertEqual(self.last_line(result), "5 passed, 1 failed")
        self.assertIn("not expected to fail: streaming.cut", result.stdout)

    def test_a_listed_failure_counts_as_neither(self):
        for entry in ("streaming.cut", "streaming.*"):
            self.expect_failures(f"# known\n{entry}  # why\n")
            self.assertEqual(self.last_line(self.run_dev("test", **self.kit("FAIL"))), "5 passed, 0 failed")

    def test_a_stale_entry_fails(self):
        for entry in ("circuit.opens", "circuit.*", "gone.case"):
            self.expect_failures(f"{entry}\nstreaming.cut\n")
            result = self.run_dev("test", status=1, **self.kit("FAIL"))
            self.assertIn(f"listed as failing, but none fails: {entry}", result.stdout)
            self.assertEqual(self.last_line(result), "5 passed, 1 failed")

    def test_a_filtered_kit_says_nothing_of_entries_it_did_not_run(self):
        self.expect_failures("retry.elsewhere\n")
        self.run_dev("test", "--conformance", "circuit", **self.kit())

    def test_a_kit_that_breaks_is_a_failure(self):
        self.checkout.program("kit/run", "import sys; sys.exit(2)")
        self.run_dev("test", status=1, SWITCHYARD_CONFORMANCE=str(self.checkout.root / "kit/run"))

    def test_tsan_builds_only_its_tests_and_runs_no_gateway(self):
        result = self.run_dev("test", "--preset", "tsan", **self.kit())
        self.assertTrue(self.checkout.calls_of("ninja")[0].endswith(" tsan_one tsan_two"))
        self.assertEqual(self.last_line(result), "3 passed, 0 failed")
        self.assertEqual(self.checkout.calls_of("node"), [])
        self.assertEqual(self.checkout.calls_of("deploy"), [])


class Deploy(DevTest):
    def test_they_count_too(self):
        result = self.run_dev("test", status=1, DEPLOY_COUNTS="5 2", DEPLOY_STATUS="1")
        self.assertEqual(self.last_line(result), "9 passed, 2 failed")

    def test_alone_and_filtered(self):
        result = self.run_dev("test", "--deploy", "alert", DEPLOY_COUNTS="3 0", **self.kit())
        self.assertEqual(self.last_line(result), "3 passed, 0 failed")
        self.assertIn(" --filter alert ", self.checkout.calls_of("deploy")[-1])
        self.assertIn("/examples/store/switchyard-store ", self.checkout.calls_of("deploy")[-1])
        for other in ("ctest", "node"):
            self.assertEqual(self.checkout.calls_of(other), [])

    def test_one_that_cannot_run_is_a_failure(self):
        self.assertEqual(self.last_line(self.run_dev("test", "--deploy", status=1, DEPLOY_STATUS="2")), "0 passed, 1 failed")


class Clients(DevTest):
    def test_they_count_too_and_a_cancelled_one_has_failed(self):
        report = {"CLIENTS_REPORT": "# pass 5\n# fail 2\n# cancelled 1\n# skipped 7", "CLIENTS_STATUS": "1"}
        self.assertEqual(self.last_line(self.run_dev("test", status=1, **report)), "8 passed, 3 failed")

    def test_alone_and_filtered(self):
        result = self.run_dev("test", "--clients", "langchain: a.*", **self.kit())
        self.assertEqual(self.last_line(result), "1 passed, 0 failed")
        self.assertIn("--test-name-pattern=langchain: a.*", self.checkout.calls_of("node")[-1])
        self.assertEqual(self.checkout.calls_of("ctest"), [])

    def test_the_libraries_are_installed_once_into_the_build_folder(self):
        self.run_dev("test", "--clients")
        self.run_dev("test", "--clients")
        self.assertEqual(len(self.checkout.calls_of("npm")), 1)
        self.assertTrue((self.checkout.root / "build/dev/clients/package-lock.json").exists())
        self.assertFalse((self.checkout.root / "tests/clients/node_modules").exists())

    def test_a_changed_lock_file_installs_again(self):
        self.run_dev("test", "--clients")
        (self.checkout.root / "tests/clients/package-lock.json").write_text("{}")
        self.run_dev("test", "--clients")
        self.assertEqual(len(self.checkout.calls_of("npm")), 2)

    def test_an_install_that_failed_is_tried_again(self):
        result = self.run_dev("test", status=1, NPM_STATUS="1")
        self.assertEqual(self.last_line(result), "3 passed, 1 failed")
        self.assertIn("npm could not install", result.stderr)
        self.assertEqual(self.last_line(self.run_dev("test")), "4 passed, 0 failed")

    def test_a_missing_or_old_node_is_a_failure(self):
        without = {"PATH": self.checkout.path_without("node", "nodejs", "npm")}
        for environment, words in ((without, "node and npm are needed"), ({"NODE_IS_OLD": "1"}, "Node 18.19 or newer")):
            result = self.run_dev("test", status=1, **environment)
            self.assertEqual(self.last_line(result), "3 passed, 1 failed")
            self.assertIn(words, result.stderr)

    def test_no_test_at_all_is_a_failure(self):
        result = self.run_dev("test", "--clients", "nonsense", status=1, CLIENTS_REPORT="# pass 0\n# fail 0\n# cancelled 0")
        self.assertIn("none matches 'nonsense'", result.stderr)

    def test_totals_of_an_earlier_run_are_not_taken_for_this_one(self):
        self.run_dev("test", "--clients")
        self.checkout.program("tests/clients/run", "#!/bin/sh\nexit 1\n")
        self.assertEqual(self.last_line(self.run_dev("test", "--clients", status=1)), "0 passed, 1 failed")


class Dashboard(DevTest):
    def test_its_tests_count_too(self):
        result = self.run_dev("test", status=1, DASHBOARD_COUNTS="5 2", DASHBOARD_STATUS="1")
        self.assertEqual(self.last_line(result), "9 passed, 2 failed")

    def test_alone_and_filtered(self):
        result = self.run_dev("test", "--dashboard", "an outage", DASHBOARD_COUNTS="1 0", **self.kit())
        self.assertEqual(self.last_line(result), "1 passed, 0 failed")
        self.assertIn("--filter an outage", self.checkout.calls_of("run")[-1])
        self.assertEqual(self.checkout.calls_of("ctest"), [])

    def test_what_could_not_run_is_a_failure(self):
        result = self.run_dev("test", status=1, DASHBOARD_STATUS="2")
        self.assertEqual(self.last_line(result), "4 passed, 1 failed")

    def test_a_missing_browser_is_a_failure(self):
        self.checkout.install("tests/dashboard/run")
        result = self.run_dev("test", "--dashboard", status=1, PATH=self.checkout.path_without("chromium"))
        self.assertEqual(self.last_line(result), "0 passed, 1 failed")
        self.assertIn("chromium is needed", result.stderr)

    def test_tsan_runs_no_gateway(self):
        self.run_dev("test", "--preset", "tsan")
        self.assertEqual(self.checkout.calls_of("run"), [])


class Running(DevTest):
    def start(self, *arguments):
        """Starts it in a process group that ends with the test, also when it leaves children behind."""
        process = self.checkout.start(*arguments)

        def end():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

        self.addCleanup(end)
        return process

    def start_stack(self, *arguments):
        """Starts it, and returns the process and what it prints until it says how to end it."""
        process = self.start("run", *arguments)
        printed = ""
        for line in process.stdout:
            printed += line
            if line.startswith("Ctrl-C"):
                return process, printed
        self.fail(printed + process.stderr.read())

    def test_a_signal_ends_everything_that_was_started_and_removes_the_folder(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process, printed = self.start_stack()
            self.assertIn("curl -i http://127.0.0.1:18080/v1/chat/completions", printed)
            self.assertIn("http://127.0.0.1:19090/metrics", printed)
            self.assertTrue(all(map(alive, self.checkout.pids[-3:])))
            process.send_signal(number)
            process.communicate(timeout=30)
            self.assertEqual(process.returncode, 0)
            self.assertFalse(any(map(alive, self.checkout.pids)))
            self.assertEqual(self.checkout.left_behind, [])

    def test_a_gateway_that_ends_ends_the_stack(self):
        process, _ = self.start_stack()
        os.kill(self.checkout.pids[2], signal.SIGKILL)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + signal.SIGKILL)
        self.assertIn("ended by itself", err)
        self.assertFalse(any(map(alive, self.checkout.pids)))

    def test_a_program_that_does_not_start_is_shown(self):
        for name, started in (("provider", 1), ("gateway", 3)):
            result = self.run_dev("run", status=1, NOT_READY=name)
            self.assertIn("no licence to serve", result.stderr)
            self.assertFalse(any(map(alive, self.checkout.pids)))
            self.assertEqual(self.checkout.left_behind, [])

    def test_arguments_without_a_configuration_go_to_the_gateway_of_the_stack(self):
        process, _ = self.start_stack("--", "--log-level", "debug")
        process.terminate()
        process.communicate(timeout=30)
        self.assertTrue(self.checkout.calls_of("switchyard-gateway")[0].endswith(" --log-level debug"))

    def test_a_gateway_that_was_only_to_say_something_was_told_not_to_have_got_ready(self):
        for option in ("--help", "--check"):
            result = self.run_dev("run", "--", option)
            self.assertEqual(result.stdout, "as was asked\n")
            self.assertNotIn("did not get ready", result.stderr)
            self.assertFalse(any(map(alive, self.checkout.pids)))
            self.assertEqual(self.checkout.left_behind, [])

    def test_an_own_configuration_runs_the_gateway_alone(self):
        process = self.start("run", "--", "--config", "my.json")
        self.assertTrue(process.stdout.readline().startswith("ready gateway="))
        process.terminate()  # the gateway has taken the script's place
        self.assertEqual(process.wait(timeout=30), 0)
        self.assertEqual(self.checkout.calls[-1], "switchyard-gateway --config my.json")

    def test_the_demo_gets_the_programs_and_its_status_is_passed_on(self):
        self.run_dev("demo", "--", "--quick", status=3, DEMO_STATUS="3")
        build = self.checkout.root / "build/release/examples"
        self.assertEqual(self.checkout.calls[-1], f"demo --gateway {build}/gateway/switchyard-gateway "
                                                  f"--provider {build}/faulty_provider/switchyard-faulty-provider --quick")


class Fuzzing(DevTest):
    def test_both_targets_run_for_a_bounded_time_and_write_only_into_the_build_folder(self):
        self.run_dev("fuzz", "--minutes", "2")
        self.assertTrue(self.checkout.calls_of("ninja")[0].endswith(" sse_fuzz http_fuzz"))
        self.assertIn("--preset fuzz", self.checkout.calls_of("cmake")[0])
        for target in ("sse", "http"):
            (call,) = self.checkout.calls_of(f"{target}_fuzz")
            self.assertIn("-max_total_time=120 ", call)
            for option in ("-timeout=", "-rss_limit_mb=", f"-artifact_prefix={self.checkout.root}/build/fuzz/findings/{target}/"):
                self.assertIn(option, call)
            # libFuzzer adds to the first folder only.
            self.assertTrue(call.endswith(f" {self.checkout.root}/build/fuzz/corpus/{target} "
                                          f"{self.checkout.root}/tests/fuzz/corpus/{target}"), call)
            self.assertTrue((self.checkout.root / f"build/fuzz/corpus/{target}").is_dir())

    def test_one_target_can_be_chosen_whatever_the_preset_of_the_environment(self):
        self.run_dev("fuzz", "http", SWITCHYARD_PRESET="asan")
        self.assertTrue(self.checkout.calls_of("ninja")[0].endswith(" http_fuzz"))
        self.assertEqual(self.checkout.calls_of("sse_fuzz"), [])
        self.assertIn("-max_total_time=300 ", self.checkout.calls_of("http_fuzz")[0])

    def test_a_finding_fails_and_the_other_target_still_runs(self):
        result = self.run_dev("fuzz", status=1, FINDING="sse_fuzz")
        self.assertIn("build/fuzz/findings/sse", result.stderr)
        self.assertEqual(len(self.checkout.calls_of("http_fuzz")), 1)

    def test_a_build_that_fails_ends_it(self):
        self.run_dev("fuzz", status=1, NINJA_FAILS="1")
        self.assertEqual(self.checkout.calls_of("sse_fuzz"), [])

    @unittest.skipUnless(os.geteuid() == 0, "as another user, sudo would be asked")
    def test_clang_and_its_run_time_are_installed(self):
        self.run_dev("fuzz", MISSING="clang")
        self.assertRegex(self.checkout.calls_of("apt-get")[1], " clang( |$)")
        missing = "libclang-rt-77-dev"
        self.checkout.program("tools/clang++", "#!/usr/bin/env bash\necho 77.0.1\n")
        result = self.run_dev("fuzz")
        self.assertTrue(any(missing in call for call in self.checkout.calls_of("dpkg-query")), result.stderr)


class ContinuousIntegration(DevTest):
    def run_ci(self, status=0, **environment):
        return self.last_line(self.run_dev(script=".ci/run", status=status, **environment))

    def test_formatting_and_demo_are_one_check_each(self):
        self.assertEqual(self.run_ci(), "6 passed, 0 failed")

    def test_a_failing_demo_is_a_failure(self):
        self.assertEqual(self.run_ci(status=1, DEMO_STATUS="1"), "5 passed, 1 failed")

    def test_a_failing_build_is_a_failure(self):
        self.assertEqual(self.run_ci(status=1, NINJA_FAILS="1"), "1 passed, 2 failed")


if __name__ == "__main__":
    unittest.main()
