package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/screen"
	"den/internal/session/steps"
	"den/internal/session/wire"

	"github.com/spf13/pflag"
)

// sample is a value of a condition, as a flag and as JSON.
func sample(t *testing.T, c wire.WaitCondition) (flag, inJSON string) {
	switch c.In(&wire.Wait{}).(type) {
	case *bool:
		return "true", "true"
	case *uint64:
		return "7", "7"
	case *time.Duration:
		return "7s", `"7s"`
	case **string:
		return "x", `"x"`
	case **screen.Point:
		return "3,0", `"3,0"`
	}
	t.Fatalf("%s is of a kind that no caller reads", c.Name)
	return "", ""
}

// asked names the conditions that a wait has.
func asked(w wire.Wait) (names []string) {
	for _, c := range wire.WaitConditions {
		if !reflect.ValueOf(c.In(&w)).Elem().IsZero() {
			names = append(names, c.Name)
		}
	}
	return names
}

// Every condition is a flag of its name, and a key of a batch's wait but for the
// baseline, which the batch has itself.
func TestEveryConditionIsReached(t *testing.T) {
	a, _ := testApp(t)
	help := a.batchCmd().Long
	_, none := (&steps.Wait{}).Request(0)
	for _, c := range wire.WaitConditions {
		want := []string{c.Name}
		flag, inJSON := sample(t, c)
		var w wire.Wait
		f := pflag.NewFlagSet("wait", pflag.ContinueOnError)
		waitFlags(f, &w)
		if err := f.Parse([]string{"--" + c.Name + "=" + flag}); err != nil {
			t.Fatal(err)
		}
		if err := readWords(f, &w); err != nil || !slices.Equal(asked(w), want) {
			t.Errorf("the flag --%s asks for %q, %v", c.Name, asked(w), err)
		}
		if c.Name == "after" {
			continue
		}
		all, err := steps.Parse(fmt.Appendf(nil, `{"wait":{"%s":%s}}`, c.Name, inJSON))
		if err != nil {
			t.Errorf("a step with %s: %v", c.Name, err)
			continue
		}
		if w, err := all[0].Wait.Request(0); err != nil || !slices.Equal(asked(w), want) {
			t.Errorf("a step with %s asks for %q, %v", c.Name, asked(w), err)
		}
		if !strings.Contains(help, " "+c.Name) && !strings.Contains(help, "("+c.Name) || !strings.Contains(none.Error(), " "+c.Name) {
			t.Errorf("batch does not tell of %s", c.Name)
		}
	}
}
