package stdio_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"den/internal/agent/runner"
	"den/internal/agent/runner/local"
	"den/internal/agent/runner/stdio"
)

func openFramed(t *testing.T, script string) (*stdio.Conn, *logged) {
	t.Helper()
	log := &logged{}
	o := runner.Options{Spawn: local.Spawner{Mark: t.Name()}, Log: log.add}
	conn, err := stdio.OpenFramed(t.Context(), o, runner.Command{Argv: []string{"sh", "-c", script}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, log
}

// Frames arrive whole, whatever is printed between them and however long they
// are.
func TestFrames(t *testing.T) {
	conn, log := openFramed(t, `
		echo 'npm WARN something'; echo; echo 'Content-Length: many'
		printf 'Content-Type: json\r\nContent-Length: 7\r\n\r\n{"a":1}'
		printf 'content-length: 9\n\n{"b":\n2}\n'
		echo 'more noise'
		printf 'Content-Length: 5\r\n\r\n[1,2]'
		printf 'Content-Length: 2000008\r\n\r\n{"c":"'; head -c 2000000 /dev/zero | tr '\0' y; printf '"}'
		printf 'Content-Length: 100\r\n\r\n{"half":'`)
	for _, want := range []string{`{"a":1}`, "{\"b\":\n2}", `{"c":"yyy`} {
		message, err := conn.Read()
		if err != nil || !strings.HasPrefix(string(message), want) {
			t.Fatalf("read %.40q, %v; want %q", message, err, want)
		}
	}
	if message, err := conn.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %.40q, %v", message, err)
	}
	if !log.has("npm WARN something") || !log.has("more noise") || !log.has("[1,2]") {
		t.Errorf("log: %.2000q", log.lines)
	}
}

func TestFramedWrite(t *testing.T) {
	conn, _ := openFramed(t, `head -c 30 | tr '\r\n' '!#' >&2; printf 'Content-Length: 2\r\n\r\n{}'`)
	if err := conn.Write(t.Context(), map[string]int{"one": 1}); err != nil {
		t.Fatal(err)
	}
	if message, err := conn.Read(); err != nil || string(message) != "{}" {
		t.Fatalf("%q, %v", message, err)
	}
	if exit := conn.Exit(); exit.Reason != `Content-Length: 9!#!#{"one":1}` {
		t.Errorf("written: %q", exit.Reason)
	}
}
