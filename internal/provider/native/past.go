package native

import (
	"den/internal/eventlog"
	"den/internal/home"
	"den/internal/replay"
	"den/internal/screen"
)

// lastScreen replays the log of a session that is over. A log that lost its
// end shows the last screen that it has.
func lastScreen(d home.Dir, above int) (screen.Snapshot, error) {
	log, err := eventlog.Open(d.Log())
	if err != nil {
		return screen.Snapshot{}, err
	}
	r, err := replay.At(log, replay.End())
	if err != nil {
		return screen.Snapshot{}, err
	}
	return screen.Capture(r.Terminal, above), nil
}
