package datarepo

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"
)

// settled is how long nobody may have written a file before it counts as
// whole. Programs that are not den's write into the file that is read.
const settled = 500 * time.Millisecond

// waitForWhole is how long to wait until a file that was written at modified
// counts as whole, 0 if it does. A time of writing in the future is one from
// before the clock was set back.
func waitForWhole(modified, now time.Time) time.Duration {
	age := now.Sub(modified)
	if age >= settled || age <= -settled {
		return 0
	}
	return settled - age
}

// contentID tells one content of a file from another, also if it is the same
// text written again.
func contentID(data []byte, modified time.Time) string {
	h := sha256.New()
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], uint64(modified.UnixNano()))
	h.Write(at[:])
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

const takenMark = ".taken-"

func isTaken(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, takenMark)
}

// original is the name that a taken file had.
func original(taken string) string {
	dir, name := path.Split(taken)
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "."), takenMark)
	return dir + name
}

// acknowledge removes a file if its content is that with the given id. It is taken away first
// and compared then, so that what another program writes meanwhile is either in
// the file that is compared or in a new one. A file that has changed is put
// back, and acknowledge returns false.
func (r *Repo) acknowledge(name, id string, limit int64) (bool, error) {
	dir, base := path.Split(name)
	taken := dir + "." + base + takenMark + rand.Text()
	err := r.root.Rename(name, taken)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // somebody else has removed it
	}
	if err != nil {
		return false, r.failed("take", name, err)
	}
	data, modified, err := r.Read(taken, limit)
	if err == nil && contentID(data, modified) == id {
		_, err := r.Remove(taken)
		return err == nil, err
	}
	// Not readable is changed too: what is there now was not delivered.
	return false, r.putBack(taken, name)
}

// putBack gives a taken file its name again. If another program has made a new
// file of that name, a notification gets another name, and a trigger, of which
// one is as good as two, is dropped.
func (r *Repo) putBack(taken, name string) error {
	err := r.root.Link(taken, name)
	if err == nil || errors.Is(err, fs.ErrExist) && name == triggerFile {
		_, err := r.Remove(taken)
		return err
	}
	// Hard links are not everywhere: a rename is as good where no new file is.
	if _, err := r.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		name = strings.TrimSuffix(name, ".txt") + "-" + strings.ToLower(rand.Text()[:8]) + ".txt"
	}
	if err := r.root.Rename(taken, name); err != nil {
		return r.failed("put back", name, err)
	}
	return nil
}
