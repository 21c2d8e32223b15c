#!/bin/sh
# den in one minute: a shell that outlives its callers, driven, waited on,
# read and ended. It runs in a Home of its own and leaves nothing behind.
set -eu
den=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
DEN_HOME=$(mktemp -d)
export DEN_HOME
trap '"$den" kill demo >/dev/null 2>&1 || :; rm -rf "$DEN_HOME"' EXIT

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
run() {
	printf '$ den'
	for word; do case $word in *[!A-Za-z0-9_./=:-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac; done
	printf '\n'
	"$den" "$@"
}

say 'Start a shell in a session. It lives until it ends or is killed.'
run new demo --cols 80 --rows 12 bash --norc

say 'Run a command: its output and status, when it is done. No sleep, no guess.'
run run demo 'for i in 1 2 3; do echo "step $i"; sleep 0.2; done; echo "all done"' -j

say 'A command that asks is told at once, not after a timeout.'
run run demo 'read -p "Go on? [Y/n] " answer' -j || :
run type demo y --enter

say 'Read the screen.'
run snapshot demo

say 'What runs, and does it wait for input?'
run status demo

say 'The screen as it was a moment ago, from the recording.'
run snapshot demo --at 0.5s

say 'End it and all its processes. The recording stays, and still answers.'
run kill demo
run history demo -n 1
printf '\nThe event log is an asciicast v3 file: '
ls "$DEN_HOME"/sessions/*/log/000001.cast >/dev/null && echo 'any asciinema player plays it.'
