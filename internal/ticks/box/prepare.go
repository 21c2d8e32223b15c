package box

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/container"
	"den/internal/ticks/instance"
)

const (
	// prepareLimit is how long a build and a start may take together.
	prepareLimit = 30 * time.Minute
	// leaveLimit is how long the end of a container may take.
	leaveLimit = time.Minute
)

// Prepare has the container run, made from what there is now: it is built if
// something has changed, and replaced if it was made from something else. If
// that fails and there was one before, it is that one, and the warning says
// why. An error means that there is none.
func (b *Box) Prepare(ctx context.Context) (warning string, err error) {
	ctx, cancel := context.WithTimeout(ctx, prepareLimit)
	defer cancel()
	done, err := b.take(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	warning, err = b.prepare(ctx)
	return warning, clipped(err)
}

func (b *Box) prepare(ctx context.Context) (warning string, err error) {
	sockets, err := b.makeDirs()
	if err != nil {
		return "", err
	}
	known := b.known()
	running, err := b.Containers.IsRunning(ctx, boxName)
	if err != nil {
		return "", err
	}
	image, err := b.Containers.Image(ctx, boxName, b.config(b.source(), sockets), func(line string) { b.Log.Info("container", "line", line) })
	if err != nil {
		return b.keep(ctx, known, running, err)
	}
	if running && known.Made == b.digest(image) {
		if known.Problem == "" {
			return "", nil
		}
		known.Problem = "" // it is none any more
		return "", b.Dir.SaveBox(known)
	}
	if running {
		b.Log.Info("the agent's container is made anew", "image", image, "was", known.Image)
		if err := b.Containers.Stop(ctx, boxName); err != nil {
			return "", err
		}
	}
	if err := b.start(ctx, image, ""); err != nil {
		return b.keep(ctx, known, false, err)
	}
	b.prune(ctx)
	return "", nil
}

// keep has the container be the one from before, from which the agent can
// mend what is wrong. Without an engine there is none.
func (b *Box) keep(ctx context.Context, known instance.Box, running bool, why error) (warning string, err error) {
	kind := fault.KindOf(why)
	if ctx.Err() != nil || kind == fault.Unreachable || kind == fault.Denied || known.Image == "" {
		return "", why
	}
	b.Log.Error("the agent's container cannot be made; it is the one from before", "error", why)
	problem := clipped(why).Error()
	if running {
		known.Problem = problem
		err = b.Dir.SaveBox(known)
	} else {
		err = b.start(ctx, known.Image, problem)
	}
	if err != nil {
		return "", errors.Join(why, err)
	}
	return "Your container could not be made from what is in system/container and system/agent_config.json now. It is the one from before. " + problem, nil
}

// start starts the container from an image, and records it.
func (b *Box) start(ctx context.Context, image, problem string) error {
	sockets, err := b.makeDirs()
	if err != nil {
		return err
	}
	if err := b.Containers.Start(ctx, boxName, b.config(container.Spec{Image: image}, sockets)); err != nil {
		return err
	}
	shell, err := b.findShell(ctx)
	if err == nil {
		err = b.Dir.SaveBox(instance.Box{
			Session: b.Containers.DenSession(boxName), Image: image, Made: b.digest(image), Shell: shell, Sockets: sockets,
			Engine: b.Settings.Engine, Socket: b.Settings.Socket, Since: b.Clock(), Problem: problem,
		})
	}
	if err != nil {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
		defer cancel()
		return errors.Join(err, b.Containers.Stop(limited, boxName))
	}
	return nil
}

// findShell returns bash, or what an image without it has.
func (b *Box) findShell(ctx context.Context) (string, error) {
	var said, errs bytes.Buffer
	code, err := b.exec(ctx, provider.ExecSpec{
		Argv: []string{"sh", "-c", "command -v bash >/dev/null 2>&1 && echo bash || echo sh"}, Dir: "/", Stdout: &said, Stderr: &errs,
	})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, strings.TrimSpace(errs.String()))
	}
	if err != nil {
		return "", fault.Hintf(fault.Errorf(fault.KindOf(err), "find a shell in the agent's container: %w", err), "terminals need one: have the image contain sh, or better bash")
	}
	return strings.TrimSpace(said.String()), nil
}

// prune removes images of this instance that no container uses, and containers
// that are over.
func (b *Box) prune(ctx context.Context) {
	pruned, err := b.Containers.Prune(ctx, 0)
	if err != nil {
		b.Log.Warn("old images of the agent's container are left", "error", err)
	} else if pruned.Images > 0 {
		b.Log.Info("removed old images of the agent's container", "count", pruned.Images)
	}
}

// awake has the container run that was prepared: it may have been killed since.
// It is not built anew, which could take long in the middle of a tick.
func (b *Box) awake(ctx context.Context) (instance.Box, error) {
	done, err := b.take(ctx)
	if err != nil {
		return instance.Box{}, err
	}
	defer done()
	known := b.known()
	running, err := b.Containers.IsRunning(ctx, boxName)
	switch {
	case err != nil || running:
		return known, err
	case known.Image == "":
		return known, fault.Hintf(fault.Errorf(fault.NotRunning, "the agent has no container"), "'den kernel logs %s' says why it could not be made", b.Name)
	}
	b.Log.Warn("the agent's container has ended and is started again; what ran in it is gone", "image", known.Image)
	if err := b.start(ctx, known.Image, known.Problem); err != nil {
		return known, clipped(err)
	}
	return b.known(), nil
}

// Stop ends the container. The next tick starts it again.
func (b *Box) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	done, err := b.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	return b.Containers.Stop(ctx, boxName)
}

// Leave ends the container for good, and removes its images.
func (b *Box) Leave(ctx context.Context) error {
	if err := b.Stop(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	if _, err := b.Containers.Prune(ctx, 0); err != nil {
		return err
	}
	return b.Dir.RemoveBox()
}

// How much is told of a build that failed: how it began, and its end, where the
// reason is. All of it is in the log.
const (
	maxFirst = 400
	maxLast  = 1600
)

// clipped is an error whose text is not too long for a status, and for an
// agent's context.
func clipped(err error) error {
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(err.Error())
	if len(text) > maxFirst+maxLast {
		text = strings.ToValidUTF8(text[:maxFirst], "") + "\n…\n" + strings.ToValidUTF8(text[len(text)-maxLast:], "")
	}
	short := fault.Errorf(fault.KindOf(err), "%s", text)
	if hint := fault.HintOf(err); hint != "" {
		return fault.Hintf(short, "%s", hint)
	}
	return short
}
