package web

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"den/internal/screen/render"
)

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
