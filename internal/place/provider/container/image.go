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

	"den/internal/base/fault"

	"github.com/containerd/errdefs"
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
		if err == nil || tries == maxBuilds || !isDisturbed(err) {
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

// maxBuilds is how often a build begins anew that others disturb.
const maxBuilds = 5

// isDisturbed reports whether a build failed because somebody else's image went
// away while podman looked among all images for layers to use again. What it
// has built so far is used by the next one.
func isDisturbed(err error) bool {
	return strings.Contains(err.Error(), "checking if cached image exists") && removing(err)
}

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
