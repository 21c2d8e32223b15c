//go:build linux

package pty_test

import (
	"strings"
	"testing"
	"time"

	"den/internal/process/pty"
)

// Programs that hold the terminal but are not done: none may ever be ready.
func TestProbeNeverReady(t *testing.T) {
	tests := []struct {
		name string
		want pty.ReadyState // what it settles on
		code string
	}{
		{"computes with its input thread parked", pty.Busy, `
import sys, threading
threading.Thread(target=sys.stdin.readline, daemon=True).start()
print("go")
while True: pass`},
		{"sleeps with its input thread parked", pty.Unknown, `
import sys, threading, time
threading.Thread(target=sys.stdin.readline, daemon=True).start()
print("go")
time.sleep(1000)`},
		{"talks to a server with its input thread parked", pty.Unknown, `
import sys, threading, socket
threading.Thread(target=sys.stdin.readline, daemon=True).start()
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
print("go")
s.accept()`},
		{"server that also reads the terminal by select", pty.Unknown, `
import select, socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
print("go")
select.select([0, s], [], [])`},
		{"server that also reads the terminal by poll", pty.Unknown, `
import select, socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
p = select.poll(); p.register(0, select.POLLIN); p.register(s, select.POLLIN)
print("go")
p.poll()`},
		{"server that also reads the terminal by epoll", pty.Unknown, `
import select, socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
p = select.epoll(); p.register(0, select.EPOLLIN); p.register(s, select.EPOLLIN)
print("go")
p.poll()`},
		{"server behind an epoll set in an epoll set", pty.Unknown, `
import select, socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
q = select.epoll(); q.register(s, select.EPOLLIN)
p = select.epoll(); p.register(0, select.EPOLLIN); p.register(q.fileno(), select.EPOLLIN)
print("go")
p.poll()`},
		{"waits for its child's pipe too", pty.Unknown, `
import os, select, time
r, w = os.pipe()
if os.fork() == 0:
    os.close(r); os.setpgid(0, 0); time.sleep(1000)
print("go")
select.select([0, r], [], [])`},
		{"waits for a pipe whose writing end its child has kept", pty.Unknown, `
import os, select, time
r, w = os.pipe()
if os.fork() == 0:
    os.setsid(); time.sleep(1000)
print("go")
select.select([0, r], [], [])`},
		{"waits for a socket pair that its child has kept", pty.Unknown, `
import os, select, socket, time
a, b = socket.socketpair()
if os.fork() == 0:
    os.setsid(); time.sleep(1000)
print("go")
select.select([0, a], [], [])`},
		{"child writes while its parent waits", pty.Busy, `
import os, time
if os.fork() == 0:
    while True:
        os.write(1, b"go\n"); time.sleep(0.05)
os.wait()`},
		{"child sleeps while its parent reads", pty.Unknown, `
import os, sys, time
if os.fork() == 0:
    time.sleep(1000)
print("go")
sys.stdin.readline()`},
		{"child computes while its parent reads", pty.Busy, `
import os, sys
if os.fork() == 0:
    while True: pass
print("go")
sys.stdin.readline()`},
		{"reads while a thread waits for a child elsewhere", pty.Unknown, `
import os, subprocess, sys, threading
p = subprocess.Popen(["sleep", "1000"], start_new_session=True)
threading.Thread(target=p.wait, daemon=True).start()
print("go")
sys.stdin.readline()`},
		{"orphan computes in the foreground group", pty.Busy, `
import os, sys
r, w = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        while os.getppid() == os.getpgrp(): pass
        os.close(w)
        while True: pass
    os._exit(0)
os.close(w); os.wait(); os.read(r, 1)
print("go")
sys.stdin.readline()`},
		{"spinner that looks at its keyboard in passing", pty.Unknown, `
import select
print("go")
while not select.select([0], [], [], 0.08)[0]: print("\r|", end="")`},
		{"event loop with a timer", pty.Unknown, `
import asyncio, sys
async def main():
    asyncio.get_running_loop().add_reader(0, sys.stdin.readline)
    print("go")
    await asyncio.sleep(1000)
asyncio.run(main())`},
		{"armed timerfd", pty.Unknown, `
import ctypes, select, struct
libc = ctypes.CDLL(None)
t = libc.timerfd_create(1, 0)
libc.timerfd_settime(t, 0, struct.pack("4q", 0, 0, 1000, 0), None)
print("go")
select.select([0, t], [], [])`},
		{"inotify", pty.Unknown, `
import ctypes, select
libc = ctypes.CDLL(None)
t = libc.inotify_init()
libc.inotify_add_watch(t, b".", 0x100)
print("go")
select.select([0, t], [], [])`},
		{"waits to write to a full pipe", pty.Unknown, `
import os, select
r, w = os.pipe()
os.set_blocking(w, False)
try:
    while True: os.write(w, b"x" * 4096)
except BlockingIOError: pass
print("go")
select.select([0], [w], [])`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := startPython(t, tt.code)
			x.neverReady("a while", after(200*time.Millisecond))
			var r pty.Readiness
			x.until("state "+string(tt.want), func() bool { r = x.p.Probe(); return r.State == tt.want && r.PID != 0 })
			t.Log(r.Why)
			x.neverReady("a while", after(50*time.Millisecond))
		})
	}
}

// Programs that wait for more than the terminal, all of it their own.
func TestProbeOwnDescriptors(t *testing.T) {
	tests := []struct{ name, code string }{
		{"self-pipe", `
import os, select
r, w = os.pipe()
print("go")
select.select([0, r], [], [])`},
		{"asyncio's socket pair", `
import asyncio, sys
async def main():
    asyncio.get_running_loop().add_reader(0, sys.stdin.readline)
    print("go")
    await asyncio.get_running_loop().create_future()
asyncio.run(main())`},
		{"eventfd in epoll", `
import ctypes, select
libc = ctypes.CDLL(None)
p = select.epoll(); p.register(0, select.EPOLLIN); p.register(libc.eventfd(0, 0), select.EPOLLIN)
print("go")
p.poll()`},
		{"timerfd that is not armed", `
import ctypes, select
libc = ctypes.CDLL(None)
print("go")
select.select([0, libc.timerfd_create(1, 0)], [], [])`},
		{"signalfd", `
import ctypes, select
libc = ctypes.CDLL(None)
mask = (ctypes.c_ulong * 16)(1 << 16)
print("go")
select.select([0, libc.signalfd(-1, mask, 0)], [], [])`},
		{"nested epoll", `
import ctypes, select
libc = ctypes.CDLL(None)
q = select.epoll(); q.register(0, select.EPOLLIN)
p = select.epoll(); p.register(q.fileno(), select.EPOLLIN)
print("go")
p.poll()`},
		{"/dev/tty", `
import os
f = os.open("/dev/tty", os.O_RDWR)
print("go")
os.read(f, 1)`},
		{"parked threads", `
import sys, threading
for i in range(5): threading.Thread(target=threading.Event().wait, daemon=True).start()
print("go")
sys.stdin.readline()`},
		{"parent waits for the reader", `
import os, sys
if os.fork() == 0:
    print("go")
    sys.stdin.readline()
os.wait()`},
		{"a filter waits for the reader", `
import os, sys
r, w = os.pipe()
if os.fork() == 0:
    os.close(w); os.read(r, 1)
os.close(r)
print("go")
sys.stdin.readline()`},
		{"child in another session", `
import subprocess, sys
subprocess.Popen(["sleep", "1000"], start_new_session=True)
print("go")
sys.stdin.readline()`},
		{"raw mode", `
import os, tty
tty.setraw(0)
print("go")
os.read(0, 1)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := startPython(t, tt.code)
			r := x.untilState(pty.Ready)
			t.Log(r.Why)
		})
	}
}

func TestProbeShellSituations(t *testing.T) {
	t.Run("pager before a full pipe", func(t *testing.T) {
		t.Parallel()
		x := start(t, "sh", "-c", "yes | less")
		x.untilOutput(`y\r?\n`)
		t.Log(x.untilState(pty.Ready).Why)
	})
	t.Run("pager before an empty pipe", func(t *testing.T) {
		t.Parallel()
		x := start(t, "sh", "-c", "sleep 1000 | less")
		x.neverReady("a while", after(300*time.Millisecond))
	})
	t.Run("prompt with a background job", func(t *testing.T) {
		t.Parallel()
		x := start(t, "bash", "--norc")
		x.untilState(pty.Ready)
		x.write("sleep 1000 & echo started\r")
		x.untilOutput(`started\r\n`)
		t.Log(x.untilState(pty.Ready).Why)
	})
	t.Run("script with a background job asks", func(t *testing.T) {
		t.Parallel()
		x := start(t, "sh", "-c", "sleep 1000 & printf 'sure? '; read x")
		x.untilOutput(`sure\? `)
		x.neverReady("a while", after(100*time.Millisecond))
		t.Log(x.untilState(pty.Unknown).Why)
	})
	t.Run("open quote", func(t *testing.T) {
		t.Parallel()
		x := start(t, "bash", "--norc")
		x.untilState(pty.Ready)
		x.write("echo 'open\r")
		x.untilOutput(`> `)
		t.Log(x.untilState(pty.Ready).Why)
	})
	t.Run("nested shell", func(t *testing.T) {
		t.Parallel()
		x := start(t, "bash", "--norc", "-c", "bash --norc -i; true")
		x.untilOutput(`[$#] `)
		r := x.untilState(pty.Ready)
		t.Log(r.Why)
		if r.PID == x.pid {
			t.Errorf("the outer shell answers: %+v", r)
		}
	})
	t.Run("output stopped by Ctrl-S", func(t *testing.T) {
		t.Parallel()
		x := start(t, "sh", "-c", "printf go; read x; echo answer; read y")
		x.untilState(pty.Ready)
		x.write("\x13")
		x.write("line\r")
		x.neverReady("a while", after(100*time.Millisecond))
		x.write("\x11")
		x.untilOutput("answer")
		x.untilState(pty.Ready)
	})
	t.Run("tmux client", func(t *testing.T) {
		t.Parallel()
		x := start(t, "sh", "-c", "exec tmux -f /dev/null -S $HOME/socket new sh")
		x.neverReady("a screen", func() bool { return strings.Contains(x.output(), "\x1b[?1049h") })
		t.Log(x.untilState(pty.Unknown).Why)
		x.write("exit\r")
		x.untilOutput(`exited`)
	})
}
