package box

import (
	"context"

	"den/internal/agent/runner/remote"
	"den/internal/place/provider"
	"den/internal/place/provider/container"
)

// Spawner starts hooks in the container. What it started ends with whoever
// started it, in there too.
type Spawner struct {
	remote.Spawner
	box *Box
}

// Spawner returns what starts hooks in the container.
func (b *Box) Spawner() Spawner {
	return Spawner{box: b, Spawner: remote.Spawner{
		Exec: func(ctx context.Context, e provider.ExecSpec) (int, error) {
			if _, err := b.awake(ctx); err != nil {
				return 0, err
			}
			return b.exec(ctx, e)
		},
		Den: container.Den, Mark: b.Mark, Env: b.env(),
	}}
}

// Clean ends what an earlier Spawner left. In a container that does not run
// nothing is left, and it is not started for that.
func (s Spawner) Clean(ctx context.Context) (int, error) {
	running, err := s.box.Containers.IsRunning(ctx, boxName)
	if err != nil || !running {
		return 0, err
	}
	return s.Spawner.Clean(ctx)
}
