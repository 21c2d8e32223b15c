package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/podhost"
	"den/internal/place/provider"
	"den/internal/place/provider/native"
	"den/internal/session"
	"den/internal/session/home"

	corev1 "k8s.io/api/core/v1"
)

// How long what is left of a start that failed may take to go, and how long a
// pod may be claimed by somebody who does not start anything: whoever it was has
// died.
const (
	cleanupLimit = time.Minute
	claimLimit   = 2 * time.Minute
)

// eventsLimit bounds the question for a pod's events when nobody waits for it any
// more.
const eventsLimit = 5 * time.Second

// killSeconds is what a pod in which nothing runs gets to end.
const killSeconds = 1

// recipe checks what is asked for. What it describes is the whole pod.
func (p *Provider) recipe(name string, c provider.Config) (recipe, error) {
	if err := provider.CheckName(name); err != nil {
		return recipe{}, err
	}
	spec, err := specOf(c)
	if err != nil {
		return recipe{}, err
	}
	return recipe{
		namespace: p.client.namespace, owner: p.Owner, name: name, workDir: c.WorkDir,
		denImage: p.Cluster.DenImage, spec: spec.withDefaults(p.Cluster, p.Getenv),
	}, nil
}

// Start begins a session in a pod: in the one that was prepared for it, or in a
// new one.
func (p *Provider) Start(ctx context.Context, name string, c provider.Config) error {
	if err := checkConfig(name, c); err != nil {
		return err
	}
	r, err := p.recipe(name, c)
	if err != nil {
		return fmt.Errorf("start session '%s': %w", name, err)
	}
	pod, err := p.claim(ctx, r, c.Meta)
	if err != nil {
		return fmt.Errorf("start session '%s': %w", name, err)
	}
	if err := p.startIn(ctx, pod, name, c); err != nil {
		err = fmt.Errorf("start session '%s': %w", name, err)
		return errors.Join(err, p.discard(name, pod))
	}
	return nil
}

func checkConfig(name string, c provider.Config) error {
	if err := native.CheckConfig(name, c); err != nil {
		return err
	}
	for key := range c.Meta {
		if err := provider.CheckKey(key); err != nil {
			return fmt.Errorf("start session '%s': %w", name, err)
		}
	}
	return nil
}

// claim returns a pod in which nobody else may start the session.
func (p *Provider) claim(ctx context.Context, r recipe, meta map[string]string) (*corev1.Pod, error) {
	want, err := r.pod()
	if err != nil {
		return nil, err
	}
	notes := metaNotes(meta)
	notes[claimNote] = time.Now().UTC().Format(time.RFC3339Nano) + " " + hostname() + "/" + strconv.Itoa(os.Getpid())
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		now, err := p.client.get(ctx, want.Name)
		if err != nil {
			return nil, err
		}
		if now == nil {
			made := want.DeepCopy()
			maps.Copy(made.Annotations, notes)
			made, err = p.client.create(ctx, made)
			if fault.KindOf(err) == fault.Busy {
				continue // somebody was faster
			}
			return made, err
		}
		claimed, err := p.claimOld(ctx, r.name, now, want, notes)
		if claimed != nil || err != nil {
			return claimed, err
		}
	}
}

// claimOld deals with a pod of that name: it is claimed, or it makes way, or it is
// another's. It returns nil where there is nothing to claim any more.
func (p *Provider) claimOld(ctx context.Context, name string, now, want *corev1.Pod, notes map[string]string) (*corev1.Pod, error) {
	if !p.owns(now, name) {
		return nil, fault.Errorf(fault.Busy, "pod %s is not of session '%s'", now.Name, name)
	}
	s := stateOf(now)
	switch {
	case s.stage == unknown:
		return nil, unknownError(name, s)
	case s.stage == running:
		return nil, busy(name, "running")
	case s.over() || s.leaving:
		return nil, p.replace(ctx, name, now)
	case s.claimed:
		if err := p.checkClaim(ctx, name, now, s); err != nil {
			return nil, err
		}
		return nil, p.replace(ctx, name, now)
	case now.Annotations[specNote] != want.Annotations[specNote] || s.trouble != nil && !s.trouble.Waits():
		return nil, p.replace(ctx, name, now)
	}
	claimed, err := p.client.annotate(ctx, now, now.ResourceVersion, pointers(notes))
	if fault.KindOf(err) == fault.Busy || fault.KindOf(err) == fault.NotFound {
		return nil, nil // it has changed: look again
	}
	return claimed, err
}

func busy(name, how string) error {
	return fault.Hintf(fault.Errorf(fault.Busy, "session '%s' is %s already", name, how), "stop it first, or choose another name")
}

// checkClaim returns nil where whoever claimed a pod has died before they started
// anything. A session that they did start is noted: it is not started again.
func (p *Provider) checkClaim(ctx context.Context, name string, pod *corev1.Pod, s state) error {
	at, _, _ := strings.Cut(pod.Annotations[claimNote], " ")
	since, err := time.Parse(time.RFC3339Nano, at)
	if err == nil && time.Since(since) < claimLimit {
		return busy(name, "starting")
	}
	if s.stage == pending {
		return nil
	}
	var status podhost.Status
	if err := p.tell(ctx, pod, podhost.MethodStatus, nil, &status); err != nil {
		return err
	}
	if status.State == podhost.Waiting {
		return nil
	}
	if err := p.noteStart(ctx, pod, status.Session); err != nil {
		return err
	}
	return busy(name, "running")
}

// replace removes a pod in which nothing runs, and waits until it is gone.
func (p *Provider) replace(ctx context.Context, name string, pod *corev1.Pod) error {
	if err := p.client.remove(ctx, pod, killSeconds); err != nil {
		return err
	}
	p.unlink(pod.UID)
	return p.awaitGone(ctx, name, pod)
}

// discard removes the pod of a start that failed. The caller's context may be
// why.
func (p *Provider) discard(name string, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
	defer cancel()
	return p.replace(ctx, name, pod)
}

// startIn starts the session in a pod that is ours.
func (p *Provider) startIn(ctx context.Context, pod *corev1.Pod, name string, c provider.Config) error {
	if err := p.awaitUp(ctx, name, pod, nil); err != nil {
		return err
	}
	var m home.Manifest
	if err := p.tell(ctx, pod, podhost.MethodStart, p.order(name, c), &m); err != nil {
		return err
	}
	if err := p.noteStart(ctx, pod, &m); err != nil {
		return err
	}
	return p.bridged(ctx, pod)
}

// order is the session to start.
func (p *Provider) order(name string, c provider.Config) podhost.Start {
	s := podhost.Start{
		Name: p.here.DenSession(name), Command: c.Argv, Dir: c.WorkDir, Term: session.DefaultTerm,
		Cols: provider.Cols, Rows: provider.Rows,
		Labels: map[string]string{native.OwnerLabel: p.here.Owner, native.NameLabel: name},
	}
	for _, kv := range provider.Assignments(c.Env) {
		s.Env = append(s.Env, []byte(kv))
	}
	return s
}

// noteStart writes down that the session runs, for all who look at the pod.
func (p *Provider) noteStart(ctx context.Context, pod *corev1.Pod, m *home.Manifest) error {
	raw, err := json.Marshal(started{ID: m.ID, At: m.Created, PID: m.PID})
	if err != nil {
		return err
	}
	_, err = p.client.annotate(ctx, pod, "", pointers(map[string]string{startedNote: string(raw)}))
	return err
}

// awaitUp waits until den in the pod answers. It tells progress, unless that is
// nil. What will not pass by itself is an error.
func (p *Provider) awaitUp(ctx context.Context, name string, pod *corev1.Pod, progress func(string)) error {
	var told string
	tell := func(line string) {
		if progress != nil && line != told {
			told = line
			progress(line)
		}
	}
	var last *corev1.Pod
	err := p.await(ctx, pod.Name, func(now *corev1.Pod) (bool, error) {
		if now == nil || now.UID != pod.UID {
			return false, fault.Errorf(fault.NotRunning, "pod %s was deleted", pod.Name)
		}
		s := stateOf(now)
		last = now
		switch {
		case s.over():
			return false, p.explain(ctx, now, fault.Errorf(fault.Internal, "pod %s ended before its session began", pod.Name))
		case s.stage == unknown:
			return false, unknownError(name, s)
		case s.stage != pending:
			return true, nil
		case s.trouble != nil && !s.trouble.Waits():
			return false, p.explain(ctx, now, nil)
		case s.trouble != nil:
			tell(s.trouble.String())
		default:
			tell(describe(now))
		}
		return false, nil
	})
	if err != nil && ctx.Err() != nil && last != nil {
		return p.tooLate(last, err)
	}
	if err != nil {
		return err
	}
	return p.awaitDen(ctx, pod)
}

// tooLate says what a pod waited for when its time was up. Some of that only its
// events tell.
func (p *Provider) tooLate(pod *corev1.Pod, err error) error {
	ctx, cancel := context.WithTimeout(p.ctx, eventsLimit)
	defer cancel()
	events, eerr := p.client.events(ctx, pod)
	if eerr != nil {
		events = nil // Best effort, as below.
	}
	if t := troubleOf(pod, events); t != nil {
		return fault.Errorf(fault.Timeout, "pod %s: %s: %w", pod.Name, t, err)
	}
	return fault.Errorf(fault.Timeout, "pod %s: %s: %w", pod.Name, describe(pod), err)
}

// explain says what is wrong with a pod, with its events.
func (p *Provider) explain(ctx context.Context, pod *corev1.Pod, otherwise error) error {
	events, err := p.client.events(ctx, pod)
	if err != nil {
		events = nil // Best effort: the pod itself tells most.
	}
	t := troubleOf(pod, events)
	if t == nil {
		return otherwise
	}
	return &TroubleError{Trouble: *t, err: fault.Errorf(fault.Unreachable, "pod %s: %s", pod.Name, t)}
}

// TroubleError is a start that the cluster prevented. That is no crash of the
// session's program.
type TroubleError struct {
	Trouble Trouble
	err     error
}

func (e *TroubleError) Error() string { return e.err.Error() }
func (e *TroubleError) Unwrap() error { return e.err }

// describe says how far a pod has come.
func describe(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return "waiting for a node"
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.State.Waiting != nil && c.State.Waiting.Reason != "" {
			return fmt.Sprintf("on node %s: %s: %s", pod.Spec.NodeName, c.Name, c.State.Waiting.Reason)
		}
	}
	return "on node " + pod.Spec.NodeName
}

// denPause is how often den in a pod is asked whether it is there: its container
// runs a moment before den does.
const denPause = 20 * time.Millisecond

// awaitDen brings den into the pod where its image does not, and waits until its
// first process answers, or the pod is over.
func (p *Provider) awaitDen(ctx context.Context, pod *corev1.Pod) error {
	if len(pod.Spec.InitContainers) == 0 || p.Cluster.DenImage == "" {
		if err := p.install(ctx, pod); err != nil {
			return err
		}
	}
	for {
		err := p.tell(ctx, pod, podhost.MethodStatus, nil, nil)
		if err == nil || fault.KindOf(err) != fault.Unreachable {
			return err
		}
		if now := p.pods.get(pod.Name); now != nil && now.UID == pod.UID && stateOf(now).over() {
			return p.explain(ctx, now, fault.Errorf(fault.Internal, "pod %s ended before its session began: %w", pod.Name, err))
		}
		if poll.Pause(ctx, denPause) != nil {
			return fault.Errorf(fault.Timeout, "den in pod %s does not answer: %w", pod.Name, err)
		}
	}
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
