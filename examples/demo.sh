#!/bin/sh
# den in half a minute: a shell, a REPL, an editor driven by keys, a crash, a
# picture and a recording. It runs in a Home of its own, below a temporary
# directory that it names at the end.
set -eu
den=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
out=${DEN_DEMO_DIR:-$(mktemp -d "${TMPDIR:-/tmp}/den-demo.XXXXXX")}
mkdir -p "$out"
DEN_HOME=$out/home
export DEN_HOME
trap 'for s in demo py editor crash; do "$den" kill "$s" >/dev/null 2>&1 || :; done' EXIT

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
run() {
	printf '\033[2m$ den'
	for word; do case $word in *[!A-Za-z0-9_./=:-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac; done
	printf '\033[0m\n'
	"$den" "$@"
}

say 'Start a shell in a session. It lives until it ends or is killed.'
run new demo --cols 80 --rows 20 bash --norc

say 'Run a command: its output and status, when it is done. No sleep, no guess.'
run run demo 'for i in 1 2 3; do printf "\033[3${i}mstep $i\033[0m\n"; sleep 0.2; done; (exit 3)' -j

say 'A command that asks is told at once, not after a timeout.'
run run demo 'read -p "Go on? [Y/n] " answer && echo "you said $answer"' -j || :
run type demo y --enter
run wait demo --text 'you said y'

say 'A REPL: the kernel says when it waits for input, so no prompt is guessed.'
run new py --cols 80 --rows 20 python3 -q
run run py 'sum(n * n for n in range(10))'
run run py 'def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

[fib(n) for n in range(15)]'

say 'An editor, driven by keys, and the file that comes of it.'
run new editor --cols 80 --rows 20 vim --clean -N "$out/poem.txt"
run wait editor --ready
run keys editor i
run type editor 'The terminal is a place to live,'
run keys editor Enter
run type editor 'for those who only read and give.'
run keys editor Escape
run wait editor --gone INSERT
run screenshot editor --frame --cursor -o "$out/editor.png"
run type editor ':wq' --enter
run wait editor --exit
cat "$out/poem.txt"

say 'A crash: the session is over, its last words are not.'
run new crash --cols 80 --rows 20 sh -c 'echo working; sleep 0.3; echo "panic: out of luck"; kill -SEGV $$'
run wait crash --exit -j || :
run history crash -n 5

say 'What was on the screen a moment before? The recording knows.'
run snapshot crash --at 0.1s

say 'Pictures and recordings of what happened, of living and dead sessions alike.'
run mark demo 'the end'
run screenshot demo --frame -o "$out/shell.png"
run export demo --format gif --idle-limit 500ms -o "$out/shell.gif"
run export demo --format text -o "$out/shell.txt"
run ls --all

say 'Everything is here'
ls -1 "$out"/*.*
printf '\nlook on, in a terminal or a browser:\n  DEN_HOME=%s %s dashboard --all\n  DEN_HOME=%s %s dashboard --web\n' "$DEN_HOME" "$1" "$DEN_HOME" "$1"
