package container

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"den/internal/base/fault"
)

// ignoreRules are the lines of a .containerignore or .dockerignore file: the
// last one that matches a path, or a directory above it, decides.
type ignoreRules []ignoreRule

type ignoreRule struct {
	pattern *regexp.Regexp
	keep    bool // the line began with '!'
}

// readIgnore reads the rules of a build context. None is no rules.
func readIgnore(dir string) (ignoreRules, error) {
	for _, name := range []string{".containerignore", ".dockerignore"} {
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fault.Errorf(fault.KindOf(err), "read build context: %w", err)
		}
		defer f.Close()
		var rules ignoreRules
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if r, ok := parseIgnore(lines.Text()); ok {
				rules = append(rules, r)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fault.Errorf(fault.KindOf(err), "read build context: %s: %w", name, err)
		}
		return rules, nil
	}
	return nil, nil
}

func parseIgnore(line string) (ignoreRule, bool) {
	if strings.HasPrefix(line, "#") {
		return ignoreRule{}, false
	}
	line, keep := strings.CutPrefix(strings.TrimSpace(line), "!")
	line = strings.Trim(path.Clean(filepath.ToSlash(strings.TrimSpace(line))), "/")
	if line == "" || line == "." {
		return ignoreRule{}, false
	}
	return ignoreRule{pattern: globPattern(line), keep: keep}, true
}

// globPattern turns '*', '?' and '**' into a regular expression. All else
// stands for itself.
func globPattern(glob string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(glob); i++ {
		switch {
		case strings.HasPrefix(glob[i:], "**/"):
			b.WriteString("(.*/)?")
			i += 2
		case strings.HasPrefix(glob[i:], "**"):
			b.WriteString(".*")
			i++
		case glob[i] == '*':
			b.WriteString("[^/]*")
		case glob[i] == '?':
			b.WriteString("[^/]")
		default:
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	b.WriteString("$")
	return regexp.MustCompile(b.String())
}

// ignored reports whether a path of the context, with '/', is left out.
func (rules ignoreRules) ignored(name string) bool {
	out := false
	for _, r := range rules {
		if r.matches(name) {
			out = !r.keep
		}
	}
	return out
}

func (r ignoreRule) matches(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if r.pattern.MatchString(name) {
			return true
		}
	}
	return false
}
