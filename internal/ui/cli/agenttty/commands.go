package agenttty

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"den/internal/base/ident"
	"den/internal/session"

	"github.com/spf13/pflag"
)

// command is one of agent-tty's commands.
type command struct {
	words       string // as help shows them
	least, most int    // of the words; most < 0: any number
	define      func(f *pflag.FlagSet)
	run         func(c *call) (outcome, error)
}

// commands returns all commands by the name that envelopes give them.
func commands() map[string]command {
	const id = "<session-id>"
	return map[string]command{
		"create":        {"[command...]", 0, -1, createFlags, create},
		"list":          {"", 0, 0, flagAll, list},
		"inspect":       {id, 1, 1, nil, onSession(inspect)},
		"destroy":       {id, 1, 1, destroyFlags, onSession(destroy)},
		"gc":            {"", 0, 0, gcFlags, collect},
		"home list":     {"", 0, 0, flagAll, homeList},
		"home forget":   {"<path>", 1, 1, nil, homeForget},
		"type":          {id + " [text]", 1, 2, typeFlags, withText(typeText)},
		"paste":         {id + " [text]", 1, 2, fileFlag, withText(paste)},
		"run":           {id + " [command]", 1, 2, runFlags, withText(run)},
		"send-keys":     {id + " <keys...>", 2, -1, nil, onSession(sendKeys)},
		"batch":         {id + " [steps]", 1, 2, batchFlags, withText(runBatch)},
		"mark":          {id + " <label>", 2, 2, nil, onSession(mark)},
		"resize":        {id, 1, 1, resizeFlags, onSession(resize)},
		"signal":        {id + " <signal>", 2, 2, nil, onSession(sendSignal)},
		"wait":          {id, 1, 1, waitFlags, onSession(wait)},
		"snapshot":      {id, 1, 1, snapshotFlags, onSession(snapshot)},
		"screenshot":    {id, 1, 1, screenshotFlags, onSession(screenshot)},
		"record export": {id, 1, 1, exportFlags, onSession(export)},
		"dashboard":     {"", 0, 0, dashboardFlags, dashboard},
		"doctor":        {"", 0, 0, nil, doctor},
		"version":       {"", 0, 0, nil, version},
		"skills list":   {"", 0, 0, nil, skillsList},
		"skills get":    {"<name>", 1, 1, nil, skillsGet},
		"skills path":   {"<name>", 1, 1, nil, skillsPath},
	}
}

// onSession is a command for the session that its first word names.
func onSession(run func(*call, *session.Session) (outcome, error)) func(*call) (outcome, error) {
	return func(c *call) (outcome, error) {
		s, err := c.session()
		if err != nil {
			return outcome{}, err
		}
		return run(c, s)
	}
}

// withText is onSession for a command that has a text, too.
func withText(run func(c *call, s *session.Session, text string) (outcome, error)) func(*call) (outcome, error) {
	return onSession(func(c *call, s *session.Session) (outcome, error) {
		text, err := c.textOrFile()
		if err != nil {
			return outcome{}, err
		}
		return run(c, s, text)
	})
}

// help is the word that asks for help on the words behind it.
const help = "help"

// aliases are other names of commands.
func aliases() map[string]string {
	return map[string]string{"ls": "list", "d": "dashboard", "--help": help, "-h": help}
}

// groups are the words that need a second one.
var groups = []string{"home", "record", "skills"}

// rootFlags are the flags of every command. They may also stand before it.
func rootFlags(f *pflag.FlagSet) {
	f.String("home", "", "the Home that holds the sessions, an absolute path")
	f.Int("timeout-ms", 0, "accepted and not used, as in the original")
	f.Bool("no-color", false, "print no colours")
	f.String("log-level", "info", "debug, info, warn or error; not used")
	f.String("profile", "", "the profile of pictures: reference-dark or reference-light")
	f.String("renderer", "", "ghostty-web or libghostty-vt; accepted, den has its own")
	f.Bool("json", false, "print an envelope")
}

func (cmd command) flagSet(name string) *pflag.FlagSet {
	f := pflag.NewFlagSet("agent-tty "+name, pflag.ContinueOnError)
	f.Usage = func() {} // help prints it
	f.SetOutput(nil)
	rootFlags(f)
	if cmd.define != nil {
		cmd.define(f)
	}
	return f
}

func (cmd command) help(name string, f *pflag.FlagSet) string {
	usage := strings.TrimSpace("agent-tty " + name + " [options] " + cmd.words)
	return fmt.Sprintf("Usage: %s\n\nOptions:\n%s", usage, f.FlagUsages())
}

// helpOn returns the help on a command, on a group of them or, without a name,
// on all. It returns false for another name.
func helpOn(name string) (string, bool) {
	if cmd, ok := commands()[name]; ok {
		return cmd.help(name, cmd.flagSet(name)), true
	}
	if name == "" {
		return overview("") + alsoTaken, true
	}
	return overview(name), slices.Contains(groups, name)
}

// overview lists the commands of a group or, without one, all.
func overview(group string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s\n\nCommands:\n", strings.Join(strings.Fields("agent-tty "+group+" [options] [command]"), " "))
	all := commands()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if group == "" || strings.HasPrefix(name, group+" ") {
			fmt.Fprintf(&b, "  %s\n", strings.TrimSpace(name+" "+all[name].words))
		}
	}
	b.WriteString("\n'agent-tty help COMMAND' lists the options of a command.\n")
	return b.String()
}

// alsoTaken says where the help on other words is.
const alsoTaken = "'k --help' lists the words of k, and 'den --help' those of den, which are taken too.\n"

// split takes the name of the command out of the words.
func split(words []string) (name string, rest []string) {
	before, words := leading(words)
	if len(words) == 0 {
		return "", before
	}
	name, words = words[0], words[1:]
	if other, ok := aliases()[name]; ok {
		name = other
	}
	if slices.Contains(groups, name) && len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		name, words = name+" "+words[0], words[1:]
	}
	return name, slices.Concat(before, words)
}

// leading returns the flags that stand before the command.
func leading(words []string) (flags, rest []string) {
	root := pflag.NewFlagSet("", pflag.ContinueOnError)
	rootFlags(root)
	n := 0
	for n < len(words) {
		name, _, hasValue := strings.Cut(strings.TrimPrefix(words[n], "--"), "=")
		flag := root.Lookup(name)
		if !strings.HasPrefix(words[n], "--") || flag == nil {
			break
		}
		n++
		if !hasValue && flag.NoOptDefVal == "" && n < len(words) {
			n++
		}
	}
	return words[:n], words[n:]
}

// Knows reports whether the words are a command of this tool, or ask for its
// help. Another tool of the name agent-tty, k, has 'run' too: that is k's with
// k's flags before the words, and with a number of words that only k takes.
func Knows(words []string) bool {
	before, rest := leading(words)
	name, after := split(words)
	_, ok := commands()[name]
	switch {
	case len(before) > 0, len(rest) == 0:
		return true
	case name != "run":
		return ok || name == help || slices.Contains(groups, rest[0])
	}
	return !isRunOfK(after)
}

// isRunOfK reports whether the words behind 'run' are k's: [-j] [-t N]
// [SESSION] CODE, where more words mean nothing.
func isRunOfK(words []string) bool {
	f := commands()["run"].flagSet("run")
	plain := 0
	for i, word := range words {
		flag, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		switch {
		case i == 0 && (word == "-j" || word == "-t"):
			return true
		case wantsHelp(words[i : i+1]), strings.HasPrefix(word, "--") && f.Lookup(flag) != nil:
			return false
		case word != "--":
			plain++
		}
	}
	return plain > 2 || plain == 1 && !ident.IsID(words[0]) // an id is no code: the code was forgotten
}

// wantsHelp reports whether the words ask for help.
func wantsHelp(words []string) bool {
	return slices.ContainsFunc(options(words), func(word string) bool { return word == "--help" || word == "-h" })
}

// options returns the words up to the one behind which nothing is an option.
func options(words []string) []string {
	if end := slices.Index(words, "--"); end >= 0 {
		return words[:end]
	}
	return words
}
