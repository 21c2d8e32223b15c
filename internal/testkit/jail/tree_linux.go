package jail

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// tree is the files of a directory, by their names relative to it.
type tree map[string]entry

type entry struct {
	mode fs.FileMode
	data string // or where a link leads
}

func load(dir string) (tree, error) {
	all := tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		e := entry{mode: fi.Mode()}
		switch {
		case e.mode&fs.ModeSymlink != 0:
			e.data, err = os.Readlink(path)
		case e.mode.IsRegular():
			var data []byte
			data, err = os.ReadFile(path)
			e.data = string(data)
		}
		rel, _ := filepath.Rel(dir, path) // both are absolute
		all[rel] = e
		return err
	})
	return all, err
}

func (t tree) store(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(t)) { // a directory before what is in it
		e, path := t[name], filepath.Join(dir, name)
		var err error
		switch {
		case e.mode.IsDir():
			err = os.MkdirAll(path, e.mode.Perm())
		case e.mode&fs.ModeSymlink != 0:
			err = os.Symlink(e.data, path)
		default:
			err = os.WriteFile(path, []byte(e.data), e.mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// empty removes what is in a directory.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// marks tell for each file whether it was changed: the kernel sets the time of
// the last change, and nobody else can.
type marks map[string]mark

type mark struct {
	change
	access syscall.Timespec
	// seen is the time of the last access to a directory when it was marked:
	// that is one itself.
	seen syscall.Timespec
}

type change struct {
	inode uint64
	time  syscall.Timespec
	size  int64
	mode  uint32
}

func marksOf(dirs []string) (marks, error) {
	all := marks{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fi, err := d.Info()
			if err != nil {
				return err
			}
			st := fi.Sys().(*syscall.Stat_t)
			all[path] = mark{change: change{inode: st.Ino, time: st.Ctim, size: st.Size, mode: st.Mode}, access: st.Atim}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if m, ok := all[Outside]; ok {
		var st syscall.Stat_t
		if err := syscall.Lstat(Outside, &st); err != nil {
			return nil, err
		}
		m.seen = st.Atim
		all[Outside] = m
	}
	return all, nil
}

// changed are the files that differ, those whose directory says so included.
func (m marks) changed(now marks) []string {
	var all []string
	for path, was := range m {
		if is, ok := now[path]; !ok || is.change != was.change {
			all = append(all, path)
		}
	}
	for path := range now {
		if _, ok := m[path]; !ok {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}

// read are the regular files below a directory that were read, and the directory
// itself, if its names were.
func (m marks) read(now marks, dir string) []string {
	var all []string
	for path, was := range m {
		if is := now[path]; is.access != was.access && is.mode&syscall.S_IFMT == syscall.S_IFREG && strings.HasPrefix(path, dir+"/") {
			all = append(all, path)
		}
	}
	if was, is := m[dir], now[dir]; is.access != was.seen && is.inode == was.inode {
		all = append(all, dir)
	}
	slices.Sort(all)
	return all
}
