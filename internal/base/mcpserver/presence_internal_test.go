package mcpserver

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A client over HTTP is gone so long after its last request, or after its stream.
func TestPresence(t *testing.T) {
	const grace, silence = 30 * time.Second, 5 * time.Minute
	for _, c := range []struct {
		name   string
		limit  time.Duration
		do     func(p *presence)
		remain bool
	}{
		{"silent", silence, func(p *presence) { p.enter("a", false)() }, false},
		{"silent, and any silence will do", 0, func(p *presence) {
			p.silence = 0
			p.enter("a", false)()
		}, true},
		{"asks again", silence, func(p *presence) {
			p.enter("a", false)()
			time.Sleep(silence - 1) // of the bubble's clock
			p.enter("a", false)()
		}, false},
		{"its call takes long", 0, func(p *presence) { p.enter("a", false) }, true},
		{"let go of its stream", grace, func(p *presence) {
			p.enter("a", false)()
			p.enter("a", true)()
		}, false},
		{"has a stream", 0, func(p *presence) {
			p.enter("a", true)
			p.enter("a", false)()
		}, true},
		{"the server ends", 0, func(p *presence) {
			p.enter("a", false)()
			p.stop()
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var gone atomic.Int32
				p := newPresence(grace, silence, func(string) { gone.Add(1) })
				c.do(p)
				if c.remain {
					time.Sleep(time.Hour) // of the bubble's clock
					synctest.Wait()
					if gone.Load() != 0 {
						t.Error("it was taken for gone")
					}
					return
				}
				time.Sleep(c.limit - 1) // of the bubble's clock
				synctest.Wait()
				if gone.Load() != 0 {
					t.Error("it was taken for gone too early")
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if gone.Load() != 1 || len(p.clients) != 0 {
					t.Errorf("gone %d times, %d are known", gone.Load(), len(p.clients))
				}
			})
		})
	}
}
