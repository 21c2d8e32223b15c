package permission

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
)

const (
	approvalsDir = "approvals"
	rulesFile    = "rules.json"
	maxOpen      = 100 // more requests are denied
	keptClosed   = 200 // the oldest of the rest are removed
	maxRecord    = 1 << 20
	maxRules     = 500 // remembered for one agent
)

// idAlphabet has no letters that people confuse, and idLen of them are few
// enough to type.
const (
	idAlphabet = "23456789abcdefghjkmnpqrstvwxyz"
	idLen      = 5
)

func newID(taken func(string) bool) string {
	for {
		var random [idLen]byte
		rand.Read(random[:]) // never fails: crypto/rand crashes the program instead
		id := make([]byte, idLen)
		for i, r := range random {
			id[i] = idAlphabet[int(r)%len(idAlphabet)]
		}
		if !taken(string(id)) {
			return string(id)
		}
	}
}

// LooksLikeID reports whether a word could be the id of an approval.
func LooksLikeID(word string) bool {
	return len(word) == idLen && strings.Trim(word, idAlphabet) == ""
}

// List reads the approvals that are kept in dir, a Broker's, from any
// process: first the open ones, the oldest first, then the others, the newest
// first. A file that cannot be read is named in damaged.
func List(dir string) (all []Approval, damaged []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, approvalsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("list approvals: %w", err)
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(id, ".") {
			continue
		}
		path := filepath.Join(dir, approvalsDir, e.Name())
		a, err := readApproval(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil || a.ID != id:
			damaged = append(damaged, path)
		default:
			all = append(all, a)
		}
	}
	sortApprovals(all)
	return all, damaged, nil
}

func sortApprovals(all []Approval) {
	slices.SortFunc(all, func(a, b Approval) int {
		if (a.State == Open) != (b.State == Open) {
			if a.State == Open {
				return -1
			}
			return 1
		}
		if a.State == Open {
			return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
		}
		return cmp.Or(b.Decided.Compare(a.Decided), cmp.Compare(a.ID, b.ID))
	})
}

func readApproval(path string) (Approval, error) {
	var a Approval
	err := readRecord(path, &a, func() int { return a.Version })
	return a, err
}

// readRecord decodes a file of ours, and refuses one that a newer den wrote.
func readRecord(path string, into any, version func() int) error {
	data, err := atomicfile.Read(path, maxRecord)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if v := version(); v > recordVersion {
		return fault.Errorf(fault.Protocol, "read %s: its version is %d, this den knows %d", path, v, recordVersion)
	}
	return nil
}

func writeApproval(dir string, a Approval) error {
	return atomicfile.WriteJSON(filepath.Join(dir, approvalsDir, a.ID+".json"), a)
}

func removeApproval(dir, id string) error {
	return os.Remove(filepath.Join(dir, approvalsDir, id+".json"))
}

// remembered are the rules that owners added by deciding for always.
type remembered struct {
	Version int    `json:"v"`
	Rules   []Rule `json:"rules"`
}

func readRules(dir string) ([]Rule, error) {
	var kept remembered
	path := filepath.Join(dir, rulesFile)
	err := readRecord(path, &kept, func() int { return kept.Version })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Hintf(err, "remove %s to be asked again for everything that it allowed", path)
	}
	return kept.Rules, nil
}

func writeRules(dir string, rules []Rule) error {
	return atomicfile.WriteJSON(filepath.Join(dir, rulesFile), remembered{Version: recordVersion, Rules: rules})
}
