package web

import (
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
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
