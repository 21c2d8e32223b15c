package supervise

import "golang.org/x/sys/unix"

// childless reports whether this process has no child, dead or alive.
func childless() bool {
	var info unix.Siginfo
	return unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}
