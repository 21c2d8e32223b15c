package git

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
)

// maxConfig bounds a file of configuration.
const maxConfig = 1 << 20

// setting is one line of a configuration.
type setting struct {
	key   string // section and name in lower case, what is quoted between them as it is
	value string // "true" for a name alone
}

// Config is what a file of configuration says, in its order. Nothing that it
// names is read: includes are settings as all others.
type Config []setting

// readConfig reads a file; a missing one is empty.
func readConfig(path string) (Config, error) {
	raw, err := atomicfile.Read(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "read git's configuration: %w", err)
	}
	c, err := ParseConfig(string(raw))
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "read git's configuration %s: %w", path, err)
	}
	return c, nil
}

// All returns the values of a key. The section and the name are written in
// lower case.
func (c Config) All(key string) []string {
	var all []string
	for _, s := range c {
		if s.key == key {
			all = append(all, s.value)
		}
	}
	return all
}

// Last returns the value of a key that counts, "" for none.
func (c Config) Last(key string) string {
	if all := c.All(key); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// Remotes returns the names of the remotes that have an address.
func (c Config) Remotes() []string {
	var names []string
	for _, s := range c {
		name, ok := strings.CutPrefix(s.key, "remote.")
		if name, also := strings.CutSuffix(name, ".url"); ok && also && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// isTrue reports whether git takes a value for a yes.
func isTrue(value string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(value))
}

func isBool(value string) bool {
	return isTrue(value) || slices.Contains([]string{"false", "no", "off", "0", ""}, strings.ToLower(value))
}

// ParseConfig reads the text of a configuration as git does.
func ParseConfig(text string) (Config, error) {
	p := &parser{rest: strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), line: 1}
	if strings.ContainsRune(text, 0) {
		return nil, errors.New("it has a zero byte")
	}
	err := p.parse()
	if err != nil {
		err = fmt.Errorf("line %d: %w", p.line, err)
	}
	return p.found, err
}

type parser struct {
	rest    string
	line    int
	section string
	found   Config
}

// next takes a character. The end reads as the end of a line, as to git.
func (p *parser) next() byte {
	if p.rest == "" {
		return '\n'
	}
	c := p.rest[0]
	if p.rest = p.rest[1:]; c == '\n' {
		p.line++
	}
	return c
}

func isSpace(c byte) bool { return strings.IndexByte(" \t\n\r\v\f", c) >= 0 }

func isKey(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '-' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (p *parser) parse() error {
	for p.rest != "" {
		c := p.next()
		var err error
		switch {
		case isSpace(c):
		case c == '#' || c == ';':
			for p.rest != "" && p.next() != '\n' {
			}
		case c == '[':
			err = p.header()
		case !isLetter(c):
			err = fmt.Errorf("%q begins no setting", c)
		case p.section == "":
			err = errors.New("a setting is in no section")
		default:
			err = p.setting(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) header() error {
	name := []byte{}
	for {
		c := p.next()
		switch {
		case c == ']' && len(name) > 0:
			p.section = strings.ToLower(string(name))
			return nil
		case isKey(c) || c == '.':
			name = append(name, c)
		case isSpace(c) && c != '\n' && len(name) > 0:
			return p.quoted(strings.ToLower(string(name)))
		default:
			return errors.New("a section has no name")
		}
	}
}

// quoted reads the quoted part of a section's name.
func (p *parser) quoted(name string) error {
	c := byte(' ')
	for c != '\n' && isSpace(c) {
		c = p.next()
	}
	if c != '"' {
		return errors.New("a section's name does not end")
	}
	var quoted []byte
	for {
		c := p.next()
		if c == '"' {
			break
		}
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return errors.New("a section's name does not end")
		}
		quoted = append(quoted, c)
	}
	if p.next() != ']' {
		return errors.New("a section's name does not end")
	}
	p.section = name + "." + string(quoted)
	return nil
}

func (p *parser) setting(first byte) error {
	name := []byte{first}
	c := p.next()
	for isKey(c) {
		name = append(name, c)
		c = p.next()
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	s := setting{key: p.section + "." + strings.ToLower(string(name)), value: "true"}
	switch c {
	case '\n':
	case '=':
		value, err := p.value()
		if err != nil {
			return err
		}
		s.value = value
	default:
		return fmt.Errorf("%q is in a setting's name", c)
	}
	p.found = append(p.found, s)
	return nil
}

// value reads to the end of the line.
func (p *parser) value() (string, error) {
	var value []byte
	spaces, quote := 0, false
	for {
		c := p.next()
		switch {
		case c == '\n' && quote:
			return "", errors.New("a quoted value does not end")
		case c == '\n':
			return string(value), nil
		case !quote && (c == '#' || c == ';'):
			for p.rest != "" && p.next() != '\n' {
			}
			return string(value), nil
		case !quote && isSpace(c):
			if len(value) > 0 {
				spaces++
			}
			continue
		}
		for ; spaces > 0; spaces-- {
			value = append(value, ' ')
		}
		switch c {
		case '"':
			quote = !quote
			continue
		case '\\':
			end := p.rest == ""
			if c = p.next(); c == '\n' && !end {
				continue
			}
			at := strings.IndexByte(`tbn"\`, c)
			if at < 0 {
				return "", fmt.Errorf("%q is no escape", c)
			}
			c = "\t\b\n\"\\"[at]
		}
		value = append(value, c)
	}
}

// quote makes a value that reads as it is.
func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(value) + `"`
}
