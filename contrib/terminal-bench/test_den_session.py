"""Tests of den_session with a real den and real programs on this machine.

python3 -m unittest, in this directory. DEN_TEST_BIN is the directory of a den
that is built; the default is bin of this repository.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
import types
import unittest
from pathlib import Path

from den_session import ASKS, ENDED, PROMPT, RUNS, DenSession, HarborSession, chord, parts, statements

DEN = Path(os.environ.get("DEN_TEST_BIN", Path(__file__).parent.parent.parent / "bin")) / "den"


class Here:
    """This machine, with what a container of Docker's library and an environment of Harbor's have."""

    def __init__(self, directory):
        self.directory = directory
        self.attrs = {"Config": {"WorkingDir": str(directory)}}

    def _run(self, argv):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("DEN_")}
        clean["HOME"] = str(self.directory)  # without what this machine's user has set up
        return subprocess.run(argv, cwd=self.directory, env=clean, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def exec_run(self, cmd, user=""):
        done = self._run(cmd)
        return types.SimpleNamespace(exit_code=done.returncode, output=done.stdout)

    def put_archive(self, path, data):
        subprocess.run(["tar", "-x", "-C", path], input=data, check=True)

    async def exec(self, command, cwd=None, env=None, timeout_sec=None):
        done = self._run(["sh", "-c", command])
        return types.SimpleNamespace(return_code=done.returncode, stdout=done.stdout.decode(), stderr=None)


class KeysTest(unittest.TestCase):
    def test_keys_and_text(self):
        for keys, wanted in (
            ("ls\n", [("line", "ls")]),
            (["ls", "Enter"], [("line", "ls")]),
            (["ec", "ho", "C-m"], [("line", "echo")]),
            ("a\r\nb", [("line", "a"), ("text", "b")]),
            ("C-c", [("key", "C-c")]),
            (["C-o", "Enter"], [("key", "C-o"), ("line", "")]),
            (["-n", "Enter"], [("line", "-n")]),
            (["Escape", ":wq", "Enter"], [("key", "Esc"), ("line", ":wq")]),
            ("", []),
        ):
            self.assertEqual(parts(keys), wanted, keys)

    def test_chords(self):
        for key, wanted in (
            ("^C", "C-c"), ("BSpace", "Backspace"), ("C-M-x", "C-M-x"), ("S-Up", "S-Up"), ("C-\\", "C-\\"),
            ("home", None), ("C-", None), ("x", None), ("S-x", None), ("C-x C-c", None), ("C-c\n", None),
        ):  # fmt: skip
            self.assertEqual(chord(key), wanted, key)

    def test_statements(self):
        for script in (
            ["set -eu", "cat > f <<'END'\n$( ` \" '\nEND", "ls"],
            ["for i in 1 2; do\n  echo $i\ndone", "echo done", "echo \"if\"", "x=(1 2)"],
            ["if [ a ]; then echo $(ls); fi", "f() {\n  echo ${x}\n}", "f"],
            ["echo 'two\nlines' && \\\n  ls", "case $x in\n a) b;;\n c|d) e;;\nesac", "echo done # ((("],
            ["cat <<-A <<B\n\tx\n\tA\ny\nB", "cat <<< hey", "echo $((1<<2))", "a |\n  wc -l"],
            ["python3", "print('if (')", "exit()"],
            ["a", "", "b"],
            ["echo \"never closed\nls"],
        ):  # fmt: skip
            self.assertEqual(statements("\n".join(script).split("\n")), script)


class SessionTest(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="dens"))
        self.here = Here(self.directory)
        self.options = {"den": str(DEN), "home": str(self.directory / "home")}
        self.session = DenSession("t", self.here, disable_recording=True, **self.options)
        self.session.start()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.addCleanup(self.session.stop)

    def file(self, name):
        return (self.directory / name).read_text()

    def wait(self, state, keys=""):
        """Sends keys until the state is reached; each look ends when the program waits for input."""
        while self.session.state != state:
            self.session.send_keys(keys, min_timeout_sec=10)

    def test_a_command_that_blocks(self):
        self.session.send_keys(["echo said; (exit 3)", "Enter"], block=True, max_timeout_sec=float("inf"))
        self.assertEqual((self.session.state, self.session.last["exit_code"], self.session.last["output"]), (PROMPT, 3, "said"))
        self.assertEqual(self.session.says(), "at the prompt, exit status 3")

    def test_a_command_that_takes_too_long(self):
        with self.assertRaises(TimeoutError):
            self.session.send_keys(["sleep 1000", "Enter"], block=True, max_timeout_sec=1)
        self.assertEqual(self.session.state, RUNS)
        self.session.send_keys("C-c", min_timeout_sec=30)
        self.wait(PROMPT)
        self.session.send_keys("echo again > again\n", block=True, max_timeout_sec=float("inf"))
        self.assertEqual(self.file("again"), "again\n")

    def test_a_question_ends_the_wait(self):
        self.session.send_keys(["read -p 'name? ' name; echo $name > name", "Enter"], block=True, max_timeout_sec=float("inf"))
        self.assertEqual((self.session.state, self.session.says()), (ASKS, "the program asks: name?"))
        self.session.send_keys(["bob", "Enter"], min_timeout_sec=60)
        self.wait(PROMPT)
        self.assertEqual(self.file("name"), "bob\n")

    def test_lines_go_to_whoever_reads_then(self):
        keys = "cat > doc <<'END'\n\tone\n\t\ttwo\nEND\n\n# and now\nread -p 'which? ' x\nthis one\necho $x > x\npython3 -q\nwith open('py', 'w') as f:\n  f.write('py')\n\nexit()\necho last > last\n"
        self.session.send_keys(keys, block=True, max_timeout_sec=float("inf"))
        self.wait(PROMPT)
        got = [self.file(name) for name in ("doc", "x", "py", "last")]
        self.assertEqual(got, ["\tone\n\t\ttwo\n", "this one\n", "py", "last\n"])

    def test_much_text(self):
        text = "".join(f"\t{i} 'quoted' \"twice\" \\n ä\n" for i in range(4000))
        self.session.send_keys(f"cat > much <<'END'\n{text}END\n", block=True, max_timeout_sec=float("inf"))
        self.wait(PROMPT)
        self.assertEqual(self.file("much"), text)

    def test_text_that_is_not_entered(self):
        self.session.send_keys("echo half > hal", min_timeout_sec=10)
        self.session.send_keys("f\n", min_timeout_sec=60)
        self.wait(PROMPT)
        self.assertEqual(self.file("half"), "half\n")
        self.session.send_keys("echo never > never", min_timeout_sec=10)
        self.session.send_keys("C-c", min_timeout_sec=60)
        self.session.send_keys("echo then > then\n", block=True, max_timeout_sec=float("inf"))
        self.assertEqual(self.file("then"), "then\n")
        self.assertFalse((self.directory / "never").exists())

    def test_an_incomplete_command_is_told_and_continued(self):
        self.session.send_keys("echo 'one\n", min_timeout_sec=60)
        self.assertEqual(self.session.says(), "the command is not complete")
        self.session.send_keys("\ttwo' > both\n", block=True, max_timeout_sec=float("inf"))
        self.wait(PROMPT)
        self.assertEqual(self.file("both"), "one\n\ttwo\n")

    def test_an_editor(self):
        if not shutil.which("nano") and os.environ.get("DEN_TEST_REQUIRE") != "1":
            self.skipTest("nano is not installed")
        self.session.send_keys(["nano note", "Enter"], min_timeout_sec=60)
        self.session.send_keys("a note", min_timeout_sec=60)
        self.session.send_keys(["C-o", "Enter"], min_timeout_sec=60)
        self.session.send_keys("C-x", min_timeout_sec=60)
        self.wait(PROMPT)
        self.assertEqual(self.file("note"), "a note\n")

    def test_output(self):
        self.assertTrue(self.session.get_incremental_output().startswith("Current Terminal Screen:\n"))
        self.session.send_keys("seq 1 100\n", block=True, max_timeout_sec=float("inf"))
        new = self.session.get_incremental_output()
        self.assertTrue(new.startswith("New Terminal Output:\n"), new)
        self.assertIn("\n" + "\n".join(map(str, range(1, 101))) + "\n", new)
        new = self.session.step("echo more", 10)
        self.assertNotIn("100", new)
        self.assertIn("echo more", new)
        self.session.send_keys("C-c", min_timeout_sec=30)
        self.session.clear_history()
        self.assertNotIn("\n50\n", self.session.capture_pane(capture_entire=True))
        self.session.send_keys("clear\n", block=True, max_timeout_sec=float("inf"))
        self.assertNotIn("100", self.session.capture_pane())

    def test_the_end(self):
        self.assertTrue(self.session.is_session_alive())
        self.session.send_keys("exit\n", min_timeout_sec=60)
        self.wait(ENDED)
        self.assertFalse(self.session.is_session_alive())

    def test_a_den_that_is_brought(self):
        brought = DenSession("b", self.here, disable_recording=True, den="no-such-den", home=self.options["home"], binary=DEN)
        brought.copy_to_container(DEN, str(self.directory / "brought"), "den")
        self.assertEqual(self.here.exec_run([str(self.directory / "brought/den"), "version"]).exit_code, 0)
        with self.assertRaises(RuntimeError):
            DenSession("c", self.here, den="no-such-den", home=self.options["home"]).start()

    def test_harbor(self):
        async def work():
            cast = self.directory / "recording.cast"
            s = HarborSession("h", self.here, remote_asciinema_recording_path=cast, **self.options)
            await s.start()
            await s.send_keys("echo said > said\n", min_timeout_sec=60)
            await s.send_keys("", min_timeout_sec=60)
            self.assertIn("echo said", await s.capture_pane())
            self.assertIn("at the prompt", await s.step("true\n"))
            self.assertTrue(await s.is_session_alive())
            await s.stop()
            self.assertFalse(await s.is_session_alive())
            self.assertEqual(self.file("said"), "said\n")
            self.assertIn('"version":2', cast.read_text().splitlines()[0].replace(" ", ""))

        asyncio.run(work())


if __name__ == "__main__":
    unittest.main()
