package den_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	fencedBlock  = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```")
	inlineCode   = regexp.MustCompile("`[^`\n]*`")
	pageLink     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	htmlLink     = regexp.MustCompile(`(?:src|href|srcset)="([^"]+)"`)
	heading      = regexp.MustCompile(`(?m)^#{1,6} +(.+?)\s*$`)
	linkText     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	absolute     = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`) // https:, mailto:
	namedPath    = regexp.MustCompile("`((?:(?:internal|cmd|docs|scripts|deploy|examples|acceptance|bench)/)[\\w./*-]+|[\\w/*-]+\\.go)(?::\\d+)?`")
	codeSpan     = regexp.MustCompile("`([^`\n]+)`")
	testName     = regexp.MustCompile(`^(Test|Fuzz)\w+$`)
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	placeholder  = regexp.MustCompile(`VERB|NAME|^_`)
	decision     = regexp.MustCompile(`^# (\d+)\. .+\n\nStatus: (accepted|accepted in part|superseded), \d{4}-\d\d-\d\d\.`)
)

// TestLinksPointAtSomething follows every link of a page to a file of the
// repository: the file is there, and the heading that it names.
func TestLinksPointAtSomething(t *testing.T) {
	followed := 0
	for _, page := range pages(t) {
		text := withoutCode(t, page)
		links := append(pageLink.FindAllStringSubmatch(text, -1), htmlLink.FindAllStringSubmatch(text, -1)...)
		for _, m := range links {
			link := m[1]
			if absolute.MatchString(link) {
				continue
			}
			followed++
			file, anchor, _ := strings.Cut(link, "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, link, err)
				continue
			}
			if anchor != "" && strings.HasSuffix(target, ".md") && !anchors(t, target)[anchor] {
				t.Errorf("%s links to %s: there is no such heading", page, link)
			}
		}
	}
	if followed < 200 {
		t.Errorf("%d links followed: does this test still find them?", followed)
	}
}

// TestNamedFilesExist holds the paths that pages name in code style against the
// tree. A Go file may be named by the last parts of its path. The changelog
// tells of the past, and may name what is gone.
func TestNamedFilesExist(t *testing.T) {
	var goFiles []string
	walk(t, func(path string) {
		if strings.HasSuffix(path, ".go") {
			goFiles = append(goFiles, path)
		}
	})
	for _, page := range pages(t) {
		if page == "CHANGELOG.md" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedPath.FindAllStringSubmatch(string(text), -1) {
			name := m[1]
			if placeholder.MatchString(name) {
				continue
			}
			if found, err := filepath.Glob(name); err == nil && len(found) > 0 {
				continue
			}
			depth := strings.Count(name, "/") + 1
			if !slices.ContainsFunc(goFiles, func(file string) bool {
				parts := strings.Split(file, "/")
				tail := parts[max(0, len(parts)-depth):]
				same, err := filepath.Match(name, strings.Join(tail, "/"))
				return err == nil && same
			}) {
				t.Errorf("%s names %s, which is not there", page, name)
			}
		}
	}
}

// TestPromisesAreHeldByTests looks up the tests that docs/threat-model.md names
// beside a promise: each is in the package before it, or in acceptance. Those of
// attacks are run by make attack.
func TestPromisesAreHeldByTests(t *testing.T) {
	page, err := os.ReadFile("docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	promises, _, _ := strings.Cut(string(page), "## Attacks")
	folders := map[string][]string{} // of each test
	walk(t, func(path string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunction.FindAllSubmatch(text, -1) {
			folders[string(m[1])] = append(folders[string(m[1])], filepath.Dir(path))
		}
	})
	held := 0
	for row := range strings.Lines(promises) {
		var packages []string // the last ones that were named
		named := false        // a test of them was
		for _, m := range codeSpan.FindAllStringSubmatch(row, -1) {
			name := m[1]
			if !testName.MatchString(name) {
				if named {
					packages, named = nil, false
				}
				packages = append(packages, name)
				continue
			}
			named = true
			held++
			if !slices.ContainsFunc(folders[name], func(dir string) bool {
				return slices.ContainsFunc(packages, func(p string) bool { return dir == p || strings.HasSuffix(dir, "/"+p) })
			}) {
				t.Errorf("docs/threat-model.md: %s is in none of the packages %v that stand before it", name, packages)
			}
		}
	}
	if held < 100 {
		t.Errorf("%d tests found: does this test still read the table?", held)
	}
}

// TestDecisionsHaveAStatus checks that each page of docs/adr says in one form
// how far it holds, and that the index says the same.
func TestDecisionsHaveAStatus(t *testing.T) {
	index, err := os.ReadFile("docs/adr/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("docs/adr/0*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("decisions: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(file)
		m := decision.FindStringSubmatch(string(text))
		if m == nil {
			t.Errorf("%s does not begin with '# N. TITLE' and 'Status: accepted, DATE.': see docs/adr/README.md", file)
			continue
		}
		if number := fmt.Sprintf("%04s", m[1]); !strings.HasPrefix(base, number+"-") {
			t.Errorf("%s has the number %s in its title", file, m[1])
		}
		row := regexp.MustCompile(`(?m)^\| \[` + base[:4] + `\]\(` + regexp.QuoteMeta(base) + `\) \| .+ \| ` + m[2] + ` \|$`)
		if !row.Match(index) {
			t.Errorf("docs/adr/README.md has no row for %s with the status '%s'", base, m[2])
		}
	}
}

// pages lists the repository's Markdown files. Those in testdata are input
// of tests, and not pages.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	walk(t, func(path string) {
		if strings.HasSuffix(path, ".md") {
			found = append(found, path)
		}
	})
	return found
}

// walk calls visit for each file of the repository.
func walk(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules"}, entry.Name()) {
			return filepath.SkipDir
		}
		if !entry.IsDir() {
			visit(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func withoutCode(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return inlineCode.ReplaceAllString(fencedBlock.ReplaceAllString(string(text), ""), "")
}

// anchors are the names that GitHub gives to a page's headings.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fencedBlock.ReplaceAllString(string(text), ""), -1) {
		names[anchor(linkText.ReplaceAllString(m[1], "$1"))] = true
	}
	return names
}

// anchor keeps letters, digits, hyphens and underscores, in lower case, and
// makes a hyphen of each blank.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
