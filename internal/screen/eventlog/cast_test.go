package eventlog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/testkit/need"
)

// castLog is a log with all that a conversion has to deal with, and the output
// that a player must show.
func castLog(t *testing.T) (dir, shown string) {
	t.Helper()
	dir = t.TempDir()
	c := &clock{}
	o := options(c)
	o.Repaint = func() []byte { return []byte("[repaint]") }
	w := create(t, dir, o)
	euro := "€"
	for i, s := range []string{"one\r\n", "price " + euro[:2], euro[2:] + "\r\n", "bad \xff\r\n"} {
		c.t += 250 * time.Millisecond
		w.Append("o", []byte(s))
		w.Append("i", []byte("secret"))
		if i == 1 {
			w.Append("r", []byte("100x30"))
			if err := w.Rotate(); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Append("m", []byte("mark"))
	w.Append("c", []byte(`{"cell":"c1"}`))
	w.Append("x", []byte("0"))
	closed(t, w)
	return dir, "[repaint]one\r\nprice €\r\nbad \uFFFD\r\n"
}

func TestWriteCast2(t *testing.T) {
	dir, shown := castLog(t)
	var b bytes.Buffer
	if missing, err := eventlog.WriteCast2(&b, open(t, dir), eventlog.CastOptions{}); err != nil || missing != nil {
		t.Fatal(missing, err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	var h map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &h); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(h["version"], h["width"], h["height"], h["timestamp"]) != fmt.Sprint(2, 80, 24, float64(wall.Unix())) {
		t.Errorf("header %s", lines[0])
	}
	var out string
	codes := map[string]int{}
	prev := 0.0
	for _, line := range lines[1:] {
		var ev [3]any
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		if ev[0].(float64) < prev {
			t.Errorf("time goes back at %s", line)
		}
		prev = ev[0].(float64)
		codes[ev[1].(string)]++
		if ev[1] == "o" {
			out += ev[2].(string)
		}
	}
	if out != shown {
		t.Errorf("output %q, want %q", out, shown)
	}
	if prev != 1.0 || codes["i"] != 0 || codes["m"] != 1 || codes["r"] != 1 || codes["x"] != 0 || codes["c"] != 0 {
		t.Errorf("ends at %v with %v", prev, codes)
	}
}

func TestWriteCast3(t *testing.T) {
	dir, _ := castLog(t)
	var b bytes.Buffer
	if _, err := eventlog.WriteCast3(&b, open(t, dir), eventlog.CastOptions{Input: true}); err != nil {
		t.Fatal(err)
	}
	if err := strictV3(b.Bytes()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(b.String(), `"secret"`); n != 4 {
		t.Errorf("input stands %d times, want 4", n)
	}
}

// TestCastRepaintsBehindDamage: what is missing does not spoil what follows.
func TestCastRepaintsBehindDamage(t *testing.T) {
	dir := t.TempDir()
	logOf(t, dir, 3)
	path := segmentFiles(t, dir)[1]
	bad := read(t, path)
	bad[len(bad)/2] = 0xff
	put(t, path, bad)
	var b bytes.Buffer
	missing, err := eventlog.WriteCast3(&b, open(t, dir), eventlog.CastOptions{})
	if err != nil || len(missing) != 1 {
		t.Fatalf("missing %v, %v", missing, err)
	}
	if err := strictV3(b.Bytes()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(b.String(), `"\u001bc"]`+"\n"+`[0.0, "o", "\u001b[H\u001b[2Jrepaint`) {
		t.Errorf("no reset and repaint behind the damage:\n%s", b.String())
	}
}

// TestAsciinemaPlays gives the conversion to a player that is not ours.
func TestAsciinemaPlays(t *testing.T) {
	for _, exe := range []string{"asciinema", "script"} {
		need.Program(t, exe)
	}
	dir, shown := castLog(t)
	path := filepath.Join(t.TempDir(), "v2.cast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eventlog.WriteCast2(f, open(t, dir), eventlog.CastOptions{Input: true}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// It wants a terminal, even for cat.
	played := path + ".out"
	cmd := exec.Command("script", "-qec", `asciinema cat "$CAST" >"$CAST.out"`, "/dev/null")
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "SHELL=/bin/sh", "HOME="+t.TempDir(), "CAST="+path)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("asciinema cat: %v: %s", err, said)
	}
	if out := read(t, played); string(out) != shown {
		t.Errorf("asciinema shows %q, want %q", out, shown)
	}
}
