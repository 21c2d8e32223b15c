package keeper

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/rpc"
	"den/internal/session/attention"
)

// Version is that of the socket's messages.
const Version = 1

// The methods.
const (
	MethodPs     = "ps"
	MethodDown   = "down"
	MethodReload = "reload"
	MethodOrder  = "order"
	MethodNudge  = "nudge"
	MethodNudges = "nudges"
	MethodAsk    = "ask"
	// MethodApprovals lists what agents ask permission for; MethodDecide
	// decides it.
	MethodApprovals = "approvals"
	MethodDecide    = "decide"
	// MethodAccounts lists the accounts of the keeper's own chat server.
	MethodAccounts      = "accounts"
	MethodSetAccount    = "set_account"
	MethodRemoveAccount = "remove_account"
	// MethodAttention lists everything that waits for a person; MethodAnswer
	// answers the question of an agent that is driven by its screen.
	MethodAttention = "attention"
	MethodAnswer    = "answer"
	// MethodAct notes what somebody does with an agent's session beside the
	// keeper.
	MethodAct     = "act"
	MethodPeek    = "peek"
	MethodSeen    = "seen" // somebody has looked at an agent
	MethodEvents  = "events"
	MethodDrained = "drained"
	// MethodDraining asks whether an agent was asked to finish.
	MethodDraining = "draining"
	// MethodWorktrees lists the agents' git worktrees; MethodPrune removes those
	// whose work is elsewhere.
	MethodWorktrees = "worktrees"
	MethodPrune     = "prune_worktrees"
	// MethodJudge asks what an agent may do, for the hook of its program.
	MethodJudge = "judge"
)

// The orders that one agent can be given. They stand in state files: add,
// never rename.
const (
	OrderStart   = "start"
	OrderStop    = "stop"
	OrderRestart = "restart"
	OrderSuspend = "suspend"
	OrderResume  = "resume"
	OrderReset   = "reset"
)

// Agent asks for something about one agent, or about all when Name is empty
// and the method allows it.
type Agent struct {
	Name  string `json:"name"`
	Order string `json:"order,omitempty"`
	Text  string `json:"text,omitempty"` // of a nudge
	// NudgeID is the caller's name for a nudge: the same one again is the same
	// nudge. The keeper makes one where there is none.
	NudgeID string `json:"nudge_id,omitempty"`
	Lines   int    `json:"lines,omitempty"`  // of a peek
	Caller  string `json:"caller,omitempty"` // the agent that asks, or "" for a person
	Wait    bool   `json:"wait,omitempty"`   // answer when it is done
	Yes     bool   `json:"yes,omitempty"`    // of a reload: also if it ends many agents
	// TimeoutMs is how long the answer of an ask may take; 0 for as long as
	// who asks stays.
	TimeoutMs int64 `json:"timeout_ms,omitempty"`
	// By is who gives the order or sends the nudge, where a person does by a
	// dashboard, and For the processes that the caller acts for. Neither they nor
	// the caller may be an agent's then.
	By  string `json:"by,omitempty"`
	For []int  `json:"for,omitempty"`
}

// Ps is what a workspace wants and what is true.
type Ps struct {
	Workspace string        `json:"workspace"`
	Config    string        `json:"config"`
	Keeper    int           `json:"keeper_pid"`
	Problem   string        `json:"problem,omitempty"` // why the newest config is not in force
	Ending    bool          `json:"ending,omitempty"`  // it goes down
	Server    *ChatServer   `json:"server,omitempty"`  // of the channels, where agents are in some
	Agents    []AgentStatus `json:"agents"`
}

// ChatServer is where the channels of a workspace are.
type ChatServer struct {
	Address string `json:"address"` // host:port; at one of den's, clients log in
	Own     bool   `json:"own"`     // the keeper's own
	// Socket is where programs of this user reach the server without a login,
	// "" where it is not one of den's.
	Socket string `json:"socket,omitempty"`
	// Listen is where the keeper's own server takes clients of other machines,
	// by TLS, with an account; "" where it takes none.
	Listen string `json:"listen,omitempty"`
	// Nick decides at Socket what an agent asks for ('owner_by_nick'), "" where
	// no nick is enough.
	Nick string `json:"nick,omitempty"`
}

// Account is one of the keeper's own chat server.
type Account struct {
	Name     string `json:"name"`
	Password string `json:"password,omitempty"` // in requests only
}

// Accounts lists them by name.
type Accounts struct {
	Accounts []string `json:"accounts"`
}

// AgentStatus is one agent, wanted against actual.
type AgentStatus struct {
	Name    string `json:"name"`
	Session string `json:"session"`
	// DenSession is the session's name for den's own verbs, where they work on it.
	DenSession string    `json:"den_session,omitempty"`
	Provider   string    `json:"provider"`
	Wanted     string    `json:"wanted"`
	Actual     string    `json:"actual"`
	Why        string    `json:"why"`
	Step       string    `json:"step,omitempty"` // of its start that is under way
	Restarts   int       `json:"restarts"`
	Since      time.Time `json:"since"`
	ExitCode   *int      `json:"exit_code,omitempty"`
	LastOutput string    `json:"last_output,omitempty"` // the last lines of one that failed and does not run
	Nudges     int       `json:"nudges,omitempty"`      // on their way

	// State is what a running agent does: starting, ready, busy, asking or
	// failed; empty where it is not known. StateWhy is why it failed, and what
	// can be done. Question is what it asks.
	State    string                 `json:"state,omitempty"`
	StateWhy string                 `json:"state_why,omitempty"`
	Question *conversation.Question `json:"question,omitempty"`
	Budget   *Budget                `json:"budget,omitempty"` // of an agent whose use is limited

	// StateFrom is what State was read from: "claude session file", "screen".
	// StateFallback is why that is not a truer source which the agent has.
	StateFrom     string `json:"state_from,omitempty"`
	StateFallback string `json:"state_fallback,omitempty"`

	// Harness is where its harness keeps its files, for StateDir.Harness; empty where
	// it has no harness.
	Harness string `json:"mind,omitempty"`

	// Attention says whether the agent needs a person; its State is empty if
	// the keeper is of an earlier version.
	Attention attention.Attention `json:"attention,omitzero"`

	// Approval is what it asks about before it does it: ask, edits or bypass;
	// empty where its own command line decides, and "unknown" where that is of a
	// coding agent, or has words that den does not know.
	Approval string `json:"approval,omitempty"`

	// Sandbox says what holds the agent's sandbox and what does not, in words;
	// empty for one without.
	Sandbox []string `json:"sandbox,omitempty"`
	// SandboxDir is the agent's own directory, with its policy.
	SandboxDir string `json:"sandbox_dir,omitempty"`
	// Denied is what the sandbox refused since the agent's start, in words, as
	// far as its programs said so.
	Denied []string `json:"denied,omitempty"`

	// Worktree is the agent's own, where it has one that was looked at.
	Worktree *Tree `json:"worktree,omitempty"`
}

// Budget is how much of its limits an agent has used.
type Budget struct {
	Level string `json:"level"` // ok, warned (four fifths are used) or exceeded (no turn begins)
	Text  string `json:"text"`  // the tightest limit, for people
}

// What an agent can be wanted to be, and be.
const (
	Running     = "running"
	Stopped     = "stopped"
	Suspended   = "suspended"
	Starting    = "starting"
	Stopping    = "stopping"
	Quarantined = "quarantined"
	Finished    = "finished" // it ended, and its restart policy leaves it at that
	Unknown     = "unknown"
)

// Nudged answers a nudge.
type Nudged struct {
	ID     string `json:"id"`
	Status string `json:"status"`         // queued, sent, taken or answered
	Note   string `json:"note,omitempty"` // the evidence, or what it waits for
}

// Nudge is one nudge as it is kept.
type Nudge struct {
	ID       string    `json:"id"`
	Agent    string    `json:"agent"`
	Status   string    `json:"status"` // queued, sending, sent, taken, answered or failed
	Note     string    `json:"note,omitempty"`
	Text     string    `json:"text"`
	Attempts int       `json:"attempts"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
}

// Nudges answers a question for nudges, the oldest first.
type Nudges struct {
	Nudges []Nudge `json:"nudges"`
}

// Draining answers whether an agent was asked to finish, and why.
type Draining struct {
	Draining bool   `json:"draining"`
	Why      string `json:"why,omitempty"`
}

// Peeked answers a peek.
type Peeked struct {
	Text string `json:"text"`
}

// Seen answers that somebody has looked.
type Seen struct {
	Agent string `json:"agent"`
}

// EventsFrom asks for what happened after a seq, of one agent or of all.
type EventsFrom struct {
	After  uint64 `json:"after"`
	Agent  string `json:"agent,omitempty"`
	Follow bool   `json:"follow,omitempty"`
}

// Event is one thing that happened. Seq counts from 1 without a gap, over all
// keepers that the workspace ever had.
type Event struct {
	Seq    uint64         `json:"seq"`
	Time   time.Time      `json:"ts"`
	Type   string         `json:"type"`
	Agent  string         `json:"agent,omitempty"`
	Key    string         `json:"key,omitempty"` // the agent's, where that is not its name: it has moved
	Why    string         `json:"why,omitempty"`
	Detail map[string]any `json:"detail,omitempty"`
}

// IsAbout reports whether the event is about the agent of that name, or, where
// key is not "", of that key.
func (e Event) IsAbout(agent, key string) bool {
	return e.Agent == agent || key != "" && e.agentKey() == key
}

// agentKey is the key of the agent that the event is about.
func (e Event) agentKey() string {
	if e.Key == "" {
		return e.Agent
	}
	return e.Key
}

// Tree is how the git worktree of an agent was when it was last looked at.
type Tree struct {
	Path      string `json:"path"`
	Branch    string `json:"branch"` // that is checked out; "(detached)" for none
	Base      string `json:"base"`
	Ahead     int    `json:"ahead"`               // commits that the base does not have
	Behind    int    `json:"behind"`              // commits of the base that it does not have
	Changed   int    `json:"changed"`             // files with changes that are not committed
	Untracked int    `json:"untracked"`           // files, or directories of only such files
	BaseGone  bool   `json:"base_gone,omitempty"` // ahead and behind are not known
	Problem   string `json:"problem,omitempty"`   // why nothing is known but path, branch and base
}

// Dirty is how much in it is not committed.
func (t Tree) Dirty() int { return t.Changed + t.Untracked }

// String is for people, in few words: "den/team/coder, 2 ahead, 3 dirty".
func (t Tree) String() string {
	words := []string{t.Branch}
	if t.Problem != "" {
		return t.Branch + ": " + t.Problem
	}
	if t.Ahead > 0 {
		words = append(words, fmt.Sprintf("%d ahead", t.Ahead))
	}
	if n := t.Dirty(); n > 0 {
		words = append(words, fmt.Sprintf("%d dirty", n))
	}
	return strings.Join(words, ", ")
}

// Worktree is one worktree as it is, and whether it may be removed.
type Worktree struct {
	Agent string `json:"agent"`
	Tree
	Ignored int  `json:"ignored"` // files, or directories of only such files, that git ignores
	Running bool `json:"running"` // its agent does, or may
	Merged  bool `json:"merged"`  // the base has all of its commits
	Pushed  bool `json:"pushed"`  // base and remotes have, as far as the repository knows
	// Keep is why a prune keeps it; Safe, if that is empty, where its work is.
	Keep string `json:"keep,omitempty"`
	Safe string `json:"safe,omitempty"`

	Removed       bool `json:"removed,omitempty"`
	BranchRemoved bool `json:"branch_removed,omitempty"`
	// Undone are references to commits that were undone in it (reset, amended,
	// rebased) and that nothing else leads to.
	Undone []string `json:"undone,omitempty"`
}

// Worktrees lists those of a workspace, also of agents that it has no more.
type Worktrees struct {
	Worktrees []Worktree `json:"worktrees"`
	DryRun    bool       `json:"dry_run,omitempty"` // nothing was removed
	Problem   string     `json:"problem,omitempty"` // what could not be read
}

// Prune asks to remove worktrees whose work is elsewhere: all, or those of the
// agents named.
type Prune struct {
	Agents []string `json:"agents,omitempty"`
	DryRun bool     `json:"dry_run,omitempty"`
	// Ignored gives up the files that git ignores.
	Ignored bool `json:"ignored,omitempty"`
}

// ToolUse asks what an agent that runs on a screen may do, for the hook that its
// program runs.
type ToolUse struct {
	Agent  string          `json:"agent"`
	Vendor string          `json:"vendor"`
	Moment string          `json:"moment"` // before-tool, before-tool-unasked or on-request
	Input  json.RawMessage `json:"input"`  // as the program told the hook
}

// Judged answers it.
type Judged struct {
	Outcome string `json:"outcome"` // allow, ask or deny; "" leaves it to the program
	Why     string `json:"why,omitempty"`
}

// ItsLastLines is LastOutput for people, on lines of their own; "" for none.
func (s AgentStatus) ItsLastLines(indent string) string {
	if s.LastOutput == "" {
		return ""
	}
	return "\n" + indent + "its last lines:\n" + indent + "  " + strings.ReplaceAll(s.LastOutput, "\n", "\n"+indent+"  ")
}

// maxClients bounds the connections of a keeper.
const maxClients = 128

// NewServer returns a server for the clients of a keeper.
func NewServer(handle rpc.Handler, version string) *rpc.Server {
	return rpc.NewServer(rpc.Config{
		Version: Version, Den: version, Kind: "keeper", Name: "the keeper",
		Handler: handle,
		Urgent:  func(method string) bool { return method == MethodDown },
		Limits:  rpc.Limits{Clients: maxClients},
	})
}
