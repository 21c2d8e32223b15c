package kubernetes

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"den/internal/base/fault"
	"den/internal/place/podhost"
	"den/internal/place/provider"

	corev1 "k8s.io/api/core/v1"
)

// Prepare makes the session's pod and returns when it waits for the session:
// then a node has room for it and its image is there.
func (p *Provider) Prepare(ctx context.Context, name string, c provider.Config, progress func(line string)) error {
	if _, err := p.prepared(ctx, name, c, progress); err != nil {
		return fmt.Errorf("prepare session '%s': %w", name, err)
	}
	return nil
}

// prepared returns the session's pod: the one in which it runs, else one that
// waits and is as the configuration describes it.
func (p *Provider) prepared(ctx context.Context, name string, c provider.Config, progress func(string)) (*corev1.Pod, error) {
	r, err := p.recipe(name, c)
	if err != nil {
		return nil, err
	}
	want, err := r.pod()
	if err != nil {
		return nil, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		now, err := p.client.get(ctx, want.Name)
		if err != nil {
			return nil, err
		}
		if now == nil {
			now, err = p.client.create(ctx, want.DeepCopy())
			if fault.KindOf(err) == fault.Busy {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		if !p.owns(now, name) {
			return nil, fault.Errorf(fault.Busy, "pod %s is not of session '%s'", now.Name, name)
		}
		s := stateOf(now)
		switch {
		case s.stage == unknown:
			return nil, unknownError(name, s)
		case s.stage == running:
			return now, nil
		case s.over(), s.leaving, !s.claimed && now.Annotations[specNote] != want.Annotations[specNote], s.trouble != nil && !s.trouble.Waits():
			if err := p.replace(ctx, name, now); err != nil {
				return nil, err
			}
			continue
		}
		return now, p.awaitUp(ctx, name, now, progress)
	}
}

// Stage unpacks files in the pod. They travel as one stream.
func (p *Provider) Stage(ctx context.Context, name string, c provider.Config, files io.Reader, o provider.StageOptions) error {
	pod, err := p.prepared(ctx, name, c, nil)
	if err == nil {
		err = p.stageIn(ctx, pod, c.WorkDir, files, o)
	}
	if err != nil {
		return fmt.Errorf("stage files for session '%s': %w", name, err)
	}
	return nil
}

func (p *Provider) stageIn(ctx context.Context, pod *corev1.Pod, dir string, files io.Reader, o provider.StageOptions) error {
	conn, err := p.linkTo(pod).open(ctx, podhost.Header{To: podhost.ToStage, Dir: dir, Keep: o.KeepExisting})
	if err != nil {
		return err
	}
	defer conn.Close() // Best effort: the answer is here.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	sent := make(chan error, 1) // room for its only value
	go func() {
		_, err := io.Copy(conn, files)
		conn.Close() // Best effort: an archive that is cut off must not be waited for. It can still be read from.
		sent <- err
	}()
	answers := json.NewDecoder(bufio.NewReader(conn))
	for {
		var part podhost.Progress
		if err := answers.Decode(&part); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fault.Errorf(fault.Unreachable, "the stream into pod %s broke: %w", pod.Name, errors.Join(err, failed(sent)))
		}
		if part.Done {
			if part.Error != nil {
				return part.Error.Err()
			}
			return nil
		}
		if o.Progress != nil {
			o.Progress(part.Path)
		}
	}
}

// failed is the error of a goroutine that has ended, or nil.
func failed(ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	default:
		return nil
	}
}

// Exec runs a command in the session's pod: in the one where it runs, which needs
// no description, or in one that is made for it.
func (p *Provider) Exec(ctx context.Context, name string, c provider.Config, e provider.ExecSpec) (int, error) {
	if len(e.Argv) == 0 || e.Argv[0] == "" {
		return 0, fault.Errorf(fault.Usage, "run a command beside session '%s': none is given", name)
	}
	pod, err := p.pod(ctx, name)
	if err == nil && (pod == nil || stateOf(pod).stage != running) {
		pod, err = p.prepared(ctx, name, c, nil)
	}
	code := 0
	if err == nil {
		code, err = p.execIn(ctx, pod, c, e)
	}
	if err != nil {
		return 0, fmt.Errorf("run %q beside session '%s': %w", e.Argv[0], name, err)
	}
	return code, nil
}

func (p *Provider) execIn(ctx context.Context, pod *corev1.Pod, c provider.Config, e provider.ExecSpec) (int, error) {
	command := podhost.Command{Argv: e.Argv, Dir: e.Dir, WorkDir: c.WorkDir, Mark: rand.Text()}
	for _, kv := range provider.Assignments(e.Env) {
		command.Env = append(command.Env, []byte(kv))
	}
	conn, err := p.linkTo(pod).open(ctx, podhost.Header{To: podhost.ToExec})
	if err != nil {
		return 0, err
	}
	defer conn.Close() // Best effort: the command has ended, or is ended below.
	defer context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Now()) })()
	code, err := podhost.RunOver(conn, command, e.Stdin, provider.OrDiscard(e.Stdout), provider.OrDiscard(e.Stderr))
	if err == nil {
		return code, nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	// The command must not outlive its caller, also where nobody there knows yet
	// that the stream is cut.
	cleanup, cancel := context.WithTimeout(context.Background(), cleanupLimit)
	defer cancel()
	return 0, errors.Join(err, p.tell(cleanup, pod, podhost.MethodEndExec, podhost.EndExec{Mark: command.Mark}, nil))
}

// How long den in a pod may take to answer before the cluster is asked to end the
// pod, and how long its end may take to be known.
const (
	answerLimit = time.Minute
	endLimit    = 2 * time.Minute
)

// Stop ends the session. Its pod stands as its record.
func (p *Provider) Stop(ctx context.Context, name string) error {
	pod, err := p.pod(ctx, name)
	if err != nil {
		return fmt.Errorf("stop session '%s': %w", name, err)
	}
	if pod == nil {
		return nil
	}
	s := stateOf(pod)
	switch {
	case s.over():
		return nil
	case s.session == nil:
		err = p.replace(ctx, name, pod)
	default:
		err = p.stopIn(ctx, name, pod)
	}
	if err != nil {
		return fmt.Errorf("stop session '%s': %w", name, err)
	}
	return nil
}

// stopIn asks den in the pod to end the session, and the cluster to end the pod
// where den does not answer.
func (p *Provider) stopIn(ctx context.Context, name string, pod *corev1.Pod) error {
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	err := p.tell(limited, pod, podhost.MethodStop, podhost.Stop{Grace: p.Grace}, nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		if rerr := p.client.remove(ctx, pod, graceSeconds); rerr != nil {
			return errors.Join(rerr, err)
		}
		return p.awaitGone(ctx, name, pod)
	}
	return p.awaitEnd(ctx, pod)
}

// awaitEnd waits until the end of a session is known to all. Its bridge writes it
// down, that of this provider or of another process.
func (p *Provider) awaitEnd(ctx context.Context, pod *corev1.Pod) error {
	limited, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	err := p.await(limited, pod.Name, func(now *corev1.Pod) (bool, error) {
		return now == nil || now.UID != pod.UID || stateOf(now).over(), nil
	})
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return fault.Errorf(fault.Unreachable, "its processes have ended, but pod %s does not: %w", pod.Name, err)
	}
	return err
}

// noteEnd writes down how the session ended, for all who look at the pod.
func (p *Provider) noteEnd(ctx context.Context, pod *corev1.Pod, end podhost.End) error {
	raw, err := json.Marshal(end)
	if err != nil {
		return err
	}
	_, err = p.client.annotate(ctx, pod, "", pointers(map[string]string{endedNote: string(raw)}))
	return err
}

// Interrupt presses Ctrl-C.
func (p *Provider) Interrupt(ctx context.Context, name string) error {
	return p.SendKeys(ctx, name, "C-c")
}

// pruneAge is how long a session has been over before PruneOld removes its pod.
const pruneAge = 24 * time.Hour

// PruneOld removes the pods of sessions that were over for a day, and those that
// were prepared and never used.
func (p *Provider) PruneOld(ctx context.Context) error {
	list, err := p.client.list(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		pod := &list.Items[i]
		s := stateOf(pod)
		since := pod.CreationTimestamp.Time
		if s.exit != nil && !s.exit.At.IsZero() {
			since = s.exit.At
		}
		if (s.over() || s.session == nil && !s.claimed && s.stage != unknown) && time.Since(since) > pruneAge {
			errs = append(errs, p.client.remove(ctx, pod, killSeconds))
		}
	}
	return errors.Join(errs...)
}
