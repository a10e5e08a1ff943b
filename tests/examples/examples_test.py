"""The examples of batch systems: well-formed as far as this machine can tell, and with the exit codes of the one table."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

try:
    import kubernetes_validate
    import yaml
except ImportError:
    kubernetes_validate = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def exit_codes():
    """Number -> what a scheduler should do, from the sources."""
    numbers = dict(re.findall(r"^  (k\w+) = (\d+),", (ROOT / "runner/sdk/include/holdfast/exit_code.hpp").read_text(), flags=re.M))
    rows = re.findall(r'ExitCodeRow\{ExitCode::(k\w+), "\w+",\s*"[^"]*",\s*"([^"]*)"', (ROOT / "runner/base/exit_codes.cpp").read_text())
    return {int(numbers[name]): scheduler for name, scheduler in rows}


CODES = exit_codes()
FINAL = {code for code, scheduler in CODES.items() if scheduler in ("do not retry", "bigger device")}
AGAIN = {code for code, scheduler in CODES.items() if scheduler == "retry"}


def read(name):
    return (EXAMPLES / name).read_text()


def numbers(text):
    return {int(number) for number in re.findall(r"\d+", text)}


class ExitCodes(unittest.TestCase):
    def test_the_table_is_found(self):
        self.assertEqual(len(CODES), 20)
        self.assertEqual(AGAIN, {75})
        self.assertEqual(FINAL, {64, 65, 66, 70, 77, 78, 80, 81, 82})

    def test_systemd_restarts_what_may_be_tried_again(self):
        unit = read("systemd/holdfast@.service")
        self.assertEqual(numbers(re.search(r"^RestartPreventExitStatus=(.*)$", unit, re.M).group(1)), FINAL)
        self.assertEqual(numbers(re.search(r"^RestartForceExitStatus=(.*)$", unit, re.M).group(1)), AGAIN)

    def test_kubernetes_fails_a_job_at_once_for_what_cannot_change(self):
        for file in ("kubernetes/job.yaml", "kubernetes/cronjob.yaml"):
            found = {action: numbers(values) for action, values in
                     re.findall(r"- action: (\w+)\n\s+onExitCodes: \{[^}]*values: \[([^\]]*)\]\}", read(file))}
            self.assertEqual(found, {"Ignore": AGAIN, "FailJob": FINAL}, file)

    def test_slurm_cron_and_docker_know_the_code_that_asks_to_be_run_again(self):
        self.assertEqual(numbers(re.search(r"\[\[ \$code -eq (\d+) \]\]", read("slurm/train.sbatch")).group(1)), AGAIN)
        self.assertEqual(numbers(re.search(r"\[ \$\? -eq (\d+) \]", read("cron/holdfast.cron")).group(1)), AGAIN)
        self.assertLessEqual(numbers(" ".join(re.findall(r"\((\d\d)\)", read("docker/README.md")))), set(CODES))
        self.assertIn("--restart=on-failure:5", read("docker/README.md"))


class Forms(unittest.TestCase):
    def test_options_and_commands_in_examples_exist(self):
        help_text = (ROOT / "runner/app/command/help.cpp").read_text()
        options = (ROOT / "runner/app/command/command_line.cpp").read_text()
        for path in sorted(EXAMPLES.glob("*/*")):
            if path.parent.name == "plugin_template":
                continue
            for command, rest in re.findall(r"\bholdfast (run|report|status|validate|inspect|why|doctor) ([^\n`]*)", path.read_text()):
                self.assertIn(f'"{command}"', help_text, path)
                for option in re.findall(r"(?<=\s)--[a-z-]+", f" {rest}"):
                    self.assertIn(option, options, path)

    def test_the_batch_script_is_bash(self):
        subprocess.run(["bash", "-n", EXAMPLES / "slurm/train.sbatch"], check=True)

    def test_the_batch_script_requeues_only_what_was_stopped_after_saving(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "srun").write_text('#!/bin/sh\necho "srun $*" >>"$LOG"\nexit "$CODE"\n')
            (folder / "scontrol").write_text('#!/bin/sh\necho "scontrol $*" >>"$LOG"\n')
            for name in ("srun", "scontrol"):
                (folder / name).chmod(0o755)
            for code in (0, 75, 82):
                log = folder / f"log{code}"
                env = {"PATH": f"{folder}:/usr/bin:/bin", "LOG": str(log), "CODE": str(code), "SLURM_ARRAY_JOB_ID": "7",
                       "SLURM_ARRAY_TASK_ID": "1"}
                done = subprocess.run(["bash", EXAMPLES / "slurm/train.sbatch"], env=env)
                self.assertEqual(done.returncode, code)
                lines = log.read_text().splitlines()
                self.assertEqual(lines[0], "srun holdfast run digits.toml --on-locked wait")
                self.assertEqual(lines[1:], ["scontrol requeue 7_1"] if code == 75 else [])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_accepts_the_units_and_the_calendar(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            unit = read("systemd/holdfast@.service").replace("/usr/local/bin/holdfast", "/bin/true").replace("User=train\n", "")
            (folder / "holdfast@mnist.service").write_text(unit)
            (folder / "holdfast@mnist.timer").write_text(read("systemd/holdfast@.timer"))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", folder / "holdfast@mnist.service", folder / "holdfast@mnist.timer"],
                                  capture_output=True, text=True)
            ours = [line for line in (done.stdout + done.stderr).splitlines() if "holdfast" in line]
            self.assertEqual(ours, [])
        calendar = re.search(r"^OnCalendar=(.*)$", read("systemd/holdfast@.timer"), re.M).group(1)
        subprocess.run(["systemd-analyze", "calendar", calendar], check=True, capture_output=True)

    @unittest.skipUnless(kubernetes_validate, "kubernetes-validate is not installed")
    def test_kubernetes_accepts_the_manifests(self):
        for name in ("job.yaml", "cronjob.yaml"):
            for manifest in yaml.safe_load_all(read(f"kubernetes/{name}")):
                kubernetes_validate.validate(manifest, "1.31", strict=True)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_prometheus_accepts_its_configuration_with_the_rules(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "prometheus.yml").write_text(read("prometheus/prometheus.yml"))
            shutil.copytree(ROOT / "grafana/alerts", folder / "holdfast")
            done = subprocess.run(["promtool", "check", "config", folder / "prometheus.yml"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("honor_labels: true", read("prometheus/prometheus.yml"))

    def test_cron_prints_nothing_on_success(self):
        self.assertIn(" run --quiet ", read("cron/holdfast.cron"))


if __name__ == "__main__":
    unittest.main()
