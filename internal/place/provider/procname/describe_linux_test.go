package procname_test

import (
	"os"
	"path/filepath"
	"testing"

	"den/internal/place/provider/procname"
)

func TestDescribe(t *testing.T) {
	comm, argv, err := procname.Describe(os.Getpid())
	if err != nil || comm == "" || filepath.Base(argv[0]) != filepath.Base(os.Args[0]) {
		t.Errorf("this process is %q %q, %v", comm, argv, err)
	}
	if comm, argv, err := procname.Describe(1 << 30); err != nil || comm != "" || argv != nil {
		t.Errorf("no process is %q %q, %v", comm, argv, err)
	}
}
