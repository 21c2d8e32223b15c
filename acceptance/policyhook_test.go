package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hookedProgram stands in for claude: it says how it was started, and runs what
// it finds in a file, as claude runs its hooks.
const hookedProgram = `#!/bin/sh
printf '%s\n' "$@" > args.part && mv args.part args
while :; do
	if [ -f todo ]; then
		mv todo doing && sh ./doing && mv answer answered
	fi
	sleep 0.02
done
`

// hooked is a workspace with an agent whose program has den's hook.
type hooked struct {
	*world
	work, file string
}

func startHooked(t *testing.T, approval string) *hooked {
	t.Helper()
	h := &hooked{world: newWorld(t), work: t.TempDir()}
	dend, err := exec.LookPath("dend")
	if err != nil {
		t.Fatal(err)
	}
	h.denAsFile()
	bin := t.TempDir()
	h.file = filepath.Join(t.TempDir(), "den.toml")
	h.write(t, filepath.Join(bin, "claude"), hookedProgram)
	h.write(t, h.file, fmt.Sprintf(`[workspace]
name = "w"

[providers.claude]
start_command = [%q]
ready_prompt_prefix = ""
ready_delay_ms = 0
process_names = []
emits_permission_warning = false
approval_modes = { ask = {}, edits = {}, bypass = {} }

[[agents]]
name = "c"
provider = "claude"
approval = %q
dir = %q
permissions = [
	{ outcome = "deny", command = "rm *", why = "nothing is removed" },
	{ outcome = "allow", command = "make *" },
	{ outcome = "ask", command = "git push *" },
]
`, filepath.Join(bin, "claude"), approval, h.work))
	h.env = append(h.env, "DEN_DEND="+dend, "DEN_WORKSPACE="+h.file)
	h.do("up", "--wait", "-t", "1m")
	t.Cleanup(func() { h.try("down", "-t", "30s") })
	return h
}

func (h *hooked) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// line is the hook that the program was handed.
func (h *hooked) line(t *testing.T) string {
	t.Helper()
	args := strings.Fields(h.await(t, "args"))
	if len(args) < 2 || args[0] != "--plugin-dir" {
		t.Fatalf("it was started with %q", args)
	}
	data, err := os.ReadFile(filepath.Join(args[1], "hooks", "hooks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Hooks struct {
			PreToolUse []struct {
				Hooks []struct{ Type, Command string }
			}
		}
	}
	if err := json.Unmarshal(data, &told); err != nil {
		t.Fatal(err)
	}
	return told.Hooks.PreToolUse[0].Hooks[0].Command
}

// await waits for a file that the program makes.
func (h *hooked) await(t *testing.T, name string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if data, err := os.ReadFile(filepath.Join(h.work, name)); err == nil {
			return string(data)
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is no %s", name)
		}
	}
}

// uses has the program use its shell, and returns what the hook answers.
func (h *hooked) uses(t *testing.T, line, input string) (decision, why string) {
	t.Helper()
	if err := os.Remove(filepath.Join(h.work, "answered")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	h.write(t, filepath.Join(h.work, "input"), input)
	h.write(t, filepath.Join(h.work, "todo.part"), line+" < input > answer 2> errors\n")
	if err := os.Rename(filepath.Join(h.work, "todo.part"), filepath.Join(h.work, "todo")); err != nil {
		t.Fatal(err)
	}
	return decisionIn(t, h.await(t, "answered"))
}

func decisionIn(t *testing.T, answer string) (decision, why string) {
	t.Helper()
	var told struct {
		Output struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	if answer == "" {
		return "", ""
	}
	if err := json.Unmarshal([]byte(answer), &told); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return told.Output.Decision, told.Output.Reason
}

func bashUse(dir, command string) string {
	data, err := json.Marshal(map[string]any{"cwd": dir, "tool_name": "Bash", "tool_input": map[string]string{"command": command}})
	if err != nil {
		panic(err) // strings: cannot be
	}
	return string(data)
}

// The hook of a program on a screen is answered by the agent's policy, for each
// word of approval, and by nobody for a process that is not the agent's. Whatever
// goes wrong, the program is told to ask.
func TestPolicyHook(t *testing.T) {
	for approval, want := range map[string]map[string]string{
		"ask":    {"rm x": "deny", "make all": "allow", "git push x": "ask", "touch x": "ask", "ls": "allow", "echo x > y": "ask", "cd sub && ls": "allow", "den approvals approve x": "deny"},
		"edits":  {"rm x": "deny", "make all": "allow", "git push x": "ask", "touch x": "ask", "ls": "allow", "echo x > y": "allow"},
		"bypass": {"rm x": "deny", "make all": "allow", "git push x": "ask", "touch x": "allow", "ls": "allow", "echo x > .claude/settings.json": "ask"},
	} {
		t.Run(approval, func(t *testing.T) {
			t.Parallel()
			h := startHooked(t, approval)
			line := h.line(t)
			for command, decision := range want {
				if got, why := h.uses(t, line, bashUse(h.work, command)); got != decision || why == "" {
					t.Errorf("%s: %q, %s; want %q", command, got, why, decision)
				}
				if out := h.do("permissions", "explain", "c", command); !strings.HasPrefix(out, decision+": ") {
					t.Errorf("%s: the hook is told %q, and explain says %s", command, decision, out)
				}
			}
			if got, why := h.uses(t, line, bashUse(h.work, "cat "+filepath.Join(filepath.Dir(h.file), ".den", "state.json"))); got != "deny" {
				t.Errorf("den's own state: %q, %s", got, why)
			}
			if got, why := h.uses(t, line, `{"cwd":"/","tool_name":"AskUserQuestion","tool_input":{}}`); got != "" {
				t.Errorf("a question: %q, %s", got, why)
			}
			for _, broken := range []string{"", "{", `{"tool_input":{"command":"make all"}}`, "null"} {
				if got, why := h.uses(t, line, broken); got != "ask" || !strings.Contains(why, "could not be asked") {
					t.Errorf("%q: %q, %s", broken, got, why)
				}
			}
			h.refusesOthers(t, line)
			h.do("down", "-t", "1m")
			if got, why := h.outside(t, line); got != "ask" || !strings.Contains(why, "could not be asked") {
				t.Errorf("without a keeper: %q, %s", got, why)
			}
		})
	}
}

// refusesOthers demands that a process which is none of the agent's is answered
// with no decision, and leaves nothing in its audit log.
func (h *hooked) refusesOthers(t *testing.T, line string) {
	t.Helper()
	log := filepath.Join(filepath.Dir(h.file), ".den", "minds", "c", "permission", "audit.jsonl")
	before, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if got, why := h.outside(t, line); got != "ask" || !strings.Contains(why, "none of its own") {
		t.Errorf("from outside: %q, %s", got, why)
	}
	if after, err := os.ReadFile(log); err != nil || string(after) != string(before) {
		t.Errorf("the audit log: %v\n%s\nwas\n%s", err, after, before)
	}
}

// outside runs the hook as a process that is none of the agent's.
func (h *hooked) outside(t *testing.T, line string) (decision, why string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Stdin, cmd.Env = strings.NewReader(bashUse(h.work, "make all")), h.env
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return decisionIn(t, string(out))
}
