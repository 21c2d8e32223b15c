package permission

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"den/internal/agent/permission/commandline"
)

// outcome is what a rule says to a use: its own outcome, Ask where a rule that
// denies only might match, or "".
func (r *rule) outcome(tool string, u use, p places) Outcome {
	if r.tool != nil && !r.tool.match(strings.ToLower(tool)) {
		return ""
	}
	if r.Outcome == Allow {
		if r.allows(u, p) {
			return Allow
		}
		return ""
	}
	switch r.forbids(u) {
	case yes:
		return r.Outcome
	case maybe:
		return Ask
	}
	return ""
}

// allows is exact, and says no where anything is not known.
func (r *rule) allows(u use, p places) bool {
	if u.problem != "" || u.forbidOnly || r.Kind != "" && r.Kind != u.kind {
		return false
	}
	if u.kind == Question {
		return false // a rule has no answer
	}
	switch {
	case u.command != nil:
		return r.command != nil && r.command.match(u.command.Words, false) == yes && r.command.covers(u.command.Words) && (!isGit(u.command.Name()) || p.gitAllowed(r.command, u)) && sedAllowed(r.command, *u.command)
	case u.file != nil:
		if r.path != nil {
			return r.path.matchExactly(*u.file)
		}
		_, ok := inside(p.dir, u.file.real)
		return ok && r.command == nil && r.host == nil
	case u.kind == Fetch && r.host != nil:
		return u.host != "" && r.host.match(u.host)
	}
	return r.command == nil && r.path == nil && r.host == nil
}

// goCode are options of the go command that name a program, or a directory or a
// file that decides what is built and run.
var goCode = []string{"exec", "toolexec", "vettool", "C", "overlay", "modfile", "pkgdir", "o"}

// covers reports whether a pattern that matches a command of go covers it: what
// an option of it runs besides has to be written out.
func (p commandPattern) covers(words []commandline.Word) bool {
	if len(words) == 0 || path.Base(words[0].Text) != "go" {
		return true
	}
	for i, w := range words {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(w.Text, "-"), "-"), "=")
		if strings.HasPrefix(w.Text, "-") && slices.Contains(goCode, name) && (i >= len(p) || !p[i].literal()) {
			return false
		}
	}
	return true
}

// forbids is generous, and says maybe where something is not known.
func (r *rule) forbids(u use) certainty {
	switch {
	case r.path != nil:
		return r.forbidsPath(u)
	case r.Kind != "" && r.Kind != u.kind:
		return no
	case r.command != nil:
		return r.forbidsCommand(u)
	case r.host != nil:
		return r.forbidsHost(u)
	}
	return yes
}

func (r *rule) forbidsCommand(u use) certainty {
	if u.command == nil {
		if u.kind == Execute && u.problem != "" && !u.place {
			return maybe
		}
		return no
	}
	best := r.command.match(u.command.Words, true)
	name := u.command.Name()
	bare := append([]commandline.Word{{Text: path.Base(name.Text), Dynamic: name.Dynamic}}, u.command.Args()...)
	best = max(best, r.command.match(bare, true))
	if best == yes {
		return yes
	}
	plain, _ := withoutGlobals(bare)
	best = max(best, r.command.match(plain, true))
	if best == no && (r.command.resembles(plain) || len(r.command) > 1 && r.command[:1].match(bare[:1], true) == yes && mayBeAnything(bare)) {
		return maybe
	}
	return best
}

func (r *rule) forbidsHost(u use) certainty {
	switch {
	case u.command != nil:
		return r.forbidsHostOf(*u.command)
	case u.kind != Fetch:
		return no
	case u.host == "":
		return maybe
	case r.host.match(u.host):
		return yes
	}
	return no
}

// forbidsHostOf considers the words of a command: a rule that keeps a host from
// being reached holds for curl, too.
func (r *rule) forbidsHostOf(c commandline.Command) certainty {
	for _, w := range c.Args() {
		if hostIn.MatchString(w.Text) && slices.ContainsFunc(hostIn.FindAllString(strings.ToLower(w.Text), -1), r.host.match) {
			return yes
		}
	}
	return no
}

// hostIn matches what may be the name or the address of a host in a word.
var hostIn = regexp.MustCompile(`[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+|\[[0-9A-Fa-f:.]+\]|localhost`)

// forbidsPath also considers the arguments of commands: a rule that keeps a
// file from being read holds for cat too.
func (r *rule) forbidsPath(u use) certainty {
	switch {
	case u.command != nil:
		return r.forbidsArgument(u)
	case r.Kind != "" && r.Kind != u.kind:
		return no
	case u.file == nil && (u.kind == Read || u.kind == Edit): // a redirection to or from a word that is not plain
		return r.forbidsArgument(u)
	case u.file == nil:
		return no
	case !u.file.known():
		return maybe
	case r.path.matchGenerously(*u.file):
		return yes
	}
	return no
}

func (r *rule) forbidsArgument(u use) certainty {
	if slices.ContainsFunc(u.args, r.path.matchGenerously) {
		if r.Kind == "" || r.Kind == u.kind {
			return yes
		}
		return maybe // whether it reads or edits the file is not known
	}
	if u.unknownArgs || slices.ContainsFunc(u.parts, r.path.matchGenerously) || slices.ContainsFunc(u.globs, r.path.mayGlob) {
		return maybe
	}
	return no
}
