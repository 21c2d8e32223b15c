package agenttty

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

// aliases are other names of commands.
func aliases() map[string]string {
	return map[string]string{"ls": "list", "d": "dashboard"}
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

func overview() string {
	var b strings.Builder
	b.WriteString("Usage: agent-tty [options] [command]\n\nCommands:\n")
	all := commands()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "  %s\n", strings.TrimSpace(name+" "+all[name].words))
	}
	return b.String()
}

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
	if slices.Contains(groups, name) && len(words) > 0 {
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

// shared are the names that k has too.
var shared = []string{"run", "ls"}

// Knows reports whether the words are a command of this tool. Another tool of
// the name agent-tty, k, has 'run' and 'ls' as well: they are this one's if a
// flag says so.
func Knows(words []string) bool {
	before, rest := leading(words)
	if len(rest) == 0 {
		return len(before) > 0
	}
	name, after := split(words)
	cmd, ok := commands()[name]
	if !ok {
		return len(before) > 0 || slices.Contains(groups, rest[0])
	}
	if !slices.Contains(shared, rest[0]) || len(before) > 0 {
		return true
	}
	f := cmd.flagSet(name)
	for _, word := range after {
		if word == "--" {
			return false
		}
		flag, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if strings.HasPrefix(word, "--") && f.Lookup(flag) != nil {
			return true
		}
	}
	return false
}
