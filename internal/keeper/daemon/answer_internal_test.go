package daemon

import (
	"testing"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

func TestFindOption(t *testing.T) {
	options := []conversation.Option{{ID: "once", Label: "Yes"}, {ID: "never", Label: "No, and say why"}}
	for wanted, want := range map[string]string{"once": "once", "2": "never", "no, and say why": "never", "yes": "once"} {
		if got, err := findOption(options, wanted); err != nil || got.ID != want {
			t.Errorf("%q: %+v, %v", wanted, got, err)
		}
	}
	for _, wanted := range []string{"", "0", "3", "maybe"} {
		if got, err := findOption(options, wanted); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %+v, %v", wanted, got, err)
		}
	}
	if _, err := findOption(nil, "1"); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("no options: %v", err)
	}
}
