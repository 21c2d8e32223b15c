package keeper

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/process/git"
)

// Foreign tells why the workspace may have been made by somebody else: nobody
// on this machine has kept it, and its file belongs to another user, came with a
// repository or is older than its place, or its state directory came along. It
// is empty for a file that this user wrote here.
func (s StateDir) Foreign(c Caller) (why string, err error) {
	if _, err := s.Identify(c); fault.KindOf(err) != fault.NotFound {
		return "", err
	}
	fi, err := os.Stat(s.Config)
	if err != nil {
		return "", fault.Errorf(fault.KindOf(err), "check the workspace's file: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch {
	case ok && st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Sprintf("%s belongs to user %d", s.Config, st.Uid), nil
	case s.hasState():
		return fmt.Sprintf("%s was not made on this machine", s.Path), nil
	case isUnpacked(s.Config, fi.ModTime()):
		return fmt.Sprintf("%s was unpacked or copied from elsewhere: it is older than its place here", s.Config), nil
	}
	tracked, err := git.Tracked(s.Config)
	switch {
	case err != nil:
		return fmt.Sprintf("%s may have come with the git repository around it: %v", s.Config, err), nil
	case tracked:
		return fmt.Sprintf("%s came with a git repository", s.Config), nil
	}
	if system := trackedByOther(s.Config); system != "" {
		return fmt.Sprintf("%s came with a %s repository", s.Config, system), nil
	}
	return "", nil
}

// unpackedSlack is how much older than its place a file may be that was written
// there: not every program and file system keeps times to the second.
const unpackedSlack = time.Minute

// isUnpacked reports whether a file was last changed before it came into being
// where it is. Archives and copies that keep times are known by that.
func isUnpacked(file string, changed time.Time) bool {
	born := birth(file)
	return !born.IsZero() && changed.Before(born.Add(-unpackedSlack))
}

// hasState reports whether there is anything that a keeper would use.
func (s StateDir) hasState() bool {
	for _, path := range s.stateFiles() {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// maxList bounds how much of a list is searched.
const maxList = 64 << 20

// readList reads as much of a list as is searched. It never blocks.
func readList(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // Best effort: it was only read.
	return io.ReadAll(io.LimitReader(f, maxList))
}

// otherSystems are where other systems than git list the files of a checkout,
// below its top.
var otherSystems = []struct{ name, lists string }{
	{"Mercurial", ".hg/dirstate*"},
	{"Subversion", ".svn/wc.db*"},
	{"Jujutsu", ".jj/working_copy/tree_state"},
	{"Fossil", ".fslckout"},
}

// trackedByOther names the system, other than git, whose checkout around a file
// has its path. The lists are only searched.
func trackedByOther(file string) string {
	for top := filepath.Dir(file); ; top = filepath.Dir(top) {
		rel, err := filepath.Rel(top, file)
		if err != nil {
			return ""
		}
		for _, system := range otherSystems {
			lists, _ := filepath.Glob(filepath.Join(top, system.lists)) // Best effort: a path that looks like a pattern
			for _, list := range lists {
				if tracked, err := readList(list); err == nil && bytes.Contains(tracked, []byte(filepath.ToSlash(rel))) {
					return system.name
				}
			}
		}
		if top == filepath.Dir(top) {
			return ""
		}
	}
}
