package turns_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/agent/harness/turns"
	"den/internal/base/fault"
)

func open(t *testing.T, dir string) *turns.Log {
	t.Helper()
	l, err := turns.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Entries are counted over restarts, and read in pages from the newest.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for range 2 {
		l := open(t, dir)
		for range 50 {
			if err := l.Add(turns.Entry{Kind: turns.Said, At: at, Turn: "a", Text: "words"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	p, err := turns.Read(dir, 0, 0, 10)
	if err != nil || len(p.Entries) != 10 || !p.More || p.Entries[0].Seq != 91 || p.Entries[9].Seq != 100 {
		t.Fatalf("%+v, %v", p, err)
	}
	if e := p.Entries[9]; e.V != 1 || !e.At.Equal(at) || e.Text != "words" || e.Turn != "a" || e.Kind != turns.Said {
		t.Errorf("%+v", e)
	}
	if p, err = turns.Read(dir, 0, 91, 10); err != nil || len(p.Entries) != 10 || p.Entries[9].Seq != 90 || !p.More {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = turns.Read(dir, 98, 0, 10); err != nil || len(p.Entries) != 2 || p.More {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = turns.Read(t.TempDir(), 0, 0, 10); err != nil || p.Entries == nil || len(p.Entries) > 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if fi, err := os.Stat(filepath.Join(dir, "turns.jsonl")); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
}

// Long texts are cut, and tokens are not written down.
func TestTextsAreBoundedAndRedacted(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	token := "ghp_" + strings.Repeat("a1B2", 9)
	for _, e := range []turns.Entry{
		{Kind: turns.Prompt, Text: "use " + token},
		{Kind: turns.Used, Tool: "Bash", Input: `{"command":"curl -H 'Authorization: Bearer ` + token + `'"}`},
		{Kind: turns.Result, Text: strings.Repeat("é", 20_000)},
	} {
		if err := l.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "turns.jsonl"))
	if err != nil || strings.Contains(string(data), token) || strings.Contains(string(data), token[8:]) {
		t.Errorf("the log has the token: %v\n%s", err, data)
	}
	p, err := turns.Read(dir, 0, 0, 10)
	if err != nil || len(p.Entries) != 3 {
		t.Fatalf("%+v, %v", p, err)
	}
	if e := p.Entries[2]; !e.Cut || len(e.Text) > 16<<10 || strings.Trim(e.Text, "é") != "" {
		t.Errorf("%d bytes, cut %v", len(e.Text), e.Cut)
	}
	if p.Entries[0].Cut || p.Entries[1].Cut {
		t.Error("short texts are cut")
	}
}

// A damaged line is skipped; a newer version is refused.
func TestOtherLines(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "turns.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("{\"v\":1,\"seq\":7,\"kind\":\"said\",\"later\":true}\nnonsense\n{\"v\":1,\"se")
	if p, err := turns.Read(dir, 0, 0, 10); err != nil || len(p.Entries) != 1 || p.Entries[0].Seq != 7 {
		t.Errorf("%+v, %v", p, err)
	}
	write("{\"v\":2,\"seq\":7}\n")
	if _, err := turns.Open(dir); fault.KindOf(err) != fault.Protocol {
		t.Error(err)
	}
}
