package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"den/internal/agent/conversation"
	"den/internal/testkit/modelstub"
)

// The screens of real agents are drawn with nothing missing, whatever fonts the
// machine has: in a talk, and while a permission is asked for. With
// DEN_TEST_RECORD=1 they become the recordings that the golden pictures of
// internal/screen/render are made from.
func TestAgentPictures(t *testing.T) {
	for _, a := range stateAgents {
		t.Run(a.name, func(t *testing.T) {
			r := startStates(t, a)
			r.stub.When(r.asks("explain this"), modelstub.Say("It is a **small shop** in Go:\n\n- `main.go` starts the server\n- `cart.go` adds up prices, and `cart_test.go` tries it\n\n```go\nfunc (c *Cart) Total() int { return c.sum }\n```\n\nSay so if I should change it."))
			r.script("approved work", "approved")
			r.say("explain this")
			r.shows("change it")
			r.await(conversation.Ready)
			r.isDrawn("talk")
			r.say("approved work")
			r.await(conversation.Asking)
			r.shows(a.dialog)
			r.isDrawn("asks")
		})
	}
}

var sessionField = regexp.MustCompile(`"session":"([^"]+)"`)

// isDrawn demands a whole picture of the screen, and records it if asked to.
func (r *stateRun) isDrawn(what string) {
	r.Helper()
	name := sessionField.FindStringSubmatch(r.world.do("ls", "-j"))
	if name == nil {
		r.Fatal("den lists no session")
	}
	answer := r.world.ask("screenshot", name[1], "--fonts", "embedded", "-o", filepath.Join(r.TempDir(), "a.png"))
	if missing, ok := answer["missing"]; ok {
		r.Errorf("%s, %s: %v are not drawn", r.agent.name, what, missing)
	}
	if os.Getenv("DEN_TEST_RECORD") != "1" {
		return
	}
	// Where it ran is nobody's business, and the columns stay.
	place := "/home/user/" + strings.Repeat("shop-", len(r.home.Work))
	text := strings.ReplaceAll(r.world.do("snapshot", name[1], "--format", "ansi"), r.home.Work, place[:len(r.home.Work)])
	path := filepath.Join("../internal/screen/render/testdata/agents", r.agent.name+"-"+what+".bin")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.Fatal(err)
	}
	const noWrap = "\x1b[?7l" // rows end where the screen does
	if err := os.WriteFile(path, []byte(noWrap+strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\r\n")), 0o644); err != nil {
		r.Fatal(err)
	}
}
