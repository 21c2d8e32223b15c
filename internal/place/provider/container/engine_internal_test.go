package container

import (
	"errors"
	"strings"
	"testing"

	"den/internal/base/fault"
)

// What the programs below an engine say of limits is explained.
func TestEngineErrorOfLimits(t *testing.T) {
	for _, text := range []string{
		"runc create failed: unable to start container process: error setting rlimits for ready process: error setting rlimit type 7: operation not permitted",
		"crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI permission denied",
	} {
		err := engineError("start container", errors.New(text))
		if fault.KindOf(err) != fault.Denied || !strings.Contains(fault.HintOf(err), "LimitNOFILE") || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, hint %q", err, fault.HintOf(err))
		}
	}
}
