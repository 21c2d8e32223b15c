package ircd

import "time"

// pace waits until a line of the client may be handled. A client that sends
// too many is read later, so that its own send buffer fills; nothing is lost.
// It returns false if the connection was closed meanwhile.
func (c *client) pace() bool {
	pause := c.lines.Take(time.Now())
	if pause <= 0 {
		return true
	}
	c.burst.release()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.out.gone:
		return false
	}
}
