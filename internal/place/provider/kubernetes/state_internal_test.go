package kubernetes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A podWith is a pod as the cluster tells of it.
func podWith(changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "den-w-1", UID: types.UID("u1"), Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{NodeName: "node1", Containers: []corev1.Container{{Name: agentName}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func up(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: agentName, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	condition(corev1.PodReady, corev1.ConditionTrue, "", "")(p)
}

func note(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

var (
	begun   = note(startedNote, `{"id":"01m7k4r518yjn4vhfb9swg","at":"2026-11-16T12:00:00Z","pid":7}`)
	claimed = note(claimNote, "2026-11-16T12:00:00Z keeper/1")
)

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for i := range p.Status.Conditions {
			if p.Status.Conditions[i].Type == kind {
				p.Status.Conditions[i].Status = status
				return
			}
		}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

func terminated(phase corev1.PodPhase, code int32, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = phase
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: agentName, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}}}
	}
}

func waitingFor(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: agentName, Image: "base:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
}

func leaving(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} }

func failedBecause(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, reason, message
	}
}

func TestStates(t *testing.T) {
	lost := condition(corev1.PodReady, corev1.ConditionFalse, "", "")
	for _, c := range []struct {
		what string
		pod  *corev1.Pod
		want stage
		code int // where it has ended
	}{
		{"made, not scheduled", podWith(), pending, 0},
		{"claimed, not scheduled", podWith(claimed), pending, 0},
		{"an image is pulled", podWith(waitingFor("ContainerCreating", "")), pending, 0},
		{"up, nothing started", podWith(up), gated, 0},
		{"up and claimed", podWith(up, claimed), gated, 0},
		{"up and started", podWith(up, claimed, begun), running, 0},
		{"started, being deleted", podWith(up, begun, leaving), running, 0},
		{"den wrote that it ended", podWith(up, begun, note(endedNote, `{"id":"x","code":3}`)), ended, 3},
		{"the container ended, den left word", podWith(begun, terminated(corev1.PodFailed, 3, "Error", `{"id":"x","code":3}`)), ended, 3},
		{"the container ended without a word", podWith(begun, terminated(corev1.PodFailed, 137, "Error", "")), ended, 137},
		{"den did not know how it ended", podWith(begun, terminated(corev1.PodFailed, 1, "Error", `{"id":"x","code":-1}`)), ended, -1},
		{"killed for its memory", podWith(begun, terminated(corev1.PodFailed, 137, "OOMKilled", "")), ended, 137},
		{"ended well", podWith(begun, terminated(corev1.PodSucceeded, 0, "Completed", `{"id":"x","code":0}`)), ended, 0},
		{"evicted before its container was", podWith(failedBecause("Evicted", "low on memory")), ended, -1},
		{"its node does not answer", podWith(up, begun, lost), unknown, 0},
		{"its node does not answer, nothing started", podWith(up, lost), unknown, 0},
		{"its node does not answer, deleted", podWith(up, begun, lost, leaving), unknown, 0},
		{"unknown to the cluster", podWith(begun, func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }), unknown, 0},
		{"ended before its node went", podWith(up, begun, lost, note(endedNote, `{"id":"x","code":0}`)), ended, 0},
	} {
		s := stateOf(c.pod)
		if s.stage != c.want {
			t.Errorf("%s: %s, want %s", c.what, s.stage, c.want)
		}
		if (s.exit != nil) != (c.want == ended) || s.exit != nil && s.exit.Code != c.code {
			t.Errorf("%s: exit %+v, want code %d", c.what, s.exit, c.code)
		}
	}
}

// An end that the cluster made is told apart from one that the program made.
func TestEndsByThePlace(t *testing.T) {
	over := note(endedNote, `{"id":"x","code":143}`)
	for _, c := range []struct {
		what string
		pod  *corev1.Pod
		want string // a part of it, or "" for the program's own end
	}{
		{"ended by itself", podWith(up, begun, over), ""},
		{"failed by itself", podWith(begun, terminated(corev1.PodFailed, 1, "Error", "")), ""},
		{"killed for its memory", podWith(begun, terminated(corev1.PodFailed, 137, "OOMKilled", "")), ""},
		{"deleted", podWith(up, begun, over, leaving), "deleted"},
		{"evicted", podWith(begun, failedBecause("Evicted", "low on memory")), "low on memory"},
		{"drained", podWith(up, begun, over, leaving, condition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI", "drained")), "drained"},
	} {
		e := stateOf(c.pod).exit
		if e == nil || (e.Place == "") != (c.want == "") || !contains(e.Place, c.want) {
			t.Errorf("%s: %+v, want %q", c.what, e, c.want)
		}
	}
}

func TestTroubles(t *testing.T) {
	event := func(reason, message string) []corev1.Event {
		return []corev1.Event{{Reason: reason, Message: message, InvolvedObject: corev1.ObjectReference{UID: "u1"}}}
	}
	for _, c := range []struct {
		what    string
		pod     *corev1.Pod
		events  []corev1.Event
		why     Why // "" for none
		waits   bool
		crash   bool
		message string // a part of it
	}{
		{what: "all is well", pod: podWith(up, begun)},
		{what: "an image is pulled", pod: podWith(waitingFor("ContainerCreating", ""))},
		{what: "a program failed", pod: podWith(begun, terminated(corev1.PodFailed, 1, "Error", ""))},
		{"an image is not there", podWith(waitingFor("ErrImagePull", "not found")), nil, ImageMissing, false, false, "not found"},
		{"an image is not there, again", podWith(waitingFor("ImagePullBackOff", "")), event("Failed", "manifest unknown"), ImageMissing, false, false, "manifest unknown"},
		{"an image that may not be pulled", podWith(waitingFor("ErrImageNeverPull", "policy of Never")), nil, ImageMissing, false, false, "policy of Never"},
		{"a secret is missing", podWith(waitingFor("CreateContainerConfigError", `secret "x" not found`)), nil, CannotCreate, false, false, `secret "x"`},
		{"a volume is missing", podWith(), event("FailedMount", "claim not bound"), CannotCreate, false, false, "claim not bound"},
		{"no node has room", podWith(condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, "0/3 nodes: 3 Insufficient cpu")), nil, Unschedulable, true, false, "Insufficient cpu"},
		{"killed for its memory", podWith(begun, terminated(corev1.PodFailed, 137, "OOMKilled", "")), nil, OutOfMemory, false, true, "killed"},
		{"its node was low on memory", podWith(begun, failedBecause("Evicted", "The node was low on resource: memory.")), nil, Evicted, false, false, "low on resource"},
		{"evicted by the API", podWith(up, begun, leaving, condition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI", "drained")), nil, Evicted, false, false, "drained"},
		{"its node is shut down", podWith(begun, failedBecause("NodeShutdown", "")), nil, Evicted, false, false, "NodeShutdown"},
		{"its node does not answer", podWith(up, begun, condition(corev1.PodReady, corev1.ConditionFalse, "", "")), nil, NodeLost, true, false, "node1"},
		{what: "somebody else's event", pod: podWith(func(p *corev1.Pod) { p.UID = "u2" }), events: event("FailedMount", "x")},
	} {
		got := troubleOf(c.pod, c.events)
		switch {
		case got == nil && c.why == "":
		case got == nil || got.Why != c.why:
			t.Errorf("%s: %v, want %q", c.what, got, c.why)
		case got.Waits() != c.waits || got.Crash() != c.crash:
			t.Errorf("%s: waits %v, crash %v", c.what, got.Waits(), got.Crash())
		case !contains(got.Message, c.message):
			t.Errorf("%s: %q does not say %q", c.what, got.Message, c.message)
		}
	}
}
