package rpc

import (
	"errors"
	"log"
	"net"
)

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
