"""An agent that speaks Claude Code's stream-json, and does what it is told.

  loop    calls the same tool five times
  wonder  asks a person, and says the answer
  read X  tells that it reads the file X, and does so unless it must not
  say X   says X

It loops when its supervisor corrects it, too, if its first argument is
"stubborn". Everything that it is told is in the file NICK.prompts.
"""

import json
import os
import sys

stubborn = sys.argv[1] == "stubborn"


def send(**message):
    print(json.dumps(message), flush=True)


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def loop():
    for n in range(5):
        send(type="assistant", message={"model": "fake", "content": [{"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": "make"}}]})
        send(type="user", message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "still the same"}]})
    return ""


def wonder():
    questions = [{"question": "Pears or plums?", "header": "Fruit", "options": [{"label": "pears"}, {"label": "plums"}]}]
    send(type="control_request", request_id="q1", request={"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": {"questions": questions}})
    while True:
        m = receive()
        if m["type"] != "control_response":
            continue
        answer = m["response"]["response"]
        if answer["behavior"] == "allow":
            return "the answer is " + answer["updatedInput"]["answers"]["Pears or plums?"]
        return "no answer: " + answer["message"]


def read(file):
    use = {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": file}, "cwd": os.getcwd()}
    send(type="control_request", request_id="h1", request={"subtype": "hook_callback", "callback_id": "den-tool", "input": use})
    while True:
        m = receive()
        if m["type"] != "control_response":
            continue
        answer = m["response"]["response"].get("hookSpecificOutput")
        if answer:
            return answer["permissionDecision"] + ": " + answer["permissionDecisionReason"]
        with open(file) as f:
            return f.read()


def act(text):
    if "[supervisor" in text:
        return loop() if stubborn else "I try another way"
    if "loop" in text:
        return loop()
    if "read " in text:
        return read(text.partition("read ")[2])
    if "wonder" in text:
        return wonder()
    return text.partition("say ")[2]


while True:
    m = receive()
    if m["type"] == "control_request":
        send(type="control_response", response={"subtype": "success", "request_id": m["request_id"], "response": {}})
        continue
    if m["type"] != "user":
        continue
    text = m["message"]["content"][0]["text"]
    with open(os.environ["DEN_NICK"] + ".prompts", "a") as f:
        f.write(text + "\0")
    send(type="system", subtype="init", session_id="s1")
    send(type="user", isReplay=True, uuid=m["uuid"])
    said = act(text)
    if said:
        send(type="assistant", message={"model": "fake", "content": [{"type": "text", "text": said}]})
    send(type="result", subtype="success", is_error=False, result=said, session_id="s1", user_message_uuids=[m["uuid"]],
         total_cost_usd=0.01, usage={"input_tokens": 100, "output_tokens": 10})
