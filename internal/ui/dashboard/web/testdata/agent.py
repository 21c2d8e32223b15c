"""An agent that speaks ACP. It does what its prompt says:

    run COMMAND            asks for permission, and runs the command if it gets it
    decide URL AGENT ID    approves a request by itself, on the dashboard's page
    decide-hidden ...      the same from a process that hides whose it is
    post URL WHAT BODY     sends another action to the page; post-hidden as above
"""

import json
import subprocess
import sys
import urllib.error
import urllib.request


def decide(url, agent, approval):
    return post(url, "decisions", json.dumps({"agent": agent, "id": approval, "option": "approve"}))


def post(url, what, body):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    root, token = url.split("/#token=")
    headers = {"Content-Type": "application/json", "Origin": root, "Sec-Fetch-Site": "same-origin", "Authorization": f"Bearer {token}"}
    try:
        return opener.open(urllib.request.Request(root + "/api/" + what, body.encode(), headers)).read().decode()
    except urllib.error.HTTPError as err:
        return f"{err.code} {err.read().decode()}"


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(command):
    """Ask for permission, and return whether it was given."""
    send({"id": "permission", "method": "session/request_permission", "params": {
        "sessionId": "s1",
        "toolCall": {"toolCallId": "t1", "title": "a command", "kind": "execute", "rawInput": {"command": command}},
        "options": [{"optionId": "yes", "kind": "allow_once", "name": "Yes"}, {"optionId": "no", "kind": "reject_once", "name": "No"}],
    }})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "permission":
            return message["result"]["outcome"].get("optionId") == "yes"


def prompted(text):
    verb, _, rest = text.strip().partition(" ")
    if verb == "run":
        if not ask(rest):
            return "did not"
        subprocess.run(rest, shell=True, check=True)
        return "ran"
    if verb == "decide":
        return decide(*rest.split())
    if verb == "post":
        return post(*rest.split(" ", 2))
    if verb in ("decide-hidden", "post-hidden"):
        words = rest.split(" ", 2)
        return subprocess.run([sys.executable, __file__, verb, *words], env={}, capture_output=True, text=True, check=True).stdout
    return "what?"


def serve():
    answers = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s1"}}
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None:
            continue
        if method == "session/prompt":
            text = prompted(message["params"]["prompt"][-1]["text"])
            send({"method": "session/update", "params": {"sessionId": "s1", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}}})
            send({"id": number, "result": {"stopReason": "end_turn"}})
        elif method in answers:
            send({"id": number, "result": answers[method]})
        else:
            send({"id": number, "error": {"code": -32601, "message": "not known"}})


if len(sys.argv) > 1:
    print((post if sys.argv[1] == "post-hidden" else decide)(*sys.argv[2:]))
else:
    serve()
