package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/plan"
)

// Read returns what belongs to a tick. Where there is no index, or a damaged
// one, it is put together from the transcript and the archives, which are found
// by their names. A tick of which there is nothing is fault.NotFound.
func Read(repo *datarepo.Repo, number int) (Tick, error) {
	t, err := load(repo, number)
	if kind := fault.KindOf(err); kind == fault.Protocol || kind == fault.Denied {
		return Tick{}, err
	}
	if err != nil {
		return reconstruct(repo, number)
	}
	if t.Ended.IsZero() && t.Seen.IsZero() {
		t.Seen = LastSign(repo, number, t.Began)
	}
	// One without an archive is open, or its process was killed while it was archived.
	if slices.ContainsFunc(t.Terminals, func(one Terminal) bool { return one.Archive == "" }) {
		t.adoptArchives(archives(repo, number))
	}
	return t, nil
}

// LastSign is when the transcript of a tick was last written, but not before
// the time that is given.
func LastSign(repo *datarepo.Repo, number int, least time.Time) time.Time {
	fi, err := repo.Stat(datarepo.TickLog(number))
	if err != nil || !fi.Mode().IsRegular() || fi.ModTime().Before(least) {
		return least
	}
	return fi.ModTime()
}

// adoptArchives gives terminals without an archive the one of their session.
func (t *Tick) adoptArchives(found []Terminal) {
	for i := range t.Terminals {
		one := &t.Terminals[i]
		if one.Archive != "" || one.Session == "" {
			continue
		}
		for _, f := range found {
			if f.Session == one.Session {
				one.Archive, one.Recording, one.Status, one.Note = f.Archive, f.Recording, f.Status, ""
			}
		}
	}
}

// reconstruct makes up for an index that was not written.
func reconstruct(repo *datarepo.Repo, number int) (Tick, error) {
	t := Tick{V: Version, Number: number, Reconstructed: true}
	err := t.readEnds(repo)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Tick{}, fault.Errorf(fault.KindOf(err), "read the transcript of tick %d: %w", number, err)
	}
	t.Terminals = archives(repo, number)
	t.rename()
	if err != nil && len(t.Terminals) == 0 {
		return Tick{}, fault.Errorf(fault.NotFound, "there is nothing of tick %d: neither an index nor a transcript nor terminals", number)
	}
	for _, one := range t.Terminals { // what the transcript does not tell
		if t.Began.IsZero() || !one.Opened.IsZero() && one.Opened.Before(t.Began) {
			t.Began = one.Opened
		}
		if t.Ended.IsZero() && one.Closed.After(t.Seen) {
			t.Seen = one.Closed
		}
	}
	return t, nil
}

// edge is how much of a transcript is read at each of its ends.
const edge = 256 << 10

// transcriptLine is a line of a transcript, as far as it tells when and how.
type transcriptLine struct {
	Subtype   string    `json:"subtype"`
	Timestamp time.Time `json:"timestamp"`
	Detail    struct {
		Reason  plan.Reason `json:"reason"`
		Why     string      `json:"why"`
		Turns   int         `json:"turns"`
		CostUSD float64     `json:"cost_usd"`
	} `json:"detail"`
}

// readEnds reads the first and the last line of the transcript.
func (t *Tick) readEnds(repo *datarepo.Repo) error {
	name := datarepo.TickLog(t.Number)
	f, err := repo.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() // Best effort: it was only read.
	t.Transcript = name
	first, last, written, err := ends(f)
	if err != nil {
		return err
	}
	t.Began, t.Seen = first.Timestamp, last.Timestamp
	if t.Seen.IsZero() {
		t.Seen = written
	}
	if last.Subtype == "tick_ended" {
		t.Ended, t.Seen = last.Timestamp, time.Time{}
		t.Outcome = plan.Outcome{Reason: last.Detail.Reason, Why: last.Detail.Why}
		t.Turns, t.CostUSD = last.Detail.Turns, last.Detail.CostUSD
	}
	return nil
}

// ends returns the first and the last line of a transcript that have a time, as
// far as the edges of the file have them, and when it was written.
func ends(f *os.File) (first, last transcriptLine, written time.Time, err error) {
	fi, err := f.Stat()
	if err != nil {
		return first, last, written, err
	}
	head, err := io.ReadAll(io.NewSectionReader(f, 0, edge))
	if err != nil {
		return first, last, written, err
	}
	tail, err := io.ReadAll(io.NewSectionReader(f, max(0, fi.Size()-edge), edge))
	if err != nil {
		return first, last, written, err
	}
	for line := range bytes.Lines(head) {
		if json.Unmarshal(line, &first) == nil && !first.Timestamp.IsZero() {
			break
		}
		first = transcriptLine{}
	}
	for line := range bytes.Lines(tail) {
		var l transcriptLine
		if json.Unmarshal(line, &l) == nil && !l.Timestamp.IsZero() {
			last = l
		}
	}
	return first, last, fi.ModTime(), nil
}

const (
	maxNumber = 20 // terminals are numbered from 0
	maxStatus = 64 << 10
)

// archives finds the archives of a tick's terminals by their names.
func archives(repo *datarepo.Repo, number int) []Terminal {
	var found []Terminal
	for n := range maxNumber {
		for again := 0; again < maxTerminals; again++ {
			dir := datarepo.TerminalArchive(n, number, again)
			if fi, err := repo.Stat(dir); err != nil || !fi.IsDir() {
				break
			}
			found = append(found, archived(repo, dir, n))
		}
	}
	return found
}

// archived is a terminal as its archive tells.
func archived(repo *datarepo.Repo, dir string, number int) Terminal {
	one := Terminal{Number: number, Archive: dir}
	recording := path.Join(dir, "recording.cast")
	if fi, err := repo.Stat(recording); err == nil && fi.Mode().IsRegular() {
		one.Recording = recording
	}
	data, written, err := repo.Read(path.Join(dir, "status"), maxStatus)
	if err != nil {
		one.Note = "it is not known what ran in it"
		return one
	}
	one.Closed = written
	lines := bufio.NewScanner(bytes.NewReader(data))
	for first := true; lines.Scan(); first = false {
		key, value, ok := strings.Cut(lines.Text(), ": ")
		switch {
		case first && !ok:
			one.Status = key
		case key == "command":
			one.Command = value
		case key == "session":
			one.Session = value
		case key == "label":
			one.Label = value
		case key == "created":
			if at, err := time.Parse(time.RFC3339, value); err == nil {
				one.Opened = at
			}
		}
	}
	return one
}
