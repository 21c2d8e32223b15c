package vendors

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"den/internal/agent/permission"
)

// gemini takes hooks from settings only: the user's, the repository's, or files
// of root. So den's rules are told to its own policy, as another file of the
// user's. What it says holds from a start to the next.
func (h Hook) gemini(argv []string) (Launch, error) {
	home := h.Getenv("GEMINI_CLI_HOME")
	if home == "" {
		home = h.Getenv("HOME")
	}
	var args []string
	// The user's own files are read where none are named.
	if own := filepath.Join(home, ".gemini", "policies"); home != "" {
		if _, err := os.Stat(own); err == nil {
			args = append(args, "--policy", own)
		}
	}
	err := h.write(map[string]any{"policy.toml": geminiPolicy(h.Rules, h.Protected)})
	return before(argv, append(args, "--policy", filepath.Join(h.Dir, "policy.toml"))...), err
}

// geminiShell is gemini's tool that runs commands, and geminiTools those of each
// kind.
const geminiShell = "run_shell_command"

var geminiTools = map[permission.Kind][]string{
	permission.Execute: {geminiShell},
	permission.Edit:    {"write_file", "replace"},
	permission.Read:    {"read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"},
	permission.Fetch:   {"web_fetch", "google_web_search"},
}

// The places of rules in gemini's policy: the strictest wins. A user's own rule
// is above one of den's that allows, unless it has the least of all places.
var geminiPlaces = map[string]int{"allow": 1, "ask_user": 990, "deny": 995}

// GeminiTakes reports whether gemini's policy can hold a rule.
func GeminiTakes(r permission.Rule) bool {
	return r.Path == "" && r.Host == "" && (r.Command != "" || r.Tool != "" || geminiTools[r.Kind] != nil)
}

// geminiPolicy is what gemini's policy can hold of den's. A rule that allows
// allows no more there than in den's policy; one that forbids forbids more.
func geminiPolicy(rules []permission.Rule, protected []string) string {
	var b strings.Builder
	b.WriteString("# Made by den from the agent's permissions.\n")
	add := func(decision, tool, pattern, why string) {
		fmt.Fprintf(&b, "\n[[rule]]\ntoolName = %s\ndecision = \"%s\"\npriority = %d\n", tomlText(tool), decision, geminiPlaces[decision])
		if pattern != "" {
			fmt.Fprintf(&b, "argsPattern = '''%s'''\n", pattern)
		}
		if decision == "deny" && why != "" {
			fmt.Fprintf(&b, "denyMessage = %s\n", tomlText(why))
		}
	}
	for _, r := range rules {
		switch {
		case !GeminiTakes(r) || r.Command != "" && r.Tool != "" && !strings.EqualFold(r.Tool, geminiShell):
		case r.Command != "" && r.Outcome == permission.Allow:
			for _, pattern := range exactly(r.Command) {
				add("allow", geminiShell, pattern, "")
			}
		case r.Command != "":
			begins, has := generously(r.Command)
			if r.Outcome == permission.Deny {
				add("deny", geminiShell, begins, r.Why)
			}
			add("ask_user", geminiShell, has, "")
		default:
			tools := geminiTools[r.Kind]
			if r.Tool != "" {
				tools = []string{r.Tool}
			}
			for _, tool := range tools {
				add(map[permission.Outcome]string{permission.Allow: "allow", permission.Ask: "ask_user", permission.Deny: "deny"}[r.Outcome], tool, "", r.Why)
			}
		}
	}
	add("deny", geminiShell, `"command":".*\bdend?\b.*\b(?:approvals|accounts)\b`, "an agent must not decide what it asks for itself")
	for _, path := range protected {
		add("deny", "*", strings.ReplaceAll(regexp.QuoteMeta(path), "'", "."), permission.WhyProtected)
	}
	return b.String()
}

// plain are characters that no shell, no JSON and no regular expression gives a
// meaning to; a star of a rule that allows stands for these.
const plain = `A-Za-z0-9_/:@%,-`

var plainRule = regexp.MustCompile(`^[` + plain + `.+*]+$`)

// exactly is a rule's command as patterns for the tool's input, which is JSON: a
// quote in a value has a backslash before it, so that none can look like a
// member's name. gemini refuses repetition in repetition. There are none for a
// command that is asked for then: one with other characters, or one that den
// allows in some places only, as git.
func exactly(command string) []string {
	if !allowedAnywhere(command) {
		return nil
	}
	words := strings.Fields(command)
	var all []string
	for i, w := range words {
		switch {
		case !plainRule.MatchString(w):
			return nil
		case w == "*" && i > 0 && i == len(words)-1: // any number of words
			begin := strings.Join(all, " ")
			return []string{inShell(begin), inShell(begin + " [" + plain + ".+ ]*")}
		case w == "*":
			all = append(all, "["+plain+".+]+")
		default:
			all = append(all, strings.ReplaceAll(regexp.QuoteMeta(w), `\*`, "["+plain+".+]*"))
		}
	}
	return []string{inShell(strings.Join(all, " "))}
}

// allowedAnywhere reports whether a rule that allows a command does so wherever
// the agent is.
func allowedAnywhere(command string) bool {
	nowhere := permission.Settings{
		Dir: "/", Rules: []permission.Rule{{Outcome: permission.Allow, Command: command}},
		Readlink: func(string) (string, error) { return "", os.ErrNotExist }, Exists: func(string) bool { return false },
	}
	p, err := permission.NewPolicy(nowhere)
	if err != nil {
		return false
	}
	outcome, _ := p.Decide(permission.Request{Tool: geminiShell, Kind: permission.Execute, Command: strings.ReplaceAll(command, "*", "x")})
	return outcome == permission.Allow
}

// inShell is a whole command, which runs in the agent's directory.
func inShell(command string) string {
	return `^(?!.*[^\\]"dir_path":).*[^\\]"command":"` + command + `"`
}

// generously is a rule's command as a pattern for a command that begins like it,
// from whatever directory and in any case, and as one for a command that has its
// words. gemini asks for each command of a line on its own.
func generously(command string) (begins, has string) {
	var words []string
	for _, w := range strings.Fields(strings.NewReplacer("'", "", `\`, "").Replace(command)) {
		if w = strings.Trim(w, "*"); w != "" {
			words = append(words, anyCase(w))
		}
	}
	if len(words) == 0 { // every command
		return `"command":`, `"command":`
	}
	edge := `(?:\b|\\[nt])`
	return `"command":"[^ "]*` + edge + strings.Join(words, " +"), `"command":".*` + edge + strings.Join(words, ".*"+edge)
}

// anyCase matches a word in any case; what is no letter or digit is any
// character.
func anyCase(word string) string {
	var b strings.Builder
	for _, r := range word {
		switch {
		case unicode.IsLetter(r) && unicode.ToLower(r) != unicode.ToUpper(r):
			fmt.Fprintf(&b, "[%c%c]", unicode.ToLower(r), unicode.ToUpper(r))
		case unicode.IsDigit(r):
			b.WriteRune(r)
		default:
			b.WriteByte('.')
		}
	}
	return b.String()
}
