package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

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
