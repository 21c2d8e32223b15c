package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/screen/render/redact"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/script"
)

// testFormat is the format of 'den export' that is a script, not a film.
const testFormat = "test"

// exportTestAnswer is what the caller gets.
type exportTestAnswer struct {
	Session  string   `json:"session"`
	Path     string   `json:"path"`
	Format   string   `json:"format"`
	Bytes    int      `json:"bytes"`
	Steps    int      `json:"steps"`
	Vars     []string `json:"vars,omitempty"`
	Pictures []string `json:"pictures,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

func (a *app) exportTest(_ context.Context, s *session.Session, o exportOptions) error {
	if o.out == "-" && a.json {
		return fault.Hintf(fault.Errorf(fault.Usage, "-o - and --json both want stdout"), "leave one of them out")
	}
	if o.from != "" || o.to != "" {
		return fault.Errorf(fault.Usage, "a test begins where the session began: --from and --to are for other formats")
	}
	if o.pictures && (o.out == "" || o.out == "-") {
		return fault.Errorf(fault.Usage, "pictures stand beside the script: --pictures needs -o FILE")
	}
	m, err := s.Dir.Inspect()
	if err != nil {
		return err
	}
	so := script.Options{Command: m.Command, Term: m.Term, Signal: m.ExitSignal, Styles: o.styles}
	if o.pictures {
		so.Pictures = strings.TrimSuffix(filepath.Base(o.out), filepath.Ext(o.out))
	}
	if m.Status.Active() {
		so.Until = lastMoment(m, time.Now())
	}
	// A script goes where others read it.
	if so.Redact, err = redact.New(o.expressions, true); err != nil {
		return err
	}
	for _, mask := range o.masks {
		re, err := regexp.Compile(mask)
		if err != nil {
			return fault.Errorf(fault.Usage, "--mask: %w", err)
		}
		so.Mask = append(so.Mask, re)
	}
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return err
	}
	d, err := script.Derive(log, so)
	if err != nil {
		return notMade(fmt.Errorf("export session '%s': %w", m.Name, err))
	}
	var b bytes.Buffer
	if err := d.Write(&b, "of session '"+strings.Map(printable, m.Name)+"', "+m.Created.UTC().Format(time.DateOnly)); err != nil {
		return err
	}
	for _, w := range d.Warnings {
		fmt.Fprintf(a.stderr, "den: %s\n", w)
	}
	if o.out == "-" {
		_, err := a.stdout.Write(b.Bytes())
		return err
	}
	ans := exportTestAnswer{Session: m.Name, Path: o.out, Format: testFormat, Bytes: b.Len(), Steps: len(d.Steps), Vars: d.Vars, Warnings: d.Warnings}
	if ans.Pictures, err = savePictures(filepath.Dir(o.out), d.Pictures); err != nil {
		return notMade(fmt.Errorf("export session '%s': %w", m.Name, err))
	}
	if err := saveTest(s, &ans, b.Bytes()); err != nil {
		return notMade(fmt.Errorf("export session '%s': %w", m.Name, err))
	}
	return a.answer(ans, func(w io.Writer) { fmt.Fprintln(w, ans.Path) })
}

// savePictures writes the pictures of a script, and returns where they are.
func savePictures(dir string, pictures map[string][]byte) (paths []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(pictures)) {
		path := filepath.Join(dir, name)
		if err := atomicfile.Write(path, pictures[name]); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// saveTest writes the script to its path, or keeps it with the session if it has
// none.
func saveTest(s *session.Session, ans *exportTestAnswer, file []byte) (err error) {
	if ans.Path != "" {
		return atomicfile.Write(ans.Path, file)
	}
	seq, err := s.LastSeq(context.Background())
	if err != nil {
		return err
	}
	if ans.Path, err = s.Dir.ArtifactPath(fmt.Sprintf("test-%d.steps", seq)); err != nil {
		return err
	}
	return s.Dir.SaveArtifact(ans.Path, home.Artifact{Kind: testFormat, Seq: seq}, file)
}

// printable drops what would end a comment.
func printable(r rune) rune {
	if r < ' ' {
		return -1
	}
	return r
}
