package permission

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"den/internal/render/redact"
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
	`(?i)--?(?:` + secretNames + `|auth)\s+["']?([^\s"';&|]+)`,
	`(?i)\b(?:x-)?(?:` + secretNames + `):\s*["']?([^\s"']+)`,
	`(?i)\bbearer\s+([a-z0-9._~+/=-]{6,})`,
	`(?:^|\s)(?:-u|--user)[\s=]+["']?[^\s:"']+:([^\s"']+)`,
}

var secretKey = regexp.MustCompile(`(?i)(?:` + secretNames + `)`)

var redactor = sync.OnceValue(func() *redact.Redactor {
	r, err := redact.New(secretExpressions, true)
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

// masked is a request as it is shown and kept.
func masked(r Request) Request {
	r.Tool, r.Command, r.Dir = maskText(r.Tool), maskText(r.Command), maskText(r.Dir)
	r.URL, r.Text = maskText(r.URL), maskText(r.Text)
	var paths []string
	for _, p := range r.Paths[:min(len(r.Paths), maxPaths)] {
		paths = append(paths, maskText(p))
	}
	var choices []string
	for _, c := range r.Choices[:min(len(r.Choices), maxPaths)] {
		choices = append(choices, maskText(c))
	}
	r.Paths, r.Choices, r.Input = paths, choices, maskInput(r.Input)
	return r
}

// maskInput hides secrets in a tool's input: those that are known by their
// form, and the values of keys with telling names. It is nil where the input is
// too large.
func maskInput(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || len(raw) > maxInput {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return nil
	}
	out, err := json.Marshal(maskValue("", value))
	if err != nil {
		return nil
	}
	return out
}

func maskValue(key string, value any) any {
	switch v := value.(type) {
	case string:
		if secretKey.MatchString(key) {
			return strings.Repeat(string(redact.Mask), utf8.RuneCountInString(v))
		}
		return maskText(v)
	case []any:
		for i := range v {
			v[i] = maskValue(key, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = maskValue(k, v[k])
		}
	}
	return value
}

// hasSecret reports whether masking changes what a rule for a request would
// have to hold.
func hasSecret(r Request) bool {
	for _, s := range append([]string{r.Tool, r.Command, r.URL}, r.Paths...) {
		if redactor().Text(s) != s {
			return true
		}
	}
	return false
}
