package workspace

import (
	"os"
	"path/filepath"
	"syscall"

	"den/internal/base/fault"
)

// checkOwner refuses a workspace file that another user wrote or could replace:
// its commands would run as this user. Files of root are trusted.
func checkOwner(path string) error {
	for _, part := range []string{path, filepath.Dir(path)} {
		fi, err := os.Stat(part)
		if err != nil {
			return fault.Errorf(fault.KindOf(err), "check workspace %s: %w", path, err)
		}
		hint := "if you trust it, name it: -f " + path
		st, ok := fi.Sys().(*syscall.Stat_t)
		switch open := fi.Mode().Perm()&0o002 != 0; {
		case ok && st.Uid != 0 && int(st.Uid) != os.Geteuid():
			return fault.Hintf(fault.Errorf(fault.Denied, "%s belongs to user %d: it is not used", part, st.Uid), "%s", hint)
		case open && fi.Mode()&os.ModeSticky == 0:
			return fault.Hintf(fault.Errorf(fault.Denied, "every user may write to %s: it is not used", part), "%s", hint)
		}
	}
	return nil
}
