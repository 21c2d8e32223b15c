package runnertest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// An entry is a line of a recording: the life of one process.
type entry struct {
	Dir  string          `json:"dir"` // "argv", "in", "out", "err", "eof" (of its input) or "exit"
	Argv []string        `json:"argv,omitempty"`
	Msg  json.RawMessage `json:"msg,omitempty"`  // a line of JSON
	Text string          `json:"text,omitempty"` // another line
	Code int             `json:"code,omitempty"` // of exit
}

// recordedDir stands in recordings for the agent's directory.
const recordedDir = "/home/user/project"

func tapePath(law string, n int) string {
	return filepath.Join("testdata", "recordings", fmt.Sprintf("%s-%d.jsonl", law, n))
}

func readTape(path string) ([]entry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []entry
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read recording %s: %w", path, err)
		}
		all = append(all, e)
	}
	return all, lines.Err()
}

// names maps what a recording says to what is said now: directories, and ids
// that are made anew each time.
type names map[string]string

func (n names) apply(s string) string {
	for _, from := range n.longestFirst() {
		s = strings.ReplaceAll(s, from, n[from])
	}
	return s
}

// longestFirst is so that a path is replaced before the directory it is in.
func (n names) longestFirst() []string {
	var all []string
	for from := range n {
		all = append(all, from)
	}
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return all
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)

// matchLine reports whether a line is the recorded one, and learns the ids that
// differ.
func (n names) matchLine(recorded json.RawMessage, actual []byte) bool {
	var want, got any
	if json.Unmarshal(recorded, &want) != nil || json.Unmarshal(actual, &got) != nil {
		return false
	}
	learned := names{}
	if !n.match(want, got, learned) {
		return false
	}
	for from, to := range learned {
		n[from] = to
	}
	return true
}

func (n names) match(want, got any, learned names) bool {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok || len(got) != len(want) {
			return false
		}
		for key, value := range want {
			if other, ok := got[key]; !ok || !n.match(value, other, learned) {
				return false
			}
		}
		return true
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			return false
		}
		for i := range want {
			if !n.match(want[i], got[i], learned) {
				return false
			}
		}
		return true
	case string:
		got, ok := got.(string)
		return ok && n.matchString(want, got, learned)
	}
	return want == got
}

// digest stands in recordings for a long text of the driver's.
func digest(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

func (n names) matchString(want, got string, learned names) bool {
	if n.apply(want) == got || want == digest(got) {
		return true
	}
	if _, known := n[want]; known || !uuid.MatchString(want) || !uuid.MatchString(got) {
		return false
	}
	learned[want] = got
	return true
}
