package render

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"den/internal/base/lazy"

	"github.com/go-text/typesetting/font"
	ot "github.com/go-text/typesetting/font/opentype"
	"github.com/go-text/typesetting/font/opentype/tables"
)

// maxMachineFonts bounds the fonts that are looked at; further ones are as if
// they were not there.
const maxMachineFonts = 2000

// library is the fonts of the machine, for characters that no embedded font
// has. Which fonts have a character is found out when one is first missing.
type library struct {
	dirs []string

	mu     sync.Mutex // guards the fields below
	listed bool
	fonts  []*machineFont
}

// machineFont is one font of a file.
type machineFont struct {
	path   string
	index  int // in a collection
	cmap   font.Cmap
	parsed *font.Font // or nil: nobody needed it yet
	broken bool
}

// machineFonts is the library of this machine.
var machineFonts = lazy.Value[*library]{Make: func() *library {
	home := os.Getenv("HOME")
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(home, ".local/share")
	}
	return &library{dirs: []string{
		"/usr/share/fonts", "/usr/local/share/fonts", filepath.Join(data, "fonts"), filepath.Join(home, ".fonts"),
		"/System/Library/Fonts", "/Library/Fonts", filepath.Join(home, "Library/Fonts"),
	}}
}}

// find returns the first font that has all the runes, or nil.
func (l *library) find(text []rune) *font.Font {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.listed {
		l.list()
	}
	for _, f := range l.fonts {
		if f.has(text) && f.parse() {
			return f.parsed
		}
	}
	return nil
}

// list reads which characters each font has. Those whose letters are upright,
// of normal weight and of one width come first.
func (l *library) list() {
	l.listed = true
	var paths []string
	for _, dir := range l.dirs {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // Best effort: a directory that cannot be read has no fonts.
			}
			switch strings.ToLower(filepath.Ext(path)) {
			case ".ttf", ".otf", ".ttc", ".otc":
				if len(paths) < maxMachineFonts && d.Type().IsRegular() {
					paths = append(paths, path)
				}
			}
			return nil
		})
	}
	slices.SortStableFunc(paths, func(a, b string) int {
		if d := unlikeness(a) - unlikeness(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, p := range paths {
		l.fonts = append(l.fonts, facesOf(p)...)
	}
}

// unlikeness says how little a font looks like the main one, by its name.
func unlikeness(path string) int {
	name := strings.ToLower(filepath.Base(path))
	n := 0
	for _, style := range []string{"bold", "italic", "oblique", "light", "thin", "black", "condensed", "serif"} {
		if strings.Contains(name, style) && !strings.Contains(name, "sansserif") {
			n += 2
		}
	}
	if !strings.Contains(name, "mono") {
		n++
	}
	return n
}

// facesOf reads the character maps of a file; none if it is no font.
func facesOf(path string) []*machineFont {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close() // only read
	loaders, err := ot.NewLoaders(file)
	if err != nil {
		return nil
	}
	var out []*machineFont
	for i, ld := range loaders {
		outlines := ld.HasTable(ot.MustNewTag("glyf")) || ld.HasTable(ot.MustNewTag("CFF ")) || ld.HasTable(ot.MustNewTag("CFF2"))
		raw, err := ld.RawTable(ot.MustNewTag("cmap"))
		if err != nil || !outlines {
			continue
		}
		table, _, err := tables.ParseCmap(raw)
		if err != nil {
			continue
		}
		cmap, _, err := font.ProcessCmap(table, 0)
		if err != nil {
			continue
		}
		out = append(out, &machineFont{path: path, index: i, cmap: cmap})
	}
	return out
}

func (f *machineFont) has(text []rune) bool {
	if f.broken {
		return false
	}
	for _, r := range text {
		if _, ok := f.cmap.Lookup(r); !ok {
			return false
		}
	}
	return true
}

// parse reads the whole font, once.
func (f *machineFont) parse() bool {
	if f.parsed != nil {
		return true
	}
	file, err := os.Open(f.path)
	if err != nil {
		f.broken = true
		return false
	}
	defer file.Close() // only read
	loaders, err := ot.NewLoaders(file)
	if err == nil && f.index < len(loaders) {
		f.parsed, err = font.NewFont(loaders[f.index])
	}
	f.broken = err != nil || f.parsed == nil
	return !f.broken
}
