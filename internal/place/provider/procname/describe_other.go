//go:build !linux

package procname

import "den/internal/base/fault"

// Describe has no counterpart here.
func Describe(int) (comm string, argv []string, err error) {
	return "", nil, fault.Hintf(fault.Errorf(fault.Unsupported, "this system does not tell what processes run"), "ask without names")
}
