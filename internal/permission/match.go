package permission

import (
	"path"
	"slices"
	"strings"

	"den/internal/permission/commandline"
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
		return r.command != nil && r.command.match(u.command.Words, false) == yes && (!isGit(u.command.Name()) || p.gitAllowed(r.command, u))
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
		if u.kind == Execute && u.problem != "" {
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
	case u.kind != Fetch:
		return no
	case u.host == "":
		return maybe
	case r.host.match(u.host):
		return yes
	}
	return no
}

// forbidsPath also considers the arguments of commands: a rule that keeps a
// file from being read holds for cat too.
func (r *rule) forbidsPath(u use) certainty {
	if u.command != nil {
		return r.forbidsArgument(u)
	}
	if u.file == nil || r.Kind != "" && r.Kind != u.kind {
		return no
	}
	switch {
	case !u.file.known():
		return maybe
	case r.path.matchGenerously(*u.file):
		return yes
	}
	return no
}

func (r *rule) forbidsArgument(u use) certainty {
	if slices.ContainsFunc(u.args, r.path.matchGenerously) {
		if r.Kind == "" || r.Kind == Execute {
			return yes
		}
		return maybe // whether it reads or edits the file is not known
	}
	if u.unknownArgs || slices.ContainsFunc(u.parts, r.path.matchGenerously) || slices.ContainsFunc(u.globs, r.path.mayGlob) {
		return maybe
	}
	return no
}
