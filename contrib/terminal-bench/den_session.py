"""den as the terminal of an agent in a container, over nothing but exec.

DenSession has the methods of Terminal-Bench 1's TmuxSession, HarborSession
those of Harbor's. Both are one Terminal, and differ in how a command gets into
the container. Where the originals sleep, these wait until the program waits
for input: at a prompt, at a question, in an editor.
"""

import io
import json
import os
import re
import shlex
import tarfile
import time
from pathlib import Path

# States of a terminal: who gets the next line?
PROMPT = "prompt"  # the shell
ASKS = "asks"  # the program of the shell's command, which waits for input
RUNS = "runs"  # nobody yet
OTHER = "other"  # a program that was not begun by a line of its own
ENDED = "ended"

ENTER = {"Enter", "C-m", "KPEnter", "C-j", "^M", "^J"}

# tmux's names of keys, and den's.
KEYS = {
    "BSpace": "Backspace", "BTab": "S-Tab", "DC": "Delete", "Delete": "Delete", "Down": "Down",
    "End": "End", "Escape": "Esc", "Home": "Home", "IC": "Insert", "Insert": "Insert",
    "Left": "Left", "NPage": "PgDn", "PageDown": "PgDn", "PgDn": "PgDn", "PPage": "PgUp",
    "PageUp": "PgUp", "PgUp": "PgUp", "Right": "Right", "Space": "Space", "Tab": "Tab", "Up": "Up",
    "Enter": "Enter", **{f"F{i}": f"F{i}" for i in range(1, 13)},
}  # fmt: skip
INTERRUPTS = {"C-c", "C-d", "C-z", "C-\\"}

# One argument of a command line has 128 KiB, and quoting takes some of it.
ARGUMENT = 60_000


def chord(key):
    """den's name of the key that tmux would press for this argument, or None: it is text."""
    if re.fullmatch(r"\^[A-Za-z@\[\\\]_?]", key):
        return "C-" + key[1].lower()
    modifiers, name = re.fullmatch(r"((?:[CMS]-)*)(.*)", key, re.S).groups()
    if name in KEYS:
        return modifiers + KEYS[name]
    if len(name) == 1 and name.isprintable() and set(modifiers) & {"C", "M"}:
        return modifiers + name
    return None


def parts(keys):
    """What is to be typed: ("line", text) with its Enter, ("text", text) without, ("key", chord)."""
    out = []

    def text(kind, added):
        if out and out[-1][0] == "text":
            added = out.pop()[1] + added
        out.append((kind, added))

    for key in [keys] if isinstance(keys, str) else keys:
        if key in ENTER:
            text("line", "")
        elif pressed := chord(key):
            out.append(("key", pressed))
        else:
            *lines, rest = key.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            for line in lines:
                text("line", line)
            if rest:
                text("text", rest)
    return out


def controls(text):
    """Whether it has what a keyboard types by other keys than those of letters."""
    return any(c < " " and c != "\t" or c == "\x7f" for c in text)


HEREDOC = re.compile(r"<<(-?)[ \t]*(?:'([^']+)'|\"([^\"]+)\"|\\?([\w.+-]+))")
SKIP = re.compile(r"<<<|\$?\(\(.*?\)\)|\$\{[^}]*\}|\\.")
DEPTH = {"if": 1, "case": 1, "for": 1, "while": 1, "until": 1, "select": 1, "fi": -1, "esac": -1, "done": -1}
BRACKETS = {"{": 1, "(": 1, "}": -1, ")": -1}
COMMAND_FOLLOWS = {"&&", "||", ";", "|", "&", "(", "{", "do", "then", "else", "elif", "!", "if", "while", "until"}


def statements(lines):
    """Joins the lines of a shell that belong together, as those of a here document.

    A program that a line begins is to read the lines behind it, so they are not
    sent as one. It need not be right: where a statement is not complete, den says
    so, and of two that are sent as one the shell does the second afterwards.
    """
    out, current = [], []
    documents, quote, depth, brackets = [], None, 0, 0  # what is still open
    for line in lines:
        current.append(line)
        if documents:
            tabs, end = documents[0]
            if (line.lstrip("\t") if tabs else line) == end:
                documents.pop(0)
        else:
            bare, i = "", 0  # the line without what is quoted
            while i < len(line):
                c = line[i]
                if quote:
                    i += 1 if c == "\\" and quote == '"' else 0
                    quote = None if c == quote else quote
                elif skipped := SKIP.match(line, i):
                    bare, i = bare + "q", skipped.end() - 1
                elif found := HEREDOC.match(line, i):
                    documents.append((found[1], found[2] or found[3] or found[4]))
                    i = found.end() - 1
                elif c in "'\"":
                    quote, bare = c, bare + "q"
                elif c == "#" and (not bare or bare[-1].isspace()):
                    break
                else:
                    bare += c
                i += 1
            command = True  # the next word is one
            for word in re.findall(r"&&|\|\||[;|&(){}]|[^\s;|&(){}]+", bare):
                depth += DEPTH.get(word, 0) if command else 0
                brackets = max(brackets + BRACKETS.get(word, 0), 0)
                command = word in COMMAND_FOLLOWS
            if not quote and re.search(r"(\\|&&|\|)\s*$", bare):
                continue
        if not documents and not quote and depth <= 0 and not brackets:
            out.append("\n".join(current))
            current, depth = [], 0
    if current:
        out.append("\n".join(current))
    return out


def seconds(limit):
    """A limit as den reads it."""
    return "0" if limit == float("inf") else f"{limit:.3f}s"


class Terminal:
    """A terminal in a container.

    Its methods are generators: they yield a script for a POSIX shell in the
    container, and get what it printed. perform, of the classes below, runs them.

    After each of them `state` says who gets the next line, and `last` is the last
    command as den told it: `exit_code`, `output`, `question`, `certainty`.
    """

    def __init__(self, name, den="den", home=None, cols=160, rows=40, settle=0.5):
        self.name, self.den = name, den
        # Each user has one, as root's may be closed to an agent.
        self._home = f"export DEN_HOME={shlex.quote(home) if home else '/tmp/.den-$(id -u)'}; "
        self.cols, self.rows = cols, rows
        self.settle = settle  # s; the least time that a command gets before its terminal is looked at
        self.state = PROMPT
        self.last = {}
        self._half = False  # the shell's line has text that was not entered
        self._seen = None  # the lines that get_incremental_output told, or None
        self._cleared = 0  # lines of the scrollback that clear_history hid

    def _run(self, *verbs):
        """Runs verbs of den in one exec, and returns the JSON that each printed."""
        printed = yield self._home + "; ".join(shlex.join([self.den, verb[0], "-j", *verb[1:]]) for verb in verbs)
        answers = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        if len(answers) != len(verbs):
            raise RuntimeError(f"den in the container says: {printed.strip() or 'nothing'}")
        return answers

    def _start(self, cwd=None):
        where = ["--cols", str(self.cols), "--rows", str(self.rows)]
        if cwd:
            where += ["--cwd", str(cwd)]
        for program in (["bash", "--login"], []):  # as tmux does; where there is no bash, any shell
            (answer,) = yield from self._run(["new", self.name, *where, "--", *program])
            if answer["status"] != "error":
                break
        else:
            raise RuntimeError(f"start terminal {self.name}: {answer['output']}")
        # Where its start-up files take longer, the first command waits for them.
        yield from self._run(["wait", self.name, "--ready", "-t", "30s"])

    def _stop(self):
        yield from self._run(["kill", self.name])
        self.state = ENDED

    def _look(self, limit, steps=()):
        """Does steps, waits until the program waits for input, and says who does."""
        text = json.dumps(steps)
        if len(text) > ARGUMENT:
            yield from self._batch(steps)
            steps = ()
        verbs = [["wait", self.name, "--ready", "-t", seconds(limit)], ["poll", self.name], ["status", self.name]]
        *done, _, cell, status = yield from self._run(*([["batch", self.name, text]] if steps else []), *verbs)
        if done and "steps" not in done[0]:
            raise RuntimeError(f"type into terminal {self.name}: {done[0].get('output')}")
        if cell["status"] != "error" or "cell_id" in cell:
            self.last = cell
        foreground = status.get("foreground", {}).get("pid")
        if status.get("status") != "running":
            self.state = ENDED
        elif cell["status"] in ("running", "timeout"):
            self.state = ASKS if cell.get("waiting_for") in ("input", "continuation") else RUNS
        elif foreground not in (None, status.get("pid")):
            self.state = OTHER
        else:
            self.state = PROMPT

    def _batch(self, steps):
        text = json.dumps(steps)
        if len(text) <= ARGUMENT:
            (answer,) = yield from self._run(["batch", self.name, text])
        else:
            file = f"/tmp/.den-steps-{self.name}-{os.urandom(8).hex()}"
            for i in range(0, len(text), ARGUMENT):
                yield f"umask 077; printf %s {shlex.quote(text[i : i + ARGUMENT])} >> {file}"
            (answer,) = yield from self._run(["batch", self.name, file])
            yield f"rm -f {file}"
        if "steps" not in answer:
            raise RuntimeError(f"type into terminal {self.name}: {answer.get('output')}")
        return answer["steps"]

    def _lines(self, lines, limit):
        """Sends lines to whom they are for, and returns how many were sent."""
        verb, each = ("run", statements(lines)) if self.state == PROMPT else ("answer", lines)
        nobodys = [verb == "run" and not text.strip() for text in each]  # an empty line of a shell
        steps = [{verb: text, "timeout": seconds(limit)} for text, skip in zip(each, nobodys) if not skip]
        records = iter((yield from self._batch(steps)) if steps else ())
        sent = 0
        for text, skip in zip(each, nobodys):
            if not skip:
                record = next(records)
                cell = record.get("cell", {})
                if record.get("error", {}).get("kind") == "unreachable":  # a machine that is overloaded: was it sent?
                    before = self.last.get("cell_id")
                    yield from self._look(limit)
                    if verb == "run" and self.last.get("cell_id") == before:
                        raise RuntimeError(f"type into terminal {self.name}: {record['error']['output']}")
                    return sent + text.count("\n") + 1
                if record["status"] == "not-run" or not cell or cell.get("by") == "refused":
                    break
                self.last = cell
                if cell.get("waiting_for") in ("input", "continuation"):
                    self.state = ASKS
                elif cell["status"] in ("done", "error", "unsure"):
                    self.state = ENDED if cell.get("by") == "exit" else PROMPT
                else:
                    self.state = RUNS
            sent += text.count("\n") + 1
        return sent

    def _type(self, todo, limit):
        """Types as a keyboard does, without a look at who reads it."""
        steps, before = [], self.state
        for kind, text in todo:
            if kind == "key":
                steps.append({"keys": [text]})
            elif kind == "line":
                steps.append({"type": text, "enter": True} if text else {"keys": ["Enter"]})
            else:
                steps.append({"type": text})
        yield from self._look(limit, steps)
        kind, text = todo[-1]
        entered = kind == "line" or (kind == "key" and text in INTERRUPTS | {"C-u", "Enter"})
        self._half = self.state == PROMPT and before not in (ASKS, OTHER) and not entered

    def _send(self, keys, limit):
        """Types, and waits until the program waits for input, for so long at most."""
        limit = max(limit, self.settle)
        todo, pressed = parts(keys), [("key", k) for k in INTERRUPTS]
        if not todo:
            yield from self._look(limit)
        elif self.state in (RUNS, OTHER) and todo[0] not in pressed:
            yield from self._look(self.settle)  # it may have ended or asked meanwhile
        while todo and self.state != ENDED:
            lines = []
            for kind, text in todo:
                if kind != "line" or controls(text):
                    break
                lines.append(text)
            if lines and self.state == ASKS and self.last.get("waiting_for") == "continuation" and any("\t" in l for l in lines):
                # A shell's editor would complete at a tab that is typed.
                yield from self._look(limit, [{"paste": "\n".join(lines)}, {"keys": ["Enter"]}])
                todo = todo[len(lines) :]
                continue
            if any(lines) and not self._half and self.state in (PROMPT, ASKS):
                sent = yield from self._lines(lines, limit)
                todo = todo[sent:]
                if sent:
                    continue
            # All that is for one program: a line behind a key may be for another.
            n, interrupts = 1, todo[0] in pressed
            while n < len(todo) and not interrupts and todo[n] not in pressed and (self.state == RUNS or todo[n][0] != "line" or not todo[n][1]):
                n += 1
            typed, todo = todo[:n], todo[n:]
            yield from self._type(typed, limit if interrupts or self.state != RUNS else self.settle)

    def _send_keys(self, keys, block, min_timeout_sec, max_timeout_sec):
        todo = parts(keys)
        blocks = block and bool(todo) and todo[-1][0] == "line"
        yield from self._send(keys, max_timeout_sec if blocks else min_timeout_sec)
        if blocks and self.state == RUNS:
            raise TimeoutError(f"Command timed out after {max_timeout_sec} seconds")

    def _alive(self):
        (status,) = yield from self._run(["status", self.name])
        return status.get("status") == "running"

    def _capture(self, capture_entire=False):
        (shot,) = yield from self._run(["snapshot", self.name, *(["--scrollback", "all"] if capture_entire else [])])
        lines = shot.get("text", "").split("\n")
        return "\n".join(lines[self._cleared if capture_entire else 0 :]) + "\n"

    def _clear(self):
        every, screen = yield from self._run(["snapshot", self.name, "--scrollback", "all"], ["snapshot", self.name])
        self._cleared = every["text"].count("\n") - screen["text"].count("\n")

    def _news(self):
        now = (yield from self._capture(capture_entire=True)).rstrip().split("\n")
        before, self._seen = self._seen, now
        if before is not None:
            same = 0
            while same < min(len(before), len(now)) and before[same] == now[same]:
                same += 1
            # The last line was the prompt, and what was typed is behind it now.
            if same >= len(before) - 1 and now[same:]:
                return "New Terminal Output:\n" + "\n".join(now[same:]) + "\n"
        return "Current Terminal Screen:\n" + (yield from self._capture())

    def _record(self, path):
        if not path:
            return
        (answer,) = yield from self._run(["export", self.name, "--format", "cast2", "-o", str(path)])
        if answer.get("status") == "error":
            raise RuntimeError(f"record terminal {self.name}: {answer['output']}")

    def _step(self, keys, limit):
        """One step of an agent's loop: types, waits, and tells what is new."""
        yield from self._send(keys, limit)
        return f"{(yield from self._news()).rstrip()}\n[{self.says()}]\n"

    def says(self):
        """In a line, what the terminal waits for."""
        if self.state == PROMPT:
            code = self.last.get("exit_code")
            return "at the prompt" + (f", exit status {code}" if code is not None else "")
        if self.state == ASKS and self.last.get("waiting_for") == "continuation":
            return "the command is not complete"
        if self.state == ASKS:
            question = self.last.get("question", "").strip()
            return f"the program asks: {question}" if question else "the program waits for input"
        return {RUNS: "the command still runs", OTHER: "a program has the terminal", ENDED: "the terminal has ended"}[self.state]


class DenSession(Terminal):
    """What Terminal-Bench 1 calls a TmuxSession, by den."""

    def __init__(self, session_name, container, commands_path=None, disable_recording=False, user="", binary=None, **options):
        super().__init__(session_name, **options)
        self.container = container
        self._commands_path = commands_path
        self._disable_recording = disable_recording
        self._user = user
        self._binary = binary  # a static den here, which is copied to where there is none; or None
        self._began = time.monotonic()
        self._session_name = session_name

    def perform(self, steps):
        printed = None
        while True:
            try:
                script = steps.send(printed)
            except StopIteration as end:
                return end.value
            result = self.container.exec_run(["sh", "-c", script], user=self._user)
            printed = result.output.decode(errors="replace")

    @property
    def logging_path(self):
        return Path("/logs") / f"{self._session_name}.log"

    @property
    def _recording_path(self):
        return None if self._disable_recording else Path("/logs") / f"{self._session_name}.cast"

    def start(self):
        if self._binary and self.container.exec_run([self.den, "version"], user=self._user).exit_code != 0:
            self.copy_to_container(Path(self._binary), "/usr/local/bin", "den")
            self.den = "/usr/local/bin/den"
        self._began = time.monotonic()
        self.perform(self._start())

    def record(self):
        """Writes the recording of the session so far, which asciinema plays."""
        self.perform(self._record(self._recording_path))

    def stop(self):
        """Ends the session, with all that runs in it."""
        self.record()
        self.perform(self._stop())

    def send_keys(self, keys, block=False, min_timeout_sec=0.0, max_timeout_sec=180.0):
        if self._commands_path:
            with self._commands_path.open("a") as f:
                f.write(f"{keys!r}\n")
        self.perform(self._send_keys(keys, block, min_timeout_sec, max_timeout_sec))

    def send_command(self, command):
        keys = [command.command, "Enter"] if command.append_enter else [command.command]
        self.send_keys(keys, command.block, command.min_timeout_sec, command.max_timeout_sec)

    def step(self, keys, limit=60.0):
        return self.perform(self._step(keys, limit))

    def is_session_alive(self):
        return self.perform(self._alive())

    def capture_pane(self, capture_entire=False):
        return self.perform(self._capture(capture_entire))

    def get_incremental_output(self):
        return self.perform(self._news())

    def clear_history(self):
        self.perform(self._clear())

    def get_asciinema_timestamp(self):
        return 0.0 if self._disable_recording else time.monotonic() - self._began

    def copy_to_container(self, paths, container_dir=None, container_filename=None):
        container_dir = container_dir or self.container.attrs["Config"]["WorkingDir"]
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for path in [paths] if isinstance(paths, Path) else paths:
                if path.is_dir():
                    for item in path.rglob("*"):
                        tar.add(item, arcname=item.relative_to(path), recursive=False)
                else:
                    tar.add(path, arcname=container_filename or path.name)
        self.container.exec_run(["mkdir", "-p", str(container_dir)])
        self.container.put_archive(str(container_dir), packed.getvalue())


class HarborSession(Terminal):
    """What Harbor's agent Terminus 2 calls a TmuxSession, by den."""

    def __init__(self, session_name, environment, logging_path=None, local_asciinema_recording_path=None,
                 remote_asciinema_recording_path=None, pane_width=160, pane_height=40, binary=None,
                 extra_env=None, user=None, **options):  # fmt: skip
        super().__init__(session_name, cols=int(pane_width), rows=int(pane_height), **options)
        self.environment = environment
        self._recording_path = remote_asciinema_recording_path
        self._binary = binary
        self._how = {k: v for k, v in (("env", extra_env), ("user", user)) if v}

    async def perform(self, steps):
        printed = None
        while True:
            try:
                script = steps.send(printed)
            except StopIteration as end:
                return end.value
            result = await self.environment.exec(script, **self._how)
            printed = result.stdout or ""

    async def start(self):
        if self._binary and (await self.environment.exec(f"{shlex.quote(self.den)} version")).return_code != 0:
            await self.environment.upload_file(Path(self._binary), "/usr/local/bin/den")
            self.den = "/usr/local/bin/den"
        await self.perform(self._start())

    async def record(self):
        await self.perform(self._record(self._recording_path))

    async def stop(self):
        await self.record()
        await self.perform(self._stop())

    async def send_keys(self, keys, block=False, min_timeout_sec=0.0, max_timeout_sec=180.0):
        await self.perform(self._send_keys(keys, block, min_timeout_sec, max_timeout_sec))

    async def step(self, keys, limit=60.0):
        return await self.perform(self._step(keys, limit))

    async def is_session_alive(self):
        return await self.perform(self._alive())

    async def capture_pane(self, capture_entire=False):
        return await self.perform(self._capture(capture_entire))

    async def get_incremental_output(self, last_command=None):
        return await self.perform(self._news())
