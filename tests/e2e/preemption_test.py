"""Notices of preemption from a file, a command and a local address: save, exit 75, and the cause by its name."""

import http.server
import os
import threading

from harness import Case, main


class Notice(Case):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "runs/digits"
        self.flag = self.folder / "notice"

    def expect_preempted(self, source, options, give, why):
        recipe = self.recipe(target="updates = 100000000", eval_every="1000000 updates",
                             more=f'[hook.preemption_notice]\nevery = "0.02 s"\n{options}\n')
        process = self.start("run", recipe, "--new")
        self.wait_for_event(self.home, "update", process)
        give()
        done = self.finish(process)
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertNotIn("chatter", done.stdout + done.stderr)
        status = self.status(self.home)
        self.assertEqual((status["state"], status["cause"]), ("stopped", f"preemption notice: {why}"))
        self.assertEqual(self.saved_update(self.home), status["update"])
        told = {e["event"]: e for e in self.events(self.home)}
        self.assertEqual((told["preemption"]["source"], told["preemption"]["why"]), (source, f"preemption notice: {why}"))
        self.assertEqual(told["checkpoint"]["reason"], "preemption")
        text = (self.home / "current/metrics.prom").read_text()
        for each in ("file", "command", "url", "other"):
            self.assertIn(f'holdfast_preemption_notices_total{{run="digits",source="{each}"}} {int(each == source)}\n', text)
        verdict = self.holdfast("why", self.home).stdout
        self.assertTrue(verdict.startswith(f"preempted (exit 75): preemption notice: {why}\n"), verdict)

    def test_a_file_that_appears(self):
        self.expect_preempted("file", 'file = "notice"', self.flag.touch, f"the file {self.flag} is there")
        # A notice that still stands ends the next attempt too; without it the run goes on.
        self.holdfast("run", self.home, code=75)
        self.flag.unlink()
        before = self.status(self.home)["update"]
        self.holdfast("run", self.folder / "r.toml", "--set", f"train.updates={before + 5}")
        self.assertEqual(self.status(self.home)["update"], before + 5)

    def test_a_command_that_succeeds(self):
        script = f'echo chatter; echo chatter >&2; test -e {self.flag}'
        self.expect_preempted("command", f'command = ["sh", "-c", "{script}"]', self.flag.touch, "the command 'sh' succeeded")

    def test_a_local_address_that_answers(self):
        flag = self.flag

        class Metadata(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                found = flag.exists() and self.headers["Metadata-Flavor"] == "Test"
                self.send_response(200 if found else 404)
                self.end_headers()
                self.wfile.write(b"TRUE" if found else b"none")

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        url = f"http://127.0.0.1:{server.server_address[1]}/preempted"
        self.expect_preempted("url", f'url = "{url}?wait=no"\nexpect = "TRUE"\nheaders = ["Metadata-Flavor: Test"]', self.flag.touch,
                              f"{url} answered 200")

    def test_a_command_that_hangs_neither_slows_nor_outlives_the_run(self):
        mark = f"86400.{os.getpid()}"
        self.holdfast("run", self.recipe(target="updates = 20",
                                         more=f'[hook.preemption_notice]\ncommand = ["sleep", "{mark}"]\ntimeout = "10 min"\n'))
        left = []
        for process in (name for name in os.listdir("/proc") if name.isdigit()):
            try:
                with open(f"/proc/{process}/cmdline", encoding="utf-8", errors="replace") as file:
                    left += [process] if mark in file.read() else []
            except OSError:
                continue
        self.assertEqual(left, [])

    def test_an_address_elsewhere_is_refused_before_anything_is_made(self):
        done = self.holdfast("run", self.recipe(more='[hook.preemption_notice]\nurl = "http://example.com/"\n'), code=78)
        self.assertIn("error[preemption_notice.url]: `url` cannot be asked: got 'http://example.com/'; its host must be localhost, a "
                      "loopback address or a link-local one (169.254.0.0/16, fe80::/10)", done.stderr)
        self.assertFalse(self.home.exists())


if __name__ == "__main__":
    main()
