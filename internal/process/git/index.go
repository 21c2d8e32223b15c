package git

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
)

// maxIndex bounds an index. One that is larger is not understood.
const maxIndex = 512 << 20

// Tracked reports whether a repository around a file has it in its index: then
// it came with the repository. It is read without git. An error means that
// nobody knows: the index has a form that den does not understand, or cannot be
// read.
func Tracked(file string) (bool, error) {
	paths := []string{file}
	if to, err := filepath.EvalSymlinks(file); err == nil && to != file {
		paths = append(paths, to)
	}
	for _, path := range paths {
		for top := filepath.Dir(path); ; top = filepath.Dir(top) {
			if IsTop(top) {
				if tracked, err := trackedIn(top, path); tracked || err != nil {
					return tracked, err
				}
			}
			if top == filepath.Dir(top) {
				break
			}
		}
	}
	return false, nil
}

func trackedIn(top, file string) (bool, error) {
	rel, err := filepath.Rel(top, file)
	if err != nil {
		return false, err
	}
	return index{name: filepath.ToSlash(rel)}.in(top)
}

// Submodules lists the directories of a working tree in which its index has
// another repository. It is read without git, as by Tracked. Of a split index
// these may be more than there are.
func Submodules(top string) ([]string, error) {
	var all []string
	_, err := index{links: &all}.in(top)
	return all, err
}

// in searches the index of a working tree.
func (ix index) in(top string) (bool, error) {
	r, err := At(top)
	if err != nil {
		return false, err
	}
	c, err := readConfig(filepath.Join(r.Common, "config"))
	if err != nil {
		return false, err
	}
	format, err := c.format()
	if err != nil {
		return false, err
	}
	ix.hash, ix.fold = map[string]int{"sha1": 20, "sha256": 32}[format], isTrue(c.Last("core.ignorecase"))
	found, err := ix.search(r.Dir, "index", true)
	if err != nil {
		return false, fault.Errorf(fault.KindOf(err), "read the git index of %s: %w", top, err)
	}
	return found, nil
}

// index searches an index for a name, and collects other repositories.
type index struct {
	hash  int // how many bytes the name of an object has
	name  string
	fold  bool      // upper and lower case are the same
	links *[]string // where other repositories are; or nil
}

var (
	errForm   = errors.New("it has a form that den does not understand")
	errUnsure = errors.New("whether the file is in it cannot be told without git")
)

// search searches one file. whole says that it may go on in another one.
func (ix index) search(dir, file string, whole bool) (bool, error) {
	raw, err := atomicfile.Read(filepath.Join(dir, file), maxIndex)
	if errors.Is(err, fs.ErrNotExist) && whole {
		return false, nil // nothing was ever added
	}
	if err != nil {
		return false, err
	}
	if len(raw) < 12+ix.hash || string(raw[:4]) != "DIRC" {
		return false, errForm
	}
	version, count := binary.BigEndian.Uint32(raw[4:]), binary.BigEndian.Uint32(raw[8:])
	if version < 2 || version > 4 {
		return false, errForm
	}
	found, rest, err := ix.entries(raw[12:len(raw)-ix.hash], int(version), int(count))
	if err != nil {
		return false, err
	}
	more, err := ix.extensions(dir, rest, whole)
	return found || more, err
}

// entries searches the entries, and returns what is behind them.
func (ix index) entries(raw []byte, version, count int) (found bool, rest []byte, err error) {
	const stat = 40 // times, numbers, mode and size
	var name []byte
	for range count {
		at := stat + ix.hash + 2
		if len(raw) < at+2 {
			return false, nil, errForm
		}
		mode, flags := binary.BigEndian.Uint32(raw[24:]), binary.BigEndian.Uint16(raw[at-2:])
		if flags&0x4000 != 0 { // more flags
			if at += 2; version < 3 {
				return false, nil, errForm
			}
		}
		if version == 4 {
			strip, n := offset(raw[at:])
			if n == 0 || strip > len(name) {
				return false, nil, errForm
			}
			at, name = at+n, name[:len(name)-strip]
		} else {
			name = name[:0]
		}
		end := bytes.IndexByte(raw[at:], 0)
		if end < 0 {
			return false, nil, errForm
		}
		name = append(name, raw[at:at+end]...)
		if at += end + 1; version < 4 {
			at = (at + 7) &^ 7
		}
		if at > len(raw) {
			return false, nil, errForm
		}
		raw = raw[at:]
		switch {
		case ix.links != nil:
			if mode == 0o160000 && len(name) > 0 { // without a name, it takes another's place in a split index
				*ix.links = append(*ix.links, string(name))
			}
		case ix.same(string(name)):
			found = true
		case mode == 0o40000 && strings.HasPrefix(ix.name, string(name)): // a directory of which nothing is checked out
			return false, nil, errUnsure
		}
	}
	return found, raw, nil
}

func (ix index) same(name string) bool {
	return name == ix.name || ix.fold && strings.EqualFold(name, ix.name)
}

// offset reads a number as git writes it there: seven bits in each byte, of
// which all but the last count from one. n is its length, 0 for none.
func offset(raw []byte) (value, n int) {
	for n < len(raw) && n < 5 {
		b := raw[n]
		n++
		value += int(b & 0x7f)
		if b&0x80 == 0 {
			return value, n
		}
		value = (value + 1) << 7
	}
	return 0, 0
}

// extensions reads what follows the entries. Names that begin in lower case
// must be understood.
func (ix index) extensions(dir string, raw []byte, whole bool) (found bool, err error) {
	for len(raw) > 0 {
		if len(raw) < 8 {
			return false, errForm
		}
		name, size := string(raw[:4]), binary.BigEndian.Uint32(raw[4:])
		if raw = raw[8:]; uint64(size) > uint64(len(raw)) {
			return false, errForm
		}
		data := raw[:size]
		raw = raw[size:]
		switch {
		case name == "link" && whole:
			if found, err = ix.base(dir, data); err != nil {
				return false, err
			}
		case name == "sdir" && len(data) == 0, name[0] >= 'A' && name[0] <= 'Z':
		default:
			return false, errForm
		}
	}
	return found, nil
}

// base searches the index that a split one goes on from. Some of its entries
// may be gone: then the name of one tells nothing.
func (ix index) base(dir string, data []byte) (bool, error) {
	if len(data) < ix.hash {
		return false, errForm
	}
	hash, deleted := data[:ix.hash], data[ix.hash:]
	if len(bytes.Trim(hash, "\x00")) == 0 {
		return false, nil // it has none
	}
	found, err := ix.search(dir, "sharedindex."+hex.EncodeToString(hash), false)
	if err == nil && found && len(deleted) >= 4 && binary.BigEndian.Uint32(deleted) > 0 {
		err = errUnsure
	}
	return found, err
}
