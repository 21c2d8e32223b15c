package cli

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"den/internal/base/fault"
	"den/internal/place/podhost"

	"github.com/spf13/pflag"
)

// elsewhere is a command line for the keeper of a cluster: it names the cluster
// before the verb.
type elsewhere struct {
	where []string // flags and their values
	verb  []string
}

// clusterFlags say which keeper. They stand before the verb, because the verb and
// its own flags are for den there.
var clusterFlags = []struct{ name, usage string }{
	{"context", "run the verb where the keeper of the Kubernetes `CONTEXT` runs; before the verb"},
	{"namespace", "with --context or for the current one: the `NAMESPACE` of the keeper; before the verb"},
	{"keeper", "its `NAME`, if it is not den; before the verb"},
	{"kubeconfig", "the `FILE` that has the context; before the verb (default $KUBECONFIG, else ~/.kube/config)"},
}

func addClusterFlags(f *pflag.FlagSet) {
	for _, c := range clusterFlags {
		f.String(c.name, "", c.usage) // for the help; asElsewhere reads them
	}
}

// asElsewhere reports whether a command line is for the keeper of a cluster.
func asElsewhere(args []string) (e elsewhere, ok bool, err error) {
	for len(args) > 0 {
		word := args[0]
		name, value, inOne := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		switch {
		case isJSONFlag(word):
			e.verb = append(e.verb, word)
		case !strings.HasPrefix(word, "--") || !isClusterFlag(name):
			e.verb = append(e.verb, args...)
			return e, ok, e.check(ok)
		case inOne:
			e.where, ok = append(e.where, "--"+name, value), true
		case len(args) == 1:
			return e, true, fault.Errorf(fault.Usage, "flag needs an argument: %s", word)
		default:
			e.where, ok = append(e.where, word, args[1]), true
			args = args[1:]
		}
		args = args[1:]
	}
	return e, ok, e.check(ok)
}

func isClusterFlag(name string) bool {
	for _, c := range clusterFlags {
		if c.name == name {
			return true
		}
	}
	return false
}

func (e elsewhere) check(ok bool) error {
	if ok && !slices.ContainsFunc(e.verb, func(w string) bool { return !isJSONFlag(w) }) {
		return fault.Hintf(fault.Errorf(fault.Usage, "no verb was given"), "for example 'den --context CONTEXT ps'")
	}
	return nil
}

// goElsewhere executes the binary that reaches clusters: it is separate, so that
// this one links no HTTP. It returns only an error.
func (a *app) goElsewhere(e elsewhere) error {
	binary, err := a.dend()
	if err != nil {
		return err
	}
	argv := append([]string{binary, "remote"}, e.where...)
	if slices.ContainsFunc(e.verb, isJSONFlag) {
		argv = append(argv, "-j")
	}
	argv = append(append(argv, "--"), e.verb...)
	return fmt.Errorf("run %s: %w", binary, syscall.Exec(binary, argv, a.environ))
}

// takeInputMark takes note of a caller who sends input only when it is wanted:
// see wantInput. Nothing that is started has the mark.
func (a *app) takeInputMark() {
	fd, err := strconv.Atoi(a.getenv(podhost.InputMark))
	if err != nil {
		return
	}
	syscall.CloseOnExec(fd)
	a.inputWanted = os.NewFile(uintptr(fd), podhost.InputMark)
	delete(a.vars, podhost.InputMark)
	a.environ = slices.DeleteFunc(slices.Clone(a.environ), func(kv string) bool { return strings.HasPrefix(kv, podhost.InputMark+"=") })
	os.Unsetenv(podhost.InputMark) // Best effort: it fails for names that are none.
}

// wantInput tells a caller elsewhere that stdin is read from now on.
func (a *app) wantInput() {
	if a.inputWanted != nil {
		_, _ = a.inputWanted.Write([]byte{1}) // Best effort: a caller that left sends nothing.
		_ = a.inputWanted.Close()
		a.inputWanted = nil
	}
}
