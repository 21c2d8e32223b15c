package dend

import (
	"log"
	"net"
	"os"

	"den/internal/rpc"
)

// ownUserListener lets in connections of this user and of root. A port on the
// loopback address is open to everybody on the machine, and whoever speaks in
// a channel can have agents work.
type ownUserListener struct{ net.Listener }

func (l ownUserListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := rpc.LoopbackUser(conn)
		if err == nil && (uid == 0 || uid == os.Geteuid()) {
			return conn, nil
		}
		if err != nil {
			log.Printf("refuse a client of the channels: its user is not known: %v", err)
		} else {
			log.Printf("refuse a client of the channels: it is user %d", uid)
		}
		conn.Close() // Best effort: nothing was sent.
	}
}
