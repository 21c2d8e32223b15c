// Package remote is the main function of 'dend remote', which runs a command
// line of den where the keeper of a cluster runs.
package remote

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/lease"
	"den/internal/place/podhost"
	"den/internal/place/provider/kubernetes"
	"den/internal/place/workspace"
	"den/internal/process/pty"
	"den/internal/screen"

	"golang.org/x/term"
)

// awayVerb is 'dend remote': what 'den --context' becomes. It runs a command line
// of den where the keeper of a cluster runs, so that every verb does what it does
// there.
type awayVerb struct {
	cluster kubernetes.Cluster
	lease   string
	json    bool
	verb    []string
	getenv  func(string) string

	in       *os.File
	out, err io.Writer
	screen   *os.File // the caller's terminal, or nil for none
}

// Main runs the verb, and returns its status.
func Main(args, environ []string, stdout, stderr io.Writer) int {
	r := awayVerb{getenv: environment.Getter(environ), in: os.Stdin, out: stdout, err: stderr}
	code, err := 0, r.parse(args)
	if err == nil {
		if out, ok := stdout.(*os.File); ok && term.IsTerminal(int(out.Fd())) && term.IsTerminal(int(r.in.Fd())) {
			r.screen = out
		}
		code, err = r.run()
	}
	if err != nil {
		return fault.Printer{Program: "den", JSON: r.json, Stdout: stdout, Stderr: stderr}.Print(err)
	}
	return code
}

func (r *awayVerb) parse(args []string) error {
	f := flag.NewFlagSet("dend remote", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	config := f.String("kubeconfig", "", "")
	f.StringVar(&r.cluster.Context, "context", "", "")
	f.StringVar(&r.cluster.Namespace, "namespace", "", "")
	f.StringVar(&r.lease, "keeper", "den", "")
	f.BoolVar(&r.json, "j", false, "")
	if err := f.Parse(args); err != nil {
		return fault.Errorf(fault.Usage, "%w", err)
	}
	r.cluster.Kubeconfig, r.verb = workspace.Path(*config), f.Args()
	if len(r.verb) == 0 {
		return fault.Errorf(fault.Usage, "no verb was given")
	}
	return nil
}

// run runs the verb to its end.
func (r *awayVerb) run() (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	streams := podhost.VerbStreams{In: sync.OnceValue(r.input), Out: r.out, Err: r.err}
	if r.screen == nil {
		return r.once(ctx, streams)
	}
	saved, err := term.MakeRaw(int(r.in.Fd()))
	if err != nil {
		return 0, fault.Errorf(fault.Internal, "make the terminal raw: %w", err)
	}
	defer term.Restore(int(r.in.Fd()), saved) // Best effort: it is gone otherwise.
	sizes, stopSizes := r.sizes()
	defer stopSizes()
	streams.Size = sizes
	code, err := r.resumed(ctx, streams)
	if podhost.Broken(err) { // what was painted is still there
		_, _ = r.screen.Write(screen.NewPainter(1, 1).Leave(nil)) // Best effort, as above.
	}
	return code, err
}

// How long, and how often, a terminal that was cut off tries to get back.
const (
	resumeLimit = time.Minute
	resumePause = 500 * time.Millisecond
)

// resumed is once, again and again for verbs that only show something, while
// streams break: whoever looks at a terminal sees a pause. Ctrl-C and the detach
// key end it.
func (r *awayVerb) resumed(ctx context.Context, s podhost.VerbStreams) (int, error) {
	var lost time.Time // since when; zero before the verb ran
	for {
		code, err := r.once(ctx, s)
		switch {
		case err == nil || ctx.Err() != nil || !shows(r.verb):
			return code, err
		case podhost.Broken(err):
			lost = time.Now()
		case time.Since(lost) > resumeLimit:
			return code, err
		}
		select {
		case <-time.After(resumePause):
		case typed, ok := <-s.In():
			if !ok || bytes.ContainsAny(typed, "\x03\x1c") {
				return code, err
			}
		case <-ctx.Done():
		}
	}
}

// shows reports whether a verb shows what there is and changes nothing when it is
// run again.
func shows(verb []string) bool {
	words := slices.DeleteFunc(slices.Clone(verb), func(w string) bool { return strings.HasPrefix(w, "-") })
	if len(words) > 1 && words[0] == "agent" {
		words = words[1:]
	}
	return len(words) > 0 && slices.Contains([]string{"attach", "dashboard", "watch"}, words[0])
}

// reachLimit bounds how long it may take to reach the keeper's pod.
const reachLimit = 30 * time.Second

// upLimit is how long 'up' waits for a keeper that was deployed just now.
const upLimit = time.Minute

// begun is keeper; 'up' waits for one.
func (r *awayVerb) begun(ctx context.Context) (string, error) {
	for begun := time.Now(); ; {
		pod, err := r.keeper(ctx)
		none := fault.KindOf(err) == fault.NotFound || fault.KindOf(err) == fault.NotRunning
		if !none || r.verb[0] != "up" || time.Since(begun) > upLimit {
			return pod, err
		}
		if err := poll.Pause(ctx, resumePause); err != nil {
			return "", err
		}
	}
}

// once runs the verb in the pod that has the keeper now.
func (r *awayVerb) once(ctx context.Context, s podhost.VerbStreams) (int, error) {
	pod, err := r.begun(ctx)
	if err != nil {
		return 0, err
	}
	k, err := kubernetes.OpenKeeperPod(r.cluster, pod, r.getenv)
	if err != nil {
		return 0, err
	}
	defer k.Close()
	reaching, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	conn, err := k.Dial(reaching)
	if err != nil {
		return 0, fault.Hintf(fault.Errorf(fault.KindOf(err), "reach the keeper: %w", err), "'kubectl get pod %s' tells how its pod is", pod)
	}
	return podhost.RunVerb(ctx, conn, r.start(), s)
}

// keeper returns the name of the pod that has the lease.
func (r *awayVerb) keeper(ctx context.Context) (string, error) {
	config, namespace, err := kubernetes.Config(r.cluster, r.getenv)
	if err != nil {
		return "", err
	}
	l, err := lease.Open(config, namespace, r.lease)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	pod, err := l.Holder(ctx)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return "", fault.Hintf(fault.Errorf(fault.NotFound, "no keeper '%s' was ever in namespace %s: %w", r.lease, namespace, err), "--namespace and --keeper name another; docs/kubernetes.md tells how to install one")
	case err != nil:
		return "", err
	case pod == "":
		return "", fault.Hintf(fault.Errorf(fault.NotRunning, "no keeper '%s' runs in namespace %s", r.lease, namespace), "'kubectl -n %s get deployment %s' tells whether one is wanted", namespace, r.lease)
	}
	return pod, nil
}

// passed are the variables of the caller that tell of its terminal.
var passed = []string{"TERM", "COLORTERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LANG", "LC_ALL", "LC_CTYPE"}

// start is the verb for the other end.
func (r *awayVerb) start() podhost.VerbStart {
	var v podhost.VerbStart
	for _, word := range r.verb {
		v.Args = append(v.Args, []byte(word))
	}
	for _, name := range passed {
		if value := r.getenv(name); value != "" {
			v.Env = append(v.Env, []byte(name+"="+value))
		}
	}
	if r.screen != nil {
		v.Terminal = r.size()
	}
	return v
}

// size is that of the caller's terminal. One that was never given a size is
// treated as a VT100.
func (r *awayVerb) size() *pty.Size {
	cols, rows, err := term.GetSize(int(r.screen.Fd()))
	if err != nil || cols == 0 || rows == 0 {
		cols, rows = 80, 24
	}
	return &pty.Size{Cols: cols, Rows: rows}
}

// sizes tells when it changes.
func (r *awayVerb) sizes() (<-chan pty.Size, func()) {
	changed := make(chan os.Signal, 1) // the newest size is asked for when it is taken
	signal.Notify(changed, syscall.SIGWINCH)
	sizes, stop := make(chan pty.Size), make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case <-changed:
			case <-stop:
				return
			}
			select {
			case sizes <- *r.size():
			case <-stop:
				return
			}
		}
	})
	return sizes, func() {
		signal.Stop(changed)
		close(stop)
		telling.Wait()
	}
}

// inputChunk is how much input is read at once.
const inputChunk = 32 << 10

// input reads the caller's input. What reads it ends with the process: a read of
// a terminal cannot be broken off.
func (r *awayVerb) input() <-chan []byte {
	to := make(chan []byte)
	go func() {
		defer close(to)
		for {
			buf := make([]byte, inputChunk)
			n, err := r.in.Read(buf)
			if n > 0 {
				to <- buf[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	return to
}
