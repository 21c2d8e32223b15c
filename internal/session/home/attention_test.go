package home_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"den/internal/base/filelock"
	"den/internal/session/attention"
	"den/internal/session/home"
)

// The state of an agent is what its keeper notes, for as long as that runs.
func TestAgentNoteCountsWhileItsKeeperRuns(t *testing.T) {
	dir := t.TempDir()
	d := home.Dir{Path: dir, ID: "s"}
	lock := filepath.Join(dir, "keeper.lock")
	f, err := filelock.Try(lock)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	asked := attention.Question{Text: "Run make?", Options: []string{"Yes", "No"}, Asked: now}
	m := &home.Manifest{Status: home.Running, Noted: &home.Noted{Note: attention.Note{}.Rest(now, attention.News)}}
	if a := d.Attention(m); a.State != attention.Done || a.Source != "host" {
		t.Errorf("without a note: %+v", a)
	}
	if err := d.SaveAgentNote(home.AgentNote{Agent: "coder", Note: attention.Note{}.Work(now), Question: &asked, Source: "claude session file", Lock: lock}); err != nil {
		t.Fatal(err)
	}
	if a := d.Attention(m); a.State != attention.Asking || a.What != asked.Text || len(a.Options) != 2 || a.Source != "claude session file" {
		t.Errorf("with a note: %+v", a)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if a := d.Attention(m); a.State != attention.Done || a.Source != "host" {
		t.Errorf("its keeper is gone: %+v", a)
	}
}

// What an earlier den wrote is no news, and a damaged note hides nothing.
func TestAttentionOfOldAndDamagedFiles(t *testing.T) {
	d := home.Dir{Path: t.TempDir(), ID: "s"}
	one := 1
	if a := d.Attention(&home.Manifest{Status: home.Exited, ExitCode: &one, Ended: time.Now()}); a.State != attention.Over {
		t.Errorf("an end that an earlier den wrote: %+v", a)
	}
	if a := d.Attention(&home.Manifest{Status: home.Running}); a.State != attention.Busy {
		t.Errorf("a session of an earlier den: %+v", a)
	}
	if a := d.Attention(&home.Manifest{Status: home.Lost, Noted: &home.Noted{Note: attention.Note{}.Work(time.Now())}}); a.State != attention.Failed {
		t.Errorf("a session whose host died: %+v", a)
	}
	if err := os.WriteFile(filepath.Join(d.Path, "agent.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	noted := &home.Noted{Note: attention.Note{}.Rest(time.Now(), attention.Idle)}
	if a := d.Attention(&home.Manifest{Status: home.Running, Noted: noted}); a.State != attention.Ready {
		t.Errorf("a damaged note: %+v", a)
	}
}
