"""den beside tmux as the terminal of Terminal-Bench, in containers of podman.

The session classes of a checkout of Terminal-Bench, and of Harbor, are loaded
from there and run as they are; nothing of them is in this repository.
README.md says what is measured and how.
"""

import argparse
import asyncio
import base64
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
import types
from pathlib import Path

from den_session import DenSession, HarborSession, statements

HERE = Path(__file__).parent
COLUMNS = ["tmux, Terminal-Bench", "tmux, Harbor", "den, Terminal-Bench", "den, Harbor"]


# Containers


class Podman:
    """podman with a storage of its own, as internal/testkit/podmantest has it."""

    def __init__(self):
        self.dir = Path(tempfile.mkdtemp(prefix="denb"))
        limits = [
            f'"{name}={min(resource.getrlimit(which)[0], 1 << 14)}:{min(resource.getrlimit(which)[1], 1 << 14)}"'
            for name, which in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC))
        ]
        conf = f'[containers]\ndefault_ulimits = [{", ".join(limits)}]\n[network]\nnetwork_backend = "netavark"\n'
        conf += '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
        if shutil.which("runc"):
            conf += 'runtime = "runc"\n'
        (self.dir / "containers.conf").write_text(conf)
        self.env = {**os.environ, "CONTAINERS_CONF": str(self.dir / "containers.conf")}

    def command(self, *args):
        return ["podman", "--root", f"{self.dir}/root", "--runroot", f"{self.dir}/run", *args]

    def run(self, *args, **how):
        done = subprocess.run(self.command(*args), env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
        if done.returncode:
            raise RuntimeError(f"podman {args[0]}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="replace")

    def close(self):
        subprocess.run(self.command("rm", "--all", "--force", "--time", "0"), env=self.env, capture_output=True)
        subprocess.run(["umount", "-l", f"{self.dir}/root/overlay"], capture_output=True)
        shutil.rmtree(self.dir, ignore_errors=True)


class Result:
    def __init__(self, exit_code, output):
        self.exit_code, self.output = exit_code, output


class Container:
    """What the classes use of a container of Docker's Python library.

    For each user one "podman exec" stays open as a shell, and does what exec_run is
    asked to: podman's own start, the same for all, is not measured with each call.
    """

    def __init__(self, podman, image, network="none", mounts=()):
        self.podman, self.execs, self.user, self.workdir = podman, 0, "root", "/"
        self.attrs = {"Config": {"WorkingDir": "/", "User": ""}}
        self._shells = {}
        source = ["--rootfs", f"{image}:O"] if Path(image).is_dir() else [image]
        binds = [f"--volume={m}" for m in mounts]
        self.name = podman.run("run", "--detach", "--tmpfs=/tmp:notmpcopyup", f"--network={network}", *binds, *source, "sleep", "infinity").split()[-1][:12]

    def _shell(self, user):
        if user not in self._shells:
            self._shells[user] = subprocess.Popen(
                self.podman.command("exec", "--interactive", f"--user={user}", "--workdir=/", self.name, "sh"),
                env=self.podman.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        return self._shells[user]

    def sh(self, script, user="", env=None, workdir=None):
        """Runs a script, and is not counted."""
        shell = self._shell(user or self.user)
        mark = os.urandom(8).hex()
        env = {"HOME": "/work", **(env or {})} if (user or self.user) == "root" else env  # not what this machine's users set up
        environment = " ".join(f"{k}={shlex.quote(v)}" for k, v in (env or {}).items())
        where = f"cd {shlex.quote(workdir or self.workdir)} && "
        line = f"({where}{environment} sh -c {shlex.quote(script)}) </dev/null 2>&1; printf '\\n%s %s\\n' {mark} $?\n"
        shell.stdin.write(line.encode())
        shell.stdin.flush()
        read = b""
        while not (found := re.search(rb"\n" + mark.encode() + rb" (\d+)\n$", read)):
            some = os.read(shell.stdout.fileno(), 1 << 16)
            if not some:
                raise RuntimeError(f"the container is gone: {read.decode(errors='replace')}")
            read += some
        return Result(int(found[1]), read[: found.start()])

    def exec_run(self, cmd, user="", **_):
        self.execs += 1
        return self.sh(cmd if isinstance(cmd, str) else shlex.join(map(str, cmd)), user)

    def put_archive(self, path, data):
        self.put("/tmp/.archive", data)
        return self.sh(f"tar -x -C {shlex.quote(path)} -f /tmp/.archive", user="root").exit_code == 0

    def put(self, path, content, mode="644"):
        where = shlex.quote(path)
        self.sh(f'mkdir -p "$(dirname {where})" && : > {where} && chmod {mode} {where}', user="root")
        for i in range(0, len(content), 60_000):
            piece = base64.b64encode(content[i : i + 60_000]).decode()
            self.sh(f"echo {piece} | base64 -d >> {where}", user="root")

    def read(self, path):
        got = self.sh(f"cat {shlex.quote(path)}", user="root")
        return got.output if got.exit_code == 0 else None

    def reload(self):
        pass

    def close(self):
        for shell in self._shells.values():
            shell.kill()
            shell.wait()
        self.podman.run("rm", "--force", "--time=0", self.name)


class Environment:
    """What the classes use of an environment of Harbor's."""

    session_id = "bench"

    def __init__(self, container):
        self.container = container

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        self.container.execs += 1
        got = self.container.sh(f"exec bash -c {shlex.quote(command)}", str(user or ""), env, cwd)
        result = types.SimpleNamespace(return_code=got.exit_code, stdout=got.output.decode(errors="replace"), stderr=None)
        return result

    async def upload_file(self, source_path, target_path):
        source = Path(source_path)
        self.container.put(str(target_path), source.read_bytes(), oct(source.stat().st_mode & 0o777)[2:])


# Their classes


class Stub(types.ModuleType):
    """Stands for a library that is not installed: whatever is imported of it exists."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Exception,), {"__getattr__": None}) if name.endswith(("Error", "NotFound")) else type(name, (), {})


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a stub for what nobody else finds of these libraries."""

    LIBRARIES = {"docker", "pydantic", "yaml", "pytest"}

    def find_spec(self, name, path=None, target=None):
        library = name.split(".")[0]
        if library in self.LIBRARIES and (name == library or isinstance(sys.modules.get(library), Stub)):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Stub(spec.name)

    def exec_module(self, module):
        pass


def package(name, path):
    """A package without what its __init__ imports."""
    module = types.ModuleType(name)
    module.__path__ = [str(path)]
    sys.modules[name] = module


def their_terminal_bench(checkout):
    root = checkout / "terminal_bench"
    for name in ("", ".terminal", ".utils"):
        package("terminal_bench" + name, root / name.replace(".", "/").strip("/"))
    return importlib.import_module("terminal_bench.terminal.tmux_session").TmuxSession


def their_harbor(checkout):
    root = checkout / "src/harbor"
    for name in ("", ".agents", ".agents.terminus_2", ".environments", ".utils"):
        package("harbor" + name, root / name.replace(".", "/").strip("/"))
    base = types.ModuleType("harbor.environments.base")  # for annotations alone
    base.BaseEnvironment = object
    sys.modules[base.__name__] = base
    return importlib.import_module("harbor.agents.terminus_2.tmux_session").TmuxSession


class Plain:
    """A session of Terminal-Bench's kind."""

    def __init__(self, make, container):
        self.container = container
        self.session = make(container)

    def __getattr__(self, name):
        return getattr(self.session, name)


class Async(Plain):
    """A session of Harbor's kind, for callers that do not await."""

    def __getattr__(self, name):
        value = getattr(self.session, name)
        if not asyncio.iscoroutinefunction(value):
            return value
        return lambda *args, **kwargs: asyncio.run(value(*args, **kwargs))

    def send_command(self, command):
        keys = [command.command, "Enter"] if command.append_enter else [command.command]
        self.send_keys(keys, command.block, command.min_timeout_sec, command.max_timeout_sec)


class Bench:
    def __init__(self, podman, options):
        self.podman, self.options = podman, options
        self.den = Path(options.den).resolve()
        self.kinds, self.containers = {}, {}
        if options.terminal_bench:
            tmux = their_terminal_bench(options.terminal_bench)
            self.kinds[COLUMNS[0]] = lambda c: Plain(
                lambda c: tmux(session_name="bench", container=c, disable_recording=True, user=c.user), c
            )
        if options.harbor:
            harbor = their_harbor(options.harbor)

            def make(c):
                return Async(lambda c: harbor(session_name="bench", environment=Environment(c), logging_path=Path("/tmp/pane"), local_asciinema_recording_path=None, remote_asciinema_recording_path=None), c)  # fmt: skip

            self.kinds[COLUMNS[1]] = make
        self.kinds[COLUMNS[2]] = lambda c: Plain(lambda c: DenSession("bench", c, disable_recording=True, user=c.user), c)
        self.kinds[COLUMNS[3]] = lambda c: Async(lambda c: HarborSession("bench", Environment(c)), c)
        if options.columns:
            self.kinds = {k: v for k, v in self.kinds.items() if any(w in k for w in options.columns.split(","))}

    @contextlib.contextmanager
    def container(self, kind):
        """The container of a contestant, as good as new."""
        if kind not in self.containers:
            self.containers[kind] = Container(self.podman, self.options.image, mounts=[f"{self.den}:/usr/local/bin/den:ro"])
        c = self.containers[kind]
        c.user, c.workdir = "root", "/"
        c.sh("tmux kill-server; rm -rf /app /tests /logs /custom-workdir /tmp/* /tmp/.den* /work; mkdir -p /logs /work; chmod 777 /tmp /logs", user="root")
        c.workdir = c.attrs["Config"]["WorkingDir"] = "/work"
        yield c

    @contextlib.contextmanager
    def session(self, kind, container):
        s = self.kinds[kind](container)
        s.start()
        try:
            yield s
        finally:
            if "den" in kind:
                s.stop()


# Cases. Each returns what is wrong with the files, or None; a TimeoutError of the
# session is a hang, after which the case goes on as an agent would.


class Hangs(list):
    def __call__(self, send, *args, **kwargs):
        try:
            send(*args, **kwargs)
        except TimeoutError as e:
            self.append(str(e))


def expect(container, path, wanted):
    got = container.read(path)
    if got == wanted.encode():
        return None
    if got is None:
        return "no file"
    return f"{len(got)} of {len(wanted.encode())} bytes" if len(wanted) > 40 else f"file has {got.decode(errors='replace')!r}"


def until(container, script):
    """Waits until a command succeeds in the container, for what a case began."""
    return container.sh(f"for i in $(seq 200); do {script} && exit 0; sleep 0.05; done; exit 1").exit_code == 0


def quick(s, hangs):
    for i in range(5):
        hangs(s.send_keys, [f"echo {i} >> /tmp/quick", "Enter"], min_timeout_sec=5.0)
    return expect(s.container, "/tmp/quick", "0\n1\n2\n3\n4\n")


def heredoc(s, hangs):
    hangs(s.send_keys, ["cat > /tmp/doc <<'END'\none\ntwo\nEND", "Enter"], block=True, max_timeout_sec=10.0)
    return expect(s.container, "/tmp/doc", "one\ntwo\n")


DRAIN = "import termios, time\ntime.sleep(0.5)\ntermios.tcflush(0, termios.TCIFLUSH)\n"


def drain(s, hangs):
    s.container.put("/tmp/drain.py", DRAIN.encode())
    hangs(s.send_keys, ["python3 /tmp/drain.py\necho second > /tmp/second", "Enter"], block=True, max_timeout_sec=10.0)
    return expect(s.container, "/tmp/second", "second\n")


def long_heredoc(s, hangs):
    lines = "".join(f"\tline {i:04d}\tof a Makefile, with tabs in it and some text behind them\n" for i in range(390))
    hangs(s.send_keys, [f"cat > /tmp/long <<'END'\n{lines}END", "Enter"], min_timeout_sec=5.0)
    hangs(s.send_keys, ["echo over > /tmp/over", "Enter"], min_timeout_sec=5.0)
    return expect(s.container, "/tmp/long", lines)


def dash(s, hangs):
    hangs(s.send_keys, ["cat > /tmp/dash", "Enter"], min_timeout_sec=0.5)
    hangs(s.send_keys, ["-n", "Enter"], min_timeout_sec=0.5)
    hangs(s.send_keys, ["C-d"], min_timeout_sec=0.5)
    return expect(s.container, "/tmp/dash", "-n\n")


def asks(s, hangs):
    hangs(s.send_keys, ["read -p 'name? ' name; echo $name > /tmp/name", "Enter"], block=True, max_timeout_sec=8.0)
    hangs(s.send_keys, ["bob", "Enter"], min_timeout_sec=1.0)
    return expect(s.container, "/tmp/name", "bob\n")


def repl(s, hangs):
    hangs(s.send_keys, ["python3", "Enter"], min_timeout_sec=2.0)
    hangs(s.send_keys, ["n = open('/tmp/repl', 'w').write('said')", "Enter"], block=True, max_timeout_sec=8.0)
    hangs(s.send_keys, ["exit()", "Enter"], min_timeout_sec=1.0)
    return expect(s.container, "/tmp/repl", "said")


def vi(s, hangs):
    hangs(s.send_keys, ["vi /tmp/vi", "Enter"], min_timeout_sec=0.5)
    hangs(s.send_keys, ["ihello", "Escape"], min_timeout_sec=0.2)
    hangs(s.send_keys, [":wq", "Enter"], min_timeout_sec=0.3)
    until(s.container, "test -e /tmp/vi")
    return expect(s.container, "/tmp/vi", "hello\n")


class Command:
    """Theirs, where their library for it is not installed."""

    def __init__(self, command, block=False, append_enter=True, min_timeout_sec=0.0, max_timeout_sec=180.0):
        self.command, self.block, self.append_enter = command, block, append_enter
        self.min_timeout_sec, self.max_timeout_sec = min_timeout_sec, max_timeout_sec


def nano(s, hangs):
    # The keys of the solution of Terminal-Bench's template task.
    hangs(s.send_keys, ["cd /tmp", "Enter"], min_timeout_sec=0.2)
    for text, enter, least in (("nano hello-world.txt", True, 0.01), ("Hello, world!", False, 0), ("C-o", True, 0), ("C-x", False, 0)):
        hangs(s.send_command, Command(text, append_enter=enter, min_timeout_sec=least))
    until(s.container, "test -e /tmp/hello-world.txt")
    return expect(s.container, "/tmp/hello-world.txt", "Hello, world!\n")


CASES = [
    ("five quick commands, 5 s asked for each", quick),
    ("a blocking here document", heredoc),
    ("a program that drains its input, then a second line", drain),
    ("a here document of 24 KB with tabs", long_heredoc),
    ("a key that begins with `-`", dash),
    ("a blocking command that asks", asks),
    ("a blocking statement in a REPL", repl),
    ("vi", vi),
    ("nano: the template task", nano),
]


def cell(took, execs, hangs, wrong):
    said = [f"{took:.2f} s", f"{execs} execs"]
    said += [f"hangs {len(hangs)}×"] if hangs else []
    return ", ".join(said + [f"**wrong**: {wrong}" if wrong else "right"])


def measured(work, container):
    """Times work(hangs) and says what came of it."""
    hangs, began, execs = Hangs(), time.monotonic(), container.execs
    try:
        wrong = work(hangs)
    except Exception as e:
        print(traceback.format_exc(), file=sys.stderr)
        wrong = f"{type(e).__name__}: {str(e).splitlines()[0][:80] if str(e) else ''}"
    return cell(time.monotonic() - began, container.execs - execs, hangs, wrong)


def run_cases(bench):
    for title, case in CASES:
        if bench.options.case and bench.options.case not in case.__name__:
            continue
        row = {}
        for kind in bench.kinds:
            with bench.container(kind) as c, bench.session(kind, c) as s:
                row[kind] = measured(lambda hangs: case(s, hangs), c)
            print(f"{title} | {kind} | {row[kind]}", file=sys.stderr, flush=True)
        yield title, row


# Their runtime tests


def their_tests(checkout):
    """The functions of their test of the session class, and the module they sleep in."""
    pytest = Stub("pytest")
    pytest.fixture = lambda *args, **_: args[0] if args and callable(args[0]) else lambda f: f
    pytest.raises = raises
    logger = types.ModuleType("terminal_bench.utils.logger")
    logger.setup_logger = lambda name: types.SimpleNamespace(info=lambda *_: None, warning=lambda *_: None, error=lambda *_: None)
    known = sys.modules.get(logger.__name__)
    if known is not None and not hasattr(known, "setup_logger"):
        known.setup_logger = logger.setup_logger
    saved, sys.modules["pytest"] = sys.modules.get("pytest"), pytest
    try:
        spec = importlib.util.spec_from_file_location("their_tests", checkout / "tests/runtime/terminal/test_tmux_session.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.modules.pop("pytest")
        if saved:
            sys.modules["pytest"] = saved
    return module, [getattr(module, name) for name in vars(module) if name.startswith("test_")]


@contextlib.contextmanager
def raises(kind):
    try:
        yield
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


def run_runtime_tests(bench):
    module, tests = their_tests(bench.options.terminal_bench)
    for sleeps in (True, False):
        row = {}
        for kind in [k for k in bench.kinds if "Terminal-Bench" in k]:
            module.time = time if sleeps else types.SimpleNamespace(sleep=lambda _: None, time=time.time)
            passed, failed, took, execs = 0, [], 0.0, 0
            for test in tests:
                with bench.container(kind) as c, bench.session(kind, c) as s:
                    began, before = time.monotonic(), c.execs
                    try:
                        test(s)
                        passed += 1
                    except Exception as e:
                        failed.append(f"{test.__name__} ({type(e).__name__})")
                    took, execs = took + time.monotonic() - began, execs + c.execs - before
            row[kind] = f"{passed} of {len(tests)} pass, {took:.1f} s, {execs} execs"
            print(f"runtime tests, sleeps {sleeps} | {kind} | {row[kind]} | {failed}", file=sys.stderr, flush=True)
        yield f"its {len(tests)} runtime tests" + ("" if sleeps else ", their sleeps removed"), row


# Tasks, solved by an oracle that types


UVX = """#!/bin/sh
# Debian's pytest instead of one that is downloaded.
while [ $# -gt 0 ] && [ "$1" != pytest ]; do shift; done
shift
keep=
while [ $# -gt 0 ]; do
	case $1 in --ctrf) shift ;; *) keep="$keep $1" ;; esac
	shift
done
exec python3 -m pytest $keep
"""


def prepare(container, environment):
    """Does what a task's Dockerfile says, but for the packages, which are there."""
    text = (environment / "Dockerfile").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "WORKDIR":
            container.sh(f"mkdir -p {shlex.quote(rest)}", user="root", workdir="/")
            container.workdir = rest
        elif word == "RUN" and "apt-get" not in rest:
            done = container.sh(rest, user="root")
            if done.exit_code:
                raise RuntimeError(f"{rest}: {done.output.decode(errors='replace')}")
        elif word == "COPY":
            name, target = rest.split()
            container.put(target, (environment / name).read_bytes())
        elif word == "ENTRYPOINT":
            program = re.search(r'"([^"]+)"', rest)[1]
            container.sh(f"setsid {program} >/dev/null 2>&1 &", user="root")


def oracle(s, script):
    """Types a solution as Harbor's agent does: a statement, and the second that it asks for by default."""
    for statement in statements(script.splitlines()):
        if not statement.strip() or statement.startswith("#"):
            continue
        s.send_keys(statement + "\n", min_timeout_sec=1.0)
        s.get_incremental_output()


def verify(container, tests, env, shared=None):
    """Runs a task's own test.sh, and says what it says."""
    container.sh("rm -rf /tests /logs/verifier; mkdir -p /logs/verifier /logs/artifacts", user="root")
    for directory in filter(None, (shared, tests)):
        for file in directory.iterdir():
            container.put(f"/tests/{file.name}", file.read_bytes(), "755")
    said = container.sh("bash /tests/test.sh", user="root", env=env)
    reward = container.read("/logs/verifier/reward.txt") or container.read("/logs/verifier/reward.json") or b""
    if re.fullmatch(rb"\s*1(\.0)?\s*", reward) or (reward.startswith(b"{") and not re.search(rb": 0", reward)):
        return None
    return f"its check says {reward.decode() or said.output.decode(errors='replace')[-60:]!r}"


def solve(bench, kind, task):
    config = tomllib.loads((task / "task.toml").read_text())
    with bench.container(kind) as c:
        c.put("/usr/local/bin/uvx", UVX.encode(), "755")
        c.put("/usr/local/bin/apt-get", b"#!/bin/sh\nexit 0\n", "755")
        c.put("/usr/local/bin/python", b'#!/bin/sh\nexec python3 "$@"\n', "755")
        prepare(c, task / "environment")
        workdir = config.get("environment", {}).get("workdir")
        c.workdir = workdir or c.workdir
        if check := config.get("environment", {}).get("healthcheck"):
            if not until(c, check["command"]):
                raise RuntimeError(f"{task.name} is not healthy")
        c.user = config.get("agent", {}).get("user", "root")
        c.attrs["Config"]["WorkingDir"] = c.workdir
        with bench.session(kind, c) as s:

            def work(hangs):
                if not (task / "steps").exists():
                    oracle(s, (task / "solution/solve.sh").read_text())
                    return None
                for step in config["steps"]:
                    at = task / "steps" / step["name"]
                    if (at / "workdir").exists():
                        for file in (at / "workdir").iterdir():
                            c.put(f"{c.workdir}/{file.name}", file.read_bytes())
                        if (at / "workdir/setup.sh").exists():
                            c.sh("bash ./setup.sh", user=c.user)
                    oracle(s, (at / "solution/solve.sh").read_text())
                    if wrong := verify(c, at / "tests", step.get("verifier", {}).get("env"), task / "tests"):
                        return f"{step['name']}: {wrong}"

            began, execs = time.monotonic(), c.execs
            wrong = work(None)
            took, execs = time.monotonic() - began, c.execs - execs
            if not (task / "steps").exists():
                wrong = verify(c, task / "tests", None)
            return cell(took, execs, [], wrong)


def run_tasks(bench):
    tasks = []
    if bench.options.harbor:
        tasks += [bench.options.harbor / "examples/tasks" / f"hello-{n}" for n in ("world", "user", "workdir", "healthcheck")]
    if bench.options.cookbook:
        tasks += [bench.options.cookbook / "harbor_cookbook/recipes" / n for n in ("simple-task", "multi-step", "multi-reward")]
    for task in tasks:
        if not task.exists():
            print(f"{task} is not in this checkout", file=sys.stderr)
            continue
        if bench.options.case and bench.options.case not in task.name:
            continue
        row = {}
        for kind in bench.kinds:
            try:
                row[kind] = solve(bench, kind, task)
            except Exception as e:
                print(traceback.format_exc(), file=sys.stderr)
                row[kind] = f"**wrong**: {type(e).__name__}"
            print(f"{task.name} | {kind} | {row[kind]}", file=sys.stderr, flush=True)
        yield f"task `{task.name}`", row


# What it takes to have the terminal in an image


def run_preparation(bench):
    row = {}
    with contextlib.closing(Container(bench.podman, bench.options.image)) as c:
        began = time.monotonic()
        bench.podman.run("cp", str(bench.den), f"{c.name}:/usr/local/bin/den")
        said = c.sh("/usr/local/bin/den version")
        took = time.monotonic() - began
        row[COLUMNS[2]] = f"{took:.1f} s, {bench.den.stat().st_size / 1e6:.0f} MB, no network" if said.exit_code == 0 else "does not run"
    with contextlib.closing(Container(bench.podman, bench.options.image, network="host")) as c:
        c.sh("apt-get remove -y tmux asciinema && apt-get autoremove -y", user="root")
        began = time.monotonic()
        done = c.sh("apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y tmux asciinema", user="root")
        took = time.monotonic() - began
        size = re.search(rb"After this operation, (.*?) of additional", done.output)
        row[COLUMNS[0]] = (
            f"{took:.1f} s, {size[1].decode() if size else '?'} beside apt's lists, network" if done.exit_code == 0 else "not measured: apt-get did not get it"
        )
    yield "preparing an image", row


SUITES = {"cases": run_cases, "tests": run_runtime_tests, "tasks": run_tasks, "image": run_preparation}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--den", default=HERE.parent.parent / "bin/den", help="a static den")
    parser.add_argument("--terminal-bench", type=Path, help="a checkout of Terminal-Bench 1")
    parser.add_argument("--harbor", type=Path, help="a checkout of Harbor")
    parser.add_argument("--cookbook", type=Path, help="a checkout of Harbor's cookbook")
    parser.add_argument("--image", default="/", help="an image of podman's, or a directory that has a system; default: this machine's, of which containers get a view to write on")
    parser.add_argument("--only", default=",".join(SUITES), help="suites, with commas between")
    parser.add_argument("--case", help="only cases, and tasks, with this in their name")
    parser.add_argument("--columns", help="only contestants with one of these words in their name")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and its containers are removed
    sys.meta_path.append(Stubs())
    podman = Podman()
    rows = []
    try:
        bench = Bench(podman, options)
        began, load = time.strftime("%Y-%m-%d %H:%M"), os.getloadavg()[0]
        for name in options.only.split(","):
            if name == "tests" and not options.terminal_bench:
                continue
            rows += SUITES[name](bench)
    finally:
        podman.close()
    print(f"\n{began}, {os.cpu_count()} cores, load average {load:.1f} at the begin, {os.getloadavg()[0]:.1f} at the end\n")
    kinds = list(bench.kinds)
    print(f"| | {' | '.join(kinds)} |\n|---|{'---|' * len(kinds)}")
    for title, row in rows:
        print(f"| {title} | {' | '.join(row.get(k, '') for k in kinds)} |")


if __name__ == "__main__":
    main()
