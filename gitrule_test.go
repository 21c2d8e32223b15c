package den_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// gitProgram is how a program that is run may be called if it is git, or a line
// of shell with it.
var gitProgram = regexp.MustCompile(`^(/.*/)?git( .*)?$`)

// startsGit returns where a file has git as the program of a command: as an
// argument of a function of os/exec, as the first argument of any call, or in a
// list of arguments.
func startsGit(t *testing.T, name string, src any) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	check := func(list []ast.Expr, most int) {
		for i, e := range list {
			lit, ok := e.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || i >= most {
				continue
			}
			if text, err := strconv.Unquote(lit.Value); err == nil && gitProgram.MatchString(text) {
				found = append(found, set.Position(lit.Pos()).String())
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if inPackage(n.Fun, "exec") {
				check(n.Args, len(n.Args))
			} else if !inPackage(n.Fun, "fmt") && !inPackage(n.Fun, "fault") && !inPackage(n.Fun, "strings") && !inPackage(n.Fun, "errors") { // for people
				check(n.Args, 1)
			}
		case *ast.CompositeLit:
			if list, ok := n.Type.(*ast.ArrayType); ok {
				if of, ok := list.Elt.(*ast.Ident); ok && of.Name == "string" {
					check(n.Elts, len(n.Elts))
				}
			}
		}
		return true
	})
	return found
}

func inPackage(fun ast.Expr, name string) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == name
}

// Only internal/process/git starts git: a repository's configuration names programs, and
// an agent can write it.
func TestOnlyOnePackageStartsGit(t *testing.T) {
	looked := 0
	for _, top := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
			name := filepath.ToSlash(path)
			own := strings.HasPrefix(name, "internal/process/git/") || strings.HasPrefix(name, "internal/testkit/jail/") // the second is for tests
			if err != nil || e.IsDir() || own || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			looked++
			for _, where := range startsGit(t, path, nil) {
				t.Errorf("%s: git is started here; only internal/process/git does", where)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 100 {
		t.Errorf("only %d files were looked at", looked)
	}
	for src, want := range map[string]int{
		`exec.Command("git", "status")`:                           1,
		`exec.CommandContext(ctx, "/usr/bin/git", "status")`:      1,
		`exec.LookPath("git")`:                                    1,
		`run(append([]string{"git"}, args...))`:                   1,
		`command.Run(ctx, spec{Argv: []string{"git", "status"}})`: 1,
		`run("git", "status")`:                                    1,
		`exec.Command("sh", "-c", "git status")`:                  1,
		`run([]string{"env", "A=b", "git", "status"})`:            1,
		`exec.Command("cat", ".gitignore")`:                       0,
		`fmt.Errorf("git push: %w", err)`:                         0,
	} {
		if got := startsGit(t, "x.go", "package x\nfunc f() { "+src+" }\n"); len(got) != want {
			t.Errorf("%s: found %v, want %d", src, got, want)
		}
	}
}
