package vt_test

import (
	"bytes"
	"encoding/base64"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"den/internal/screen/vt"
)

func TestNames(t *testing.T) {
	term := vt.New(config(10, 2, 0))
	term.Write([]byte("\x1b]0;both ✳\a"))
	if term.Title() != "both ✳" || term.IconName() != "both ✳" {
		t.Errorf("title %q, icon %q", term.Title(), term.IconName())
	}
	term.Write([]byte("\x1b]2;title\x1b\\\x1b]1;icon\x1b\\\x1b]7;file://host/tmp\a"))
	if term.Title() != "title" || term.IconName() != "icon" || term.WorkingDir() != "file://host/tmp" {
		t.Errorf("title %q, icon %q, directory %q", term.Title(), term.IconName(), term.WorkingDir())
	}
	term.Write([]byte("\x1b[22;0t\x1b]0;other\a\x1b[23;2t"))
	if term.Title() != "title" || term.IconName() != "other" {
		t.Errorf("after popping the title: title %q, icon %q", term.Title(), term.IconName())
	}
	for range 1000 {
		term.Write([]byte("\x1b[22t"))
	}
	term.Write([]byte("\x1b]2;" + strings.Repeat("é", 100000) + "\a"))
	if n := len(term.Title()); n == 0 || n > 4096 {
		t.Errorf("title of %d bytes", n)
	}
}

func TestClipboard(t *testing.T) {
	term := vt.New(config(10, 2, 0))
	if _, ok := term.Clipboard(); ok {
		t.Error("a fresh terminal has a clipboard")
	}
	term.Write([]byte("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte("copied")) + "\a"))
	if data, ok := term.Clipboard(); !ok || string(data) != "copied" {
		t.Errorf("clipboard %q %v", data, ok)
	}
	want := []vt.Note{{Kind: vt.NoteClipboard, Text: "c"}}
	if got := term.TakeNotes(); !reflect.DeepEqual(got, want) {
		t.Errorf("notes %+v", got)
	}
	term.Write([]byte("\x1b]52;c;not base64!\a"))
	if data, _ := term.Clipboard(); string(data) != "copied" {
		t.Errorf("clipboard %q after nonsense", data)
	}
}

func TestNotes(t *testing.T) {
	term := vt.New(config(10, 2, 0))
	term.Write([]byte("\a\x1b]9;hello; you\a\x1b]777;notify;a;b;c\x1b\\\x1b]777;precmd\a\x1bPq#0;2;0;0;0~~\x1b\\\x1b_Gf=100;AAAA\x1b\\x"))
	term.Write([]byte("\x1b]99;i=1:d=0;Title\x1b\\\x1b]99;i=1:p=body:e=1;Ym9keQ==\x1b\\\x1b]99;i=1:p=?;\x1b\\\x1b]99;;\x1b\\"))
	want := []vt.Note{
		{Kind: vt.NoteBell}, {Kind: vt.NoteNotification, Text: "hello; you"}, {Kind: vt.NoteNotification, Title: "a", Text: "b;c"},
		{Kind: vt.NoteImage, Text: "sixel"}, {Kind: vt.NoteImage, Text: "kitty"},
		{Kind: vt.NoteNotification, Title: "Title"}, {Kind: vt.NoteNotification, Text: "body"},
	}
	if got := term.TakeNotes(); !reflect.DeepEqual(got, want) {
		t.Errorf("notes %+v", got)
	}
	if got := string(term.AppendText(nil)); got != "x" {
		t.Errorf("screen %q", got)
	}
	term.Write(bytes.Repeat([]byte("\a"), 100000))
	if n := len(term.TakeNotes()); n != 256 {
		t.Errorf("%d notes", n)
	}
}

func TestProgress(t *testing.T) {
	for in, want := range map[string][]vt.Progress{
		"\x1b]9;4;1;50\a":                   {{State: vt.ProgressNormal, Percent: 50}},
		"\x1b]9;4;3\x1b\\\x1b]9;4;0;\x1b\\": {{State: vt.ProgressUnknown}, {State: vt.ProgressNone}},
		"\x1b]9;4;2;100\a\x1b]9;4;4;999\a":  {{State: vt.ProgressError, Percent: 100}, {State: vt.ProgressPaused, Percent: 100}},
		"\x1b]9;4;5;1\a\x1b]9;4;x\a\x1b]9;4;1;-1\a\x1b]9;4;;\a\x1b]9;1;100\a": nil,
	} {
		term := vt.New(config(10, 2, 0))
		term.Write([]byte(in))
		var got []vt.Progress
		for _, n := range term.TakeNotes() {
			got = append(got, n.Progress)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}

func TestMarks(t *testing.T) {
	term := vt.New(config(20, 3, 100))
	term.Write([]byte("one\r\ntwo\r\nthree\r\n\x1b]133;A;k=i\a$ \x1b]133;B\als\r\n\x1b]133;C\x1b\\out\r\n\x1b]133;D;7\a"))
	want := []vt.Mark{
		{Kind: 'A', Args: "k=i", Line: 3, Col: 0}, {Kind: 'B', Line: 3, Col: 2},
		{Kind: 'C', Line: 4, Col: 0}, {Kind: 'D', Args: "7", Line: 5, Col: 0},
	}
	if got := term.TakeMarks(); !reflect.DeepEqual(got, want) {
		t.Errorf("marks %+v", got)
	}
	if got := term.TakeMarks(); got != nil {
		t.Errorf("again %+v", got)
	}
	row := term.Row(int(3 - term.ScreenLine()))
	if row.Prompt() != vt.PromptStart|vt.InputStart {
		t.Errorf("row has %b", row.Prompt())
	}
	for range 5000 {
		term.Write([]byte("\x1b]133;A\a"))
	}
	if n := len(term.TakeMarks()); n != 1024 {
		t.Errorf("%d marks", n)
	}
}

// Strings of any length are swallowed in bounded memory, and end where they end.
func TestLongStrings(t *testing.T) {
	chunk := bytes.Repeat([]byte("x"), 1<<16)
	for _, begin := range []string{"\x1b]2;", "\x1b]52;c;", "\x1b]9;", "\x1bP$q", "\x1bPq", intro + "\x1b_den;clip;", "\x1b_G", "\x1b_Ga=T,i=1;", "\x1bX", "\x1b^"} {
		term := vt.New(config(10, 2, 0))
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		term.Write([]byte(begin))
		for range 320 { // 20 MiB
			term.Write(chunk)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
			t.Errorf("%q: grew by %d bytes", begin, grown)
		}
		if d := dumpDiff(term, config(10, 2, 0)); d != "" {
			t.Errorf("%q: %s", begin, d)
		}
		term.Write([]byte("\x1b\\ok"))
		if got := string(term.AppendText(nil)); got != "ok" {
			t.Errorf("%q: shows %q", begin, got)
		}
	}
}
