package keeper

import (
	"time"

	"golang.org/x/sys/unix"
)

// birth is when a file came into being where it is, or zero where the file
// system does not tell.
func birth(path string) time.Time {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &st) != nil || st.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
}
