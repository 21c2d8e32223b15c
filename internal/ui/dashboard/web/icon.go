package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

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
