// Package fleet is the read model of a workspace's agents: what its keeper says
// of them, and of what waits for a person.
package fleet

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/keeper"
)

// Every is the time between two questions to a keeper.
const Every = 2 * time.Second

// Workspace is a workspace as its keeper sees it.
type Workspace struct {
	keeper.Ps
	Attention *keeper.Attention // or nil: a keeper of an older den does not know
}

// Keeper is that of a workspace, or nil: there is no workspace.
type Keeper struct{ keeper.StateDir }

// At returns the keeper of a workspace's file.
func At(config string) (*Keeper, error) {
	place, err := keeper.At(config)
	return &Keeper{place}, err
}

// Call makes one call to the keeper.
func (k *Keeper) Call(ctx context.Context, method string, params, result any) error {
	return k.do(ctx, func(c *keeper.Client) error { return c.Call(ctx, method, params, result) })
}

// Now asks the keeper. What it said before an error is returned with it.
func (k *Keeper) Now(ctx context.Context) (*Workspace, error) {
	var w Workspace
	err := k.do(ctx, func(c *keeper.Client) (err error) {
		if err = c.Call(ctx, keeper.MethodPs, keeper.Agent{}, &w.Ps); err == nil {
			w.Attention, err = c.Attention(ctx)
		}
		return err
	})
	return &w, err
}

// Attention asks the keeper what waits for a person: for one of an older den
// nothing does.
func (k *Keeper) Attention(ctx context.Context) (keeper.Attention, error) {
	var all keeper.Attention
	err := k.do(ctx, func(c *keeper.Client) error {
		told, err := c.Attention(ctx)
		if told != nil {
			all = *told
		}
		return err
	})
	return all, err
}

func (k *Keeper) do(ctx context.Context, do func(*keeper.Client) error) error {
	if k == nil {
		return fault.Errorf(fault.NotFound, "there is no workspace here")
	}
	c, err := k.Dial(ctx, build.Version)
	if err != nil {
		return err
	}
	defer c.Close() // Best effort: it was answered, or not.
	return do(c)
}

// Poll asks at once, after each time, and when it is woken, and tells of the
// answer whenever it differs from the last one, until ctx ends.
func Poll[T any](ctx context.Context, every time.Duration, wake <-chan struct{}, ask func(context.Context) (T, error), tell func(T, error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var told T
	var problem error
	for first := true; ; first = false {
		now, err := ask(ctx)
		if ctx.Err() != nil {
			return
		}
		if first || fmt.Sprint(err) != fmt.Sprint(problem) || !reflect.DeepEqual(now, told) {
			told, problem = now, err
			tell(now, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
	}
}
