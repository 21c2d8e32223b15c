package permission

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"den/internal/agent/permission/commandline"
	"den/internal/base/fault"
)

// Outcome is what a policy decides. The values are stored and sent: add, never
// rename.
type Outcome string

// The outcomes. A stricter one wins over a milder one.
const (
	Allow Outcome = "allow"
	Ask   Outcome = "ask"
	Deny  Outcome = "deny"
)

// severity orders outcomes; that of none is 0.
func (o Outcome) severity() int { return slices.Index([]Outcome{"", Allow, Ask, Deny}, o) }

// A Rule decides the requests that match all of its conditions.
type Rule struct {
	Outcome Outcome `json:"outcome"`
	// Tool is the tool's name, in any case; '*' stands for any characters.
	Tool string `json:"tool,omitempty"`
	Kind Kind   `json:"kind,omitempty"`
	// Path is a pattern of files, relative to the agent's directory unless it
	// begins with '/' or '~/'. A rule that allows and has no path covers files
	// in the agent's directory only.
	Path string `json:"path,omitempty"`
	// Command is a pattern of one simple command: 'git log *'. Every command
	// of a line has to be allowed.
	Command string `json:"command,omitempty"`
	// Host is the name of a host that Fetch may reach; '*' stands for any
	// characters.
	Host string `json:"host,omitempty"`
	// Exact is that a rule that forbids a command forbids it with these
	// arguments only. Others forbid it with more arguments, too.
	Exact bool `json:"exact,omitempty"`
	// Why is told with the decision.
	Why string `json:"why,omitempty"`
	// Origin is where the rule stands, for people.
	Origin string `json:"origin,omitempty"`
}

// String is the rule as it would be written, without Why and Origin.
func (r Rule) String() string {
	text := string(r.Outcome)
	for _, c := range []struct{ name, value string }{{"tool", r.Tool}, {"kind", string(r.Kind)}, {"path", r.Path}, {"command", r.Command}, {"host", r.Host}} {
		if c.value != "" {
			text += fmt.Sprintf(" %s '%s'", c.name, c.value)
		}
	}
	return text
}

// rule is a Rule that was checked, with its patterns parsed.
type rule struct {
	Rule
	tool, host glob // or nil
	path       *pathPattern
	command    commandPattern
}

var kinds = []Kind{"", Read, Edit, Execute, Fetch, Think, Other, Question}

func (p directories) compile(r Rule) (rule, error) {
	c := rule{Rule: r}
	if r.Outcome.severity() < Allow.severity() {
		return c, refuse(r, "its outcome is '%s'; it must be allow, ask or deny", r.Outcome)
	}
	if !slices.Contains(kinds, r.Kind) {
		return c, refuse(r, "its kind is '%s'; the kinds are read, edit, execute, fetch, think, question and other", r.Kind)
	}
	if r.Tool != "" {
		c.tool = globOf(r.Tool)
	}
	if r.Host != "" {
		c.host = globOf(r.Host)
	}
	if r.Path != "" {
		pattern, err := p.parsePathPattern(r.Path)
		if err != nil {
			return c, refuse(r, "path '%s': %v", r.Path, err)
		}
		c.path = &pattern
	}
	var err error
	if c.command, err = parseCommandPattern(r.Command); err != nil {
		return c, refuse(r, "command %s: %v", r.Command, err)
	}
	if err := checkConditions(c); err != nil {
		return c, err
	}
	if r.Outcome == Allow {
		return c, checkAllow(c)
	}
	if n := len(c.command); n > 0 && !r.Exact && !c.command[n-1].any() {
		c.command = append(c.command, globOf("*")) // what forbids a command forbids it with more arguments
	}
	return c, nil
}

func refuse(r Rule, format string, args ...any) error {
	where := ""
	if r.Origin != "" {
		where = " of " + r.Origin
	}
	return fault.Errorf(fault.Usage, "read rule %s%s: %s", r, where, fmt.Sprintf(format, args...))
}

// checkConditions refuses rules that no request can match.
func checkConditions(r rule) error {
	count := 0
	for _, set := range []bool{r.Path != "", r.Command != "", r.Host != ""} {
		if set {
			count++
		}
	}
	switch {
	case count > 1:
		return refuse(r.Rule, "it has more than one of path, command and host: no request has them in one place")
	case r.Command != "" && len(r.command) == 0:
		return refuse(r.Rule, "its command is blank")
	case strings.ContainsAny(r.Host, "/:@ "):
		return refuse(r.Rule, "its host '%s' is not the name of a host alone, such as example.org", r.Host)
	case r.Command != "" && r.Kind != "" && r.Kind != Execute,
		r.Host != "" && r.Kind != "" && r.Kind != Fetch,
		r.Path != "" && (r.Kind == Fetch || r.Kind == Think || r.Kind == Question):
		return refuse(r.Rule, "nothing of kind %s matches it", r.Kind)
	}
	return nil
}

// shellTools are the names that agents give to the tool that runs commands.
var shellTools = []string{
	"bash", "shell", "sh", "exec", "execute", "exec_command", "execute_command", "run_command", "run_shell_command",
	"run_terminal_cmd", "local_shell", "terminal", "command", "commandexecution", "powershell",
}

const everyCommand = "it would allow every command"

// checkAllow refuses rules that allow everything, whatever they look like.
func checkAllow(r rule) error {
	hint := "name the commands: command = 'go test *', or leave the rule out and be asked"
	if r.Path != "" || r.Host != "" {
		return nil // no command has one of these
	}
	if r.Command == "" {
		shell := r.tool == nil || slices.ContainsFunc(shellTools, r.tool.match)
		if r.Kind == Execute || shell && (r.Kind == "" || r.Kind == Other) {
			return fault.Hintf(refuse(r.Rule, everyCommand), "%s", hint)
		}
		return nil
	}
	name := r.command
	for len(name) > 0 && isAssignPattern(name[0]) {
		name = name[1:]
	}
	switch {
	case len(name) == 0 || !name[0].literal():
		return fault.Hintf(refuse(r.Rule, everyCommand), "%s", hint)
	case commandline.IsWrapper(name[0][0]) && !escalating(name[0][0]):
		return fault.Hintf(refuse(r.Rule, "'%s' runs other commands", name[0][0]), "write the pattern of the command that it runs: it is covered with and without '%s'", name[0][0])
	case escalating(name[0][0]):
		if len(name) < 2 || !name[1].literal() || strings.HasPrefix(name[1][0], "-") || opensCode(name[1:]) || commandline.IsWrapper(name[1][0]) {
			return fault.Hintf(refuse(r.Rule, everyCommand), "name the command behind '%s', without options", name[0][0])
		}
	case opensCode(name):
		return fault.Hintf(refuse(r.Rule, everyCommand), "name the script that '%s' runs", name[0][0])
	}
	return nil
}

func isAssignPattern(g glob) bool {
	name, _, ok := strings.Cut(g[0], "=")
	return ok && name != "" && !strings.Contains(name, "/")
}

func escalating(name string) bool { return slices.Contains([]string{"sudo", "doas"}, path.Base(name)) }

// opensCode reports that a pattern lets an interpreter run any code: it names
// no script, or the option that is followed by code.
func opensCode(p commandPattern) bool {
	name := programName(p[0][0])
	if !commandline.IsShell(p[0][0]) && !slices.Contains(interpreters, name) {
		return false
	}
	if len(p) > 2 && p[1].literal() && p[1][0] == "-m" && name == "python" {
		return !p[2].literal()
	}
	return len(p) < 2 || p[1][0] == "" || strings.HasPrefix(p[1][0], "-") || !p[1].literal()
}

// outcome is what a rule says to a use: its own outcome, Ask where a rule that
// denies only might match, or "".
func (r *rule) outcome(tool string, u use, p directories) Outcome {
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
func (r *rule) allows(u use, p directories) bool {
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
