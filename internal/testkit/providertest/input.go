package providertest

import (
	"errors"
	"fmt"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

var inputCases = []testCase{
	{"Type", typeText},
	{"InputUnread", inputUnread},
	{"InputLine", inputLine},
	{"InputModes", inputModes},
	{"SendAt", sendAt},
}

// onTerminal is for cases that only sessions on a terminal can pass.
func (w *world) onTerminal() provider.OnTerminal {
	w.Helper()
	return able[provider.OnTerminal](w, "has no terminals")
}

// typeText is a nudge to the byte, but for its Enter.
func typeText(w *world) {
	typer := w.onTerminal()
	file := w.path("typed")
	w.is("Type in a session that never was", typer.Type(w.Context(), "never-was", "x"), fault.NotFound)
	w.start("w", "read", file)
	w.is("Type with no text", typer.Type(w.Context(), "w", ""), fault.Usage)
	want := ""
	for _, text := range texts {
		if err := typer.Type(w.Context(), "w", text); err != nil {
			w.Fatalf("Type(%q): %v", text, err)
		}
		want += w.lineEnds(text)
		w.reads(file, want)
	}
	w.ok("Nudge", w.p.Nudge(w.Context(), "w", "end"))
	w.reads(file, want+w.typed("end")) // and nothing was held back before it
	w.stop("w")
	w.is("Type in a session that was stopped", typer.Type(w.Context(), "w", "x"), fault.NotRunning, fault.NotFound)
}

// inputs waits until a session's input is as it should be.
func (w *world) inputs(name, what string, holds func(provider.Input) bool) provider.Input {
	w.Helper()
	var got provider.Input
	defer func() {
		w.Helper()
		if w.Failed() {
			w.Logf("the input of %s is %+v", name, got)
		}
	}()
	w.eventually(fmt.Sprintf("the input of %s %s", name, what), func() bool {
		var err error
		got, err = w.p.Input(w.Context(), name)
		w.ok("Input", err)
		return holds(got)
	})
	return got
}

func inputUnread(w *world) {
	w.needs(Nudge)
	_, err := w.p.Input(w.Context(), "never-was")
	w.is("Input of a session that never was", err, fault.NotFound)
	w.start("deaf", "idle")
	w.inputs("deaf", "is empty", func(in provider.Input) bool { return in.Unread == 0 })
	size := 0
	for _, text := range []string{"hello", "über"} {
		w.ok("Nudge", w.p.Nudge(w.Context(), "deaf", text))
		size += len(text) + len("\n")
		w.inputs("deaf", fmt.Sprintf("has %d bytes that were not read", size), func(in provider.Input) bool { return in.Unread == size })
	}
	file := w.path("typed")
	w.start("reader", "read", file)
	w.ok("Nudge", w.p.Nudge(w.Context(), "reader", "hello"))
	w.reads(file, w.typed("hello"))
	w.inputs("reader", "was read", func(in provider.Input) bool { return in.Unread == 0 })
	w.stop("reader")
	_, err = w.p.Input(w.Context(), "reader")
	w.is("Input of a session that was stopped", err, fault.NotRunning, fault.NotFound)
}

// inputLine is a line that is typed and not ended: it is not unread, and it is
// told where the provider knows it.
func inputLine(w *world) {
	w.needs(SendKeys, Terminal)
	typer := w.onTerminal()
	w.startConfig(w.p, "w", w.command("/bin/sh", "-c", "printf 'ready> '; exec cat"))
	w.inputs("w", "has the prompt left of the cursor", func(in provider.Input) bool { return in.CursorRow == "ready> " })
	w.ok("Type", typer.Type(w.Context(), "w", "half"))
	// The echo may be seen before the host has noted that all was written.
	in := w.inputs("w", "has the text left of the cursor", func(in provider.Input) bool { return in.CursorRow == "ready> half" && in.Unread == 0 })
	if !in.LineMode || !in.Echo || in.UnfinishedKnown && in.Unfinished != "half" {
		w.Errorf("with an unfinished line the input is %+v", in)
	}
	w.ok("SendKeys", w.p.SendKeys(w.Context(), "w", "Enter"))
	w.inputs("w", "is an empty line", func(in provider.Input) bool { return in.CursorRow == "" && in.Unread == 0 && in.Unfinished == "" })
}

func inputModes(w *world) {
	w.start("lines", "idle")
	w.start("bytes", "read", w.path("typed"))
	terminal := !w.lacks(Terminal)
	for name, modes := range map[string]bool{"lines": terminal, "bytes": false} {
		w.inputs(name, fmt.Sprintf("has line mode and echo: %v", modes), func(in provider.Input) bool { return in.LineMode == modes && in.Echo == modes })
	}
}

// sendAt sends at what was seen, and only into an empty line where that is asked
// for.
func sendAt(w *world) {
	w.needs(SendKeys, Terminal)
	looker := able[provider.Looker](w, "is no Looker: it cannot tell whether a screen is still the one that was seen")
	_, _, err := looker.Look(w.Context(), "never-was", 10)
	w.is("Look at a session that never was", err, fault.NotFound)
	w.startConfig(w.p, "w", w.command("/bin/sh", "-c", "printf 'ready> '; exec cat"))
	row := func(text string) {
		w.Helper()
		w.inputs("w", fmt.Sprintf("has %q left of the cursor", text), func(in provider.Input) bool { return in.CursorRow == text && in.Unread == 0 })
	}
	refused := func(what string, err, want error) {
		w.Helper()
		if !errors.Is(err, want) || fault.KindOf(err) != fault.Busy {
			w.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	row("ready> ")
	screen, at, err := looker.Look(w.Context(), "w", 10)
	if err != nil || screen != "ready> " && screen != "ready>" || at == 0 {
		w.Errorf("Look = %q, %d, %v", screen, at, err)
	}
	w.ok("SendAt", looker.SendAt(w.Context(), "w", at, provider.Keystrokes{Text: "half"}))
	row("ready> half")
	refused("SendAt behind output", looker.SendAt(w.Context(), "w", at, provider.Keystrokes{Text: "never"}), provider.ErrChanged)
	refused("SendAt behind text", looker.SendAt(w.Context(), "w", 0, provider.Keystrokes{Text: "never", EmptyLine: true}), provider.ErrLineHolds)
	row("ready> half")
	_, at, err = looker.Look(w.Context(), "w", 10)
	w.ok("Look", err)
	w.ok("SendAt", looker.SendAt(w.Context(), "w", at, provider.Keystrokes{Keys: []string{"Enter"}}))
	row("")
	w.ok("SendAt", looker.SendAt(w.Context(), "w", 0, provider.Keystrokes{Text: "whole", Keys: []string{"Enter"}, EmptyLine: true}))
	w.eventually("cat repeats the line", func() bool { return w.peek(w.p, "w", 10) == "ready> half\nhalf\nwhole\nwhole" })
	w.is("SendAt without anything", looker.SendAt(w.Context(), "w", 0, provider.Keystrokes{}), fault.Usage)
}
