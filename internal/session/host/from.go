package host

import (
	"context"
	"log"
	"net"
	"os"
	"strings"

	"den/internal/base/fault"
	"den/internal/process/supervise"
	"den/internal/session/home"

	"golang.org/x/sys/unix"
)

// MainFrom is Main for a host that is not a child of its creator, such as one
// in a container. Bootstrap, reply and the descriptors that a child would
// inherit are passed over the creator's socket.
func MainFrom(ctx context.Context, version, socket string) error {
	configureProcess()
	conn, lock, err := takeOver(socket)
	if err != nil {
		return err
	}
	return run(ctx, version, conn, conn, lock, func() {
		conn.Close() // Best effort: the creator has had its word.
		supervise.LetGo(os.Stdout)
	})
}

// takeOver connects to the creator and receives the session's lock, which is
// never released in between, and the file for this process's log.
func takeOver(socket string) (*net.UnixConn, *os.File, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, nil, fault.Errorf(fault.Unreachable, "reach the creator: %w", err)
	}
	lock, words, err := home.ReceiveFiles(conn)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	defer words.Close()
	if err := unix.Dup2(int(words.Fd()), 2); err != nil {
		log.Printf("write to the session's host.log: %v", err) // then they stay here
	}
	return conn, lock, nil
}

// inheritable returns environ without the variables that mark a host.
func inheritable(environ []string) []string {
	var env []string
	for _, kv := range environ {
		if !strings.HasPrefix(kv, home.HostMark+"=") {
			env = append(env, kv)
		}
	}
	return env
}
