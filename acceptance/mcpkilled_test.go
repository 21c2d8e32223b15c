package acceptance

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rawMCP is a server on stdio with a client that can vanish at any moment.
type rawMCP struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	lines *bufio.Reader
	words bytes.Buffer // what the server logged
}

func (w *world) startMCP(t *testing.T, args ...string) *rawMCP {
	t.Helper()
	m := &rawMCP{t: t, cmd: exec.Command(w.den, append([]string{"mcp"}, args...)...)}
	m.cmd.Env, m.cmd.Stderr = w.env, &m.words
	var err error
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if m.out, err = m.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.lines = bufio.NewReader(m.out)
	m.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	m.expect(`"id":1`)
	m.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return m
}

func (m *rawMCP) send(line string) {
	m.t.Helper()
	if _, err := io.WriteString(m.in, line+"\n"); err != nil {
		m.t.Fatal(err)
	}
}

// run sends a call of run, and does not wait for the answer.
func (m *rawMCP) run(id int, code string) {
	m.t.Helper()
	m.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"run","arguments":%s}}`, id, mustJSON(map[string]any{"code": code, "timeout": 600})))
}

// expect reads a line that has these words.
func (m *rawMCP) expect(words string) {
	m.t.Helper()
	line, err := m.lines.ReadString('\n')
	if err != nil || !strings.Contains(line, words) {
		m.t.Fatalf("%q, %v; want %s\n%s", line, err, words, &m.words)
	}
}

// vanish closes both ends, as the kernel does when the client is killed.
func (m *rawMCP) vanish() {
	m.t.Helper()
	if err := m.out.Close(); err != nil {
		m.t.Error(err)
	}
	if err := m.in.Close(); err != nil {
		m.t.Error(err)
	}
	if err := m.cmd.Wait(); err != nil || m.words.Len() > 0 {
		m.t.Errorf("den mcp: %v\n%s", err, &m.words)
	}
}

// A client that is killed in the middle of a call leaves nothing behind: not the
// command, not what the command left running, not its shell.
func TestMCPClientIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.startMCP(t)
	m.run(2, "sleep 1000 & sleep 1001 & disown")
	m.expect(`"id":2`)
	begun := filepath.Join(t.TempDir(), "begun")
	m.run(3, "mkfifo "+begun+"; echo here > "+begun+"; sleep 1002")
	for { // until the call is under way
		if _, err := os.ReadFile(begun); err == nil {
			break
		}
	}
	m.vanish()
	if left := w.ask("ls")["sessions"].([]any); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

// When the server itself is killed, the next one ends what its client had,
// and keeps what was kept.
func TestMCPServerIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.startMCP(t)
	m.run(2, "echo hi")
	m.expect(`hi`)
	m.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"open","arguments":{"name":"kept","keep":true}}}`)
	m.expect(`"session":"kept"`)
	if err := m.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = m.cmd.Wait() // it was killed
	if left := w.ask("ls")["sessions"].([]any); len(left) != 2 {
		t.Fatalf("after the kill there are %v", left)
	}
	next := w.startMCP(t)
	for len(w.ask("ls")["sessions"].([]any)) > 1 {
		if t.Context().Err() != nil {
			t.Fatal("the shell of the killed server's client is left")
		}
	}
	next.vanish()
	if left := w.ask("ls")["sessions"].([]any); len(left) != 1 || left[0].(map[string]any)["session"] != "kept" {
		t.Errorf("left are %v", left)
	}
}
