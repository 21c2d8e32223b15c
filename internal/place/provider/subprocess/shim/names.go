package shim

import (
	"runtime"

	"den/internal/base/fault"
	"den/internal/place/provider/procname"
)

// anyNamed reports whether one of the processes bears one of the names: as
// its command name, as the base of its first argument, or as the script that
// an interpreter runs.
func anyNamed(pids []int, names []string) (bool, error) {
	if runtime.GOOS != "linux" {
		return false, fault.Hintf(fault.Errorf(fault.Unsupported, "the names of processes are not known on %s", runtime.GOOS), "ask without names")
	}
	for _, pid := range pids {
		comm, argv, err := procname.Describe(pid)
		if err != nil {
			return false, err
		}
		if procname.Bears(comm, argv, names) {
			return true, nil
		}
	}
	return false, nil
}
