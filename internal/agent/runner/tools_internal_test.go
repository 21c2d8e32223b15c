package runner

import (
	"fmt"
	"strings"
	"testing"

	"den/internal/agent/conversation"
)

// What is not kept any more is missing from a list, and the list says so.
func TestToolLogIsBounded(t *testing.T) {
	var log toolLog
	check := func(message string, want int, complete bool) {
		t.Helper()
		if uses, all := log.of(message); len(uses) != want || all != complete {
			t.Errorf("%s: %d uses, complete %v; want %d, %v", message, len(uses), all, want, complete)
		}
	}
	use := func(message, input string) {
		log.add(message, &conversation.ToolUse{Name: "Bash", Input: input})
	}
	log.begin("first")
	use("first", "1")
	log.begin("idle")
	use("resumed", "2") // it began before a restart
	use("first", "3")   // its second attempt
	check("first", 2, true)
	check("idle", 0, true)
	check("resumed", 1, false)
	check("nobody", 0, false)

	log.begin("many")
	for i := range maxToolEntries {
		use("many", fmt.Sprint(i))
	}
	check("first", 0, false)
	check("many", maxToolEntries, false)
	if uses, _ := log.of("many"); uses[len(uses)-1].Input != fmt.Sprint(maxToolEntries-1) {
		t.Errorf("the newest is %+v", uses[len(uses)-1])
	}

	log.begin("large")
	use("large", strings.Repeat("x", maxToolBytes))
	check("large", 0, false)
	log.begin("last")
	use("last", strings.Repeat("x", maxToolBytes/2))
	check("last", 1, true)
}
