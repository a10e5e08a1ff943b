"""What a person sees: a bar on a terminal, plain lines in a pipe, nothing that needs a terminal elsewhere."""

import fcntl
import os
import pty
import struct
import subprocess
import termios

from harness import COMMAND, Case, main


class Terminal(Case):
    def on_terminal(self, *arguments, columns=100, **env):
        """Everything that the command wrote to a terminal of this width, and its exit code."""
        outer, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([COMMAND, *map(str, arguments)], stdin=inner, stdout=inner, stderr=inner,
                                   cwd=self.folder, env=self.environment(**env))
        self.started.append(process)
        os.close(inner)
        shown = b""
        while True:
            try:
                part = os.read(outer, 65536)
            except OSError:  # the last writer has closed the terminal
                break
            if not part:
                break
            shown += part
        os.close(outer)
        return shown.decode(), process.wait()

    def slow(self):
        return self.recipe(target="updates = 25", more='[hook.fault]\naction = "sleep"\ntimes = 1000000\nsleep = "0.1 s"')

    def test_a_bar_is_redrawn_in_its_own_width_and_gone_at_the_end(self):
        shown, code = self.on_terminal("run", self.slow(), columns=60, TERM="xterm")
        self.assertEqual(code, 0)
        bars = [part.split("\x1b[K")[0] for part in shown.split("\r") if "▕" in part]
        self.assertGreaterEqual(len(bars), 2)
        self.assertTrue(all(len(bar) < 60 for bar in bars), bars)
        self.assertIn("loss", bars[-1])
        self.assertRegex(shown, r"\r\x1b\[K")
        self.assertNotIn("▕", shown.split("evaluated at update 20")[-1].split("\x1b[K")[-1])

    def test_a_dumb_terminal_gets_no_control_characters(self):
        shown, code = self.on_terminal("run", self.recipe(target="updates = 5"), TERM="dumb")
        self.assertEqual(code, 0)
        self.assertNotIn("\x1b", shown)
        self.assertNotIn("▕", shown)

    def test_no_color_means_no_colour_but_the_bar_stays(self):
        recipe = self.recipe(target="updates = 5")
        shown, _ = self.on_terminal("run", recipe, TERM="xterm", NO_COLOR="1")
        self.assertNotRegex(shown, r"\x1b\[\d+m")
        self.assertIn("▕", shown)

    def test_a_pipe_gets_lines_without_control_characters(self):
        done = self.holdfast("run", self.recipe(target="updates = 5"))
        for text in (done.stdout, done.stderr):
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\r", text)

    def test_a_reader_that_goes_away_is_no_failure(self):
        process = self.start("run", self.recipe(target="updates = 5"))
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), 0)
        process.stdout = process.stderr = None


if __name__ == "__main__":
    main()
