package providertest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"den/internal/place/provider"
)

var stageCases = []testCase{
	{"Prepare", prepare},
	{"Stage", stage},
	{"StageStaysInside", stageStaysInside},
	{"Exec", execute},
	{"ExecCancelled", execCancelled},
}

// entry is a file of an archive; one whose name ends in '/' is a directory,
// one with a link is a symbolic link.
type entry struct {
	name, content, link string
	mode                int64
}

func (w *world) archive(entries ...entry) *bytes.Buffer {
	w.Helper()
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), Typeflag: tar.TypeReg}
		switch {
		case strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		case e.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		}
		w.ok("write archive", out.WriteHeader(h))
		_, err := out.Write([]byte(e.content))
		w.ok("write archive", err)
	}
	w.ok("write archive", out.Close())
	return &b
}

// prepare comes before Start, may be repeated, and starts nothing.
func prepare(w *world) {
	p := able[provider.Preparer](w, "is no Preparer: its place is always ready")
	c, ready := w.config("idle")
	for range 2 {
		w.ok("Prepare", p.Prepare(w.Context(), "w", c, func(string) {}))
	}
	w.equal("running after Prepare", w.running(w.p, "w"), false)
	w.startConfig(w.p, "w", c)
	w.appears(ready)
	c.Options = nil
	w.fails("Prepare of no place", p.Prepare(w.Context(), "w", c, func(string) {}))
}

func stage(w *world) {
	c, ready := w.config("idle")
	c.WorkDir = w.path("made/by/staging")
	files := []entry{
		{name: "plain", content: "content", mode: 0o644}, {name: "sub/", mode: 0o755},
		{name: "sub/deep/run", content: "#!/bin/sh\n", mode: 0o755}, {name: "link", link: "plain"},
	}
	var told []string
	o := provider.StageOptions{Progress: func(path string) { told = append(told, path) }}
	w.ok("Stage", w.p.Stage(w.Context(), "w", c, w.archive(files...), o))
	w.equal("told of entries", len(told), len(files))
	w.equal("a staged file", w.appears(filepath.Join(c.WorkDir, "link")), "content")
	fi, err := os.Stat(filepath.Join(c.WorkDir, "sub/deep/run"))
	w.ok("stat", err)
	w.equal("mode of a staged program", fi.Mode().Perm(), os.FileMode(0o755))
	w.startConfig(w.p, "w", c) // in the directory that staging made
	w.appears(ready)
	again := []entry{{name: "plain", content: "new", mode: 0o644}, {name: "more", content: "more", mode: 0o644}}
	w.ok("Stage", w.p.Stage(w.Context(), "w", c, w.archive(again...), provider.StageOptions{KeepExisting: true}))
	w.equal("a file that was there", w.appears(filepath.Join(c.WorkDir, "plain")), "content")
	w.equal("one that was not", w.appears(filepath.Join(c.WorkDir, "more")), "more")
	w.ok("Stage", w.p.Stage(w.Context(), "w", c, w.archive(again...), provider.StageOptions{}))
	w.equal("a file that is replaced", w.appears(filepath.Join(c.WorkDir, "plain")), "new")
	w.fails("Stage of what is no archive", w.p.Stage(w.Context(), "w", c, strings.NewReader("no archive, but long enough"), o))
}

func stageStaysInside(w *world) {
	c, _ := w.config("idle")
	c.WorkDir = w.path("inside")
	w.ok("make directory", os.Mkdir(c.WorkDir, 0o755))
	w.ok("link", os.Symlink(w.dir, filepath.Join(c.WorkDir, "out")))
	for _, name := range []string{"../escaped", "a/../../escaped", w.path("escaped"), "out/escaped"} {
		w.fails("Stage of "+name, w.p.Stage(w.Context(), "w", c, w.archive(entry{name: name, content: "x", mode: 0o644}), provider.StageOptions{}))
	}
	through := w.archive(entry{name: "l", link: w.dir}, entry{name: "l/escaped", content: "x", mode: 0o644})
	w.fails("Stage through a link of the archive", w.p.Stage(w.Context(), "w", c, through, provider.StageOptions{}))
	if _, err := os.Stat(w.path("escaped")); err == nil {
		w.Error("Stage left the working directory")
	}
}

// execute runs commands before the session starts, and beside it.
func execute(w *world) {
	c, ready := w.config("idle")
	c.WorkDir = w.path("a dir")
	w.ok("make directory", os.Mkdir(c.WorkDir, 0o755))
	try := func() {
		w.Helper()
		var out, errs strings.Builder
		spec := provider.ExecSpec{
			Argv: []string{"/bin/sh", "-c", `pwd; echo "$ODD"; cat; echo bad >&2; exit 3`}, Env: map[string]string{"ODD": "a=b 'q' $HOME"},
			Stdin: strings.NewReader("typed\n"), Stdout: &out, Stderr: &errs,
		}
		code, err := w.p.Exec(w.Context(), "w", c, spec)
		w.ok("Exec", err)
		w.equal("exit code", code, 3)
		w.equal("output", out.String(), c.WorkDir+"\na=b 'q' $HOME\ntyped\n")
		w.equal("errors", errs.String(), "bad\n")
		code, err = w.p.Exec(w.Context(), "w", c, provider.ExecSpec{Argv: []string{"/bin/sh", "-c", "test $PWD = /"}, Dir: "/"})
		w.ok("Exec", err)
		w.equal("exit code in another directory", code, 0)
		code, err = w.p.Exec(w.Context(), "w", c, provider.ExecSpec{Argv: []string{"/bin/sh", "-c", "exit 4"}, Stdin: strings.NewReader(strings.Repeat("x", 4<<20))})
		w.ok("Exec", err)
		w.equal("exit code of a command that leaves its input unread", code, 4)
		if code, err := w.p.Exec(w.Context(), "w", c, provider.ExecSpec{Argv: []string{"/no/such/program"}}); err == nil && code != 126 && code != 127 {
			w.Errorf("Exec of what cannot be executed = %d", code)
		}
	}
	try()
	w.equal("running after Exec", w.running(w.p, "w"), false)
	w.startConfig(w.p, "w", c)
	w.appears(ready)
	try()
	w.equal("running after Exec beside it", w.running(w.p, "w"), true)
}

func execCancelled(w *world) {
	c, _ := w.config("idle")
	for _, beside := range []bool{false, true} {
		if beside {
			w.start("w", "idle")
		}
		begun := w.path("begun")
		ctx, cancel := context.WithCancel(w.Context())
		done := make(chan error, 1)
		go func() {
			_, err := w.p.Exec(ctx, "w", c, provider.ExecSpec{Argv: []string{"/bin/sh", "-c", "echo $$ > begun.new; mv begun.new begun; exec sleep 1000"}})
			done <- err
		}()
		w.appears(begun)
		w.ok("remove", os.Remove(begun))
		cancel()
		if err := received(w, "Exec returns when its context ends", done); !errors.Is(err, context.Canceled) {
			w.Errorf("Exec whose context ended = %v", err)
		}
	}
}
