package home_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/process/tree"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// beside runs hosts as somebody does who can only run commands to their end:
// den starts the host there and leaves it.
type beside struct{ binary string }

func (b beside) Run(ctx context.Context, p home.Place) error {
	cmd := exec.Command(b.binary, append([]string{"hold"}, p.Args...)...)
	cmd.Env = append(os.Environ(), home.HostMark+"=of-the-place")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("it ended: %w: %s", err, said.String())
	}
	<-ctx.Done()
	return ctx.Err()
}

func (b beside) Discard(p home.Place) error {
	_, err := tree.Sweep(context.Background(), home.HostMark+"="+p.Dir.ID)
	return err
}

// A host that was started and left serves; one that cannot start says why, and
// leaves nothing. Its sockets are in the directory that its place shares.
func TestHostIsStartedAndLeft(t *testing.T) {
	root, e := elsewhere(t)
	shared := shortDir(t)
	b := beside{e.binary}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, h := range []home.Home{root, long(root)} {
		s := spec("far", "sh", "-c", `echo "up, $COLOUR, host:$DEN_HOST."; cat`)
		s.Sockets = shared
		d, m, err := h.CreateElsewhere(ctx, s, b)
		if err != nil {
			t.Fatal(err)
		}
		if in := filepath.Dir(filepath.Dir(m.Socket)); in != shared && filepath.Dir(m.Socket) != d.Path {
			t.Errorf("the socket is %s", m.Socket)
		}
		if !tree.IsHost(m.HostPID) {
			t.Errorf("process %d is not known as the host", m.HostPID)
		}
		text := "up, blue, host:."
		o := session.Options{Version: "test"}
		if r, err := session.In(d, o).Wait(ctx, wire.Wait{Text: &text, Timeout: time.Minute}); err != nil || !r.Matched {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := session.In(d, o).Kill(ctx, time.Second); err != nil {
			t.Error(err)
		}
		if err := d.RemoveSockets(shared); err != nil {
			t.Error(err)
		}

		s.Command = []string{"den-no-such-program"}
		if _, _, err := h.CreateElsewhere(ctx, s, b); err == nil || !strings.Contains(err.Error(), "den-no-such-program") {
			t.Errorf("no such program: %v", err)
		}
		s.Command = []string{"cat"}
		if _, _, err := h.CreateElsewhere(ctx, s, beside{"/bin/false"}); err == nil || !strings.Contains(err.Error(), "exit status 1") {
			t.Errorf("no host: %v", err)
		}
		if left, err := os.ReadDir(shared); err != nil || len(left) != 0 {
			t.Errorf("left among the sockets: %v, %v", left, err)
		}
	}
}
