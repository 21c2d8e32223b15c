package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"den/internal/agent/permission/commandline"
	"den/internal/base/fault"
	"den/internal/place/decisive"
)

// Settings are what a policy is made of.
type Settings struct {
	Dir   string // the agent's directory, absolute
	Home  string // the home directory of its user, for '~'; or ""
	Rules []Rule
	// Bypass allows what no rule decides, except a change of a file that decides
	// what runs or what is allowed. A question for a person stays one.
	Bypass bool
	// AskEdits has a change of a file asked for that no rule allows, wherever
	// the file is.
	AskEdits bool
	// Protected are absolute paths that the agent must never change or read,
	// whatever the rules say: den's own state, in which its permissions are.
	Protected []string
	// Workspace returns the files that the agent's workspace is made of, as they
	// are now: a person is asked about every change of one. Where it fails, about
	// every change. Or nil.
	Workspace func() ([]decisive.File, error)

	// Readlink is os.Readlink where it is nil.
	Readlink func(string) (string, error)
	// Exists reports whether there is a file; by os.Lstat where it is nil.
	Exists func(string) bool
}

// A Policy decides requests by rules. It does not change: With makes another.
//
// Rules that forbid match generously: in any case of letters, whatever runs a
// command and wherever its program is, a file by every name that it has, and
// what only might match is asked for. Rules that allow match exactly. Where no
// rule matches, the defaults decide.
type Policy struct {
	settings Settings
	dirs     directories
	rules    []rule
	kept     []pathPattern // of Settings.Protected
}

// NewPolicy checks the rules. One that would allow every command is refused.
func NewPolicy(s Settings) (*Policy, error) {
	if !strings.HasPrefix(s.Dir, "/") {
		return nil, fault.Errorf(fault.Internal, "make policy: the agent's directory '%s' is not absolute", s.Dir)
	}
	p := &Policy{settings: s, dirs: newDirectories(s)}
	for _, file := range s.Protected {
		pattern, err := p.dirs.parsePathPattern(quotePath(file))
		if err != nil {
			return nil, fault.Errorf(fault.Internal, "make policy: protect '%s': %w", file, err)
		}
		p.kept = append(p.kept, pattern)
	}
	for _, r := range s.Rules {
		compiled, err := p.dirs.compile(r)
		if err != nil {
			return nil, err
		}
		p.rules = append(p.rules, compiled)
	}
	return p, nil
}

// With returns a policy with more rules.
func (p *Policy) With(rules ...Rule) (*Policy, error) {
	s := p.settings
	s.Rules = slices.Concat(s.Rules, rules)
	return NewPolicy(s)
}

// Dir returns the agent's directory.
func (p *Policy) Dir() string { return p.settings.Dir }

// Explanation is a decision and how it came to be.
type Explanation struct {
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why"`
	Rule    *Rule   `json:"rule,omitempty"` // that decided; nil where a default did
	// Parts are the decisions for everything that the request would do. The
	// strictest is that of the request.
	Parts []Part `json:"parts,omitempty"`
}

// Part is the decision for one thing that a request would do.
type Part struct {
	What    string  `json:"what"`
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why"`
	Rule    *Rule   `json:"rule,omitempty"`
	// Decisive is that it may change what runs or what is allowed, and no rule
	// allows that.
	Decisive bool `json:"decisive,omitempty"`
}

// asks reports that a rule, or what is at stake, has a person asked.
func (p Part) asks() bool { return p.Outcome == Ask && (p.Rule != nil || p.Decisive) }

// Decide returns what the policy says to a request, and why.
func (p *Policy) Decide(r Request) (Outcome, string) {
	e := p.Explain(r)
	return e.Outcome, e.Why
}

// Explain is Decide with the rule that decided, and the parts.
func (p *Policy) Explain(r Request) Explanation {
	e := Explanation{}
	known := sync.OnceValues(p.decisiveFiles)
	for _, u := range p.dirs.uses(r) {
		part, decided := p.part(r.Tool, u, known)
		if !decided {
			continue
		}
		e.Parts = append(e.Parts, part)
		if part.Outcome.severity() > e.Outcome.severity() {
			e.Outcome, e.Why, e.Rule = part.Outcome, part.What+": "+part.Why, part.Rule
		}
	}
	if e.Outcome == "" {
		return Explanation{Outcome: Ask, Why: "the agent does not say what it wants to do"}
	}
	return e
}

// part decides one use; decided is false where the use only asks and denies,
// and no rule does. known is decisiveFiles, once for all uses of a request.
func (p *Policy) part(tool string, u use, known func() (decisive.Set, error)) (part Part, decided bool) {
	part = Part{What: u.what}
	files := p.dirs.names(u)
	if why := p.protected(u, files); why != "" {
		part.Outcome, part.Why = Deny, why
		return part, true
	}
	for i := range p.rules {
		r := &p.rules[i]
		outcome := r.outcome(tool, u, p.dirs)
		if outcome.severity() <= part.Outcome.severity() {
			continue
		}
		part.Outcome, part.Rule, part.Why = outcome, &r.Rule, r.told(outcome)
	}
	ran := false // it may run what a rule forbids
	if r := p.mayRun(u); r != nil && part.Outcome == "" {
		ran = true
		part.Outcome, part.Rule, part.Why = Ask, r, (&rule{Rule: *r}).told("")
	}
	if mayMatch := part.Rule != nil && part.Rule.Outcome != part.Outcome || ran; mayMatch && (u.problem != "" || !u.forbidOnly) {
		if outcome, why := p.dirs.byDefault(u); outcome == Ask {
			part.Why = why + "; " + part.Why // it is asked for without the rule, too
		}
	}
	if part.Outcome == "" && !u.forbidOnly {
		part.Outcome, part.Why = p.dirs.byDefault(u)
		if part.Outcome == Ask && p.settings.Bypass && u.kind != Question {
			part.Outcome, part.Why = Allow, "the agent's approval is \"bypass\""
		}
	}
	if asked := part.Outcome == Ask && part.Rule != nil; part.Outcome != Deny && !asked {
		if why := p.decisive(u, files, known); why != "" {
			part.Outcome, part.Why, part.Rule, part.Decisive = Ask, why, nil, true
		}
	}
	return part, part.Outcome != ""
}

// mayRun returns the first rule that forbids commands which a command may run
// without den seeing it, or nil: a shell runs what it reads, and a program that
// den does not know may run its arguments.
func (p *Policy) mayRun(u use) *Rule {
	if u.command == nil || len(u.command.Runs) > 0 {
		return nil
	}
	reads := readsProgram(*u.command)
	var inner []use
	for i := range p.rules {
		r := &p.rules[i]
		if r.Outcome == Allow || r.command == nil {
			continue
		}
		if inner == nil && !reads {
			if inner = p.dirs.argumentsAsCommands(*u.command); len(inner) == 0 {
				return nil
			}
		}
		if reads || slices.ContainsFunc(inner, func(in use) bool { return r.forbidsCommand(in) == yes }) {
			return &r.Rule
		}
	}
	return nil
}

// readsProgram reports a shell that reads what it runs: from its input, or from
// a file.
func readsProgram(c commandline.Command) bool {
	name := c.Name().Text
	return commandline.IsShell(name) || name == "." || name == "source"
}

// maxArguments bounds how many arguments are looked at as commands.
const maxArguments = 64

// argumentsAsCommands returns what a program would run if it ran its arguments.
// None are those of commands that only read, and of programs whose subcommands
// den knows: they have their own 'rm'.
func (p directories) argumentsAsCommands(c commandline.Command) []use {
	if _, known := globalOptions[strings.ToLower(path.Base(c.Name().Text))]; known || onlyReads(c) {
		return nil
	}
	if _, writes := writerOf(c); writes {
		return nil
	}
	var all []use
	args := c.Args()
	for i, w := range args[:min(len(args), maxArguments)] {
		if w.Dynamic {
			continue
		}
		all = append(all, use{kind: Execute, command: &commandline.Command{Words: args[i:]}})
		if strings.ContainsAny(w.Text, " \t\n;&|") {
			all = append(all, p.commandUses(Request{Kind: Execute, Command: w.Text})...)
		}
	}
	return all
}

// told says which rule decided.
func (r *rule) told(outcome Outcome) string {
	text := fmt.Sprintf("rule %s", r.Rule)
	if r.Origin != "" {
		text += " of " + r.Origin
	}
	if outcome != r.Outcome {
		text += " might match"
	}
	if r.Why != "" {
		text += ": " + r.Why
	}
	return text
}

// WhyProtected is what an agent is told that wants a protected file.
const WhyProtected = "it is den's own: it holds permissions and secrets, and agents must neither change nor read it"

// protected says why something is denied whatever the rules say, "" if it is
// not: an agent must not give itself permissions.
func (p *Policy) protected(u use, files []target) string {
	if u.command != nil && decidesApprovals(*u.command) {
		return "an agent must not decide what it asks for itself"
	}
	for _, pattern := range p.kept {
		if slices.ContainsFunc(files, pattern.matchGenerously) {
			return WhyProtected
		}
	}
	return ""
}

// decidesApprovals reports whether a command is one of den's verbs for people
// who decide requests, or who say which accounts do.
func decidesApprovals(c commandline.Command) bool {
	if name := strings.ToLower(path.Base(c.Name().Text)); name != "den" && name != "dend" {
		return false
	}
	afterOption := false // the word may be an option's value
	for _, w := range c.Args() {
		switch {
		case slices.Contains([]string{"approvals", "approve", "deny", "accounts"}, w.Text):
			return true
		case strings.HasPrefix(w.Text, "-"):
			afterOption = true
		case !afterOption:
			return false // another verb
		default:
			afterOption = false
		}
	}
	return false
}

// byDefault decides what no rule decides.
func (p directories) byDefault(u use) (Outcome, string) {
	switch {
	case u.problem != "":
		return Ask, u.problem
	case u.kind == Think:
		return Allow, "it changes nothing"
	case u.file != nil:
		return p.fileByDefault(u)
	case u.command != nil:
		if why := p.risk(u); why != "" {
			return Ask, why
		}
		return Allow, "the command only reads, and only in the agent's directory"
	case u.kind == Fetch:
		return Ask, "it reaches the network"
	case u.kind == Question:
		return Ask, "the agent asks a person"
	}
	return Ask, "den does not know what this tool does"
}

func (p directories) fileByDefault(u use) (Outcome, string) {
	if _, ok := inside(p.dir, u.file.real); !ok {
		return Ask, fmt.Sprintf("'%s' is outside the agent's directory", u.file.given)
	}
	if u.kind == Read {
		return Allow, "it reads in the agent's directory"
	}
	if p.askEdits {
		return Ask, "it changes a file"
	}
	return Allow, "it edits in the agent's directory"
}

// Remember returns the rules with which a request that is asked for now would
// be decided as its owner did, and nothing else: for these commands with these
// arguments, for these files, for this host, for this tool. It is fault.Usage
// where there are no such rules.
func (p *Policy) Remember(r Request, outcome Outcome) ([]Rule, error) {
	var rules []Rule
	known := sync.OnceValues(p.decisiveFiles)
	for _, u := range p.dirs.uses(r) {
		part, decided := p.part(r.Tool, u, known)
		if !decided || part.Outcome != Ask {
			continue
		}
		if part.Rule != nil {
			return nil, fault.Errorf(fault.Usage, "remember decision: %s asks every time", part.Why)
		}
		rule, err := p.narrow(r, u)
		if err != nil {
			return nil, err
		}
		rule.Outcome, rule.Exact = outcome, outcome == Deny && rule.Command != ""
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	if outcome == Deny && len(rules) > 1 {
		return nil, fault.Errorf(fault.Usage, "remember decision: it is not known which of %d things was meant", len(rules))
	}
	with, err := p.With(rules...)
	if err != nil {
		return nil, err
	}
	if got, why := with.Decide(r); got != outcome {
		return nil, fault.Errorf(fault.Usage, "remember decision: it would still be '%s': %s", got, why)
	}
	return rules, nil
}

// narrow is the rule for one use of a request.
func (p *Policy) narrow(r Request, u use) (Rule, error) {
	rule := Rule{Tool: r.Tool, Kind: u.kind}
	switch {
	case u.problem != "":
		return rule, fault.Errorf(fault.Usage, "remember decision: %s", u.problem)
	case u.command != nil:
		for _, w := range u.command.Words {
			if w.Dynamic {
				return rule, fault.Errorf(fault.Usage, "remember decision: an argument of '%s' is not known before it runs", u.command)
			}
		}
		rule.Command = quotePattern(u.command.Words)
	case u.file != nil:
		rule.Path = quotePath(u.file.real)
	case u.kind == Fetch && u.host == "":
		return rule, fault.Errorf(fault.Usage, "remember decision: the address is not known")
	case u.kind == Fetch:
		rule.Host = u.host
	case r.Tool == "":
		return rule, fault.Errorf(fault.Usage, "remember decision: the tool is not known")
	}
	return rule, checkLiteral(rule)
}

// checkLiteral refuses names that a rule would take for a pattern.
func checkLiteral(r Rule) error {
	for _, name := range []string{r.Tool, r.Host} {
		if g := globOf(name); !g.literal() {
			return fault.Errorf(fault.Usage, "remember decision: '%s' has a star", name)
		}
	}
	if r.Tool == "" && r.Command == "" && r.Path == "" && r.Host == "" {
		return fmt.Errorf("remember decision: the rule would have no condition")
	}
	return nil
}
