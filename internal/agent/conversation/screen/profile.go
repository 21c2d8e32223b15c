package screen

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/lazy"

	"github.com/pelletier/go-toml/v2"
)

//go:embed vendors/*.toml
var vendorFiles embed.FS

// vendorFile is what is special to one vendor's screen, as it is written.
type vendorFile struct {
	Aliases      []string `toml:"aliases"`
	Refusals     []string `toml:"refusals"`
	Footers      []string `toml:"footers"`
	Busy         []string `toml:"busy"`
	NotReading   []string `toml:"not_reading"`
	Failed       []string `toml:"failed"`
	FailedUntold bool     `toml:"failed_untold"` // its source tells of no failure
	Pasted       []string `toml:"pasted"`
	Placeholders []string `toml:"placeholders"`
	FlatMenu     []string `toml:"flat_menu"`
	Prompts      []string `toml:"prompts"` // other than the preset's, as in another mode
	Composer     box      `toml:"composer"`
	Pauses       pauses   `toml:"pauses"`

	Question questionBox `toml:"question"`

	Questions []questionWords `toml:"questions"`
	Dialogs   []dialogWords   `toml:"dialogs"`
}

type questionWords struct {
	Kind  conversation.QuestionKind `toml:"kind"`
	Marks []string                  `toml:"marks"` // one of them stands above the menu
	// Untold says that no source tells of it: the turn is over then.
	Untold bool `toml:"untold"`
}

type dialogWords struct {
	Name       string   `toml:"name"`
	Marks      []string `toml:"marks"`
	Yes        []string `toml:"yes"`   // what to choose, the first that is there
	Other      []string `toml:"other"` // the other options that are known
	Permission bool     `toml:"permission"`
}

// pauses are how long things stand on a screen before they are believed.
type pauses struct {
	DialogStands   pause `toml:"dialog_stands"`
	CursorStands   pause `toml:"cursor_stands"`
	DialogPatience pause `toml:"dialog_patience"`
	PromptStands   pause `toml:"prompt_stands"`
	BusyMoves      pause `toml:"busy_moves"`
}

// A pause is a duration that a file has as text: "300ms".
type pause struct{ time.Duration }

func (p *pause) UnmarshalText(text []byte) (err error) {
	p.Duration, err = time.ParseDuration(string(text))
	return err
}

// A profile is what den knows of the screens of one vendor, or of all.
type profile struct {
	busy, notReading []string
	pasted           []string
	flatMenus        [][]string
	composer         box
	prompts          []string // other than the preset's
	pauses           pauses
	questions        []questionWords
	dialogs          []dialog
	frames           []frame        // of its questions; of all vendors' where its own is not known
	moves            *regexp.Regexp // nil where nothing is known that changes by itself
	footers          *regexp.Regexp
	placeholders     *regexp.Regexp // nil where none is known
	failures         *regexp.Regexp // nil where none is known
	failedUntold     bool
}

// profiles holds one by vendor, and under "" that of a coding agent whose
// vendor is not known: what all of them do. They are read when they are first
// needed: commands of den that only name an agent link this package too.
var profiles = lazy.Value[map[string]*profile]{Make: func() map[string]*profile {
	files := map[string]*vendorFile{}
	entries, err := vendorFiles.ReadDir("vendors")
	if err != nil {
		panic(err) // it is embedded
	}
	var names []string
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".toml")
		f := &vendorFile{}
		file, err := vendorFiles.Open("vendors/" + e.Name())
		if err != nil {
			panic(err) // it is embedded
		}
		if err := toml.NewDecoder(file).DisallowUnknownFields().Decode(f); err != nil {
			panic(fmt.Sprintf("%s: %v", e.Name(), err)) // a test reads all
		}
		if files[name] = f; name != "common" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	common := files["common"]
	all := map[string]*profile{}
	var everybody []*vendorFile
	for _, name := range names {
		f := files[name]
		everybody = append(everybody, f)
		for _, n := range append(f.Aliases, name) {
			all[n] = newProfile(common, f)
		}
	}
	all[""] = newProfile(common, everybody...)
	for _, p := range all {
		if len(p.frames) == 0 {
			p.frames = all[""].frames
		}
	}
	return all
}}

// profileOf returns a vendor's profile.
func profileOf(vendor string) *profile {
	if p := profiles.Get()[vendor]; p != nil {
		return p
	}
	return profiles.Get()[""]
}

func newProfile(common *vendorFile, vendors ...*vendorFile) *profile {
	p := &profile{pauses: common.Pauses, pasted: slices.Clone(common.Pasted), footers: anyOf(`(?i)\b`, common.Footers, ``)}
	var placeholders, failed, moves []string
	p.frames = framesOf(vendors)
	for _, f := range vendors {
		p.busy = append(p.busy, f.Busy...)
		p.notReading = append(p.notReading, f.NotReading...)
		p.pasted = append(p.pasted, f.Pasted...)
		p.questions = append(p.questions, f.Questions...)
		if len(f.FlatMenu) > 0 {
			p.flatMenus = append(p.flatMenus, f.FlatMenu)
		}
		if len(vendors) == 1 {
			p.composer, p.prompts, p.failedUntold = f.Composer, f.Prompts, f.FailedUntold
		}
		for _, d := range f.Dialogs {
			p.dialogs = append(p.dialogs, newDialog(d, common.Refusals))
		}
		placeholders, failed = append(placeholders, f.Placeholders...), append(failed, f.Failed...)
		moves = append(moves, f.Question.Moves...)
	}
	p.placeholders, p.failures = anyOf(`(?i)^`, placeholders, `$`), anyOf(`^`, failed, `$`)
	p.moves = anyOf(`(?i)`, moves, ``)
	return p
}

func newDialog(d dialogWords, refusals []string) dialog {
	whole := func(patterns []string) (all []*regexp.Regexp) {
		for _, p := range patterns {
			all = append(all, anyOf(`(?i)^`, []string{p}, `$`))
		}
		return all
	}
	return dialog{name: d.Name, marks: d.Marks, yes: whole(d.Yes), other: append(whole(d.Other), whole(refusals)...), permission: d.Permission}
}

// anyOf matches any of the patterns, nil where there is none.
func anyOf(before string, patterns []string, after string) *regexp.Regexp {
	if len(patterns) == 0 {
		return nil
	}
	return regexp.MustCompile(before + `(?:` + strings.Join(patterns, `|`) + `)` + after)
}
