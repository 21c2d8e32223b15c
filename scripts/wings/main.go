// Command wings draws the wings of den's tree: their packages, and how many
// imports go from each wing to each one below it. It reads arch_test.go, whose
// tables a test holds against the code, and writes docs/media/wings.svg.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	wings, allowed, err := read("arch_test.go")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("docs/media/wings.svg", []byte(draw(wings, allowed)), 0o644); err != nil {
		log.Fatal(err)
	}
}

// read returns the table of wings, from the top, and that of imports.
func read(file string) (wings []string, allowed map[string][]string, err error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		return nil, nil, err
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		table, ok := spec.Values[0].(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch spec.Names[0].Name {
		case "wings":
			wings = texts(table)
		case "allowed":
			allowed = map[string][]string{}
			for _, e := range table.Elts {
				row := e.(*ast.KeyValueExpr)
				allowed[text(row.Key)] = texts(row.Value.(*ast.CompositeLit))
			}
		}
		return false
	})
	return wings, allowed, nil
}

func texts(list *ast.CompositeLit) []string {
	var all []string
	for _, e := range list.Elts {
		all = append(all, text(e))
	}
	return all
}

func text(e ast.Expr) string {
	s, _ := strconv.Unquote(e.(*ast.BasicLit).Value) // the compiler has read it, too
	return s
}

// The measures of the picture, in pixels.
const (
	left, top  = 90, 60
	rowWidth   = 560
	lineHeight = 18
	cell       = 46
)

// draw returns the picture: the wings as rows, and beside them a table of the
// imports between them.
func draw(wings []string, allowed map[string][]string) string {
	packages, imports := map[string][]string{}, map[[2]string]int{}
	for path, row := range allowed {
		from := wingOf(path)
		if from == "" {
			continue
		}
		if _, name, ok := strings.Cut(strings.TrimPrefix(path, "internal/"), "/"); ok && !strings.Contains(name, "/") {
			packages[from] = append(packages[from], name)
		}
		for _, to := range row {
			imports[[2]string{from, wingOf(to)}]++
		}
	}
	var body strings.Builder
	y := top
	for i, wing := range wings {
		slices.Sort(packages[wing])
		lines := wrap(packages[wing], 82)
		height := max(2, len(lines)+1) * lineHeight
		fmt.Fprintf(&body, "<rect x=\"10\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" class=\"wing\"/>\n", y, left+rowWidth-20, height)
		fmt.Fprintf(&body, "<text x=\"20\" y=\"%d\" class=\"name\">%s</text>\n", y+lineHeight+4, html.EscapeString(wing))
		for k, line := range lines {
			fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\">%s</text>\n", left+10, y+(k+1)*lineHeight+4, html.EscapeString(line))
		}
		for j, to := range wings {
			x := left + rowWidth + j*cell
			if i == 0 {
				fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\" class=\"to\" transform=\"rotate(-35 %d %d)\">%s</text>\n", x+cell/2, top-8, x+cell/2, top-8, html.EscapeString(to))
			}
			class, count := "none", ""
			if n := imports[[2]string{wing, to}]; i == j {
				class = "own"
			} else if n > 0 {
				class, count = "some", strconv.Itoa(n)
			}
			fmt.Fprintf(&body, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" class=\"%s\"/>\n", x+1, y, cell-2, height, class)
			if count != "" {
				fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\" class=\"count\">%s</text>\n", x+cell/2, y+height/2+5, count)
			}
		}
		y += height + 6
	}
	width, height := left+rowWidth+len(wings)*cell+30, y+10
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">
<title>The wings of den, and the imports between them</title>
<style>
.wing { fill: #f4f6f8; stroke: #9aa7b2 } .name { font-weight: bold; font-size: 14px }
.own { fill: #dfe5ea } .none { fill: #fafbfc } .some { fill: #cfe3f5 } .count { text-anchor: middle } text { fill: #1f2a33 } .to { font-weight: bold }
</style>
<rect width="%d" height="%d" fill="#ffffff"/>
<text x="10" y="24" font-size="13">Wings import downward only. The table counts imports from a row's wing to a column's.</text>
%s</svg>
`, width, height, width, height, width, height, body.String())
}

// wingOf returns the wing of a package, or "".
func wingOf(path string) string {
	rest, ok := strings.CutPrefix(path, "internal/")
	if !ok {
		return ""
	}
	wing, _, _ := strings.Cut(rest, "/")
	return wing
}

// wrap joins words to lines of at most that many characters.
func wrap(words []string, width int) []string {
	var lines []string
	line := ""
	for _, w := range words {
		if line != "" && len(line)+3+len(w) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " · "
		}
		line += w
	}
	return append(lines, line)
}
