package container

import (
	"context"
	"errors"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"

	"github.com/containerd/errdefs"
	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// owned is a container of ours.
type owned struct {
	id      string
	session string // the id of the session that it was made for, or execSession
	running bool
}

// ours selects what this provider made, and nothing else.
func (p *Provider) ours() client.Filters {
	f := client.Filters{}
	for key, value := range p.labels() {
		f.Add("label", key+"="+value)
	}
	return f
}

// containers lists our containers, those that have ended too; only those of a
// session's name, unless that is "".
func (p *Provider) containers(ctx context.Context, name string) ([]owned, error) {
	engine, err := p.engine.connect(ctx)
	if err != nil {
		return nil, err
	}
	filters := p.ours()
	if name != "" {
		filters.Add("label", nameLabel+"="+name)
	}
	var list client.ContainerListResult
	err = RetryWhileRemoving(ctx, func() (err error) {
		list, err = engine.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
		return err
	})
	if err != nil {
		return nil, engineError("list containers", err)
	}
	var found []owned
	for _, c := range list.Items {
		// Not every engine takes a label's value for exact.
		if p.made(c.Labels) && (name == "" || c.Labels[nameLabel] == name) {
			found = append(found, owned{id: c.ID, session: c.Labels[sessionLabel], running: c.State == api.StateRunning})
		}
	}
	return found, nil
}

func (p *Provider) made(labels map[string]string) bool {
	for key, value := range p.labels() {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// clear removes a container whose session is over, with the directory of its
// sockets. One whose session lives is left alone: its name may have been
// started anew meanwhile.
func (p *Provider) clear(ctx context.Context, c owned) error {
	if c.session == execSession && c.running {
		return nil // whoever waits for its command removes it
	}
	if !ident.IsID(c.session) {
		return p.remove(ctx, c.id) // not made as we make them
	}
	d := p.Home.Dir(c.session)
	m, err := d.Inspect()
	if fault.KindOf(err) == fault.NotFound {
		return p.remove(ctx, c.id)
	}
	if err != nil || m.Status.Active() {
		return err
	}
	return errors.Join(p.remove(ctx, c.id), d.RemoveRunDir())
}

// pruneAge is how old a built image must be before PruneOld removes it.
const pruneAge = 24 * time.Hour

// PruneOld removes containers whose sessions are over and old built images.
func (p *Provider) PruneOld(ctx context.Context) error {
	_, err := p.Prune(ctx, pruneAge)
	return err
}

// Pruned counts what Prune removed.
type Pruned struct {
	Containers, Images int
}

// Prune removes this owner's containers whose sessions are over, and its
// built images that are older than age and that no container uses.
func (p *Provider) Prune(ctx context.Context, age time.Duration) (Pruned, error) {
	var done Pruned
	before, err := p.containers(ctx, "")
	if err != nil {
		return done, err
	}
	for _, c := range before {
		if err := p.clear(ctx, c); err != nil {
			return done, err
		}
	}
	after, err := p.containers(ctx, "")
	if err != nil {
		return done, err
	}
	done.Containers = len(before) - len(after)
	done.Images, err = p.pruneImages(ctx, time.Now().Add(-age))
	return done, err
}

// pruneImages removes built images and counts them. With an image go those of
// the steps of its build, which have no name; podman leaves some of them where
// others remove images at the same time, so they are looked for once more.
func (p *Provider) pruneImages(ctx context.Context, before time.Time) (int, error) {
	engine, err := p.engine.connect(ctx)
	if err != nil {
		return 0, err
	}
	count := 0
	for {
		named, steps, err := p.pruneListed(ctx, engine, before)
		count += named
		if err != nil || named+steps == 0 {
			return count, err
		}
	}
}

// pruneListed removes the images that are listed now. It counts those with a
// name and those of steps apart.
func (p *Provider) pruneListed(ctx context.Context, engine *client.Client, before time.Time) (named, steps int, err error) {
	var list client.ImageListResult
	err = RetryWhileRemoving(ctx, func() (err error) {
		list, err = engine.ImageList(ctx, client.ImageListOptions{All: true, Filters: p.ours()})
		return err
	})
	if err != nil {
		return 0, 0, engineError("list images", err)
	}
	for _, image := range list.Items {
		if !p.made(image.Labels) || time.Unix(image.Created, 0).After(before) {
			continue
		}
		removed, err := removeImage(ctx, engine, image.ID)
		switch {
		case err != nil:
			return named, steps, err
		case removed && len(image.RepoTags) > 0:
			named++
		case removed:
			steps++
		}
	}
	return named, steps, nil
}

// removeImage removes an image, unless it is in use or gone.
func removeImage(ctx context.Context, engine *client.Client, id string) (removed bool, err error) {
	err = RetryWhileRemoving(ctx, func() error {
		_, err := engine.ImageRemove(ctx, id, client.ImageRemoveOptions{PruneChildren: true})
		if errdefs.IsConflict(err) || errdefs.IsNotFound(err) {
			return nil
		}
		removed = err == nil
		return err
	})
	return removed, engineError("remove image "+id, err)
}
