package irc_test

import (
	"fmt"
	"sync"
	"testing"

	"den/internal/base/fault"
	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd"
)

const idTag = "+den.local/test-id"

// sendOnce sends until the message is certainly in the history, and never
// twice: where the client is not sure, the history is.
func sendOnce(t *testing.T, c *irc.Client, channel, id string) error {
	for {
		_, err := c.SendTagged(within(t), channel, id, irc.Tags{{Key: idTag, Value: id}})
		switch fault.KindOf(err) {
		case "":
			return nil
		case fault.Unsure:
		case fault.Unreachable, fault.NotFound, fault.Denied: // it was not sent, or the channel is not joined again yet
			continue
		default:
			return err
		}
		if there, err := inHistory(t, c, channel, id); err != nil || there {
			return err
		}
	}
}

func inHistory(t *testing.T, c *irc.Client, channel, id string) (bool, error) {
	for {
		events, err := c.History(within(t), channel, irc.Cursor{}, 256)
		for _, e := range events {
			if e.Tags.Value(idTag) == id {
				return true, nil
			}
		}
		switch kind := fault.KindOf(err); {
		case err == nil:
			return false, nil
		case kind == fault.Unreachable || kind == fault.Denied: // lost again, or not on the channel yet
		default:
			return false, err
		}
	}
}

// Many clients talk while the server is restarted. Each message reaches the
// listener once, and those of one sender in order.
func TestNothingIsLostOverRestarts(t *testing.T) {
	const senders, each, restarts = 10, 40, 4
	s := startServer(t, ircd.Config{Dir: t.TempDir()})
	listener := connect(t, s.address, "listener", "#c")
	var sending sync.WaitGroup
	for n := range senders {
		c := connect(t, s.address, fmt.Sprint("sender", n), "#c")
		sending.Go(func() {
			for i := range each {
				if err := sendOnce(t, c, "#c", fmt.Sprint(n, "-", i)); err != nil {
					t.Errorf("sender %d, message %d: %v", n, i, err)
					return
				}
			}
		})
	}
	next := map[int]int{}
	for heard := range senders * each {
		var n, i int
		e := nextMessage(t, listener)
		if _, err := fmt.Sscanf(e.Text, "%d-%d", &n, &i); err != nil {
			t.Fatalf("%+v", e)
		}
		if i != next[n] {
			t.Fatalf("sender %d: message %d, want %d", n, i, next[n])
		}
		next[n]++
		if heard%(senders*each/(restarts+1)) == senders*each/(restarts+1)-1 {
			s.stop()
			s.start()
		}
	}
	sending.Wait()
}

func nextMessage(t *testing.T, c *irc.Client) irc.Event {
	t.Helper()
	for {
		e, err := c.Next(within(t))
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case irc.EventMessage:
			return e
		case irc.EventGap, irc.EventDropped:
			t.Fatalf("%+v", e)
		}
	}
}
