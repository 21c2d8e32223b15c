package webhook

import (
	"path/filepath"
	"strings"
	"testing"

	"den/internal/testkit/earlier"
)

// What an earlier build could not send is sent, and what it sent is known.
func TestEarlierOutbox(t *testing.T) {
	o, problems, err := openOutbox(filepath.Join(earlier.Files(t), "keeper", "minds", "coder", "webhooks"))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if len(o.pending) != 1 || !strings.HasPrefix(string(o.pending[0].Body), `{"id":"01m7r4mya4bzk3cnbn0gpd","type":"agent_approval"`) {
		t.Errorf("%+v", o.pending)
	}
	if !o.knows("01m7r4mnrw7pd4ceexdr00") || !o.knows("01m7r4mya4bzk3cnbn0gpd") {
		t.Errorf("%v", o.sent)
	}
}
