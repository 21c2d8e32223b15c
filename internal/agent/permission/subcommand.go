package permission

import (
	"path"
	"slices"
	"strings"

	"den/internal/agent/permission/commandline"
)

// globals are the options of a program that may stand before its subcommand.
type globals struct {
	flags  []string // without a value
	values []string // with one, in the next word or behind '='
}

// globalOptions are those of programs that rules name with a subcommand. An
// option that is not listed may have a value or not: then both is considered.
var globalOptions = map[string]globals{
	"git": {
		flags: []string{"-p", "--paginate", "-P", "--no-pager", "--no-replace-objects", "--bare", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs",
			"--icase-pathspecs", "--no-optional-locks", "--exec-path", "--no-lazy-fetch", "--no-advice"},
		values: []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"},
	},
	"docker": {
		flags:  []string{"-D", "--debug", "--tls", "--tlsverify"},
		values: []string{"-c", "--context", "-H", "--host", "-l", "--log-level", "--config", "--tlscacert", "--tlscert", "--tlskey"},
	},
	"podman": {
		flags: []string{"-r", "--remote", "--noout", "--syslog", "--transient-store"},
		values: []string{"-c", "--connection", "--url", "--identity", "--log-level", "--root", "--runroot", "--storage-driver", "--storage-opt", "--tmpdir", "--runtime",
			"--cgroup-manager", "--conmon", "--events-backend", "--hooks-dir", "--imagestore", "--network-config-dir", "--module", "--out", "--ssh", "--volumepath"},
	},
	"kubectl": {
		flags: []string{"--insecure-skip-tls-verify", "--match-server-version", "--warnings-as-errors", "--disable-compression"},
		values: []string{"-n", "--namespace", "--context", "--cluster", "--user", "--kubeconfig", "-s", "--server", "--token", "--as", "--as-group", "--as-uid", "--certificate-authority",
			"--client-certificate", "--client-key", "--request-timeout", "--cache-dir", "-v", "--v", "--tls-server-name", "--profile", "--profile-output", "--password", "--username"},
	},
	"npm": {
		flags:  []string{"-g", "--global", "-s", "--silent", "-q", "--quiet", "-d", "--verbose", "-f", "--force", "-ws", "--workspaces", "--json", "-y", "--yes", "--ignore-scripts"},
		values: []string{"-C", "--prefix", "--registry", "--cache", "--loglevel", "-w", "--workspace", "--userconfig", "--globalconfig", "--script-shell", "--otp", "--tag"},
	},
	"go": {values: []string{"-C"}},
	"systemctl": {
		flags: []string{"--user", "--system", "--no-pager", "--no-block", "-q", "--quiet", "-a", "--all", "-l", "--full", "-f", "--force", "--now", "--no-ask-password", "--runtime", "--no-legend",
			"--no-wall", "--global", "--no-reload", "--plain", "--wait"},
		values: []string{"-H", "--host", "-M", "--machine", "-t", "--type", "--state", "-p", "--property", "-n", "--lines", "-o", "--output", "--root", "-s", "--signal", "--job-mode"},
	},
	"cargo": {
		flags:  []string{"-v", "-vv", "--verbose", "-q", "--quiet", "--locked", "--offline", "--frozen"},
		values: []string{"-C", "--color", "--config", "-Z"},
	},
	"gh": {values: []string{"-R", "--repo", "--hostname"}},
}

// withoutGlobals returns a command, its name first, without the options before
// its subcommand. It is false where one of them is not known.
func withoutGlobals(words []commandline.Word) ([]commandline.Word, bool) {
	known := globalOptions[strings.ToLower(path.Base(words[0].Text))]
	rest := words[1:]
	for len(rest) > 0 && isOption(rest[0]) {
		name, _, joined := strings.Cut(rest[0].Text, "=")
		switch {
		case slices.Contains(known.flags, name), joined && slices.Contains(known.values, name):
			rest = rest[1:]
		case slices.Contains(known.values, name) && len(rest) > 1 && !rest[1].Dynamic:
			rest = rest[2:]
		default:
			return words, false
		}
	}
	return append([]commandline.Word{words[0]}, rest...), true
}

// isOption reports that a word may be an option, or a toolchain of cargo's.
func isOption(w commandline.Word) bool {
	return len(w.Text) > 1 && (w.Text[0] == '-' || w.Text[0] == '+') && !w.Dynamic
}

// resembles reports whether a command, its name first, may do what a pattern
// describes although it is not written so: with options in between, which may
// have values, or with names cut short, as many programs accept them.
func (p commandPattern) resembles(words []commandline.Word) bool {
	if len(p) == 0 || len(words) == 0 || !words[0].Dynamic && !p[0].fold().match(strings.ToLower(words[0].Text)) {
		return false
	}
	// at[j] is that the pattern up to here may end before word j.
	at := make([]bool, len(words)+1)
	at[1] = true
	for i, g := range p[1:] {
		if g.any() && i == len(p)-2 {
			return slices.Contains(spread(at, words, false), true)
		}
		isOptionPattern := strings.HasPrefix(g[0], "-")
		at = spread(at, words, isOptionPattern)
		next := make([]bool, len(at))
		for j, w := range words {
			next[j+1] = at[j] && (w.Dynamic || g.fold().match(strings.ToLower(w.Text)) || isAbbreviation(w.Text, g))
		}
		at = next
	}
	return spread(at, words, false)[len(words)]
}

// spread adds the places that are reached by skipping options, each with the
// word behind it or without, words that may be nothing, and where all is set,
// any word.
func spread(at []bool, words []commandline.Word, all bool) []bool {
	out := slices.Clone(at)
	for j, w := range words {
		if !out[j] {
			continue
		}
		if all || w.Dynamic || isOption(w) {
			out[j+1] = true
		}
		if isOption(w) && j+2 <= len(words) {
			out[j+2] = true
		}
	}
	return out
}

// isAbbreviation reports that text is the beginning of a name or of a long
// option.
func isAbbreviation(text string, g glob) bool {
	text, _, _ = strings.Cut(text, "=")
	least := 1
	if strings.HasPrefix(text, "-") {
		least = 3
	}
	return g.literal() && len(text) >= least && strings.HasPrefix(g[0], text)
}
