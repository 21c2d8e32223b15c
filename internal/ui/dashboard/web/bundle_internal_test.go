package web

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestBundle(t *testing.T) {
	t.Parallel()
	module := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	got, err := bundle(fstest.MapFS{
		"assets/app.js": module("import { one, two as zwei } from \"./b.js\";\nimport \"./c.js\"; // why\none(zwei);\n"),
		"assets/b.js":   module("import { C } from \"./c.js\";\nexport function one() {}\nexport const two = C;\n"),
		"assets/c.js":   module("export class C {}\nexport async function f() {}\n"),
	}, "app")
	want := "const module_c = (() => {\nclass C {}\nasync function f() {}\n\nreturn { C, f };\n})();\n" +
		"const module_b = (() => {\nconst { C } = module_c;\nfunction one() {}\nconst two = C;\n\nreturn { one, two };\n})();\n" +
		"const module_app = (() => {\nconst { one, two: zwei } = module_b;\n\none(zwei);\n\nreturn {  };\n})();\n"
	if err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	for name, text := range map[string]string{
		"a name that changes":   "export let x = 1;\n",
		"a default":             "export default 1;\n",
		"all names":             "import * as b from \"./b.js\";\n",
		"one that needs itself": "import { x } from \"./app.js\";\n",
		"one that is not there": "import { x } from \"./b.js\";\n",
		"one that comes later":  "const b = await import(\"./b.js\");\n",
		"a list of other names": "const x = 1;\nexport { x };\n",
	} {
		if got, err := bundle(fstest.MapFS{"assets/app.js": module(text)}, "app"); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// All modules and style sheets are sent with the page; the theme is set before.
func TestPageHasAllItsFiles(t *testing.T) {
	t.Parallel()
	script, err := pageScript()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pageStyles(); err != nil {
		t.Fatal(err)
	}
	entries, err := assets.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, isModule := strings.CutSuffix(e.Name(), ".js")
		if isModule && name != "theme" && !strings.Contains(script, "const module_"+name+" = ") {
			t.Errorf("%s is missing", e.Name())
		}
		if name, isSheet := strings.CutSuffix(e.Name(), ".css"); isSheet && !slices.Contains(styleSheets, name) {
			t.Errorf("%s is missing", e.Name())
		}
	}
}
