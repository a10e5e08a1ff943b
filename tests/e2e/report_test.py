"""The HTML report from outside: written by runs and by the command, whole, alone, honest, and opened in a real browser."""

import base64
import hashlib
import html.parser
import re
import shutil
import subprocess
import unittest

from harness import DIGITS, KILL, PATIENCE, TERM, Case, dies_at, main

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VOID = {"meta", "br", "img", "input", "link", "hr"}


class Page(html.parser.HTMLParser):
    """Reads a page strictly: every element is closed in order; remembers texts, scripts and what could be loaded."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.loads, self.text = [], [], [], []
        self.scripts, self.policy, self.counts = [], "", {}
        self.feed(text)
        self.close()
        if self.open:
            self.faults.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.loads += [given[name] for name in ("src", "href", "action", "data", "srcset") if name in given]
        self.faults += [f"{tag} has {name}" for name in given if name.startswith("on")]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        if tag == "script" and "type" not in given:
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):  # inside SVG
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script" and self.scripts:
            self.scripts[-1] += data
        self.text.append(data)


class Report(Case):
    def page(self, file):
        """The report, read strictly."""
        text = file.read_text(encoding="utf-8")
        self.assertLess(len(text.encode()), 1_000_000)
        page = Page(text)
        self.assertEqual(page.faults, [])
        self.assertEqual(page.loads, [])
        self.assertEqual(len(page.scripts), 1)
        digest = base64.b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode()
        self.assertEqual(page.policy, f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'")
        page.text = " ".join(page.text)
        return page

    def home(self):
        return self.folder / "runs/digits"

    def test_a_run_leaves_a_report_that_stands_alone(self):
        done = self.holdfast("run", self.recipe(target="updates = 60", eval_every="20 updates"))
        self.assertIn("  report       report.html\n", done.stdout)
        page = self.page(self.home() / "current/report.html")
        self.assertGreaterEqual(page.counts["svg"], 6)
        for words in ("digits", "finished", "The target of 60 updates is reached.", "Loss", "Evaluation: accuracy", "Learning rate",
                      "Device memory", "Process memory", "Where the time went", "Checkpoints", "Recipe", "compute threads", "[optimizer]"):
            self.assertIn(words, page.text)

    def test_a_killed_run_is_told_as_interrupted_and_its_attempts_are_marked(self):
        recipe = self.stopped_at(20)
        self.assertFalse((self.home() / "current/report.html").exists())
        said = self.holdfast("report", self.home()).stdout
        self.assertEqual(said, f"{self.home().resolve() / (self.home() / 'current').readlink()}/report.html\n")
        self.assertIn("Its process is gone and left no word", self.page(self.home() / "current/report.html").text)
        self.holdfast("run", recipe, *dies_at(33), code=-KILL)
        self.holdfast("run", recipe)
        page = self.page(self.home() / "current/report.html")
        self.assertIn("Attempts over time", page.text)
        self.assertEqual(page.text.count("left no word: killed"), 2)
        self.assertIn("update-000000030", page.text)

    def test_a_failed_and_a_stopped_run_leave_a_report_too(self):
        self.holdfast("run", self.recipe("a.toml", target="updates = 50", more='[hook.fault]\naction = "throw"\nat = 3\n'), code=70)
        self.assertIn("Exit code 70", self.page(self.home() / "current/report.html").text)
        shutil.rmtree(self.home())
        slow = '[hook.fault]\naction = "sleep"\ntimes = 1000000\nsleep = "0.02 s"\n'
        process = self.start("run", self.recipe("b.toml", target="updates = 100000", more=slow))
        self.wait_for(lambda: (self.home() / "current/events.jsonl").exists(), process)
        process.send_signal(TERM)
        self.assertEqual(self.finish(process).returncode, 75)
        self.assertIn("The state is saved: the same command goes on from here.",
                      self.page(self.home() / "current/report.html").text)

    def test_a_run_at_work_can_be_looked_at(self):
        slow = '[hook.fault]\naction = "sleep"\ntimes = 1000000\nsleep = "0.02 s"\n'
        process = self.start("run", self.recipe(target="updates = 100000", more=slow))
        self.wait_for(lambda: (self.home() / "current/events.jsonl").exists(), process)
        file = self.folder / "now.html"
        self.assertEqual(self.holdfast("report", self.home(), "--output", file).stdout, f"{file}\n")
        self.assertIn("It was at work when this report was made.", self.page(file).text)
        self.assertFalse((self.home() / "current/report.html").exists())

    def test_values_of_variables_do_not_reach_the_report(self):
        recipe = self.recipe(target="updates = 5", data="${SECRET_FOLDER}")
        secret = self.folder / "s3cr3t-folder"
        shutil.copytree(DIGITS, secret)
        self.holdfast("run", recipe, env=self.environment(SECRET_FOLDER=str(secret)))
        text = (self.home() / "current/report.html").read_text()
        self.assertIn("${SECRET_FOLDER}", text)
        self.assertNotIn("s3cr3t", text)

    def test_the_page_goes_to_standard_output_when_asked(self):
        self.holdfast("run", self.recipe(target="updates = 5"))
        out = self.holdfast("report", self.home() / "current/checkpoints/latest", "-o", "-").stdout
        self.assertTrue(out.startswith("<!doctype html>\n"))
        self.assertTrue(out.endswith("</html>\n"))

    def test_a_folder_without_a_run_and_a_file_that_cannot_be_are_told(self):
        done = self.holdfast("report", self.folder, code=66)
        self.assertEqual(done.stderr, f"{self.folder}: error[report.no_run]: there is no run here\n"
                                      "  hint: `holdfast status DIR` lists the runs below a folder\n")
        self.holdfast("run", self.recipe(target="updates = 5"))
        done = self.holdfast("report", self.home(), "--output", self.folder / "absent/r.html", code=73)
        self.assertIn(f"{self.folder}/absent", done.stderr)

    def test_a_report_that_cannot_be_written_is_a_warning_and_the_exit_code_stays(self):
        recipe = self.stopped_at(20)
        (self.home() / "current/report.html").mkdir()
        done = self.holdfast("run", recipe)
        self.assertEqual(done.stderr.count("warning: the report could not be written: "), 1)

    @unittest.skipUnless(BROWSER, "there is no Chromium")
    def test_a_browser_draws_it_without_a_complaint(self):
        recipe = self.stopped_at(20, more="\n[memory]\ndevice_budget = \"64MiB\"\n")
        self.holdfast("run", recipe)
        file = (self.home() / "current/report.html").resolve()
        probe = self.folder / "probe.html"
        # A mouse over the first chart, by a second script; the page's own policy would refuse it.
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", file.read_text())
        text = text.replace("</body>", """<script>
          const area = document.querySelector(".area"), box = area.getBoundingClientRect();
          area.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width / 2, clientY: box.top + 9}));
          </script></body>""")
        probe.write_text(text)
        for page, pointed in ((file, False), (probe, True)):
            done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--window-size=1200,900",
                                   f"--user-data-dir={self.folder}/browser", "--virtual-time-budget=3000", "--dump-dom", page.as_uri()],
                                  capture_output=True, text=True, timeout=PATIENCE)
            self.assertNotIn("CONSOLE", done.stderr)
            self.assertIn('class="tip"', done.stdout)  # the page's script ran to its end
            self.assertEqual('class="area on"' in done.stdout, pointed)
            if pointed:
                self.assertRegex(done.stdout, r'<div class="tip"[^>]*><b class="">update \d+</b><span class="a">training<b class="">')


if __name__ == "__main__":
    main()
