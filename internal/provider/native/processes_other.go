//go:build !linux

package native

import "den/internal/fault"

func describe(int) (comm string, argv []string, err error) {
	return "", nil, fault.Errorf(fault.Unsupported, "this system does not tell what processes run")
}
