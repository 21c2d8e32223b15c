package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report collects the figures and prints each suite when it is done.
type report struct {
	machine machine
	Suites  []*suiteReport
	current *suiteReport
}

// suiteReport is what one suite found.
type suiteReport struct {
	Name    string    `json:"suite"`
	Load    string    `json:"load"`
	Seconds float64   `json:"seconds"`
	Series  []*series `json:"series"`
	Table   *table    `json:"table,omitempty"` // or nil
	Aims    []aim     `json:"aims,omitempty"`
	Notes   []string  `json:"notes,omitempty"`
	begun   time.Time
}

// table is what is not a list of samples.
type table struct {
	Head []string   `json:"head"`
	Rows [][]string `json:"rows"`
}

// aim is a bound that den should keep. Missing it is news, not an error.
type aim struct {
	Text  string `json:"aim"`
	Found string `json:"found"`
	Met   bool   `json:"met"`
}

func (r *report) begin(name string) {
	r.current = &suiteReport{Name: name, begun: time.Now()}
	r.Suites = append(r.Suites, r.current)
	fmt.Printf("\n== %s\n", name)
}

// series starts a line of the table.
func (r *report) series(of, who, unit string, higher bool) *series {
	s := &series{Case: of, Who: who, Unit: unit, Higher: higher}
	r.current.Series = append(r.current.Series, s)
	return s
}

// one is a line with a single figure.
func (r *report) one(of, who, unit string, value float64) *series {
	return r.add(of, who, unit, []float64{value})
}

// add is a line of figures that are there already; lower ones are better.
func (r *report) add(of, who, unit string, values []float64) *series {
	s := r.series(of, who, unit, false)
	s.Values = values
	return s
}

// table starts a table of the suite's own.
func (r *report) table(head ...string) { r.current.Table = &table{Head: head} }

// row adds a line to the table.
func (r *report) row(cells ...string) {
	r.current.Table.Rows = append(r.current.Table.Rows, cells)
}

// compare notes how den does against each peer.
func compare(den *series, peers ...*series) {
	for _, p := range peers {
		if p != nil && len(p.Values) > 0 && len(den.Values) > 0 {
			p.Ratio = den.against(p)
		}
	}
}

func (r *report) note(format string, args ...any) {
	r.current.Notes = append(r.current.Notes, fmt.Sprintf(format, args...))
}

func (r *report) aim(text string, met bool, format string, args ...any) {
	r.current.Aims = append(r.current.Aims, aim{text, fmt.Sprintf(format, args...), met})
}

// end prints the suite.
func (r *report) end(load string) {
	s := r.current
	s.Load = load
	s.Seconds = time.Since(s.begun).Seconds()
	if len(s.Series) > 0 {
		s.printSeries()
	}
	if s.Table != nil {
		s.Table.print()
	}
	for _, n := range s.Notes {
		fmt.Println("  " + n)
	}
	for _, a := range s.Aims {
		fmt.Println("  " + a.String())
	}
	fmt.Printf("  %.0f s; %s\n", s.Seconds, s.Load)
}

func (s *suiteReport) printSeries() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\twho\tmedian\tp10 .. p90\tn\tden is\t")
	last := ""
	for _, f := range byCase(s.Series) {
		if len(f.Values) == 0 {
			continue
		}
		of := f.Case
		if of == last {
			of = ""
		}
		last = f.Case
		spread, n := "", ""
		if len(f.Values) > 1 {
			spread = number(f.quantile(0.1)) + " .. " + number(f.quantile(0.9))
			n = fmt.Sprint(len(f.Values))
		}
		fmt.Fprintf(w, "%s\t%s\t%s %s\t%s\t%s\t%s\t%s\n", of, f.Who, number(f.median()), f.Unit, spread, n, ratio(f.Ratio), f.Note)
	}
	w.Flush()
}

func (t *table) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	last := ""
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		first := row[0]
		if first == last {
			first = ""
		}
		last = row[0]
		fmt.Fprintln(w, strings.Join(append([]string{first}, row[1:]...), "\t"))
	}
	w.Flush() // Best effort, as all of this is.
}

// byCase puts the lines of one case together, in the order of the first ones.
func byCase(all []*series) []*series {
	first := map[string]int{}
	for i, s := range all {
		if _, ok := first[s.Case]; !ok {
			first[s.Case] = i
		}
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b *series) int { return first[a.Case] - first[b.Case] })
}

func (a aim) String() string {
	word := "missed"
	if a.Met {
		word = "met"
	}
	return fmt.Sprintf("%-7s %s: %s", word, a.Text, a.Found)
}

// summary repeats all aims at the end, where they are looked for.
func (r *report) summary() {
	fmt.Println("\n== aims")
	for _, s := range r.Suites {
		for _, a := range s.Aims {
			fmt.Printf("%-9s %s\n", s.Name, a)
		}
	}
}

func (r *report) writeJSON(path string) error {
	raw, err := json.MarshalIndent(map[string]any{"v": 1, "machine": r.machine, "suites": r.Suites}, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

func ratio(x float64) string {
	switch {
	case x == 0 || math.IsInf(x, 0) || math.IsNaN(x):
		return ""
	case x >= 1:
		return fmt.Sprintf("%.1f x better", x)
	}
	return fmt.Sprintf("%.1f x worse", 1/x)
}

// number prints three digits that count, and no more.
func number(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "-"
	case a == 0 || a >= 100:
		return fmt.Sprintf("%.0f", x)
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.2f", x), ".00")
}

// series is what one contestant did in one case, sample by sample.
type series struct {
	Case   string    `json:"case"`
	Who    string    `json:"who"`
	Unit   string    `json:"unit"`
	Higher bool      `json:"higher_is_better,omitempty"`
	Values []float64 `json:"values"`
	Ratio  float64   `json:"den_is_better_by,omitempty"` // den against this one
	Note   string    `json:"note,omitempty"`
}

func (s *series) add(v float64) { s.Values = append(s.Values, v) }

func (s *series) median() float64 { return s.quantile(0.5) }

// quantile interpolates between the two nearest samples.
func (s *series) quantile(q float64) float64 {
	if len(s.Values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(s.Values))
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// against returns by what factor s is better than peer, from the medians.
func (s *series) against(peer *series) float64 {
	if s.Higher {
		return s.median() / peer.median()
	}
	return peer.median() / s.median()
}
