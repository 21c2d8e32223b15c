package k

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"den/internal/base/ident"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/home"
)

func TestPyRepr(t *testing.T) {
	// As python3 prints them.
	for in, want := range map[string]string{
		"":           `''`,
		"(gdb)":      `'(gdb)'`,
		"it's":       `"it's"`,
		`say "it's"`: `'say "it\'s"'`,
		`a\b`:        `'a\\b'`,
		"a\n\t\r":    `'a\n\t\r'`,
		"\x1b[0m":    `'\x1b[0m'`,
		"ä€😀":        `'ä€😀'`,
		"\u00a0":     `'\xa0'`,
		"\u2028":     `'\u2028'`,
		"\xff":       `'\udcff'`,
		"/tmp/a b":   `'/tmp/a b'`,
	} {
		if got := pyRepr(in); got != want {
			t.Errorf("pyRepr(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestPyQuote(t *testing.T) {
	// As json.dumps(..., ensure_ascii=False) prints them, but for what drives a terminal.
	for in, want := range map[string]string{
		"a\"b\\c/":     `"a\"b\\c/"`,
		"\n\r\t\b\f":   `"\n\r\t\b\f"`,
		"\x00\x1b\x7f": "\"\\u0000\\u001b\\u007f\"",
		"ä€😀<>&\u2028": "\"ä€😀<>&\u2028\"",
		"\xe2\x82x":    "\"\uFFFDx\"",
	} {
		got := pyQuote(in)
		if got != want {
			t.Errorf("pyQuote(%q) = %s, want %s", in, got, want)
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil {
			t.Errorf("pyQuote(%q) = %s: %v", in, got, err)
		}
	}
}

func FuzzPyQuote(f *testing.F) {
	f.Add("a\"\\\x00\xff€")
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal([]byte(pyQuote(s)), &back); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
	})
}

func TestPyInt(t *testing.T) {
	for in, want := range map[string]int{"5": 5, "-1": -1, "+3": 3, " 7 ": 7, "1_000": 1000, "0": 0, "007": 7} {
		if got, ok := pyInt(in); !ok || got != want {
			t.Errorf("pyInt(%q) = %d, %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "a", "1.5", "1__0", "_1", "0x1", "1e3", "99999999999999999999"} {
		if got, ok := pyInt(in); ok {
			t.Errorf("pyInt(%q) = %d", in, got)
		}
	}
}

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"work": true, "a.b": true, "-x": true, ".x": true, "A_9-": true,
		"": false, ".": false, "..": false, "a..b": false, "a b": false, "a/b": false, "a\n": false, "é": false,
	} {
		if validName(name) != want {
			t.Errorf("validName(%q) = %v", name, !want)
		}
	}
}

// A line without work for a shell is the program itself, everything else is
// the shell's.
func TestCommand(t *testing.T) {
	k := Tool{Getenv: func(string) string { return "/bin/bash" }}
	for _, tt := range []struct {
		words, want []string
	}{
		{nil, []string{"bash"}},
		{[]string{"bash"}, []string{"bash"}},
		{[]string{"sh", "-i"}, []string{"sh", "-i"}},
		{[]string{"env A=1  sh -i"}, []string{"env", "A=1", "sh", "-i"}},
		{[]string{"A=1", "sh"}, []string{"/bin/bash", "-c", "A=1 sh"}},
		{[]string{"echo", "$HOME"}, []string{"/bin/bash", "-c", "echo $HOME"}},
		{[]string{"echo", "a  b"}, []string{"echo", "a", "b"}}, // as a shell splits it
		{[]string{"sh", "-c", "'echo a'"}, []string{"/bin/bash", "-c", "sh -c 'echo a'"}},
		{[]string{"~/bin/x"}, []string{"/bin/bash", "-c", "~/bin/x"}},
		{[]string{"nosuchprogram"}, []string{"/bin/bash", "-c", "nosuchprogram"}},
		{[]string{"cat\nsh"}, []string{"/bin/bash", "-c", "cat\nsh"}},
	} {
		if got := k.command(tt.words); !slices.Equal(got, tt.want) {
			t.Errorf("command(%q) = %q, want %q", tt.words, got, tt.want)
		}
	}
}

func TestShow(t *testing.T) {
	zero, one := 0, 1
	dir := home.Home{Path: t.TempDir()}.Dir(ident.New(time.Now()))
	of := session.In(dir, session.Options{})
	id := ident.New(time.Now())
	file := of.Cells().OutputPath(id)
	if err := os.MkdirAll(dir.Cells(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const cut = "a\n[... 6 bytes in all; the middle is left out ...]\nc"
	for _, tt := range []struct {
		r    cell.Result
		want string
	}{
		{cell.Result{CellID: id, Status: cell.Done, Output: "x", ExitCode: &zero, DurationMS: 3, By: cell.ByShell}, `{"cell_id": "` + id + `", "status": "done", "output": "x"}`},
		{cell.Result{CellID: id, Status: cell.Done, ExitCode: &one}, `{"cell_id": "` + id + `", "status": "done", "output": "", "exit_code": 1}`},
		{cell.Result{CellID: id, Status: cell.TimedOut, WaitingFor: cell.ForInput}, `{"cell_id": "` + id + `", "status": "timeout", "output": ""}`},
		{cell.Result{CellID: id, Status: cell.Failed, Output: "interrupted", ExitCode: &one}, `{"cell_id": "` + id + `", "status": "error", "output": "interrupted"}`},
		{cell.Result{CellID: id, Status: cell.Done, Output: cut, Truncated: true, OutputFile: file, OutputBytes: 6}, `{"cell_id": "` + id + `", "status": "done", "output": "a\nb\nc"}`},
		{cell.Result{CellID: id, Status: cell.Done, Output: "in other words", Truncated: true, OutputFile: file, OutputBytes: 6}, `{"cell_id": "` + id + `", "status": "done", "output": "a\nb\nc"}`},
		{cell.Result{CellID: id, Status: cell.Done, Output: cut, Truncated: true, OutputFile: file, OutputBytes: 700}, `{"cell_id": "` + id + `", "status": "done", "output": "a\n[... 6 bytes in all; the middle is left out ...]\nc", "truncated": true, "output_file": "` + file + `"}`},
	} {
		var out bytes.Buffer
		Tool{Stdout: &out}.show(of, tt.r, true)
		if got := out.String(); got != tt.want+"\n" {
			t.Errorf("got  %swant %s", got, tt.want)
		}
	}
}
