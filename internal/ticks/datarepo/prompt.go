package datarepo

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// placeholder is a name in the initial query, with the width of a number:
// {tick}, {tick:03d}, {data_dir}. Doubled braces stand for one.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{|\}\}|\{tick(?::(0?)([0-9]{1,2})d?|:d)?\}|\{data_dir\}`)
})

// Query is the initial query of a tick. Braces that are no placeholder stay as
// they are.
func (c Config) Query(tick int, dataDir string) string {
	return placeholder().ReplaceAllStringFunc(c.InitialQuery, func(s string) string {
		switch {
		case s == "{{" || s == "}}":
			return s[:1]
		case s == "{data_dir}":
			return dataDir
		}
		parts := placeholder().FindStringSubmatch(s)
		if parts[2] == "" {
			return strconv.Itoa(tick)
		}
		return fmt.Sprintf("%"+parts[1]+parts[2]+"d", tick)
	})
}

// Prompt is the agent's whole system prompt, "" if it has none.
func (r *Repo) Prompt() (string, error) {
	data, _, err := r.Read(promptFile, maxPrompt)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), err
}

// WritePrompt replaces the system prompt.
func (r *Repo) WritePrompt(text string) error { return r.Write(promptFile, []byte(text)) }
