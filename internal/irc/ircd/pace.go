package ircd

import (
	"time"

	"den/internal/irc"
)

// pace waits until a line of a client may be handled. A client that sends too
// many is read later, so that its own send buffer fills; nothing is lost. It
// returns false if the connection was closed meanwhile.
func pace(b *irc.Bucket, out *outbox) bool {
	pause := b.Take(time.Now())
	if pause <= 0 {
		return true
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-out.gone:
		return false
	}
}
