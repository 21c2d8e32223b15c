package hook

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Event is what hooks are told, in their environment.
type Event struct {
	Phase  Phase
	Prefix string // begins the names of the variables
	Tick   int

	LastMessage string // of the agent; not before a tick
	SessionID   string // not before a tick

	Duration time.Duration // after a tick, as are all below
	Log      string        // the path of the transcript
	Normal   bool          // the agent ended its tick itself
	Reason   string        // why the tick ended, in den's words
}

// maxLastMessage is how many characters of the last message hooks get.
const maxLastMessage = 2000

// Env returns the variables of an event.
func (e Event) Env(dataDir string) map[string]string {
	env := map[string]string{"DATA_DIR": dataDir}
	set := func(name, value string) {
		// No variable can have a NUL, and a hook that does not run is worse.
		env[e.Prefix+"_"+name] = strings.ReplaceAll(value, "\x00", "")
	}
	set("TICK", strconv.Itoa(e.Tick))
	if e.Phase == PreTick {
		return env
	}
	set("LAST_MESSAGE", first(e.LastMessage, maxLastMessage))
	set("SESSION_ID", e.SessionID)
	if e.Phase == PreStop {
		return env
	}
	set("TICK_DURATION", fmt.Sprintf("%.1f", e.Duration.Seconds()))
	set("TICK_LOG", e.Log)
	set("TICK_STATUS", map[bool]string{true: "normal", false: "abnormal"}[e.Normal])
	set("TICK_REASON", e.Reason)
	return env
}

// first returns the first n characters of a text.
func first(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
