// Package ipc is the socket of an agent's harness: JSON Lines, as the harness
// specification has them, and where the socket is.
//
// A request has a type, an id and fields of its own; its response has the same
// id. Responses come in any order. Whispers are for the agent: they are sent
// to clients that act as the agent, in front of the next response at the latest.
package ipc

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/session/home"
)

// The types of requests.
const (
	Send     = "irc_send"     // channel, message
	Read     = "irc_read"     // channel, limit, reader
	Ask      = "irc_ask"      // channel, message, timeout
	Join     = "irc_join"     // channel
	Part     = "irc_part"     // channel
	Who      = "irc_who"      // target
	Channels = "irc_channels" //
	Topic    = "irc_topic"    // channel, topic
	Compact  = "compact"
	Clear    = "clear"
	Status   = "status"
	Pause    = "pause"
	Resume   = "resume"
	Shutdown = "shutdown"

	// den's own.
	Prompt    = "prompt"    // message, message_id: give the agent a message
	Confirm   = "confirm"   // message_id: what became of it
	Converse  = "converse"  // message, message_id, timeout: give it a message, and wait for the answer
	Cancel    = "cancel"    // end the turn that runs
	Approvals = "approvals" // what waits for a decision
	Decide    = "decide"    // question, option (message where it is "answer"), always, by, why
	Watch     = "watch"     // states as they change
)

// Request asks a harness for something. Each type uses some of the fields.
type Request struct {
	Type string `json:"type"`
	ID   string `json:"id"`

	Channel string  `json:"channel,omitempty"` // or a nick, for a direct message
	Message string  `json:"message,omitempty"`
	Topic   *string `json:"topic,omitempty"` // nil asks for it
	Target  string  `json:"target,omitempty"`
	Limit   int     `json:"limit,omitempty"`
	Reader  string  `json:"reader,omitempty"`  // whose cursor; "" is the agent's
	Timeout float64 `json:"timeout,omitempty"` // seconds

	MessageID string   `json:"message_id,omitempty"`
	Callers   []string `json:"callers,omitempty"` // who asks for whom, the first first
	Question  string   `json:"question,omitempty"`
	Option    string   `json:"option,omitempty"`
	Always    bool     `json:"always,omitempty"`
	By        string   `json:"by,omitempty"`
	Why       string   `json:"why,omitempty"`
}

// ByAgent reports whether the request is one that the agent itself makes.
func (r Request) ByAgent() bool { return strings.HasPrefix(r.Type, "irc_") }

// Response answers a request.
type Response struct {
	Type     string          `json:"type"` // "response"
	ID       string          `json:"id"`
	OK       bool            `json:"ok"`
	Data     json.RawMessage `json:"data,omitempty"`
	Error    string          `json:"error,omitempty"`
	Kind     string          `json:"kind,omitempty"`
	Hint     string          `json:"hint,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
}

// The types of what a harness sends.
const (
	TypeResponse = "response"
	TypeWhisper  = "whisper"
	TypeState    = "state"
)

// A Whisper is guidance for the agent.
type Whisper struct {
	Type    string `json:"type"`         // "whisper"
	Kind    string `json:"whisper_type"` // CORRECTION or THINK_DEEPER
	Message string `json:"message"`
}

// SocketEnv names the variable by which an agent finds its harness's socket.
const SocketEnv = "DEN_HARNESS"

// NickEnvs name the variables that hold an agent's nick: den's and the
// specification's.
var NickEnvs = []string{"DEN_NICK", "CULTURE_NICK"}

// SocketPath returns where the harness of a nick listens, for those who know
// nothing but the nick: in the user's runtime directory, or below the home
// directory where there is none.
func SocketPath(nick string, getenv func(string) string) (string, error) {
	if err := ident.Check("nick", nick); err != nil {
		return "", err
	}
	name := "culture-" + nick + ".sock"
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, name), nil
	}
	if dir := getenv("HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, ".culture", "run", name), nil
	}
	return "", fault.Hintf(fault.Errorf(fault.Usage, "find the socket of '%s': neither XDG_RUNTIME_DIR nor HOME is set", nick), "set %s to the socket's path", SocketEnv)
}

// OwnSocketPath returns where the harness with a state directory listens. It
// differs between two agents of one nick in two workspaces.
func OwnSocketPath(stateDir string, getenv func(string) string) (string, error) {
	return home.RunPath("harness\x00"+stateDir, getenv)
}

// BoxSocketPath returns where the harness of an agent that lives in a container
// listens: alone in a directory, which the container has too.
func BoxSocketPath(stateDir string, getenv func(string) string) (string, error) {
	dir, err := home.RunPath("box\x00"+stateDir, getenv)
	return filepath.Join(dir, "s"), err
}

// Find returns the socket of the agent that the environment names, or of a
// nick.
func Find(nick string, getenv func(string) string) (string, error) {
	own := ""
	for _, name := range NickEnvs {
		if own == "" {
			own = getenv(name)
		}
	}
	if path := getenv(SocketEnv); path != "" && (nick == "" || nick == own) {
		return path, nil
	}
	if nick == "" {
		nick = own
	}
	if nick == "" {
		return "", fault.Hintf(fault.Errorf(fault.Usage, "no agent is named"), "set DEN_NICK, as the harness does for its agent")
	}
	return SocketPath(nick, getenv)
}
