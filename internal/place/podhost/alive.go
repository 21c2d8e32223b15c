package podhost

import "den/internal/place/provider/procname"

// bearsOne reports whether one of the processes bears one of the names.
func bearsOne(pids []int, names []string) (bool, error) {
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
