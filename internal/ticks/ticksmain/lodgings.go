package ticksmain

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"den/internal/agent/runner/local"
	"den/internal/base/build"
	"den/internal/place/provider/container"
	"den/internal/session/home"
	"den/internal/ticks/box"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/instance"
	"den/internal/ticks/terminal"
	"den/internal/ticks/tick"
	"den/internal/ticks/watch"
)

// lodgings are where the agent of an instance may live. One goroutine uses
// them, that of ticks.
type lodgings struct {
	in     *instance.Instance
	here   terminal.Native
	spawn  local.Spawner
	den    string
	getenv func(string) string
	log    *slog.Logger

	engines map[engine]*container.Provider // that were opened
}

// engine says which one is used.
type engine struct{ brand, socket string }

// close lets go of engines. Containers go on.
func (l *lodgings) close() error {
	var errs []error
	for _, p := range l.engines {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// lodge tells where the agent lives in its next tick. Its configuration may
// have changed since the last one.
func (l *lodgings) lodge(c datarepo.Config) (tick.Lodging, error) {
	described, err := l.in.Repo.HasContainerfile()
	if err != nil {
		return tick.Lodging{}, err
	}
	settings, wanted, err := box.Choose(c.Container, described)
	if err != nil {
		return tick.Lodging{}, err
	}
	if !wanted {
		return l.native(), nil
	}
	b, err := l.box(settings)
	if err != nil {
		return tick.Lodging{}, err
	}
	return tick.Lodging{Place: box.Either{Now: b.Place(), Before: l.here}, Hooks: b.Spawner(), Prepare: b.Prepare, Confined: true}, nil
}

// native is this machine. A container in which the agent lived before is ended,
// and what an earlier tick left in it is found.
func (l *lodgings) native() tick.Lodging {
	here := tick.Lodging{Place: l.here}
	b, err := l.last()
	if err != nil {
		l.log.Error("an earlier container of the agent cannot be ended", "error", err)
	}
	if b == nil {
		return here
	}
	here.Place = box.Either{Now: l.here, Before: b.Place()}
	here.Prepare = func(ctx context.Context) (warning string, err error) {
		if err := b.Leave(ctx); err != nil {
			return "The container in which you lived before could not be ended: " + err.Error(), nil
		}
		return "", nil
	}
	return here
}

// last is the container that the agent had last, nil if there is none.
func (l *lodgings) last() (*box.Box, error) {
	known, err := l.in.Dir.LoadBox()
	if err != nil || known.Image == "" {
		return nil, err
	}
	return l.box(box.Settings{Engine: known.Engine, Socket: known.Socket})
}

func (l *lodgings) box(s box.Settings) (*box.Box, error) {
	containers, err := l.open(engine{s.Engine, s.Socket})
	if err != nil {
		return nil, err
	}
	return box.New(box.Options{
		Name: l.in.Name, Data: l.in.Repo.Path(), Dir: l.in.Dir, Containers: containers, Settings: s, Mark: l.spawn.Mark, Version: build.Version,
		Registry: home.NewRegistry(l.getenv), Getenv: l.getenv, Log: l.log, Clock: time.Now,
	}), nil
}

func (l *lodgings) open(e engine) (*container.Provider, error) {
	if p := l.engines[e]; p != nil {
		return p, nil
	}
	p, err := container.Open(container.Options{
		Home: l.in.Dir.BoxHome(), Owner: box.Owner, Binary: l.den, Version: build.Version, Engine: e.socket, Brand: e.brand, Getenv: l.getenv,
	})
	if err != nil {
		return nil, err
	}
	if l.engines == nil {
		l.engines = map[engine]*container.Provider{}
	}
	l.engines[e] = p
	return p, nil
}

// leave ends the container of an instance, if it has one: until the next tick,
// or for good.
func (l *lodgings) leave(ctx context.Context, forGood bool) error {
	lock, err := l.in.Dir.LockTick(watch.Holder{PID: os.Getpid(), What: "stop " + l.in.Name, Since: time.Now()})
	if err != nil {
		return err
	}
	defer lock.Close() // Best effort: the kernel releases it with the process.
	b, err := l.last()
	switch {
	case err != nil || b == nil:
		return err
	case forGood:
		return b.Leave(ctx)
	}
	return b.Stop(ctx)
}
