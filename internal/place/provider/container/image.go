package container

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"

	"github.com/containerd/errdefs"
	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// image returns the reference of the image that a session shall have, which
// is pulled or built if the engine has none.
func (p *Provider) image(ctx context.Context, c Spec, progress func(string)) (string, error) {
	switch {
	case c.Image != "" && c.Context != "":
		return "", fault.Errorf(fault.Usage, "both the image %q and the build context %s are given", c.Image, c.Context)
	case c.Context != "":
		return p.built(ctx, c, progress)
	case c.Image != "":
		return c.Image, p.pulled(ctx, c.Image, progress)
	}
	return "", fault.Hintf(fault.Errorf(fault.Usage, "no image is given"), "name an image, or a directory with a Containerfile")
}

// has reports whether the engine has an image.
func (p *Provider) has(ctx context.Context, ref string) (bool, error) {
	api, err := p.engine.connect(ctx)
	if err != nil {
		return false, err
	}
	there := false
	err = RetryWhileRemoving(ctx, func() error {
		_, err := api.ImageInspect(ctx, ref)
		if errdefs.IsNotFound(err) {
			return nil
		}
		there = err == nil
		return err
	})
	return there, engineError("look for image "+ref, err)
}

func (p *Provider) pulled(ctx context.Context, ref string, progress func(string)) error {
	done, err := p.images.take(ctx, ref)
	if err != nil {
		return err
	}
	defer done()
	if there, err := p.has(ctx, ref); err != nil || there {
		return err
	}
	api, err := p.engine.connect(ctx)
	if err != nil {
		return err
	}
	pull, err := api.ImagePull(ctx, ref, client.ImagePullOptions{})
	if err == nil {
		_, err = transcript(pull, progress)
		err = errors.Join(err, pull.Close())
	}
	if err != nil {
		return fault.Hintf(engineError("pull image "+ref, err), "check its name; an image that was made here is called localhost/NAME:TAG")
	}
	return nil
}

// repository is that of the images that are built for this owner: the images
// of two owners are never one, so that each can remove its own.
func (p *Provider) repository() string {
	sum := sha256.Sum256([]byte(p.Home.Path + "\x00" + p.Owner))
	return "localhost/den-" + hex.EncodeToString(sum[:8])
}

// built returns the image of a build context. Its tag is the hash of the whole
// context, so it is built only if something in there is new. An image that
// was built before stays, whatever becomes of this build.
func (p *Provider) built(ctx context.Context, c Spec, progress func(string)) (string, error) {
	bc, err := openContext(string(c.Context))
	if err != nil {
		return "", err
	}
	hash, err := bc.hash()
	if err != nil {
		return "", err
	}
	ref := p.repository() + ":" + hash
	done, err := p.images.take(ctx, ref)
	if err != nil {
		return "", err
	}
	defer done()
	if there, err := p.has(ctx, ref); err != nil || there {
		return ref, err
	}
	archive, hash, err := bc.spool()
	if err != nil {
		return "", err
	}
	defer archive.Close() // Best effort: it has no name and goes.
	ref = p.repository() + ":" + hash
	for tries := 1; ; tries++ {
		err := p.build(ctx, bc, archive, ref, c.Network, progress)
		if err == nil || tries == maxBuilds || !removing(err) {
			return ref, err
		}
		if _, err := archive.Seek(0, io.SeekStart); err != nil {
			return "", fmt.Errorf("build image from %s again: %w", bc.dir, err)
		}
		if progress != nil {
			progress("the build begins anew: an image went away that the engine looked at")
		}
	}
}

// maxBuilds is how often a build begins anew that others disturb: at any step,
// somebody else's image may go away while podman looks among all images for
// layers to use again, or builds on one. What was built so far is used by the
// next build.
const maxBuilds = 5

func (p *Provider) build(ctx context.Context, bc buildContext, archive io.Reader, ref, network string, progress func(string)) error {
	api, err := p.engine.connect(ctx)
	if err != nil {
		return err
	}
	o := client.ImageBuildOptions{
		Tags: []string{ref}, Dockerfile: bc.file, Remove: true, ForceRemove: true, Labels: p.labels(),
	}
	if network == "host" {
		o.NetworkMode = network // a machine whose default network leads nowhere
	}
	result, err := api.ImageBuild(ctx, io.NopCloser(archive), o) // it may be needed again
	if err != nil {
		return engineError("build image from "+bc.dir, err)
	}
	defer result.Body.Close() // Best effort: it was read to its end.
	said, err := transcript(result.Body, progress)
	if ctx.Err() != nil {
		return fmt.Errorf("build image from %s: %w", bc.dir, ctx.Err())
	}
	if err != nil {
		return fault.Hintf(fault.Errorf(fault.Usage, "build image from %s: %w\n%s", bc.dir, err, said), "fix its %s; the image that was built before is still there", bc.file)
	}
	if there, err := p.has(ctx, ref); err != nil || !there {
		return errors.Join(err, fault.Errorf(fault.Internal, "build image from %s: the engine says nothing of an error, but the image is not there\n%s", bc.dir, said))
	}
	return nil
}

// maxTranscript bounds what is kept of a build's words: its end, where the
// error is.
const maxTranscript = 1 << 20

// transcript reads what the engine says of a build or a pull, and the error
// with which that ended. It passes each line on to progress, unless that is
// nil.
func transcript(r io.Reader, progress func(string)) (string, error) {
	var said strings.Builder
	dec := json.NewDecoder(r)
	for {
		var m struct {
			Stream string `json:"stream"`
			Status string `json:"status"`
			ID     string `json:"id"`
			Error  string `json:"error"`
			Detail struct {
				Message string `json:"message"`
			} `json:"errorDetail"`
		}
		err := dec.Decode(&m)
		if err == io.EOF {
			return said.String(), nil
		}
		if err != nil {
			return said.String(), fmt.Errorf("read what the engine says: %w", err)
		}
		if line := strings.TrimSpace(strings.TrimSpace(m.ID+" "+m.Status) + m.Stream); progress != nil && line != "" {
			progress(line)
		}
		said.WriteString(m.Stream)
		if said.Len() > 2*maxTranscript {
			end := said.String()[said.Len()-maxTranscript:]
			said.Reset()
			said.WriteString("(what came before is left out)\n" + end)
		}
		if m.Detail.Message != "" {
			return said.String(), errors.New(m.Detail.Message)
		}
		if m.Error != "" {
			return said.String(), errors.New(m.Error)
		}
	}
}

// flights keeps two calls from making one thing at the same time: ten agents
// that start together from one context build it once.
type flights struct {
	mu  sync.Mutex // guards now
	now map[string]chan struct{}
}

// take waits until nobody makes the thing. The caller looks whether it is
// there now, makes it if not, and calls done.
func (f *flights) take(ctx context.Context, thing string) (done func(), err error) {
	for {
		f.mu.Lock()
		other, busy := f.now[thing]
		if !busy {
			landed := make(chan struct{})
			if f.now == nil {
				f.now = map[string]chan struct{}{}
			}
			f.now[thing] = landed
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.now, thing)
				f.mu.Unlock()
				close(landed)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

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
