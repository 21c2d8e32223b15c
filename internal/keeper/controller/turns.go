package controller

// turns bounds how many agents are replaced at the same time because their
// configuration changed. An agent has its turn until it runs as it should, so a
// change with which agents do not come up stops at the first of them.
type turns struct {
	taken  map[string]bool // keys
	queued map[string]bool
}

func newTurns() turns { return turns{taken: map[string]bool{}, queued: map[string]bool{}} }

// mayReplace reports whether it is the agent's turn, and keeps the turn until
// endTurn. Whoever it is not the turn of is woken when there is another one.
func (c *Controller) mayReplace(key string, limit int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if limit > 0 && !c.turns.taken[key] && len(c.turns.taken) >= limit {
		c.turns.queued[key] = true
		return false
	}
	c.turns.taken[key] = true
	delete(c.turns.queued, key)
	return true
}

// endTurn lets others be replaced, if the agent had a turn or waited for one.
func (c *Controller) endTurn(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.turns.queued, key)
	if !c.turns.taken[key] {
		return
	}
	delete(c.turns.taken, key)
	for waits := range c.turns.queued {
		if w := c.workers[waits]; w != nil {
			w.touch()
		}
	}
}

// queuesFor reports whether an agent whose configuration changed has to wait
// until others were replaced.
func (w *worker) queuesFor(s observed) bool {
	w.mu.Lock()
	run, limit, up := w.desired.run, w.policy.MaxReplacing, w.memory.Up
	w.mu.Unlock()
	drifts := s.known && s.running && len(s.drift) > 0
	switch {
	case run && drifts && s.held == "":
		return !w.c.mayReplace(w.key, limit)
	case !run, drifts, s.known && s.running && !s.partial && up:
		w.c.endTurn(w.key)
	}
	return false
}
