package render

import (
	"fmt"
	"strings"
)

// WebFont is one of the fonts that pictures are drawn with, for a page that
// shows what they show.
type WebFont struct {
	Name   string // of its file
	Family string
	Weight int
	Italic bool
	Ranges string // of its characters, as in CSS; "" = all
	Data   string
	Gzip   bool // the data is compressed
	Emoji  bool // they have no colour here
}

// WebFonts returns the fonts in the order in which a character is looked for.
func WebFonts() []WebFont {
	out := []WebFont{
		{Name: "regular.ttf", Family: "den", Weight: 400, Data: jetBrainsRegular},
		{Name: "bold.ttf", Family: "den", Weight: 700, Data: jetBrainsBold},
		{Name: "italic.ttf", Family: "den", Weight: 400, Italic: true, Data: jetBrainsItalic},
		{Name: "bold-italic.ttf", Family: "den", Weight: 700, Italic: true, Data: jetBrainsBoldItalic},
	}
	for i, f := range fallbacks {
		var ranges []string
		for _, h := range f.holds {
			ranges = append(ranges, fmt.Sprintf("U+%X-%X", h.first, h.last))
		}
		out = append(out, WebFont{
			Name: fmt.Sprintf("more-%d.ttf", i+1), Family: fmt.Sprintf("den-%d", i+1), Weight: 400,
			Ranges: strings.Join(ranges, ","), Data: *f.data, Gzip: strings.HasPrefix(*f.data, gzipMark), Emoji: i == plainEmoji,
		})
	}
	return out
}
