package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/build"
	"den/internal/ui/cli/agenttty"
	"den/internal/ui/cli/k"
)

// asOther runs den as k, km or agent-tty, if it was started by one of these
// names.
func (a *app) asOther(args []string) (status int, ok bool) {
	tool := k.Tool{Environ: a.environ, Getenv: a.getenv, Stdout: a.text, Stderr: a.stderr, Version: build.Version}
	switch filepath.Base(args[0]) {
	case "agent-tty":
		return a.asAgentTTY(tool, args[1:]), true
	case "k":
		return tool.Main(args[1:]), true
	case "km":
		return tool.Monitor(args[1:]), true
	}
	return 0, false
}

// asAgentTTY runs den as agent-tty. Two tools have that name: one is k, the
// other is coder's. den's own verbs that neither has are taken too.
func (a *app) asAgentTTY(tool k.Tool, words []string) int {
	den := func(stdout, stderr io.Writer, args ...string) int {
		if stdout == nil {
			stdout, stderr = a.stdout, a.stderr
		}
		return Main(append([]string{"den"}, args...), a.environ, a.stdin, stdout, stderr)
	}
	switch {
	case agenttty.Knows(words):
		ctx, stop := untilSignalled("agent-tty")
		defer stop()
		status := agenttty.Tool{
			Environ: a.environ, Getenv: a.getenv, Stdout: a.text, Stderr: a.stderr, Version: build.Version, Den: den,
		}.Main(ctx, words)
		var by signalled
		if errors.As(context.Cause(ctx), &by) {
			return by.status()
		}
		return status
	case a.isDens(words):
		return den(nil, nil, words...)
	}
	return tool.Main(words)
}

// isDens reports whether the words are one of den's verbs and none of k's.
func (a *app) isDens(words []string) bool {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || slices.Contains(k.Verbs, words[0]) {
		return false
	}
	cmd, _, err := newRoot(a, words).Find(words)
	return err == nil && cmd.HasParent()
}
