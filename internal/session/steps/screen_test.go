package steps_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"den/internal/screen"
	"den/internal/screen/vt"
	"den/internal/session/steps"
)

func shotOf(t *testing.T, output string) *screen.Snapshot {
	t.Helper()
	term := vt.New(vt.Config{Cols: 20, Rows: 5})
	term.Write([]byte(strings.ReplaceAll(output, "\n", "\r\n")))
	shot := screen.Capture(term, 0)
	return &shot
}

// parse reads one step with a screen.
func parse(t *testing.T, rows string) *steps.Screen {
	t.Helper()
	all, err := steps.Parse([]byte(`{"screen":` + rows + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return all[0].Screen
}

// The comparison of rows and the expression that the host is asked to wait for say
// the same of every screen.
func TestScreenMatches(t *testing.T) {
	screens := []string{"", "a", "a\n", "a\nb", "\nb", "a\n\nc", "a.c", "a b", "12\n34", "a\nb\nc\nd\ne", " a", "a(\nb["}
	wants := []string{
		`[]`, `[""]`, `["",""]`, `["a"]`, `["a  "]`, `["a","b"]`, `["","b"]`, `["a",null]`, `[null]`, `[null,null]`, `["a",null,"c"]`, `["a",null,null,""]`,
		`["a.c"]`, `["a b"]`, `[{"regex":"[0-9]+"},{"regex":"3."}]`, `[{"regex":"1|12"},null]`, `["a",{"regex":"b?"}]`, `["a",{"regex":"b?"},"c","d",{"regex":"[a-e]"}]`,
		`[{"regex":"^a$"}]`, `["a(","b["]`, `[{"regex":"[^x]*"},"b"]`,
	}
	for _, output := range screens {
		shot := shotOf(t, output)
		for _, rows := range wants {
			want := parse(t, rows)
			same := len(want.Compare(shot)) == 0
			term := vt.New(vt.Config{Cols: 20, Rows: 5})
			term.Write([]byte(strings.ReplaceAll(output, "\n", "\r\n")))
			expr := steps.Expression(want)
			_, unmet, err := screen.Check(term, screen.Conditions{Regex: &expr})
			if err != nil || (len(unmet) == 0) != same {
				t.Errorf("screen %q and %s: same %v, but %s finds it: %v %v", output, rows, same, expr, len(unmet) == 0, err)
			}
		}
	}
}

func TestUpdatedKeepsOpenRows(t *testing.T) {
	old := parse(t, `["x",null,{"regex":"[0-9]+"},{"regex":"z"},"gone"]`)
	raw, err := json.Marshal(old.Updated(shotOf(t, "a\nb\n42\nc"), false))
	if want := `["a",null,{"regex":"[0-9]+"},"c"]`; err != nil || string(raw) != want {
		t.Errorf("%s %v, want %s", raw, err, want)
	}
}

func TestStyles(t *testing.T) {
	shot := shotOf(t, "plain \x1b[1;31mred\x1b[m\n\x1b[4:3;58:5:2;48;2;1;2;3mx\x1b[m")
	if got, want := fmt.Sprint(steps.StylesOf(shot)), "[0 6-8 bold fg=1 1 0-0 underline=curly underline-color=2 bg=#010203]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := steps.ScreenOf(shot, true)
	if diff := want.Compare(shot); diff != nil {
		t.Errorf("a screen differs from itself: %+v", diff)
	}
	diff := want.Compare(shotOf(t, "plain red\nx"))
	if len(diff) != 4 || !diff[0].Same || !diff[2].Style || diff[2].Want != "0 6-8 bold fg=1" {
		t.Errorf("%+v", diff)
	}
	open := parse(t, `{"rows":["plain red",null],"styles":["0 6-8 bold fg=1"]}`)
	if diff := open.Compare(shot); diff != nil {
		t.Errorf("of a row that may be anything the looks are compared: %+v", diff)
	}
}

func TestStepsAreWrittenAsTheyAreRead(t *testing.T) {
	for _, step := range []string{
		`{"type":"<x>","enter":true}`, `{"paste":"a\nb"}`, `{"keys":["C-c","Down*3"]}`, `{"resize":"10x20"}`, `{"run":"x","timeout":"3s"}`,
		`{"answer":"y"}`, `{"answer":{"keys":["Down"]}}`, `{"wait":{"text":"x","ready":true}}`, `{"wait":{"stable":"300ms"}}`,
		`{"screen":["x",null,{"regex":"a"}],"timeout":"1s"}`, `{"screen":{"rows":["x"],"styles":["0 0-0 bold"]}}`, `{"screen":[]}`,
		`{"screen":{"picture":"a.png"}}`, `{"screen":{"rows":[],"styles":[],"picture":"b/a.png","tolerance":"0.5%"}}`,
		`{"wait":{"cursor":"2,3","early":true}}`, `{"exit":3}`, `{"exit":"SIGTERM"}`,
	} {
		all, err := steps.Parse([]byte(step))
		if err != nil {
			t.Errorf("%s: %v", step, err)
			continue
		}
		raw, err := json.Marshal(all[0])
		got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(raw))
		if err != nil || got != step {
			t.Errorf("%s is written as %s, %v", step, got, err)
		}
	}
	for _, wrong := range []string{`{"resize":"10"}`, `{"resize":"0x5"}`, `{"exit":""}`, `{"exit":null,"type":"x","keys":["a"]}`, `{"screen":["a\nb"]}`, `{"screen":[{"regex":"("}]}`, `{"screen":[{"x":1}]}`, `{"screen":[{}]}`, `{"type":"x","timeout":"1s"}`,
		`{"screen":{"picture":"a.jpg"}}`, `{"screen":{"rows":[],"tolerance":"1%"}}`, `{"screen":{"picture":"a.png","tolerance":1}}`, `{"screen":{"picture":"a.png","tolerance":"101%"}}`,
		`{"screen":{"picture":"a.png","tolerance":"-1%"}}`, `{"screen":{"picture":"a.png","tolerance":"1"}}`, `{"wait":{"early":true}}`,
	} {
		if all, err := steps.Parse([]byte(wrong)); err == nil {
			t.Errorf("%s is read as %+v", wrong, all)
		}
	}
}
