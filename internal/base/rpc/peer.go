package rpc

import (
	"errors"
	"fmt"
	"log"
	"net"
	"os"

	"den/internal/base/fault"
)

// CheckClient lets in this user and root.
func CheckClient(conn *net.UnixConn) error {
	uid, err := userOf(conn)
	if err != nil {
		return fmt.Errorf("check client: %w", err)
	}
	if uid != 0 && uid != os.Geteuid() {
		return fault.Errorf(fault.Denied, "user %d may not use what belongs to user %d", uid, os.Geteuid())
	}
	return nil
}

// CheckServer refuses a server of another user: it could read what is sent to
// it. Root may use the servers of everybody.
func CheckServer(conn *net.UnixConn) error {
	uid, err := userOf(conn)
	if err != nil {
		return fmt.Errorf("check server: %w", err)
	}
	if me := os.Geteuid(); me != 0 && uid != 0 && uid != me {
		return fault.Errorf(fault.Denied, "the socket belongs to user %d, not to user %d", uid, me)
	}
	return nil
}

// userOf returns the user of the process at the other end.
func userOf(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var uid int
	var uerr error
	if err := raw.Control(func(fd uintptr) { uid, uerr = peerUID(int(fd)) }); err != nil {
		return 0, err
	}
	return uid, uerr
}

// An OwnListener is a Unix socket that only this user and root reach: the
// kernel says who connects. Its file may be removed and made anew.
type OwnListener struct {
	address net.Addr
	socket  socket
}

// ListenOwn opens a socket as Listen does.
func ListenOwn(path string) (*OwnListener, error) {
	first, err := Listen(path)
	if err != nil {
		return nil, err
	}
	l := &OwnListener{address: first.Addr()}
	l.socket.open(first)
	return l, nil
}

// Accept returns the next connection of this user or root. Others are closed.
func (l *OwnListener) Accept() (net.Conn, error) {
	for {
		current := l.socket.current()
		if current == nil {
			return nil, net.ErrClosed
		}
		conn, err := current.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			l.socket.next(current)
			continue
		}
		if err != nil {
			return nil, err
		}
		if err = CheckClient(conn); err == nil {
			return conn, nil
		}
		log.Printf("refuse a client of %s: %v", l.address, err)
		conn.Close() // Best effort: nothing was sent.
	}
}

// Close ends Accept and removes the file.
func (l *OwnListener) Close() error {
	l.socket.close()
	return nil
}

// Addr is where clients connect.
func (l *OwnListener) Addr() net.Addr { return l.address }

// Relisten opens the socket again if its file was removed.
func (l *OwnListener) Relisten() error { return l.socket.relisten() }
