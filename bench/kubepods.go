package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/place/podhost"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// simulatedPod is a pod whose first process is one of this machine.
type simulatedPod struct {
	nodes           *kubeNodes
	name, namespace string
	uid             types.UID
	dir             string // den's, in the pod

	terminate sync.Once
	ended     chan struct{} // closed when its first process has ended

	mu    sync.Mutex // guards first
	first *os.Process
}

// inPods is where den's directory is in a pod.
const inPods = "/.den"

func (p *simulatedPod) path() string {
	return "/api/v1/namespaces/" + p.namespace + "/pods/" + p.name
}

func (p *simulatedPod) isOver() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// run is the pod's life. What cannot be told to the API server is seen there as a
// pod that does not come up.
func (p *simulatedPod) run(ctx context.Context) {
	code, err := p.process(ctx)
	close(p.ended)
	if ctx.Err() != nil {
		return
	}
	phase, message := corev1.PodSucceeded, ""
	if code != 0 || err != nil {
		phase = corev1.PodFailed
	}
	if err != nil {
		message = err.Error()
	}
	_ = p.tell(ctx, phase, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code), Message: message, FinishedAt: metav1.Now()}})
}

func (p *simulatedPod) process(ctx context.Context) (code int, err error) {
	binary := podhost.Place{Dir: p.dir}.Binary()
	if err := os.MkdirAll(filepath.Dir(binary), 0o700); err != nil {
		return 1, err
	}
	if err := os.Symlink(p.nodes.den, binary); err != nil { // an image's layer is shared, too
		return 1, err
	}
	cmd := exec.Command(binary, podhost.Verb, podhost.ModeRun, p.dir)
	cmd.Env = cleanEnv("HOME=" + p.dir)
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	p.mu.Lock()
	p.first = cmd.Process
	p.mu.Unlock()
	if err := p.tell(ctx, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}); err != nil {
		p.kill()
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// tell writes the pod's status, as its kubelet would.
func (p *simulatedPod) tell(ctx context.Context, phase corev1.PodPhase, state corev1.ContainerState) error {
	up := state.Running != nil
	ready := corev1.ConditionFalse
	if up {
		ready = corev1.ConditionTrue
	}
	now := metav1.Now()
	status := corev1.PodStatus{
		Phase: phase, HostIP: nodeAddress, StartTime: &now,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now},
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: now},
			{Type: corev1.ContainersReady, Status: ready, LastTransitionTime: now},
			{Type: corev1.PodReady, Status: ready, LastTransitionTime: now},
		},
		InitContainerStatuses: []corev1.ContainerStatus{{Name: "den", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}},
		ContainerStatuses:     []corev1.ContainerStatus{{Name: "agent", Ready: up, Started: &up, State: state}},
	}
	return p.nodes.patch(ctx, p.path()+"/status", map[string]any{"metadata": map[string]any{"uid": p.uid}, "status": status})
}

// signal sends one to the first process, if there is one.
func (p *simulatedPod) signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first != nil && !p.isOver() {
		_ = p.first.Signal(s) // Best effort: it may have ended.
	}
}

// kill ends the pod as a kubelet does that has no more time: with what it runs.
func (p *simulatedPod) kill() { p.signal(syscall.SIGTERM) }

// remove ends a pod that is to be deleted, and lets the API server forget it.
func (p *simulatedPod) remove(ctx context.Context) {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		p.signal(syscall.SIGKILL)
	case <-ctx.Done():
		return
	}
	none := int64(0)
	// Best effort: it may be gone.
	_ = p.nodes.api.Delete().AbsPath(p.path()).Body(&metav1.DeleteOptions{GracePeriodSeconds: &none, Preconditions: &metav1.Preconditions{UID: &p.uid}}).Do(ctx).Error()
}

// serveExec is the part of a kubelet that runs commands in pods.
func (k *kubeNodes) serveExec(w http.ResponseWriter, r *http.Request) {
	part := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(part) < 4 || part[0] != "exec" {
		http.NotFound(w, r)
		return
	}
	p := k.find(part[1], part[2])
	options, err := remotecommand.NewOptions(r)
	if p == nil || err != nil {
		http.Error(w, "no such pod", http.StatusNotFound)
		return
	}
	remotecommand.ServeExec(w, r, p, p.name, string(p.uid), part[len(part)-1], r.URL.Query()["command"], options, 4*time.Hour, 30*time.Second, remotecommand.SupportedStreamingProtocols)
}

// ExecInContainer runs a command beside the pod's first process.
func (p *simulatedPod) ExecInContainer(_ context.Context, _, _, _ string, argv []string, in io.Reader, out, errs io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	here := make([]string, len(argv))
	for i, word := range argv {
		if rest, ok := strings.CutPrefix(word, inPods); ok {
			word = p.dir + rest
		}
		here[i] = word
	}
	cmd := exec.Command(here[0], here[1:]...)
	cmd.Env = cleanEnv("HOME=" + p.dir)
	cmd.Stdout, cmd.Stderr = out, errs
	var stdin io.WriteCloser
	if in != nil {
		var err error
		if stdin, err = cmd.StdinPipe(); err != nil {
			return err
		}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if in != nil {
		go func() { // it ends with the stream
			_, _ = io.Copy(stdin, in)
			_ = stdin.Close()
		}()
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return utilexec.CodeExitError{Err: err, Code: max(exit.ExitCode(), 1)}
	}
	return err
}
