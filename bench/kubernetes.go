package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"den/internal/keeper"
)

// The cluster that scripts/test-kubernetes has started, and the images that it
// brought there.
const (
	kubeconfigVariable = "DEN_TEST_KUBECONFIG"
	clusterVariable    = "DEN_TEST_CLUSTER"
	kubeBox            = "localhost/box:1"
	kubeDen            = "localhost/den:1"
)

// kube is the suite's cluster.
type kube struct {
	*bench
	admin  string // kubeconfig of who may do everything
	keeper string // of the keeper, whose requests are counted
	audit  string // the file with them
}

// kubernetes measures agents in pods: how a fleet grows on simulated nodes, 20
// agents in real pods, and what one of each fleet answers beside 'kubectl exec'.
func kubernetes(b *bench) (err error) {
	dir := os.Getenv(clusterVariable)
	if dir == "" {
		b.out.note("there is no cluster: 'make bench-kubernetes' makes one")
		return nil
	}
	k := &kube{bench: b, admin: os.Getenv(kubeconfigVariable), keeper: filepath.Join(dir, "keeper.kubeconfig"), audit: filepath.Join(dir, "audit.log")}
	if err := k.grantRights(); err != nil {
		return err
	}
	b.out.table("agents", "nodes", "all running", "requests a start", "idle: requests/agent/min", "keeper CPU", "keeper RSS", "all replaced", "away at once", "all gone")
	if err := k.simulated(); err != nil {
		return err
	}
	if err := k.real(); err != nil {
		return err
	}
	b.out.note("simulated: den's own first process on this machine for each pod, and a real API server; what is missing is kubelets and containers")
	b.out.note("requests are counted by the API server's audit log; an idle agent is a shell at its prompt; 'all replaced': a changed variable, %d agents at a time", kubeReplacing)
	return nil
}

// kubeReplacing is how many agents may be replaced at a time.
const kubeReplacing = 20

// grantRights gives the keeper's user what deploy/base has.
func (k *kube) grantRights() error {
	return errors.Join(
		k.kubectl("apply", "-k", filepath.Join(filepath.Dir(filepath.Dir(k.den)), "deploy", "base")),
		k.kubectl("create", "rolebinding", "bench-keeper", "--role=den", "--user=keeper"),
	)
}

func (k *kube) kubectl(args ...string) error {
	_, err := capture(os.Environ(), append([]string{"kubectl", "--kubeconfig", k.admin}, args...)...)
	return err
}

// simulated measures how a fleet grows.
func (k *kube) simulated() (err error) {
	sizes := pick(k.bench, []int{10, 50, 200}, []int{4})
	nodes, err := k.startNodes(k.admin, (sizes[len(sizes)-1]+podsOfNode-1)/podsOfNode+1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, nodes.close()) }()
	for _, n := range sizes {
		f := kubeFleet{kube: k, n: n, nodes: "simulated", command: `["bash", "--norc"]`,
			pod: fmt.Sprintf("node_selector = {%s = \"true\"}\ntolerations = [{key = %q, operator = \"Exists\"}]\n", simulated, simulated)}
		if err := f.measure(); err != nil {
			return fmt.Errorf("%d agents on simulated nodes: %w", n, err)
		}
	}
	return nil
}

// real measures agents in containers.
func (k *kube) real() error {
	n := pick(k.bench, 20, 2)
	f := kubeFleet{kube: k, n: n, nodes: "real", command: `["/bin/sh"]`, pod: "pull_policy = \"Never\"\nnode_selector = {\"kubernetes.io/hostname\" = \"node1\"}\n"}
	if err := f.measure(); err != nil {
		return fmt.Errorf("%d agents in real pods: %w", n, err)
	}
	return nil
}

// kubeFleet is one workspace of agents in pods.
type kubeFleet struct {
	*kube
	n              int
	nodes, command string
	pod            string // more keys of [agents.kubernetes]
	home           *denHome
	file           string
}

func (f *kubeFleet) config(round string) string {
	text := fmt.Sprintf("[workspace]\nname = \"bench\"\n[keeper]\nmax_replacing = %d\n[session]\nprovider = \"kubernetes\"\n[session.kubernetes]\nkubeconfig = %q\nimage = %q\nden_image = %q\n",
		kubeReplacing, f.keeper, kubeBox, kubeDen)
	for i := range f.n {
		text += fmt.Sprintf("[[agents]]\nname = \"a%d\"\nstart_command = %s\nenv = {ROUND = %q}\n[agents.kubernetes]\n%s", i, f.command, round, f.pod)
	}
	return text
}

// kubeIdle is how long a fleet at rest is looked at.
const kubeIdle = time.Minute

// measure brings the fleet up, looks at it, replaces all of it and ends it.
func (f *kubeFleet) measure() (err error) {
	if f.home, f.file, err = f.newWorkspace(f.config("1")); err != nil {
		return err
	}
	up := true
	defer func() {
		if up {
			err = errors.Join(err, f.home.do("down", "-t", "10m"))
		}
		err = errors.Join(err, f.kubectl("delete", "pods", "-l", "app.kubernetes.io/managed-by=den", "--grace-period=1"))
	}()
	f.calm.await()
	begun := time.Now()
	upMs, err := f.home.timed("up", "--wait", "-t", "10m")
	if err != nil {
		return err
	}
	starting, err := f.requests(begun, time.Now())
	if err != nil {
		return err
	}
	if err := f.latencies(); err != nil {
		return err
	}
	rest, err := f.atRest()
	if err != nil {
		return err
	}
	replaced, away, err := f.replace()
	if err != nil {
		return err
	}
	f.calm.await()
	downMs, err := f.home.timed("down", "-t", "10m")
	if err != nil {
		return err
	}
	up = false
	row := []string{fmt.Sprint(f.n), f.nodes, seconds(upMs), fmt.Sprintf("%.1f", float64(starting.sum)/float64(f.n)),
		fmt.Sprintf("%.2f (%s)", rest.perMinute, rest.asked), fmt.Sprintf("%.2f %%", rest.cpu), fmt.Sprintf("%.0f MB", rest.rss), seconds(replaced), fmt.Sprint(away), seconds(downMs)}
	f.out.row(row...)
	fmt.Fprintln(os.Stderr, strings.Join(row, "; ")) // it takes minutes until the table is whole
	of := fmt.Sprintf("%d %s agents", f.n, f.nodes)
	f.out.aim(of+": under 1 API request an agent and minute at rest", rest.perMinute < 1, "%.2f", rest.perMinute)
	f.out.aim(fmt.Sprintf("%s: at most %d are away while all are replaced", of, kubeReplacing), away <= kubeReplacing, "%d", away)
	return nil
}

func seconds(ms float64) string { return fmt.Sprintf("%.1f s", ms/1000) }

// atRest is a keeper that has nothing to do.
type atRest struct {
	perMinute float64 // requests an agent
	asked     string  // by kind
	cpu       float64 // percent of a core
	rss       float64 // MB
}

func (f *kubeFleet) atRest() (r atRest, err error) {
	var ps keeper.Ps
	if err := f.home.ask(&ps, "ps"); err != nil {
		return r, err
	}
	look := pick(f.bench, kubeIdle, 30*time.Second)
	if err := f.rest(10 * time.Second); err != nil { // what follows a start has come to its end
		return r, err
	}
	begun := time.Now()
	used, err := f.used(look, []int{ps.Keeper})
	if err != nil {
		return r, err
	}
	m, err := readMemory(ps.Keeper)
	if err != nil {
		return r, err
	}
	asked, err := f.requests(begun, time.Now())
	r.rss, r.cpu = m.rss, 100*float64(used[0].cpu)/float64(look)
	r.perMinute, r.asked = float64(asked.sum)/float64(f.n)/look.Minutes(), asked.String()
	return r, err
}

// replace changes all agents, and returns how long it took until all were
// replaced, and how many were away at most at one moment.
func (f *kubeFleet) replace() (ms float64, away int, err error) {
	f.calm.await()
	begun := time.Now()
	if err := os.WriteFile(f.file, []byte(f.config("2")), 0o600); err != nil {
		return 0, 0, err
	}
	if err := f.home.do("reload"); err != nil {
		return 0, 0, err
	}
	for limit := begun.Add(15 * time.Minute); time.Now().Before(limit); {
		var ps keeper.Ps
		if err := f.home.ask(&ps, "ps"); err != nil {
			return 0, 0, err
		}
		down, done := 0, 0
		for _, a := range ps.Agents {
			if a.Actual != keeper.Running {
				down++
			} else if a.Restarts > 0 {
				done++
			}
		}
		away = max(away, down)
		if done == f.n {
			return msSince(begun), away, nil
		}
		if err := f.rest(100 * time.Millisecond); err != nil {
			return 0, 0, err
		}
	}
	return 0, 0, errors.New("not all agents are replaced within 15 minutes")
}
