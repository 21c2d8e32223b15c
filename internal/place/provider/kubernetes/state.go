package kubernetes

import (
	"encoding/json"
	"syscall"
	"time"

	"den/internal/place/podhost"
	"den/internal/place/provider"

	corev1 "k8s.io/api/core/v1"
)

// stage is where a session's pod is in its life.
type stage string

const (
	pending stage = "pending" // the pod is not up yet: no program can run in it
	gated   stage = "gated"   // the pod is up and waits; nothing was started, as far as its notes tell
	running stage = "running"
	ended   stage = "ended"
	unknown stage = "unknown" // its node does not answer: the program may run or not
)

// started is what a pod's notes say of the session in it.
type started struct {
	ID  string    `json:"id"`
	At  time.Time `json:"at"`
	PID int       `json:"pid,omitempty"` // in the pod
}

// state is what a pod tells of its session.
type state struct {
	stage   stage
	session *started       // or nil: none was started
	claimed bool           // somebody starts one, or did
	exit    *provider.Exit // once it has ended
	leaving bool           // the pod is being removed
	trouble *Trouble       // or nil: nothing is wrong
}

// stateOf reads a pod. It is a pure function: all that is decided about a
// session's life follows from it.
func stateOf(p *corev1.Pod) state {
	s := state{leaving: p.DeletionTimestamp != nil, trouble: troubleOf(p, nil)}
	_, s.claimed = p.Annotations[claimNote]
	if note := p.Annotations[startedNote]; note != "" {
		var begun started
		if json.Unmarshal([]byte(note), &begun) == nil {
			s.session = &begun
		}
	}
	s.exit = exitOf(p)
	switch {
	case s.exit != nil:
		s.stage = ended
	case nodeLost(p):
		s.stage = unknown
	case !isUp(p):
		s.stage = pending
	case s.session != nil:
		s.stage = running
	default:
		s.stage = gated
	}
	return s
}

// over reports whether no program can run in the pod any more.
func (s state) over() bool { return s.stage == ended }

// isUp reports whether the agent's container runs.
func isUp(p *corev1.Pod) bool {
	c := container(p)
	return c != nil && c.State.Running != nil
}

// container is the status of the agent's container, or nil.
func container(p *corev1.Pod) *corev1.ContainerStatus {
	for i := range p.Status.ContainerStatuses {
		if c := &p.Status.ContainerStatuses[i]; c.Name == agentName {
			return c
		}
	}
	return nil
}

// nodeLost reports whether the pod's node does not answer. Then the cluster takes
// back that a pod is ready while the last that its node told is that its
// container runs: no pod of ours has a readiness of its own.
func nodeLost(p *corev1.Pod) bool {
	if p.Status.Reason == "NodeLost" || p.Status.Phase == corev1.PodUnknown {
		return true
	}
	c := container(p)
	if c == nil || c.State.Running == nil || !c.Ready {
		return false
	}
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status != corev1.ConditionTrue
		}
	}
	return false
}

// exitOf is how the pod's session ended, or nil.
func exitOf(p *corev1.Pod) *provider.Exit {
	e := recordedExit(p)
	if e != nil {
		e.Place = placeOf(p)
	}
	return e
}

// placeOf is why the cluster ended a pod, or "".
func placeOf(p *corev1.Pod) string {
	if t := endTrouble(p); t != nil && !t.Crash() {
		return t.String()
	}
	if p.DeletionTimestamp != nil {
		return (&Trouble{Deleted, "pod " + p.Name + " was deleted"}).String()
	}
	return ""
}

// recordedExit is how the session ended. What den itself wrote down says more
// than what the container runtime saw.
func recordedExit(p *corev1.Pod) *provider.Exit {
	var end podhost.End
	if note := p.Annotations[endedNote]; note != "" && json.Unmarshal([]byte(note), &end) == nil {
		return &provider.Exit{Code: end.Code, Signal: end.Signal, At: end.At}
	}
	if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
		return nil
	}
	c := container(p)
	if c == nil || c.State.Terminated == nil {
		return &provider.Exit{Code: -1}
	}
	t := c.State.Terminated
	if json.Unmarshal([]byte(t.Message), &end) == nil && end.ID != "" {
		return &provider.Exit{Code: end.Code, Signal: end.Signal, At: end.At}
	}
	e := &provider.Exit{Code: int(t.ExitCode), At: t.FinishedAt.Time}
	if e.Code == 128+int(syscall.SIGKILL) { // den in there ends in order at any other signal
		e.Signal = "SIGKILL"
	}
	return e
}
