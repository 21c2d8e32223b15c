package permission

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"den/internal/screen/render/redact"
)

// Bounds of what is kept of a request.
const (
	maxText  = 4 << 10
	maxInput = 16 << 10
	maxPaths = 50
)

const secretNames = `password|passwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credentials?`

// secretExpressions find secrets by the names that stand before them in
// commands. Only what the groups match is hidden.
var secretExpressions = []string{
	`(?i)[a-z0-9_]*(?:` + secretNames + `)[a-z0-9_]*=["']?([^\s"';&|]+)`,
	`(?i)--?(?:` + secretNames + `|auth)\s+["']?([^\s"';&|<>][^\s"';&|]*)`,
	`(?i)\b(?:x-)?(?:` + secretNames + `):\s*["']?([^\s"']+)`,
	`(?i)\bbearer\s+([a-z0-9._~+/=-]{6,})`,
	`(?:^|\s)(?:-u|--user)[\s=]+["']?[^\s:"']+:([^\s"']+)`,
	`(?i)[a-z0-9_]*(?:` + secretNames + `|_pass|_pwd|_auth)[a-z0-9_]*=` + quotedValue,
	`(?i)(?:[a-z0-9_-]*(?:` + secretNames + `|passphrase|pwd)[a-z0-9_-]*|\b(?:[a-z0-9]+[_-])*(?:pass|pw|pat|auth|key|cred))\\?["']\s*:\s*\\?(?:"([^"\\]+)|'([^'\\]+))`, // in JSON
	`(?i)\b(?:authorization|cookie):\s*([^"'\n]+)`,
	`(?i)\bhttps?://([^\s/:@"']{8,})@`, // a token alone
}

// fedExpressions find what is fed to a command that reads a secret.
var fedExpressions = []string{
	`(?i)` + passwordReader + `[^\n]*<<<\s*(?:` + quotedValue + `|([^\s"';&|]+))`,
	`(?i)\b(?:echo|printf)\s+(?:-\w+\s+|["']?%s(?:\\n)?["']?\s+)*(?:` + quotedValue + `|([^\s"';&|<>]+))\s*\|[^\n]*` + passwordReader,
	`(?is)` + passwordReader + `[^\n]*<<-?\s*["'\\]?\w+[^\n]*\n(.+)`,
}

const (
	quotedValue = `(?:"([^"]+)"|'([^']+)')`
	// passwordReader is a program that reads a secret from its input.
	passwordReader = `(?:-stdin\b|\bsudo\b[^|;\n]*\s-\w*S|\bchpasswd|\bpasswd\b|\bsmbpasswd|-fd[ =]?0|\bcryptsetup\b|\bkinit\b|\bstdin\b|-with-token\b|\b(?:npm|vault|cargo|docker|podman|az|oc) login\b|\bsecrets? (?:set|create|put|add)\b)`
)

var secretKey = regexp.MustCompile(`(?i)(?:` + secretNames + `)`)

var redactor = sync.OnceValue(func() *redact.Redactor {
	r, err := redact.New(slices.Concat(secretExpressions, fedExpressions), true)
	if err != nil {
		panic(err) // the expressions are constants
	}
	return r
})

// maskText hides secrets in a text, and shortens it.
func maskText(s string) string {
	s = redactor().Text(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// masker hides the secrets of one request in all that is shown of it.
type masker struct{ words []secretWord }

func maskerOf(r Request) masker {
	m := masker{words: secretWords(r.Command, 0)}
	for _, e := range fedPatterns() {
		for _, groups := range e.FindAllStringSubmatch(r.Command, -1) {
			for _, fed := range groups[1:] {
				for line := range strings.SplitSeq(fed, "\n") {
					if line != "" {
						m.words = append(m.words, secretWord{value: line})
					}
				}
			}
		}
	}
	return m
}

var fedPatterns = sync.OnceValue(func() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, e := range fedExpressions {
		all = append(all, regexp.MustCompile(e))
	}
	return all
})

// minWord is the length below which a secret is too common to be hidden
// wherever it stands; it is hidden behind its option.
const minWord = 4

// text hides secrets in a text, and shortens it.
func (m masker) text(s string) string {
	s = redactor().Text(strings.ToValidUTF8(s, "\uFFFD")) // first: quotes tell it where a secret ends
	for _, w := range m.words {
		mask := strings.Repeat(string(redact.Mask), utf8.RuneCountInString(w.value))
		if len(w.value) >= minWord {
			s = strings.ReplaceAll(s, w.value, mask)
		} else {
			before := cmp.Or(w.before, " ")
			s = strings.ReplaceAll(s, before+w.value, before+mask)
		}
	}
	return maskText(s)
}

// rule is the text of the rule that decided, "" for none.
func (m masker) rule(r *Rule) string {
	if r == nil {
		return ""
	}
	return m.text(r.String())
}

// quoted reports that a secret stands in a text in such a way that it cannot be
// found.
func (m masker) quoted(s string) bool {
	return slices.ContainsFunc(m.words, func(w secretWord) bool { return !strings.Contains(s, w.value) })
}

// masked is a request as it is shown and kept.
func masked(r Request) Request {
	m := maskerOf(r)
	if m.quoted(r.Command) {
		const hidden = "(hidden: it has a secret in quotes that den cannot mask)"
		r.Text = strings.ReplaceAll(r.Text, r.Command, hidden)
		r.Command, r.Input = hidden, nil
	}
	r.Tool, r.Command, r.Dir = m.text(r.Tool), m.text(r.Command), m.text(r.Dir)
	r.URL, r.Text = m.text(r.URL), m.text(r.Text)
	var paths []string
	for _, p := range r.Paths[:min(len(r.Paths), maxPaths)] {
		paths = append(paths, m.text(p))
	}
	var choices []string
	for _, c := range r.Choices[:min(len(r.Choices), maxPaths)] {
		choices = append(choices, m.text(c))
	}
	r.Paths, r.Choices, r.Input = paths, choices, m.input(r.Input)
	return r
}

// input hides secrets in a tool's input: those that are known by their
// form, and the values of keys with telling names. It is nil where the input is
// too large.
func (m masker) input(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || len(raw) > maxInput {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return nil
	}
	out, err := json.Marshal(m.value("", value))
	if err != nil {
		return nil
	}
	return out
}

func (m masker) value(key string, value any) any {
	switch v := value.(type) {
	case string:
		if secretKey.MatchString(key) || namesSecret(key) {
			return strings.Repeat(string(redact.Mask), utf8.RuneCountInString(v))
		}
		return m.text(v)
	case []any:
		for i := range v {
			v[i] = m.value(key, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = m.value(k, v[k])
		}
	}
	return value
}

// hasSecret reports whether masking changes what a rule for a request would
// have to hold.
func hasSecret(r Request) bool {
	if len(secretWords(r.Command, 0)) > 0 {
		return true
	}
	for _, s := range append([]string{r.Tool, r.Command, r.URL}, r.Paths...) {
		if redactor().Text(s) != s {
			return true
		}
	}
	return false
}
