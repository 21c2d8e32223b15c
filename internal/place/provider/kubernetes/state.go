package kubernetes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

// Why says what is wrong with a pod.
type Why string

// The reasons. More may come.
const (
	ImageMissing  Why = "image-missing" // its image cannot be had
	Unschedulable Why = "unschedulable" // no node has room for it, or fits
	CannotCreate  Why = "cannot-create" // its container cannot be made: a secret or a volume is missing, for example
	Evicted       Why = "evicted"       // its node sent it away
	OutOfMemory   Why = "out-of-memory" // it was killed for its memory
	NodeLost      Why = "node-lost"     // its node does not answer
	Deleted       Why = "deleted"       // somebody removed it
	QuotaExceeded Why = "quota-exceeded"
)

// Trouble is what is wrong with a pod, in the cluster's own words.
type Trouble struct {
	Why     Why
	Message string
}

func (t *Trouble) String() string { return fmt.Sprintf("%s: %s", t.Why, t.Message) }

// Waits reports whether the trouble may pass by itself: whoever starts the
// session waits for that. A trouble of another kind is final for the pod.
func (t *Trouble) Waits() bool { return t.Why == Unschedulable || t.Why == NodeLost }

// Crash reports whether the session's program is to blame. What the cluster did
// or lacks is no crash.
func (t *Trouble) Crash() bool { return t.Why == OutOfMemory }

// The reasons for which kubelets let a container wait that will not come up by
// itself.
var (
	imageReasons  = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"}
	createReasons = []string{"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)

// troubleOf reads what is wrong from a pod's status, and from its events where
// there are some. It is a pure function.
func troubleOf(p *corev1.Pod, events []corev1.Event) *Trouble {
	if t := endTrouble(p); t != nil {
		return t
	}
	if nodeLost(p) {
		return &Trouble{NodeLost, fmt.Sprintf("node %s does not answer: whether the session runs is not known%s", p.Spec.NodeName, since(p))}
	}
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return nil
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := waitTrouble(p, c, events); t != nil {
			return t
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return &Trouble{Unschedulable, c.Message}
		}
	}
	return mountTrouble(p, events)
}

// endTrouble is why a pod was ended from outside.
func endTrouble(p *corev1.Pod) *Trouble {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return &Trouble{Evicted, strings.TrimSpace(c.Reason + ": " + c.Message)}
		}
	}
	if p.Status.Reason == "Evicted" || p.Status.Reason == "Preempting" || p.Status.Reason == "NodeShutdown" || p.Status.Reason == "Terminated" {
		return &Trouble{Evicted, strings.TrimSpace(p.Status.Reason + ": " + p.Status.Message)}
	}
	if c := container(p); c != nil && c.State.Terminated != nil && c.State.Terminated.Reason == "OOMKilled" {
		return &Trouble{OutOfMemory, fmt.Sprintf("the kernel killed it: its limit is %s", limitOf(p))}
	}
	return nil
}

func limitOf(p *corev1.Pod) string {
	for _, c := range p.Spec.Containers {
		if q, ok := c.Resources.Limits[corev1.ResourceMemory]; ok && c.Name == agentName {
			return q.String() + " of memory"
		}
	}
	return "that of its node"
}

// waitTrouble is why a container does not come up.
func waitTrouble(p *corev1.Pod, c corev1.ContainerStatus, events []corev1.Event) *Trouble {
	if c.State.Terminated != nil && c.Name == installName && c.State.Terminated.ExitCode != 0 {
		return &Trouble{CannotCreate, fmt.Sprintf("den could not be installed: it ended with status %d: %s", c.State.Terminated.ExitCode, c.State.Terminated.Message)}
	}
	w := c.State.Waiting
	if w == nil {
		return nil
	}
	switch {
	case slices.Contains(imageReasons, w.Reason):
		return &Trouble{ImageMissing, fmt.Sprintf("image %s of %s: %s", c.Image, w.Reason, said(w.Message, p, events, "Failed"))}
	case slices.Contains(createReasons, w.Reason):
		return &Trouble{CannotCreate, fmt.Sprintf("%s: %s", w.Reason, said(w.Message, p, events, "Failed"))}
	}
	return nil
}

// mountTrouble is what only events tell: a volume that is not there.
func mountTrouble(p *corev1.Pod, events []corev1.Event) *Trouble {
	for i := len(events) - 1; i >= 0; i-- {
		if e := events[i]; e.InvolvedObject.UID == p.UID && (e.Reason == "FailedMount" || e.Reason == "FailedAttachVolume" || e.Reason == "FailedCreatePodSandBox") {
			return &Trouble{CannotCreate, e.Reason + ": " + e.Message}
		}
	}
	return nil
}

// said is a message, or the newest of the pod's events with that reason.
func said(message string, p *corev1.Pod, events []corev1.Event, reason string) string {
	for i := len(events) - 1; i >= 0 && message == ""; i-- {
		if e := events[i]; e.InvolvedObject.UID == p.UID && e.Reason == reason {
			message = e.Message
		}
	}
	return message
}

// since tells when the node was last heard of.
func since(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && !c.LastTransitionTime.IsZero() {
			return ", since " + c.LastTransitionTime.UTC().Format("15:04:05") + " UTC"
		}
	}
	return ""
}
