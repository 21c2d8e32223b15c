// Command attack runs every attack on den that is known, and prints a line for
// each: who tries what, and what they get.
//
// The attacks are tests: attacks.tsv names them. An attack whose test fails, is
// skipped or is not found has not been held off, and the command fails. With
// -write it only makes the table of docs/threat-model.md anew.
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

//go:embed attacks.tsv
var table string

// An attack is what somebody tries, and the test that tries it.
type attack struct {
	attacker, tries, gets string
	pkg, test             string // the test may be one of a test's own: TestScripts/trust
}

func main() {
	write := flag.Bool("write", false, "only write the table into docs/threat-model.md")
	flag.Parse()
	all, err := attacks(table)
	switch {
	case err != nil:
	case *write:
		err = writeTable("docs/threat-model.md", all)
	default:
		err = run(all)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
}

func attacks(table string) ([]attack, error) {
	var all []attack
	for n, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 5 || slices.Contains(cells, "") {
			return nil, fmt.Errorf("attacks.tsv:%d: it needs attacker, tries, gets, package and test, with tabs between", n+1)
		}
		all = append(all, attack{cells[0], cells[1], cells[2], cells[3], cells[4]})
	}
	return all, nil
}

// run runs the tests, a package at a time, and prints a line for each attack.
func run(all []attack) error {
	byPackage := map[string][]attack{}
	for _, a := range all {
		byPackage[a.pkg] = append(byPackage[a.pkg], a)
	}
	failed := 0
	for _, pkg := range slices.Sorted(maps.Keys(byPackage)) {
		results, output, err := test(pkg, byPackage[pkg])
		if err != nil {
			return err
		}
		bad := 0
		for _, a := range byPackage[pkg] {
			verdict := map[string]string{"pass": "held", "fail": "OPEN", "skip": "NOT TRIED", "": "NOT TRIED"}[results[a.test]]
			if verdict != "held" {
				bad++
			}
			fmt.Printf("%-9s  %-30s  %s: %s  (%s %s)\n", verdict, a.attacker, a.tries, a.gets, pkg, a.test)
		}
		if bad > 0 {
			os.Stdout.Write(output)
		}
		failed += bad
	}
	fmt.Printf("%d attacks, %d held off, %d not\n", len(all), len(all)-failed, failed)
	if failed > 0 {
		return fmt.Errorf("%d attacks were not held off", failed)
	}
	return nil
}

// test runs tests of a package and returns how each ended, and what they
// printed.
func test(pkg string, of []attack) (results map[string]string, output []byte, err error) {
	var tops []string
	for _, a := range of {
		top, _, _ := strings.Cut(a.test, "/")
		tops = append(tops, regexp.QuoteMeta(top))
	}
	slices.Sort(tops)
	pattern := "^(" + strings.Join(slices.Compact(tops), "|") + ")$"
	subs := subtests(of)
	if subs != "" {
		pattern += "/" + subs
	}
	cmd := exec.Command("go", "test", "-json", "-count", "1", "-timeout", "20m", "-run", pattern, "./"+pkg)
	cmd.Stderr = os.Stderr
	out, runErr := cmd.Output()
	results = map[string]string{}
	var printed bytes.Buffer
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // a line of the build
		}
		printed.WriteString(e.Output)
		if e.Test != "" && slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
			results[e.Test] = e.Action
		}
	}
	if runErr != nil && len(results) == 0 {
		return nil, nil, fmt.Errorf("test %s: %w\n%s", pkg, runErr, printed.Bytes())
	}
	return results, printed.Bytes(), nil
}

// subtests is the pattern of the tests' own tests, "" unless all attacks name
// one.
func subtests(of []attack) string {
	var subs []string
	for _, a := range of {
		_, sub, ok := strings.Cut(a.test, "/")
		if !ok {
			return ""
		}
		subs = append(subs, regexp.QuoteMeta(sub))
	}
	return "^(" + strings.Join(subs, "|") + ")$"
}

const (
	tableBegin = "<!-- attacks: written by make attack -->\n"
	tableEnd   = "<!-- end of attacks -->\n"
)

// withTable is a page with its table of attacks made anew.
func withTable(page string, all []attack) (string, error) {
	before, rest, ok := strings.Cut(page, tableBegin)
	_, after, also := strings.Cut(rest, tableEnd)
	if !ok || !also {
		return "", fmt.Errorf("the page has no place for the table of attacks")
	}
	var b strings.Builder
	b.WriteString("| attacker | tries | gets | test |\n|---|---|---|---|\n")
	for _, a := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | `%s`: `%s` |\n", a.attacker, a.tries, a.gets, strings.TrimPrefix(a.pkg, "internal/"), a.test)
	}
	return before + tableBegin + b.String() + tableEnd + after, nil
}

func writeTable(path string, all []attack) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	made, err := withTable(string(page), all)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(made), 0o644)
}
