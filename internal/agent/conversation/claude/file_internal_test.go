package claude

import (
	"os"
	"path/filepath"
	"testing"

	"den/internal/agent/conversation"
)

// The files were recorded from Claude Code 2.1.325.
func TestRecordedFiles(t *testing.T) {
	for name, want := range map[string]struct {
		activity conversation.Activity
		kind     conversation.QuestionKind
	}{
		"starting":          {conversation.Unknown, ""},
		"idle":              {conversation.Ready, ""},
		"busy":              {conversation.Busy, ""},
		"permission-prompt": {conversation.Asking, conversation.Permission},
		"input-needed":      {conversation.Asking, conversation.Choice},
		"dialog-open":       {conversation.Asking, conversation.Dialog},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := parseFile(data)
		if err != nil {
			t.Fatal(err)
		}
		s := f.state()
		if s.Activity != want.activity || (s.Question != nil) != (want.kind != "") || s.Question != nil && s.Question.Kind != want.kind {
			t.Errorf("%s: %+v %+v, want %+v", name, s, s.Question, want)
		}
		if f.ProcStart == "" || f.Kind != "interactive" || f.PID == 0 || s.Source != Name {
			t.Errorf("%s: %+v", name, f)
		}
		if name != "starting" && s.Since.IsZero() {
			t.Errorf("%s: since when is not known", name)
		}
	}
}

func TestOtherStatuses(t *testing.T) {
	if s := (sessionFile{Status: "shell"}).state(); s.Activity != conversation.Ready || s.Why == "" {
		t.Errorf("%+v", s)
	}
	if s := (sessionFile{Status: "dreaming"}).state(); s.Activity != conversation.Unknown || s.Why == "" {
		t.Errorf("%+v", s)
	}
	first, second := sessionFile{SessionID: "s", StatusUpdatedAt: 1}.question(), sessionFile{SessionID: "s", StatusUpdatedAt: 2}.question()
	if first.ID == second.ID {
		t.Errorf("two questions have the id %s", first.ID)
	}
}

func TestStartTime(t *testing.T) {
	const after = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 548709 20"
	for stat, want := range map[string]string{
		"12 (claude)" + after:   "548709",
		"12 (a ) Z (b)" + after: "548709",
		"12 (claude) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 548709 20": "",
		"12 (claude) S 1 2": "",
		"":                  "",
	} {
		if got := startTime(stat); got != want {
			t.Errorf("startTime(%q) = %q, want %q", stat, got, want)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "12 (claude) S 1")
	}
	f.Fuzz(func(t *testing.T, data []byte, stat string) {
		startTime(stat)
		file, err := parseFile(data)
		if err != nil {
			return
		}
		if s := file.state(); (s.Question != nil) != (s.Activity == conversation.Asking) {
			t.Errorf("%+v", s)
		}
	})
}
