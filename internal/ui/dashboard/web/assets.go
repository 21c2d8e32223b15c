package web

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"den/internal/screen/render"
)

// The page: written by hand. Its modules and style sheets are joined; see bundle.
//
//go:embed assets
var assets embed.FS

// types are spelled out: the machine's own table may say otherwise.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

func serveAsset(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, err := fs.ReadFile(assets, path.Join("assets", path.Base(name)))
		kind, known := types[path.Ext(name)]
		if err != nil || !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Write(data) // Best effort: a browser that went away needs none.
	}
}

// attachment names a download.
func attachment(h http.Header, kind, name string) {
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
}

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

// The page shows screens in the fonts of den's pictures. A browser asks for
// those that it needs only.
var fontRules = sync.OnceValue(func() string {
	var b strings.Builder
	var families []string
	for _, f := range render.WebFonts() {
		style := "normal"
		if f.Italic {
			style = "italic"
		}
		fmt.Fprintf(&b, `@font-face { font-family: %s; font-weight: %d; font-style: %s; src: url("/assets/fonts/%s") format("truetype");`, f.Family, f.Weight, style, f.Name)
		if f.Ranges != "" {
			fmt.Fprintf(&b, " unicode-range: %s;", f.Ranges)
		}
		b.WriteString(" }\n")
		if len(families) > 0 && families[len(families)-1] == f.Family {
			continue
		}
		if f.Emoji { // as in pictures: in colour where the machine has them
			families = append(families, `"Noto Color Emoji"`, `"Apple Color Emoji"`, `"Segoe UI Emoji"`)
		}
		families = append(families, f.Family)
	}
	fmt.Fprintf(&b, ":root { --screen: %s, monospace; }\n", strings.Join(families, ", "))
	return b.String()
})

// serveFont serves a font as it is embedded. They are the same for as long as
// this server runs, and much: the browser may keep them for a while.
func serveFont(w http.ResponseWriter, r *http.Request) {
	for _, f := range render.WebFonts() {
		if f.Name != r.PathValue("name") {
			continue
		}
		h := w.Header()
		h.Set("Content-Type", "font/ttf")
		h.Set("Cache-Control", "private, max-age=3600")
		if f.Gzip {
			h.Set("Content-Encoding", "gzip")
		}
		io.WriteString(w, f.Data) // Best effort, as above.
		return
	}
	http.NotFound(w, r)
}

// serveIcon serves the page's icon with a number on it: how much needs a person.
// A tab that is not looked at shows no more than that.
func serveIcon(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("count"))
	if err != nil || n < 1 {
		http.Error(w, "den: no such icon", http.StatusNotFound)
		return
	}
	plain, err := assets.ReadFile("assets/icon.svg")
	if err != nil {
		panic("web: the icon is not there: " + err.Error())
	}
	text := strconv.Itoa(n)
	if n > 9 {
		text = "9+"
	}
	badge := fmt.Sprintf(`<circle cx="23" cy="9" r="9" fill="#f0707a"/><text x="23" y="13.5" font-family="sans-serif" font-size="13" font-weight="700" fill="#fff" text-anchor="middle">%s</text></svg>`, text)
	w.Header().Set("Content-Type", "image/svg+xml")
	fmt.Fprint(w, strings.TrimSuffix(strings.TrimSpace(string(plain)), "</svg>")+badge) // a browser that is gone needs none
}
