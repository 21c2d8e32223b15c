package script_test

import (
	"bytes"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/session/script"
	"den/internal/session/steps"
)

const sample = `# a comment
{"den":1,"command":["cat"],"cols":40,"rows":5,"vars":["WORD"]}

  # indented
{"type":"${WORD} #","enter":true}
{"screen":[
  "# this is a row",
  null,
  {"regex":"[0-9]+"}
],"timeout":"5s"}
{"keys":["C-d"]} {"exit":0}
`

func TestParse(t *testing.T) {
	s, err := script.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, step := range s.Steps {
		lines = append(lines, step.Line)
	}
	if len(lines) != 4 || lines[0] != 5 || lines[1] != 6 || lines[2] != 11 || lines[3] != 11 {
		t.Errorf("steps begin in lines %v", lines)
	}
	rows := s.Steps[1].Screen.Rows
	if len(rows) != 3 || rows[0].Text != "# this is a row" || !rows[1].Any || rows[2].Regex != "[0-9]+" {
		t.Errorf("rows %+v", rows)
	}
	if err := s.Expand(func(string) (string, bool) { return "", false }); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "WORD") {
		t.Errorf("a variable without a value: %v", err)
	}
	if err := s.Expand(func(string) (string, bool) { return "word", true }); err != nil || *s.Steps[0].Type != "word #" {
		t.Errorf("%q %v", *s.Steps[0].Type, err)
	}
}

// What is rewritten is the one step; comments and all else stay.
func TestRewrite(t *testing.T) {
	s, err := script.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	got := string(script.Rewrite([]byte(sample), s, map[int]steps.Step{
		1: {Screen: &steps.Screen{Rows: []steps.Row{{Text: "new"}}}},
		3: {Exit: &steps.Exit{Code: 2}},
	}))
	want := strings.Replace(sample, `{"screen":[
  "# this is a row",
  null,
  {"regex":"[0-9]+"}
],"timeout":"5s"}`, `{"screen":[
  "new"
]}`, 1)
	want = strings.Replace(want, `{"exit":0}`, `{"exit":2}`, 1)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// FuzzParse checks that whatever is read is written so that it is read again, as
// the same script.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"den":1}{"run":"x","timeout":3}{"answer":{"keys":["Down"]}}{"wait":{"ready":true,"cursor":"1,2"}}`))
	f.Add([]byte(`{"den":1,"env":{"A":"b"}}{"resize":"10x20"}{"paste":"\u0000\ud800"}{"snapshot":{}}{"exit":"SIGTERM"}`))
	f.Add([]byte(`{"den":1}{"screen":{"rows":["x",{"regex":"(a|b)*"}],"styles":["0 0-1 bold"]}}{"type":""}`))
	f.Add([]byte(`{"den":1}{"screen":[{"regex":"("}]}`))
	f.Add([]byte("#\n{\"den\":1}\n#{\n[1]"))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := script.Parse(file)
		if err != nil {
			if k := fault.KindOf(err); k != fault.Usage && k != fault.Protocol {
				t.Errorf("%q is %s: %v", file, k, err)
			}
			return
		}
		var once, twice bytes.Buffer
		if err := s.Write(&once); err != nil {
			t.Fatal(err)
		}
		again, err := script.Parse(once.Bytes())
		if err != nil {
			t.Fatalf("what was written of %q is not understood: %v\n%s", file, err, once.Bytes())
		}
		if err := again.Write(&twice); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("%q is written as\n%s\nand then as\n%s", file, once.Bytes(), twice.Bytes())
		}
		changed := map[int]steps.Step{}
		for i := range s.Steps {
			changed[i] = s.Steps[i].Step
		}
		if same, err := script.Parse(script.Rewrite(file, s, changed)); err != nil || len(same.Steps) != len(s.Steps) {
			t.Errorf("%q with each step in place of itself: %v", file, err)
		}
	})
}

func TestSideBySide(t *testing.T) {
	long := strings.Repeat("x", 200)
	got := script.SideBySide([]steps.DiffRow{
		{Row: 0, Want: "same", Got: "same", Same: true},
		{Row: 1, Want: "want", Got: ""},
		{Row: 2, Want: long + "a", Got: long + "b"},
		{Row: -1, Want: "0 0-3 bold", Style: true},
	})
	lines := strings.Split(got, "\n")
	if !strings.HasPrefix(lines[0], "       expected ") || !strings.HasSuffix(lines[0], "   on the screen") {
		t.Errorf("%q", lines[0])
	}
	if strings.Join(strings.Fields(lines[1]), " ") != "0 same same" || strings.Join(strings.Fields(lines[2]), " ") != "1 want |" {
		t.Errorf("%q, %q", lines[1], lines[2])
	}
	if !strings.Contains(lines[3], "xa ") || !strings.HasSuffix(lines[3], "xb") {
		t.Errorf("the difference is not seen: %q", lines[3])
	}
	if !strings.HasPrefix(lines[4], "  look 0 0-3 bold") {
		t.Errorf("%q", lines[4])
	}
}

func TestJUnit(t *testing.T) {
	var b strings.Builder
	err := script.WriteJUnit(&b, []script.Report{
		{Name: `a<"&>`},
		{Name: "b", Recording: "b.cast", Failure: &script.Failure{Step: 2, Line: 7, Kind: "screen", Err: fault.Errorf(fault.Timeout, "it \x1b differs"), Diff: []steps.DiffRow{{Want: "<", Got: ">"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<testsuite name="den test" tests="2" failures="1"`, `name="a&lt;&#34;&amp;&gt;"`, "message=\"screen: it \uFFFD differs\" type=\"screen\"", "line 7", "recording: b.cast", "&lt; ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}
