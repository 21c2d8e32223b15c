package daemon

import (
	"context"
	"log"
	"time"
)

// relistenEvery is how often a keeper checks that its socket can be reached: a
// clean-up of the run directory may have removed the file.
const relistenEvery = 5 * time.Second

// relisten keeps the socket reachable until the context ends.
func relisten(ctx context.Context, s interface{ Relisten() error }) {
	tick := time.NewTicker(relistenEvery)
	defer tick.Stop()
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		problem := ""
		if err := s.Relisten(); err != nil {
			problem = err.Error()
		}
		if problem != "" && problem != told { // once, not at every tick
			log.Print(problem)
		}
		told = problem
	}
}
