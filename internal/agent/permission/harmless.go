package permission

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"den/internal/agent/permission/commandline"
)

// harmless is a command that changes nothing, as long as it gets the options
// that are listed.
type harmless struct {
	options string   // single letters; they may be joined, and followed by digits
	long    []string // whole options
	// anyWords is that its arguments are not names of files: they may be
	// anything, even if not known.
	anyWords bool
}

// harmlessCommands are known to only read and print. Everything that is not
// here is asked for. What an option does was read in the manuals of GNU and BSD.
var harmlessCommands = map[string]harmless{
	"true": {}, "false": {}, ":": {anyWords: true}, "pwd": {options: "LP"},
	"echo":     {options: "neE", anyWords: true},
	"printf":   {},
	"basename": {options: "a", anyWords: true}, "dirname": {anyWords: true},
	"whoami": {}, "id": {options: "ugn"}, "uname": {options: "asrmnopv"}, "nproc": {}, "date": {options: "uR"},
	"command": {options: "vV"}, "type": {options: "tap"}, "which": {options: "a"},
	"seq": {}, "sleep": {}, "wait": {},
	"cd": {},

	"ls":   {options: "aAlhtrSRdFicgosGnpx", long: []string{"--color=never", "--color=auto", "--color=always", "--all"}},
	"cat":  {options: "AbeEnstTuv"},
	"head": {options: "cnqv"}, "tail": {options: "cnqv"},
	"wc":   {options: "clmwL"},
	"grep": {options: "abcEFGHhilLnoqrsvwxABCem", long: []string{"--color=never", "--color=auto"}},
	"nl":   {options: "ba"}, "cut": {options: "dfcbs"}, "tr": {options: "dcs"},
	"stat": {options: "Lct"}, "readlink": {options: "fen"}, "realpath": {options: "ems"},
	"md5sum": {}, "sha1sum": {}, "sha256sum": {}, "cksum": {},
	"cmp": {options: "bls"}, "du": {options: "shakmcd"}, "df": {options: "hkmTi"},
	"test": {long: testOptions}, "[": {long: testOptions}, "[[": {long: testOptions},

	"git status":    {options: "sbu", long: []string{"--short", "--branch", "--porcelain"}},
	"git diff":      {options: "Upwb", long: []string{"--stat", "--cached", "--staged", "--name-only", "--name-status", "--check"}},
	"git log":       {options: "np", long: []string{"--oneline", "--stat", "--graph", "--all", "--decorate", "--name-only"}},
	"git show":      {options: "p", long: []string{"--stat", "--name-only", "--oneline"}},
	"git rev-parse": {long: []string{"--show-toplevel", "--abbrev-ref", "--short", "--verify"}},
	"git branch":    {long: []string{"--show-current", "--list"}},
	"git ls-files":  {options: "comtsz"},
}

// testOptions are operators of test. Those that count have numbers beside them:
// other text is a problem of the line.
var testOptions = []string{"-e", "-f", "-d", "-r", "-w", "-x", "-s", "-z", "-n", "-L", "-h", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"}

// joined matches options of single letters, perhaps with a number.
var joined = regexp.MustCompile(`^-([A-Za-z]*)[0-9]*$`)

// risk says why a command is not known to be harmless, "" if it is.
func (p places) risk(u use) string {
	name := u.command.Name()
	unknown := fmt.Sprintf("'%s' is not known to be harmless", name.Text)
	if len(u.command.Assigns()) > 0 {
		return "it sets variables, which can change what commands do"
	}
	if u.command.Leaves {
		return "it may go on when the line has ended, or prints to a file"
	}
	words := u.command.Args()
	full := name.Text
	if full == "git" {
		if u.elsewhere || !p.repository {
			return "git runs what the configuration of a repository says, and this is not known to be the agent's own"
		}
		for len(words) > 0 && slices.Contains(gitPlain, words[0].Text) {
			words = words[1:]
		}
		if len(words) > 0 {
			full += " " + words[0].Text
			words = words[1:]
		}
		unknown = fmt.Sprintf("'%s' is not known to be harmless", full)
	}
	known, ok := harmlessCommands[full]
	if !ok {
		return unknown
	}
	for _, w := range words {
		switch {
		case w.Globs && known.anyWords && !p.globsInside(u, w):
			return fmt.Sprintf("'%s' may tell names of files outside the agent's directory", full)
		case w.Dynamic && known.anyWords:
		case w.Dynamic:
			return fmt.Sprintf("an argument of '%s' is not known before it runs", full)
		case strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 && w.Text != "--":
			if !known.permits(w.Text) {
				return fmt.Sprintf("'%s' is not known to only read with '%s'", full, w.Text)
			}
		case full == "git branch", full == "date" && !strings.HasPrefix(w.Text, "+"):
			return unknown // they change something as soon as they get a word
		}
	}
	if known.anyWords {
		return ""
	}
	return p.argsOutside(u, full)
}

// globsInside reports a glob that finds names in the agent's directory alone: it
// is known where it looks, and it looks through no links.
func (p places) globsInside(u use, w commandline.Word) bool {
	dir, name := path.Split(w.Text)
	if w.Unknown || u.elsewhere || strings.ContainsAny(dir, "*?[") || strings.Contains(w.Text, commandline.Hole) || name == "**" {
		return false
	}
	_, ok := inside(p.dir, p.resolve(p.dir, dir+".").real)
	return ok
}

// onlyReads reports a command that writes no file, whatever its arguments become.
func onlyReads(c commandline.Command) bool {
	_, known := harmlessCommands[c.Name().Text]
	return known && len(c.Assigns()) == 0
}

func (h harmless) permits(option string) bool {
	if slices.Contains(h.long, option) {
		return true
	}
	letters := joined.FindStringSubmatch(option)
	return letters != nil && strings.Trim(letters[1], h.options) == ""
}

// argsOutside says which argument may be a file outside the agent's directory.
func (p places) argsOutside(u use, name string) string {
	for _, t := range u.args {
		if _, ok := inside(p.dir, t.real); !ok && t.given != "" {
			return fmt.Sprintf("'%s' may read '%s', which is outside the agent's directory", name, t.given)
		}
	}
	return ""
}
