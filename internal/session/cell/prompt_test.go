package cell_test

import (
	"testing"

	"den/internal/session/cell"
)

func TestOtherPath(t *testing.T) {
	for _, c := range []struct {
		now, before string
		want        bool
	}{
		{"me@far:/tmp$ ", "me@far:~$ ", true},
		{"root@vm:/# ", "root@vm:/root# ", true},
		{"[me@far bin]$ ", "[me@far ~]$ ", true},
		{"/tmp % ", "~ % ", true},
		{"~/src/x $ ", "~ $ ", true},
		{"/Übung$ ", "/$ ", true},
		{"me@far:~$ ", "me@far:~# ", false}, // another user
		{"Price in $ ", "me@far:~$ ", false},
		{"Sure? ", "me@far:~$ ", false},
		{">>> ", "... ", false},
		{"", "me@far:~$ ", false},
		{"me@far:~$ ", "", false},
		{"a b me@far:~$ ", "me@far:~$ ", false}, // output without a newline
	} {
		if got := cell.OtherPath(c.now, c.before); got != c.want {
			t.Errorf("%q behind %q: %v", c.now, c.before, got)
		}
	}
}
