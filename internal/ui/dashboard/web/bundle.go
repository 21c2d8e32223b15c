package web

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
)

// A browser takes milliseconds for each file of a page, however short it is. So
// the page's style sheets and modules, which are many and short for those who
// read them, are sent as one each. A module becomes a function that returns what
// it exports, in the order in which they need each other.

// What modules may look like: names are imported and exported one by one, and a
// name that is exported never changes.
var (
	importLine = regexp.MustCompile(`(?m)^import (?:\{([^}\n]*)\} from )?"\./([a-z]+)\.js";.*$`)
	exportLine = regexp.MustCompile(`(?m)^export ((?:async )?function|class|const) ([\w$]+)`)
	otherLine  = regexp.MustCompile(`(?m)^(?:import|export)\b.*$|\bimport\(.*$`)
)

// bundle joins a module and all that it needs.
func bundle(files fs.FS, main string) (string, error) {
	b := bundler{files: files, begun: map[string]bool{}, done: map[string]bool{}}
	if err := b.add(main); err != nil {
		return "", err
	}
	return b.out.String(), nil
}

type bundler struct {
	files       fs.FS
	begun, done map[string]bool // by the module's name
	out         strings.Builder
}

// add writes a module behind those that it needs.
func (b *bundler) add(name string) error {
	if b.done[name] {
		return nil
	}
	if b.begun[name] {
		return fmt.Errorf("module %s needs itself", name)
	}
	b.begun[name] = true
	raw, err := fs.ReadFile(b.files, path.Join("assets", name+".js"))
	if err != nil {
		return err
	}
	text := string(raw)
	for _, m := range importLine.FindAllStringSubmatch(text, -1) {
		if err := b.add(m[2]); err != nil {
			return err
		}
	}
	var exports []string
	for _, m := range exportLine.FindAllStringSubmatch(text, -1) {
		exports = append(exports, m[2])
	}
	text = importLine.ReplaceAllStringFunc(text, func(line string) string {
		m := importLine.FindStringSubmatch(line)
		if m[1] == "" {
			return ""
		}
		return fmt.Sprintf("const {%s} = module_%s;", strings.ReplaceAll(m[1], " as ", ": "), m[2])
	})
	text = exportLine.ReplaceAllString(text, "$1 $2")
	if line := otherLine.FindString(text); line != "" {
		return fmt.Errorf("module %s: cannot join %q", name, line)
	}
	fmt.Fprintf(&b.out, "const module_%s = (() => {\n%s\nreturn { %s };\n})();\n", name, text, strings.Join(exports, ", "))
	b.done[name] = true
	return nil
}

// pageScript is all modules of the page.
var pageScript = sync.OnceValues(func() (string, error) { return bundle(assets, "app") })

// styleSheets are those of the page: of rules that contradict each other, the
// later one holds.
var styleSheets = []string{"page", "fleet", "attention", "stage", "doings", "nights", "search", "channels", "talk"}

// pageStyles is all style sheets of the page, behind the rules of its fonts.
var pageStyles = sync.OnceValues(func() (string, error) {
	b := strings.Builder{}
	b.WriteString(fontRules())
	for _, name := range styleSheets {
		sheet, err := fs.ReadFile(assets, path.Join("assets", name+".css"))
		if err != nil {
			return "", err
		}
		b.Write(sheet)
	}
	return b.String(), nil
})

// serveJoined serves what was joined of the page's files.
func serveJoined(kind string, joined func() (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		text, err := joined()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, text) // Best effort: a browser that went away needs none.
	}
}
