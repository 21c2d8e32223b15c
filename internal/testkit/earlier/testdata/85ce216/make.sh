#!/bin/bash
# make.sh BIN OUT: has the den in BIN write files of every kind, and copies them to OUT.
# Needs bash, git, python3, curl, and Linux with Landlock for the sandbox.
set -eu
out=$2
root=/tmp/den85; mkdir -p "$root/den"; cp "$1/den" "$1/dend" "$root/den"
export HOME=$root/home XDG_RUNTIME_DIR=$root/run PATH=$root/den:$root/bin:$PATH LC_ALL=C.UTF-8
unset DEN_HOME DEN_RUN_DIR XDG_STATE_HOME XDG_CONFIG_HOME XDG_DATA_HOME TMUX
export GIT_AUTHOR_NAME=den GIT_AUTHOR_EMAIL=den@example.org GIT_COMMITTER_NAME=den GIT_COMMITTER_EMAIL=den@example.org
mkdir -p "$HOME" "$XDG_RUNTIME_DIR" "$root/bin" "$root/repo" "$out"
chmod 700 "$XDG_RUNTIME_DIR"
until_prints() { local want=$1 i; shift; for i in $(seq 300); do if "$@" 2>&1 | grep -qE -e "$want"; then return 0; fi; sleep 0.2; done; echo "never printed $want: $*" >&2; "$@" >&2; return 1; }

# an agent that speaks claude's protocol
cat > "$root/bin/claude" <<'PY'
#!/usr/bin/env python3
import json, sys
def send(**m): print(json.dumps(m), flush=True)
def ask(tool, input):
    send(type="control_request", request_id="q", request={"subtype": "can_use_tool", "tool_name": tool, "input": input})
    for line in sys.stdin:
        m = json.loads(line)
        if m["type"] == "control_response":
            return m["response"]["response"]["behavior"]
def use(n, name, input, result):
    send(type="assistant", message={"model": "fake", "content": [{"type": "tool_use", "id": n, "name": name, "input": input}]})
    send(type="user", message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": n, "content": result}]})
for line in sys.stdin:
    m = json.loads(line)
    if m["type"] == "control_request":
        send(type="control_response", response={"subtype": "success", "request_id": m["request_id"], "response": {}})
    if m["type"] != "user":
        continue
    text = m["message"]["content"][0]["text"]
    send(type="system", subtype="init", session_id="s1")
    said = text
    if "run " in text:
        said = "it was " + ask("Bash", {"command": text[text.index("run ")+4:]})
    if "loop" in text:
        for n in range(5): use(str(n), "Bash", {"command": "make"}, "still the same")
        said = "looped"
    send(type="assistant", message={"model": "fake", "content": [{"type": "text", "text": said}]})
    send(type="result", subtype="success", is_error=False, result=said, session_id="s1", user_message_uuids=[m["uuid"]], total_cost_usd=0.01)
PY
printf '#!/bin/sh\nexec cat\n' > "$root/bin/opencode"
chmod 755 "$root/bin/claude" "$root/bin/opencode"

# a receiver of webhooks that takes two
cat > "$root/hook.py" <<'PY'
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"])); self.send_response(204); self.end_headers()
    def log_message(self, *a): pass
s = http.server.HTTPServer(("127.0.0.1", 18585), H)
s.handle_request(); s.handle_request()
PY
python3 "$root/hook.py" & hook=$!

echo "== sessions"
cd "$root"
den new shell bash --norc
den run shell 'echo hello'
den run shell 'false' || true
den run shell 'seq 1 30000' --max-lines 5 >/dev/null
den snapshot shell >/dev/null
den seen shell
den new over sh -c 'echo gone; exit 3'
den wait over --exit >/dev/null || true
den run shell 'read -p "name? " x' -t 2s >/dev/null || true
den ls

echo "== workspace"
cd "$root/repo"
git init -q -b main && echo x > file && git add file && git commit -q -m begin
cat > den.toml <<TOML
[workspace]
name = "old"

[webhooks]
url = "http://127.0.0.1:18585/hook"
secret_env = "HOOK_SECRET"

[[agents]]
name = "coder"
agent = "claude"
channels = ["#general"]
budget = { turns_per_hour = 400 }
permissions = [{ outcome = "deny", command = "git push *" }]

[[agents]]
name = "echo"
agent = "script"
start_command = "cat"
channels = ["#general"]

[[agents]]
name = "screen"
start_command = ["bash", "--norc"]

[[agents]]
name = "pipes"
session_provider = "subprocess"
start_command = ["sh", "-c", "echo begun; exec cat"]

[[agents]]
name = "source"
provider = "opencode"
prompt_mode = "none"
process_names = ["cat"]

[[agents]]
name = "tree"
start_command = ["sh", "-c", "exec cat"]
worktree = true
TOML
export HOOK_SECRET=not-a-secret
den up --wait -t 2m || { den ps; den agent logs; }
den ps
until_prints '"name":"coder".*"state":"ready"' den ps -j
den agent ask coder 'say one' --id first
den agent nudge coder 'run make check'
until_prints 'Bash make check' den approvals
id=$(den approvals -j | python3 -c 'import json,sys; print(json.load(sys.stdin)["approvals"][0]["id"])')
den approvals approve "$id" --always
until_prints '^it was allow' den agent peek coder
den agent nudge coder 'run make deploy'
until_prints 'Bash make deploy' den approvals
id=$(den approvals -j | python3 -c 'import json,sys; print(json.load(sys.stdin)["approvals"][0]["id"])')
den approvals deny "$id"
den agent ask coder 'loop'
DEN_NICK=echo den channel topic '#general' 'old files' || true
DEN_NICK=echo den channel send '#general' '@coder say hello'
until_prints '<coder>' env DEN_NICK=echo den channel read '#general' --reader me || true
DEN_NICK=coder den channel read '#general' || true
printf 'correct horse\n' > "$root/pw"
den accounts set bob --password-file "$root/pw"
DEN_NICK=coder den channel join '#more' || true
den agent nudge screen 'echo nudged'
den agent nudge pipes 'a line' || true
echo "== past ids"
for i in $(seq 220); do den agent nudge echo "n $i" --id "n-$i" >/dev/null || true; done
den agent ask echo 'the last' --id last -t 3m
den agent nudge coder 'run make later'
until_prints 'Bash make later' den approvals
den agent stop tree
cp -r .den "$root/running.den" || true
find "$HOME" .den -name 'outbox*' -o -name past.jsonl | head
echo "== web"
den dashboard --web --allow-actions > "$root/web.log" 2>&1 & web=$!
until_prints 'http://' cat "$root/web.log"
url=$(grep -oE 'http://[^ ]+' "$root/web.log" | head -1); base=${url%%\?*}; base=${base%%#*}; base=$(echo "$base" | grep -oE 'http://[^/]+'); token=$(echo "$url" | grep -oE '[A-Za-z0-9_-]{20,}' | tail -1)
curl -sS -X POST "$base/api/messages" -H "Authorization: Bearer $token" -H "Origin: $base" -H 'Sec-Fetch-Site: same-origin' -H 'Content-Type: application/json' -d '{"agent":"screen","id":"web-1","text":"echo by the page"}'; echo
curl -sS -X POST "$base/api/orders" -H "Authorization: Bearer $token" -H "Origin: $base" -H 'Sec-Fetch-Site: same-origin' -H 'Content-Type: application/json' -d '{"agent":"nobody","order":"stop"}'; echo
kill $web; cat "$root/web.log"
den down
find .den "$HOME" -type f | sort

echo "== kernel"
den kernel init demo --example >/dev/null
den kernel tick demo
den kernel notify demo 'the mail is here'
den kernel wake demo --at 2026-01-01T00:00 'long ago'
den kernel wake demo --every 1h 'hourly' || true
den kernel tick demo
den kernel pause demo 'a test'
den kernel status demo
find "$HOME/.local" -type f | sort | grep -v '\.git/'
den kill shell
den ls --all
cp -r "$HOME" "$out/home"; cp -r "$root/repo" "$out/repo"; cp -r "$root/running.den" "$out/running.den"
echo "$root" > "$out/root"
