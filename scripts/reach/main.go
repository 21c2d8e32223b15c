// Command reach builds the call graph of den's programs and finds fault with
// functions that no program reaches, as golang.org/x/tools/cmd/deadcode does, and
// with the traced paths of docs/architecture.md: each function stands in the file
// that its row names, and is called from the function of the row above it. A row
// that begins with ⇢ is reached in another way (a socket, a channel, a goroutine
// of its own), which its last column says.
package main

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/rta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

const (
	page = "docs/architecture.md"
	// between is how many functions may stand between those of two rows.
	between  = 3
	elsewise = "⇢"
)

func main() {
	log.SetFlags(0)
	text, err := os.ReadFile(page)
	if err != nil {
		log.Fatal(err)
	}
	steps := read(string(text))
	if len(steps) == 0 {
		log.Fatalf("%s has no table '| file | function | step |'", page)
	}
	graph, err := load("./cmd/den", "./cmd/dend")
	if err != nil {
		log.Fatal(err)
	}
	if faults := slices.Concat(graph.dead(), graph.check(steps)); len(faults) > 0 {
		log.Fatal(strings.Join(faults, "\n"))
	}
}

// step is a row of a table.
type step struct {
	line     int
	file     string
	function string // or "": the file stands for all of its functions
	follows  bool   // called from the row above
}

// read returns the rows of all tables of traced paths.
func read(text string) (steps []step) {
	inside, first := false, false
	for i, line := range strings.Split(text, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		switch {
		case !strings.HasPrefix(line, "|") || len(cells) != 3:
			inside = false
		case strings.TrimSpace(cells[0]) == "file" && strings.TrimSpace(cells[1]) == "function":
			inside, first = true, true
		case inside && !strings.HasPrefix(line, "|--"):
			file, called := strings.CutPrefix(strings.TrimSpace(cells[0]), elsewise)
			steps = append(steps, step{
				line: i + 1, file: strings.Trim(file, " `"), function: strings.Trim(cells[1], " `"),
				follows: !called && !first,
			})
			first = false
		}
	}
	return steps
}

// graph is what calls what in den's programs.
type graph struct {
	loaded  []*packages.Package
	program *ssa.Program
	here    string             // the directory
	reached map[token.Pos]bool // the declared functions that may be called
	calls   map[*ssa.Function]*callgraph.Node
	named   map[string][]*ssa.Function // by "file function", with those inside it
}

func load(mains ...string) (*graph, error) {
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax}, mains...)
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(loaded) > 0 {
		return nil, fmt.Errorf("load %v: they do not build", mains)
	}
	program, built := ssautil.AllPackages(loaded, ssa.InstantiateGenerics)
	program.Build()
	var roots []*ssa.Function
	for _, p := range built {
		roots = append(roots, p.Func("init"), p.Func("main"))
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	found := rta.Analyze(roots, true)
	g := &graph{
		loaded: loaded, program: program, here: here,
		reached: map[token.Pos]bool{}, calls: found.CallGraph.Nodes, named: map[string][]*ssa.Function{},
	}
	for f := range found.Reachable {
		g.reached[outermost(f).Pos()] = true
	}
	for f := range g.calls {
		if f == nil {
			continue
		}
		outer := outermost(f)
		if file, _ := g.place(outer); file != "" {
			g.named[file+" "+name(outer)] = append(g.named[file+" "+name(outer)], f)
			g.named[file+" "] = append(g.named[file+" "], f)
		}
	}
	return g, nil
}

// kept are the functions that only tests and bench call, in many packages.
var kept = []string{
	"internal/chat/irc/client.go Dial",
	"internal/chat/irc/client.go Client.firstReady",
	"internal/session/client.go Dial",
}

// outermost is the declared function that a function literal stands in.
func outermost(f *ssa.Function) *ssa.Function {
	for f.Parent() != nil {
		f = f.Parent()
	}
	return f
}

// place is where a function of den's is declared, or "".
func (g *graph) place(f *ssa.Function) (file string, line int) {
	at := g.program.Fset.Position(f.Pos())
	file, err := filepath.Rel(g.here, at.Filename)
	if err != nil || !f.Pos().IsValid() || strings.HasPrefix(file, "..") {
		return "", 0
	}
	return file, at.Line
}

// dead returns the functions that are declared in packages of den's programs and
// that none of these calls.
func (g *graph) dead() (faults []string) {
	packages.Visit(g.loaded, nil, func(p *packages.Package) {
		for _, object := range p.TypesInfo.Defs {
			f, ok := object.(*types.Func)
			if !ok || g.reached[f.Pos()] {
				continue
			}
			if declared := g.program.FuncValue(f); declared != nil {
				if file, line := g.place(declared); file != "" && !slices.Contains(kept, file+" "+name(declared)) {
					faults = append(faults, fmt.Sprintf("%s:%d: no program of den's calls %s", file, line, name(declared)))
				}
			}
		}
	})
	slices.Sort(faults)
	return faults
}

// name is a function's name as the page has it: Type.Method for a method.
func name(f *ssa.Function) string {
	f = cmp.Or(f.Origin(), f)
	receiver := f.Signature.Recv()
	if receiver == nil {
		return f.Name()
	}
	of := receiver.Type().String()
	of = of[strings.LastIndexAny(of, "./*")+1:]
	of, _, _ = strings.Cut(of, "[")
	return of + "." + f.Name()
}

func (g *graph) check(steps []step) (faults []string) {
	var above []*ssa.Function
	for _, s := range steps {
		at := fmt.Sprintf("%s:%d: ", page, s.line)
		found := g.named[s.file+" "+s.function]
		switch {
		case len(found) == 0:
			faults = append(faults, at+fmt.Sprintf("no function %s of %s is reached by den's programs", s.function, s.file))
		case s.follows && len(above) > 0 && !g.leads(above, found):
			faults = append(faults, at+fmt.Sprintf("%s is not called from the row above", s.function))
		}
		above = found
	}
	return faults
}

// leads reports whether some function of to is called from one of from, with at
// most so many between them.
func (g *graph) leads(from, to []*ssa.Function) bool {
	seen := map[*ssa.Function]bool{}
	for range between + 1 {
		var next []*ssa.Function
		for _, f := range from {
			for _, edge := range g.calls[f].Out {
				if called := edge.Callee.Func; !seen[called] {
					seen[called] = true
					next = append(next, called)
				}
			}
		}
		if slices.ContainsFunc(to, func(f *ssa.Function) bool { return seen[f] }) {
			return true
		}
		from = next
	}
	return false
}
