package workspace

import "time"

// A Workspace is a file and what it includes, resolved.
type Workspace struct {
	Name string
	// NameDerived says that the file gives no name: it is the directory's.
	NameDerived bool

	Dir   string   // absolute; where the file is
	Path  string   // the file, absolute
	Files []string // the file and all that it includes, absolute: what to watch

	SessionTemplate string // of session names, or ""
	Suspended       bool
	Session         Session
	Keeper          Keeper
	Agents          []Agent

	// Kept for the parts that read them.
	Server     Server
	Supervisor Supervisor
	Webhooks   Webhooks

	// Warnings are things that will matter when an agent starts, such as a
	// prompt file that is not there.
	Warnings []string
}

// file is the schema of a file: what its top level may hold.
type file struct {
	Version    int            `key:"version"` // of the schema; 0 where the file does not say
	Include    []string       `key:"include"`
	Workspace  workspaceTable `key:"workspace,city"`
	Session    Session        `key:"session"`
	Keeper     Keeper         `key:"keeper,daemon"`
	Server     Server         `key:"server"`
	Supervisor Supervisor     `key:"supervisor"`
	Webhooks   Webhooks       `key:"webhooks,webhook"`

	// For every agent that does not say otherwise; see Channel.
	BufferSize int    `key:"buffer_size"`
	SleepStart string `key:"sleep_start"`
	SleepEnd   string `key:"sleep_end"`
}

// agentWide are the keys of the top level that hold for every agent.
var agentWide = []string{"buffer_size", "sleep_start", "sleep_end"}

// specialKeys of the top level are not decoded as they stand but become layers.
var specialKeys = []string{"agents", "presets", "defaults", "patches"}

type workspaceTable struct {
	Name            string `key:"name"`
	SessionTemplate string `key:"session_template"`
	Provider        string `key:"provider"` // old: the agent where one names none and has no command
	StartCommand    string `key:"start_command"`
	Suspended       bool   `key:"suspended"`
}

// Session says where sessions live.
type Session struct {
	Provider string         `key:"provider"` // old: where agents live that do not say
	Engine   string         `key:"engine"`   // short for container.engine
	Socket   string         `key:"socket"`   // short for container.socket
	Tables   ProviderTables `key:",inline"`
}

// Keeper is how the keeper itself works.
type Keeper struct {
	PatrolInterval  time.Duration `key:"patrol_interval"`
	ShutdownTimeout time.Duration `key:"shutdown_timeout"`
	MaxReplacing    int           `key:"max_replacing"` // agents at a time whose configuration changed; 0: all
}

// Server is the channel server's place: the keeper's own, or another.
type Server struct {
	Name string `key:"name"`
	Host string `key:"host"`
	Port int    `key:"port"`

	// Listen is an address at which the keeper's own server takes clients of
	// other machines, by TLS, with an account. Files are absolute.
	Listen  string `key:"listen"`
	TLSCert string `key:"tls_cert"`
	TLSKey  string `key:"tls_key"`

	// Of another server.
	TLS         bool   `key:"tls"`
	Insecure    bool   `key:"insecure"`     // any certificate
	PasswordEnv string `key:"password_env"` // the variable with the password of agents' accounts, which bear their nicks
}

// Supervisor says who watches agents' turns.
type Supervisor struct {
	Agent               string   `key:"agent"` // rules, or who judges; see IsMind
	Command             []string `key:"command,acp_command"`
	Model               string   `key:"model"`
	Thinking            string   `key:"thinking"`
	WindowSize          int      `key:"window_size"`
	EvalInterval        int      `key:"eval_interval"`
	EscalationThreshold int      `key:"escalation_threshold"`
	Instructions        string   `key:"instructions,prompt_override"` // what it is told to watch for, instead of den's own
}

// Webhooks are told of what a person should know.
type Webhooks struct {
	URL       string   `key:"url"`
	SecretEnv string   `key:"secret_env"` // the variable with the key of signatures
	Channel   string   `key:"channel,irc_channel"`
	Events    []string `key:"events"`
}

// An Agent is one agent with all layers laid together. Paths are absolute.
type Agent struct {
	// Name is the qualified name: "dir/name" where the file gives a directory
	// of the workspace, else what the file calls it.
	Name            string   `key:"name,nick"`
	Dir             string   `key:"dir,directory"`
	Preset          string   `key:"agent"`   // what runs: a preset, or ""
	Drive           string   `key:"drive"`   // how den talks with it: DriveScreen or DriveProtocol
	RunsIn          string   `key:"runs_in"` // where its session lives
	SessionTemplate string   `key:"session_template"`
	StartCommand    []string `key:"start_command,command"` // words; see Argv
	Args            []string `key:"args"`
	PromptTemplate  string   `key:"prompt_template"`
	PromptMode      string   `key:"prompt_mode"`
	PromptFlag      string   `key:"prompt_flag"`
	Prime           string   `key:"prime"` // a line below the beacon
	Nudge           string   `key:"nudge"`
	// FingerprintExtra has no effect but that a change of it is a changed agent.
	FingerprintExtra Env           `key:"fingerprint_extra"`
	Env              Environment   `key:"env"`
	DependsOn        []string      `key:"depends_on"`
	Suspended        bool          `key:"suspended,archived"`
	IdleTimeout      time.Duration `key:"idle_timeout"`
	StallTimeout     time.Duration `key:"stall_timeout"`
	StallRestart     bool          `key:"stall_restart"` // or only tell
	StartupTimeout   time.Duration `key:"startup_timeout"`
	ShutdownTimeout  time.Duration `key:"shutdown_timeout"`
	DrainTimeout     time.Duration `key:"drain_timeout"` // to finish before it is stopped; a pool has its own
	DrainNudge       string        `key:"drain_nudge"`   // typed when it is asked to finish, or ""
	StateSource      string        `key:"state_source"`  // "auto" for the truest that there is, or "screen"
	Worktree         bool          `key:"worktree"`      // it works in a git worktree of its own, not in Dir
	WorktreeBase     string        `key:"worktree_base"` // what that begins with; "" for the branch that is checked out in Dir

	// Approval is what the agent asks about before it does it: ApprovalAsk,
	// ApprovalEdits or ApprovalBypass; "" where its own command line decides.
	// What its preset has for it is in Args and Env, and ApprovalModes are empty.
	// See ShownApproval for what people are told.
	Approval      string        `key:"approval"`
	ApprovalModes ApprovalModes `key:"approval_modes"`

	// Sandbox and Network are what its processes may reach; State is what its
	// vendor's program needs of that.
	Sandbox Sandbox `key:"sandbox"`
	Network string  `key:"network"` // one of sandbox.Networks; "" for any
	State   State   `key:"state"`

	Hints   Hints          `key:",inline"`
	Pool    *Pool          `key:"pool"` // or nil: one agent, not a pool
	Restart Restart        `key:"restart"`
	Tables  ProviderTables `key:",inline"`
	Channel Channel        `key:",inline"`

	// Index is a pool member's number, from 1; 0 for an agent that is no member.
	Index int

	// doubt is why it is not known what the agent asks, or "".
	doubt string
	// settings are what Explain shows.
	settings []Setting
}

// ByProtocol reports whether the agent is driven by a protocol, through a harness,
// instead of by its screen.
func (a *Agent) ByProtocol() bool { return a.Channel.Backend != "" }

// SchemaVersion is the version of the workspace file that this build reads.
const SchemaVersion = 1

// Env is names and values: numbers and truth values are taken as text too.
type Env map[string]string

// Environment is an agent's variables: those whose values stand in the file,
// and those whose values are read when the agent starts.
type Environment struct {
	Values  Env
	Secrets map[string]Secret
}

// Secret says where a value is read from. Exactly one field is set.
type Secret struct {
	File    string   `key:"file"`    // absolute; one line end after the value is dropped
	Command []string `key:"command"` // prints the value, run in the agent's directory
}

// Hints say how an agent starts. All are optional; without any, starting is
// creating the session.
type Hints struct {
	ReadyPromptPrefix      string      `key:"ready_prompt_prefix"`
	ReadyDelayMs           int         `key:"ready_delay_ms"`
	ProcessNames           []string    `key:"process_names"`
	EmitsPermissionWarning bool        `key:"emits_permission_warning"`
	PreStart               []string    `key:"pre_start"`
	SessionSetup           []string    `key:"session_setup"`
	SessionSetupScript     string      `key:"session_setup_script"`
	OverlayDir             string      `key:"overlay_dir"`
	CopyFiles              []CopyEntry `key:"copy_files"`
}

// Sandbox says whether an agent's processes are kept to what they need, and what
// else they may use. `true` and `false` are short for Enabled; a table enables
// it unless it says otherwise.
type Sandbox struct {
	Enabled bool     `key:"enabled"`
	Read    []string `key:"read"`  // paths, absolute
	Write   []string `key:"write"` // paths, absolute
	Env     []string `key:"env"`   // names of variables; one may end in *
}

// State lists the files and variables that a vendor's program keeps its state in.
// Paths begin with ~/ or with "${VARIABLE:-~/path}". Presets have it.
type State struct {
	Read  []string `key:"read"`
	Write []string `key:"write"`
	Keep  []string `key:"keep"` // below the first of Write: what decides what the program runs is only read
	Copy  []string `key:"copy"` // files that the agent gets a copy of
	Env   []string `key:"env"`
}

// ApprovalModes are what a preset has for each word of `approval`.
type ApprovalModes struct {
	Ask    *ApprovalMode `key:"ask"` // or nil, as the others, where the program cannot do that
	Edits  *ApprovalMode `key:"edits"`
	Bypass *ApprovalMode `key:"bypass"`
	// Protocol has the program ask den about each use of a tool, by protocol: the
	// policy knows the word. nil where it does so anyway.
	Protocol *ApprovalMode `key:"protocol"`

	Cannot Env      `key:"cannot"` // why not, by word
	Also   []string `key:"also"`   // options and settings that are part of no mode, and decide what is asked

	// Harmless are words that have no part in what is asked: "--option",
	// "--option=" with any value, "--option=key" with a value that sets this key.
	Harmless []string `key:"harmless"`
	// HarmlessEnv are those of the vendor's variables that have no part in it,
	// either: keys, addresses, models. '*' stands for any characters.
	HarmlessEnv []string `key:"harmless_env"`
}

// An ApprovalMode is how a program is told one word of `approval`.
type ApprovalMode struct {
	Args []string `key:"args"`
	Env  Env      `key:"env"`
	Same []string `key:"same"` // "--option", "--option=value" or "setting=value": each means this mode, too
}

// A CopyEntry is a file or directory that is put into the work directory.
type CopyEntry struct {
	Src string `key:"src"`
	Dst string `key:"dst,rel_dst"` // below the work directory
}

// Pool makes one agent many.
type Pool struct {
	Min          int           `key:"min"`
	Max          int           `key:"max"`
	Check        string        `key:"check"` // prints how many are wanted, or "" for min
	DrainTimeout time.Duration `key:"drain_timeout"`
	CheckTimeout time.Duration `key:"check_timeout"`
}

// Restart says what den does when an agent ends by itself: quarantine after
// MaxRestarts within Window, a pause from Backoff to BackoffMax before each.
type Restart struct {
	Policy      string        `key:"policy"` // RestartAlways, RestartOnFailure or RestartNever
	MaxRestarts int           `key:"max_restarts"`
	Window      time.Duration `key:"window,restart_window"`
	Backoff     time.Duration `key:"backoff"`
	BackoffMax  time.Duration `key:"backoff_max"`
}

// When an agent that ended by itself is started again.
const (
	RestartAlways    = "always"
	RestartOnFailure = "on-failure" // exit status 0 is an end, not a failure
	RestartNever     = "never"
)

// Channel has what an agent needs to talk in channels.
type Channel struct {
	Backend    string   `key:"backend"` // whose protocol den speaks with it, "" for none; said where that is not the agent's own
	Model      string   `key:"model"`
	ModelFlag  string   `key:"model_flag"` // how the preset's command takes Model, or ""
	Thinking   string   `key:"thinking"`
	Channels   []string `key:"channels"`
	Tags       []string `key:"tags"`
	ACPCommand []string `key:"acp_command"`
	Options    Env      `key:"options"` // passed through to the backend

	SystemPrompt string `key:"system_prompt"` // added to the agent's own
	BufferSize   int    `key:"buffer_size"`   // messages that are kept of each channel; 0 means 500
	SleepStart   string `key:"sleep_start"`   // from then until SleepEnd no turn begins: "23:00", local time
	SleepEnd     string `key:"sleep_end"`

	// TurnSilence is how long a turn may print nothing; 0 means ten minutes.
	// The specification bounds the whole turn; see docs/channels.md.
	TurnSilence time.Duration    `key:"turn_silence,turn_timeout_seconds"`
	Owner       string           `key:"owner"`         // the account that decides what the agent asks for
	OwnerByNick bool             `key:"owner_by_nick"` // a nick of that name is enough
	Permissions []PermissionRule `key:"permissions"`
	// ApprovalExpiry is how long a question for permission stays open; 0 means
	// 15 minutes.
	ApprovalExpiry time.Duration `key:"approval_expiry"`
	Budget         Budget        `key:"budget"`
}

// PermissionRule decides what matches all of its conditions.
type PermissionRule struct {
	Outcome string `key:"outcome"` // allow, ask or deny
	Tool    string `key:"tool"`
	Kind    string `key:"kind"`
	Path    string `key:"path"`
	Command string `key:"command"`
	Host    string `key:"host"`
	Why     string `key:"why"`
	At      Origin // where it is written
}

// String is the rule as people read it.
func (r PermissionRule) String() string {
	text := r.Outcome
	for _, c := range []struct{ name, value string }{{"tool", r.Tool}, {"kind", r.Kind}, {"path", r.Path}, {"command", r.Command}, {"host", r.Host}} {
		if c.value != "" {
			text += " " + c.name + " '" + c.value + "'"
		}
	}
	return text
}

// Budget is the most that an agent may use. 0 is no limit.
type Budget struct {
	TokensPerHour int     `key:"tokens_per_hour"`
	CostPerHour   float64 `key:"cost_per_hour"`
	TurnsPerHour  int     `key:"turns_per_hour"`
	TokensPerDay  int     `key:"tokens_per_day"`
	CostPerDay    float64 `key:"cost_per_day"`
	TurnsPerDay   int     `key:"turns_per_day"`
}
