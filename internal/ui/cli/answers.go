package cli

import (
	"os"
	"regexp"
	"strings"
	"unicode"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/cell"
)

// knowing returns what the flags of a verb mean that waits for code, with the
// answers that are known before.
func (a *app) knowing(o runOptions, code string) (session.Run, error) {
	run, err := o.request(code)
	if err != nil {
		return run, err
	}
	if len(o.answers) > 0 && (o.keepWaiting || o.noWait) {
		return run, fault.Errorf(fault.Usage, "--answer answers what --keep-waiting and --no-wait do not wait for")
	}
	run.Known, err = a.knownAnswers(o.answers)
	return run, err
}

// knownAnswers reads the values of --answer.
func (a *app) knownAnswers(words []string) (all []cell.Known, err error) {
	for _, word := range words {
		known, err := a.knownAnswer(word)
		if err != nil {
			return nil, err
		}
		all = append(all, known)
	}
	return all, nil
}

// knownAnswer reads PATTERN=ANSWER. The case of letters does not count.
func (a *app) knownAnswer(word string) (k cell.Known, err error) {
	pattern, text, ok := strings.Cut(word, "=")
	if !ok || pattern == "" {
		return k, fault.Hintf(fault.Errorf(fault.Usage, "--answer: it is not of the form PATTERN=ANSWER"), "for example --answer 'continue=y' or --answer 'password=@FILE'")
	}
	if k.Pattern, err = regexp.Compile("(?i)" + pattern); err != nil {
		return k, fault.Errorf(fault.Usage, "--answer: %w", err)
	}
	k.Name, k.Text = pattern, text
	rest, from := strings.CutPrefix(text, "@")
	name, env := strings.CutPrefix(rest, "env:")
	switch {
	case !from:
	case strings.HasPrefix(rest, "@"): // @@ is a literal @
		k.Text = rest
	case env:
		if k.Text, k.Secret = a.getenv(name), true; k.Text == "" {
			return k, fault.Errorf(fault.Usage, "--answer '%s=…': the variable %s is not set", pattern, name)
		}
	default:
		raw, err := os.ReadFile(rest)
		if err != nil {
			return k, fault.Errorf(fault.Usage, "--answer '%s=…': %w", pattern, err)
		}
		k.Text, k.Secret = strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r"), true
	}
	if strings.ContainsFunc(k.Text, unicode.IsControl) {
		return k, fault.Errorf(fault.Usage, "--answer '%s=…': the answer is more than one line, or has control characters", pattern)
	}
	return k, nil
}
