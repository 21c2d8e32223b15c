package permission

import (
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"den/internal/agent/permission/commandline"
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
	r.Paths, r.Choices, r.Input = m.texts(r.Paths), m.texts(r.Choices), m.input(r.Input)
	return r
}

// texts hides secrets in the first of several texts.
func (m masker) texts(all []string) (masked []string) {
	for _, s := range all[:min(len(all), maxPaths)] {
		masked = append(masked, m.text(s))
	}
	return masked
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

// secretOptions are the options by which a program takes a secret that no name
// tells. Letters are of short options: joined are those whose value stands in
// the same word ('-pX'), apart those whose value may be the next one, too.
type secretOptions struct {
	joined, apart string
	flags         string // letters without a value that may stand before those in one word
	// after is what the secret follows within the value, as in 'user:password';
	// "" for all of it.
	after string
	long  string // an option in full, or ""
	verb  string // the first argument that these options belong to, or ""
	last  bool   // the last argument is a secret
}

const curlFlags = "0123456aBfgGiIjJklLnNOqRsSvZ#"

// secretPrograms know the options of programs by their names. Programs that come
// in families are listed by what their names begin with.
var secretPrograms = map[string][]secretOptions{
	"mysql*": {{joined: "p"}}, "mariadb*": {{joined: "p"}}, "mycli": {{joined: "p"}}, "mydumper": {{apart: "p"}},
	"sshpass": {{apart: "p"}}, "redis-cli": {{apart: "a"}}, "valkey-cli": {{apart: "a"}}, "keydb-cli": {{apart: "a"}},
	"ldap*":  {{apart: "w"}},
	"mongo*": {{apart: "p"}}, "cqlsh": {{apart: "p"}}, "rabbitmqadmin": {{apart: "p"}}, "influx": {{apart: "p"}},
	"sqlcmd": {{apart: "P"}}, "bcp": {{apart: "P"}}, "tsql": {{apart: "P"}}, "ipmitool": {{apart: "P"}}, "mosquitto_*": {{apart: "P"}},
	"zip": {{apart: "P"}}, "unzip": {{apart: "P"}}, "7z*": {{joined: "p"}}, "rar": {{joined: "p"}}, "unrar": {{joined: "p"}},
	"curl": {{apart: "uU", after: ":", flags: curlFlags}, {apart: "b", flags: curlFlags}}, "http": {{apart: "a", after: ":"}}, "https": {{apart: "a", after: ":"}}, "xh": {{apart: "a", after: ":"}},
	"smbclient": {{apart: "U", after: "%"}}, "rpcclient": {{apart: "U", after: "%"}}, "smbget": {{apart: "U", after: "%"}}, "lftp": {{apart: "u", after: ","}},
	"docker": {{apart: "p", verb: "login"}}, "podman": {{apart: "p", verb: "login"}}, "buildah": {{apart: "p", verb: "login"}}, "skopeo": {{apart: "p", verb: "login"}},
	"nerdctl": {{apart: "p", verb: "login"}}, "oras": {{apart: "p", verb: "login"}}, "crane": {{apart: "p", verb: "auth"}}, "helm": {{apart: "p", verb: "registry"}},
	"az": {{apart: "p", verb: "login"}}, "oc": {{apart: "p", verb: "login"}}, "cf": {{apart: "p", verb: "login"}}, "vault": {{last: true, verb: "login"}},
	"twine": {{apart: "p"}}, "ssh-keygen": {{apart: "NP"}}, "cargo": {{last: true, verb: "login"}}, "wpa_passphrase": {{last: true}}, "gh": {{apart: "b", long: "--body", verb: "secret"}},
	"htpasswd": {{last: true}}, "useradd": {{apart: "p"}}, "usermod": {{apart: "p"}}, "openssl": {{apart: "k"}}, "snmp*": {{apart: "AX"}},
}

// secretParts are parts of the names of options and variables with secrets.
var secretParts = []string{"password", "passwd", "passphrase", "passin", "passout", "secret", "token", "apikey", "api-key", "api_key", "accesskey", "access-key", "access_key", "private-key", "private_key", "credential", "creds", "cookie"}

// secretEnds are the last words of such names, where in the middle they mean
// other things.
var secretEnds = []string{"pwd", "pw", "pat", "auth", "cred", "psk"}

// secretPlaces are the last words of names that say where a secret is, or which
// it is.
var secretPlaces = strings.Fields("stdin file env command cmd path dir name username id type ttl prompt jar url method mode helper provider store")

// notNames are names that end so and are none.
var notNames = []string{"PWD", "OLDPWD"}

func namesSecret(name string) bool {
	if slices.Contains(notNames, name) {
		return false
	}
	name = strings.ToLower(name)
	last := lastWord(name)
	if slices.Contains(secretPlaces, last) {
		return false
	}
	return slices.ContainsFunc(secretParts, func(p string) bool { return strings.Contains(name, p) }) ||
		strings.HasSuffix(last, "pass") || slices.Contains(secretEnds, last)
}

// lastWord is the last word of a name, without a number behind it.
func lastWord(name string) string {
	name = strings.TrimRight(name, "0123456789")
	return name[strings.LastIndexAny(name, "_-.:/")+1:]
}

// setsWithin returns the names and values that a word sets in itself, as in
// 'user=a,pass=b', '--from-literal=password=x' and '?key=x'.
func setsWithin(word string) (all []secretWord) {
	for at := range len(word) {
		if word[at] != '=' {
			continue
		}
		name := word[strings.LastIndexAny(word[:at], ",;&?= \t\n\"'{(")+1 : at]
		value := word[at+1:]
		if end := strings.IndexAny(value, ",;& \t\n\"'"); end >= 0 {
			value = value[:end]
		}
		if namesSecret(name) || !strings.HasPrefix(name, "-") && strings.EqualFold(lastWord(name), "key") {
			all = append(all, secretWord{name + "=", value})
		}
	}
	return all
}

// setters are verbs behind which a name and its value stand in two words.
var setters = []string{"set", "config", "connect", "modify", "configure", "login"}

// notSecret are values of such options that say where the secret is.
var notSecret = []string{"-", "stdin", "prompt"}

// secretWord is a secret, and what stands before it in its word.
type secretWord struct{ before, value string }

// maxNested bounds how deep commands within words are looked at.
const maxNested = 3

// secretWords returns the secrets in a line of shell that are known by the
// options that they follow.
func secretWords(line string, depth int) []secretWord {
	var found []secretWord
	var walk func([]commandline.Command)
	walk = func(commands []commandline.Command) {
		for _, c := range commands {
			found = append(found, secretsOf(c)...)
			for _, w := range c.Words {
				// A command for another shell: ssh host 'mysql -pX'.
				if depth < maxNested && strings.ContainsAny(w.Text, " \t") && !w.Dynamic && w.Text != line {
					found = append(found, secretWords(w.Text, depth+1)...)
				}
			}
			walk(c.Runs)
		}
	}
	parsed := commandline.Parse(line)
	walk(parsed.Commands)
	if len(parsed.Problems) > 0 {
		walk(roughly(line))
	}
	return found
}

// roughly takes apart a line that cannot be parsed, or not with certainty.
func roughly(line string) []commandline.Command {
	var all []commandline.Command
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(";|&()`\n", r) }) {
		var c commandline.Command
		for _, word := range strings.Fields(part) {
			c.Words = append(c.Words, commandline.Word{Text: strings.Trim(word, `"'`)})
		}
		if len(c.Words) > 0 {
			all = append(all, c)
		}
	}
	return all
}

func secretsOf(c commandline.Command) []secretWord {
	var found []secretWord
	add := func(before, value, after string) {
		if after != "" {
			head, tail, ok := strings.Cut(value, after)
			if !ok {
				return
			}
			before, value = before+head+after, tail
		}
		for _, kind := range []string{"pass:", "env:", "file:", "fd:"} { // of openssl
			if rest, ok := strings.CutPrefix(value, kind); ok {
				if kind != "pass:" {
					return
				}
				before, value = before+kind, rest
			}
		}
		if value != "" && !slices.Contains(notSecret, value) {
			found = append(found, secretWord{before, value})
		}
	}
	for _, w := range c.Assigns() {
		if name, value, ok := strings.Cut(w.Text, "="); ok && !w.Dynamic && (namesSecret(name) || strings.EqualFold(lastWord(name), "key")) {
			add(name+"=", value, "")
		}
	}
	args := c.Args()
	options, sets := optionsOf(c.Name().Text, args), false
	for i, w := range args {
		next := ""
		if i+1 < len(args) && !args[i+1].Dynamic && !strings.HasPrefix(args[i+1].Text, "-") {
			next = args[i+1].Text
		}
		if w.Dynamic {
			continue
		}
		name, value, has := strings.Cut(w.Text, "=")
		switch isOption := strings.HasPrefix(name, "-"); {
		case (isOption || has) && namesSecret(name) && has:
			add(name+"=", value, "")
			continue
		case (isOption || sets) && namesSecret(name): // 'config set NAME VALUE', too
			add("", next, "")
			continue
		case isOption && strings.HasSuffix(name, "-user"): // --proxy-user a:b
			add("", cmp.Or(value, next), ":")
			continue
		}
		for _, s := range setsWithin(w.Text) {
			add(s.before, s.value, "")
		}
		sets = sets || slices.Contains(setters, w.Text)
		for _, o := range options {
			if letters, ok := strings.CutPrefix(w.Text, "-"); ok {
				value := strings.TrimLeft(letters, o.flags)
				at := len(w.Text) - len(value) + 1 // behind the option's letter
				if value != "" && strings.IndexByte(o.joined+o.apart, value[0]) >= 0 {
					if len(value) > 1 {
						add(w.Text[:at], w.Text[at:], o.after)
					} else if strings.IndexByte(o.apart, value[0]) >= 0 {
						add("", next, o.after)
					}
				}
			}
			if o.long != "" && name == o.long {
				add("", cmp.Or(value, next), "")
			}
			if o.last && i > 0 && i == len(args)-1 {
				add("", w.Text, "")
			}
		}
	}
	return found
}

// optionsOf returns what is known of a program's options.
func optionsOf(program string, args []commandline.Word) []secretOptions {
	var all []secretOptions
	name := strings.ToLower(path.Base(program))
	for pattern, options := range secretPrograms {
		begin, family := strings.CutSuffix(pattern, "*")
		if name != pattern && !(family && strings.HasPrefix(name, begin)) {
			continue
		}
		for _, o := range options {
			if o.verb == "" || slices.ContainsFunc(args, func(w commandline.Word) bool { return w.Text == o.verb }) {
				all = append(all, o)
			}
		}
	}
	return all
}
