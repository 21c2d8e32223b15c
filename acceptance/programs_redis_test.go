package acceptance

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// startRedis answers redis-cli on a port of its own: the client is what is
// tested, and it cannot tell this from a server that knows more commands.
func startRedis(t *testing.T) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := redis{values: map[string]string{}}
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed below
			}
			clients.Go(func() { r.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		r.hangUp()
		clients.Wait()
	})
	_, port, _ = net.SplitHostPort(l.Addr().String()) // it has one
	return port
}

// redis is as much of a server as the test asks for.
type redis struct {
	mu     sync.Mutex // guards the fields below
	values map[string]string
	conns  []net.Conn
	closed bool
}

func (r *redis) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, c := range r.conns {
		c.Close() // Best effort: the client may have gone.
	}
}

func (r *redis) serve(c net.Conn) {
	defer c.Close()
	r.mu.Lock()
	r.conns = append(r.conns, c)
	closed := r.closed
	r.mu.Unlock()
	in := bufio.NewReader(c)
	for !closed {
		words, err := readCommand(in)
		if err != nil {
			return // the client has gone
		}
		if _, err := io.WriteString(c, r.answer(words)); err != nil {
			return // as above
		}
	}
}

// readCommand reads an array of strings, as clients send them.
func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readLength(in)
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := readLength(in)
		if err != nil {
			return nil, err
		}
		raw := make([]byte, size+2) // and its newline
		if _, err := io.ReadFull(in, raw); err != nil {
			return nil, err
		}
		words[i] = string(raw[:size])
	}
	return words, nil
}

// readLength reads "*3" or "$5".
func readLength(in *bufio.Reader) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

func (r *redis) answer(words []string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch verb := strings.ToUpper(words[0]); {
	case verb == "PING":
		return "+PONG\r\n"
	case verb == "MONITOR":
		return "+watching\r\n" // and nothing happens
	case verb == "SET" && len(words) == 3:
		r.values[words[1]] = words[2]
		return "+OK\r\n"
	case verb == "GET" && len(words) == 2:
		if v, ok := r.values[words[1]]; ok {
			return bulk(v)
		}
		return "$-1\r\n"
	case verb == "KEYS":
		all := fmt.Sprintf("*%d\r\n", len(r.values))
		var names []string
		for name := range r.values {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			all += bulk(name)
		}
		return all
	case verb == "SLEEP" && len(words) == 2:
		seconds, err := strconv.ParseFloat(words[1], 64)
		if err != nil {
			return "-ERR not a number\r\n"
		}
		time.Sleep(time.Duration(seconds * float64(time.Second))) // what the command is for
		return "+OK\r\n"
	case verb == "COMMAND":
		return "*0\r\n"
	}
	return fmt.Sprintf("-ERR unknown command '%s'\r\n", words[0])
}

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }
