package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"den/internal/keeper"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// latencies measures what one agent of a fleet answers, through the API server,
// beside kubectl.
func (f *kubeFleet) latencies() error {
	var ps keeper.Ps
	if err := f.home.ask(&ps, "ps"); err != nil {
		return err
	}
	name := ps.Agents[0].DenSession
	pod, err := f.podOf(ps.Agents[0].Session)
	if err != nil {
		return err
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return err
	}
	byHand := []string{kubectl, "--kubeconfig", f.keeper, "exec", pod, "-c", "agent", "--", "true"}
	of := func(what string) string { return fmt.Sprintf("%s (1 of %d, %s)", what, f.n, f.nodes) }
	attach := f.out.series(of("attach, until the first picture"), "den, connected", "ms", false)
	snapshot := f.out.series(of("snapshot"), "den", "ms", false)
	run := f.out.series(of("run 'true'"), "den", "ms", false)
	key := f.out.series(of("a key and its echo"), "den, attached", "ms", false)
	for _, s := range []*series{snapshot, run} {
		s.Note = "from a cold command line"
	}
	peers := map[*series]*series{}
	var lanes []lane
	for _, l := range []lane{
		{attach, func() (float64, error) { ms, echo, err := f.attach(name); key.add(echo); return ms, err }},
		f.home.lane(snapshot, "snapshot", name),
		f.home.lane(run, "run", name, "true"),
	} {
		peer := f.out.series(l.line.Case, "kubectl exec true", "ms", false)
		peers[l.line] = peer
		lanes = append(lanes, l, lane{peer, func() (float64, error) { return timed(os.Environ(), byHand...) }})
	}
	err = f.race(f.rounds(30, 5), lanes...)
	for s, peer := range peers {
		compare(s, peer)
	}
	f.out.aim(of("snapshot is faster than 'kubectl exec true'"), snapshot.median() < peers[snapshot].median(),
		"%.0f ms, kubectl %.0f ms", snapshot.median(), peers[snapshot].median())
	return err
}

// podOf is the name of a session's pod.
func (k *kube) podOf(session string) (string, error) {
	raw, err := capture(os.Environ(), "kubectl", "--kubeconfig", k.admin, "get", "pods", "-l", "app.kubernetes.io/managed-by=den",
		"-o", `jsonpath={range .items[*]}{.metadata.annotations.den/session}{" "}{.metadata.name}{"\n"}{end}`)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == session {
			return f[1], nil
		}
	}
	return "", fmt.Errorf("session %s has no pod: %s", session, raw)
}

// attach joins a terminal to a session. It returns how long it took to see it, and
// how long a key took to be there and its echo back.
func (f *kubeFleet) attach(name string) (first, echo float64, err error) {
	s, err := session.Open(home.Home{Path: f.home.dir, Explicit: true}, name, session.Options{Version: "bench"})
	if err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
	defer cancel()
	a := s.Attach(wire.Attach{Cols: 80, Rows: 24})
	begun, typed := time.Now(), time.Time{}
	_, err = a.Run(ctx, func(f wire.Frame) {
		switch {
		case first == 0:
			first, typed = msSince(begun), time.Now()
			a.Send([]byte("q"))
		case echo == 0 && bytes.Contains(f.Data, []byte("q")):
			echo = msSince(typed)
			a.Send([]byte("\x7f"))
		case echo != 0: // the line is empty again
			cancel()
		}
	})
	if echo == 0 {
		return 0, 0, fmt.Errorf("attach to %s: no echo: %w", name, err)
	}
	return first, echo, nil
}
