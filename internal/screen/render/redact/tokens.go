package redact

import (
	"bytes"
	"regexp"

	"den/internal/base/lazy"
)

// pattern is an expression with a cheap check that rules out most texts: few
// screens hold a secret.
type pattern struct {
	re    *regexp.Regexp
	need  []string // one of these must occur; empty means always try
	match func([]byte) bool
	// breaks says that the secret has no line break of its own, and may be
	// broken into lines by a program; full how long it is, if all of its kind
	// have one length.
	breaks bool
	full   int
}

func (p *pattern) mayMatch(text []byte) bool {
	if p.match != nil {
		return p.match(text)
	}
	for _, n := range p.need {
		if bytes.Contains(text, []byte(n)) {
			return true
		}
	}
	return len(p.need) == 0
}

// regionLines is how many lines a match goes over, where it does not go over
// any number of them.
const regionLines = 3

// regions returns the parts of text in which the pattern may match: expressions
// are slow, and most of a text has nothing that one needs.
func (p *pattern) regions(text []byte) []Span {
	if !p.breaks {
		if p.mayMatch(text) {
			return []Span{{0, len(text)}}
		}
		return nil
	}
	var regions []Span
	for _, n := range p.need {
		for at := 0; ; {
			i := bytes.Index(text[at:], []byte(n))
			if i < 0 {
				break
			}
			at += i
			region := Span{bytes.LastIndexByte(text[:at], '\n') + 1, at}
			at = lineEnd(text, at)
			for range regionLines {
				region.To = lineEnd(text, region.To)
			}
			regions = append(regions, region)
		}
	}
	return merged(regions)
}

// lineEnd is the place behind the line break at or after i.
func lineEnd(text []byte, i int) int {
	if nl := bytes.IndexByte(text[i:], '\n'); nl >= 0 {
		return i + nl + 1
	}
	return len(text)
}

// tokenPatterns are the kinds of secrets that are known by their form. They
// match a token's beginning too: on a screen it may be typed only in part, or
// cut off at the edge.
var tokenPatterns = lazy.Value[[]pattern]{Make: func() []pattern {
	whole := func(expression string, need ...string) pattern {
		return pattern{re: regexp.MustCompile(expression), need: need}
	}
	known := func(expression string, need ...string) pattern {
		p := whole(expression, need...)
		p.breaks = true
		return p
	}
	sized := func(full int, expression string, need ...string) pattern {
		p := known(expression, need...)
		p.full = full
		return p
	}
	const end = `-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`
	return []pattern{
		sized(40, `\bgh[pousr]_[A-Za-z0-9]{6,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"), // GitHub
		known(`\bgithub_pat_[A-Za-z0-9_]{6,}`, "github_pat_"),
		known(`\bglpat-[A-Za-z0-9_-]{6,}`, "glpat-"),                         // GitLab
		known(`\bsk-(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{4,}`, "sk-"), // Anthropic, OpenAI, OpenRouter
		known(`\bsk-[A-Za-z0-9]{16,}`, "sk-"),                                // OpenAI, the older form
		sized(20, `\b(?:AKIA|ASIA)[A-Z0-9]{8,}`, "AKIA", "ASIA"),             // AWS: key ids
		known(`(?i)aws_?(?:secret_?access_?key|session_?token)["']?\s*[=:]\s*["']?([A-Za-z0-9/+=]{8,})`, "aws", "AWS", "Aws"),
		known(`\bxox[abeoprs]-[A-Za-z0-9-]{6,}`, "xox"), // Slack
		known(`\bxapp-[0-9]-[A-Za-z0-9-]{6,}`, "xapp-"),
		known(`hooks\.slack\.com/services/([A-Za-z0-9/_-]{6,})`, "hooks.slack.com"),
		known(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`, ".eyJ"), // JWT
		sized(39, `\bAIza[A-Za-z0-9_-]{20,}`, "AIza"),                                      // Google
		known(`\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{6,}`, "k_live_", "k_test_"),        // Stripe
		sized(40, `\bnpm_[A-Za-z0-9]{12,}`, "npm_"),
		known(`\bpypi-AgE[A-Za-z0-9_-]{12,}`, "pypi-AgE"),
		known(`\bhf_[A-Za-z0-9]{12,}`, "hf_"),
		known(`(?i)\bauthorization:\s*(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{6,})`, "uthorization", "UTHORIZATION"),
		// A bearer token elsewhere: digits tell it from the word in a text.
		known(`(?i)\bbearer["']?[\s:=]+["']?((?:[a-z._~+/=-]*[0-9]){2}[a-z0-9._~+/=-]*|[0-9a-f]{12,})`, "earer", "EARER"),
		whole(`\b[a-z][a-z0-9+.-]*://[^\s/:@]*:([^\s/@]{3,})@`, "://"), // a password in an address
		// Private keys, whole or with an end that is not on the screen; then
		// what is left of one when its first line is gone, or both.
		whole(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[^-]*`+end+`|[A-Za-z0-9+/=\s]*)`, "PRIVATE KEY"),
		whole(`[A-Za-z0-9+/=\s]+`+end, "PRIVATE KEY"),
		{re: regexp.MustCompile(`(?:[A-Za-z0-9+/]{64}[A-Za-z0-9+/]*\s*\n){3,}[A-Za-z0-9+/=]*`), match: encodedLine},
	}
}}

// encodedLine reports that somewhere there is a line of a key, or of some
// other long thing in base64.
func encodedLine(text []byte) bool {
	run := 0
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/':
			if run++; run >= 64 {
				return true
			}
		default:
			run = 0
		}
	}
	return false
}
