package tmux

import (
	"context"
	"fmt"
	"sync"
	"time"

	"den/internal/base/fault"
)

// stampAge is how old an answer about all panes may be that stamps are taken
// from: many sessions are asked about together, and tmux is asked once.
const stampAge = time.Second

// stamps is the last answer about all panes.
type stamps struct {
	mu     sync.Mutex
	taken  time.Time
	byName map[string]pane
}

// ChangeStamp names the session and when its pane last printed. tmux counts
// whole seconds: within the second after a print, every stamp differs.
func (p *Provider) ChangeStamp(ctx context.Context, name string) (string, error) {
	begun := time.Now()
	p.stamps.mu.Lock()
	defer p.stamps.mu.Unlock()
	one, ok := p.stamps.byName[name]
	// A session that is not in the last answer may have been started since.
	if begun.Sub(p.stamps.taken) > stampAge || !ok && begun.After(p.stamps.taken) {
		if err := p.takeStamps(ctx); err != nil {
			return "", err
		}
		one, ok = p.stamps.byName[name]
	}
	if !ok {
		return "", fault.Errorf(fault.NotFound, "no session '%s'", name)
	}
	stamp := fmt.Sprintf("%s:%d:%d", one.session, one.pid, one.activity.Unix())
	if p.stamps.taken.Sub(one.activity) < 2*time.Second {
		stamp += fmt.Sprintf(":%d", p.stamps.taken.UnixNano()) // more may come in the same second
	}
	return stamp, nil
}

// takeStamps asks tmux. The caller holds the lock: whoever comes meanwhile
// uses the same answer.
func (p *Provider) takeStamps(ctx context.Context) error {
	taken := time.Now()
	panes, err := p.list(ctx, "1")
	if err != nil {
		return err
	}
	p.stamps.taken, p.stamps.byName = taken, make(map[string]pane, len(panes))
	for _, one := range panes {
		p.stamps.byName[one.name] = one
	}
	return nil
}
