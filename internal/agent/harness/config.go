package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"den/internal/agent/budget"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/permission"
	"den/internal/base/fault"
	"den/internal/base/statefile"
	"den/internal/place/sandbox"
)

const configVersion = 1

// Config is what a keeper tells a harness. It is a file in the harness's state
// directory; secrets are not in it, but in the environment.
type Config struct {
	V         int    `json:"v"`
	Workspace string `json:"workspace"`
	Agent     string `json:"agent"` // its name in the workspace
	Nick      string `json:"nick"`
	Dir       string `json:"dir"` // where the agent works

	Backend      string            `json:"backend"` // claude, codex, copilot, acp, script
	Command      []string          `json:"command,omitempty"`
	Model        string            `json:"model,omitempty"`
	Thinking     string            `json:"thinking,omitempty"`
	SystemPrompt string            `json:"system_prompt,omitempty"`
	Options      map[string]string `json:"options,omitempty"`
	TurnSilence  time.Duration     `json:"turn_silence,omitempty"`
	Initial      string            `json:"initial,omitempty"` // the first prompt of a first start
	Quiet        QuietHours        `json:"quiet,omitzero"`
	BufferSize   int               `json:"buffer_size,omitempty"` // messages that are kept of each channel; 0 means 500

	Server   Server   `json:"server"`
	Channels []string `json:"channels,omitempty"`
	Tags     []string `json:"tags,omitempty"`

	// Owner is the account that is asked for permissions and decides.
	Owner       string            `json:"owner,omitempty"`
	OwnerByNick bool              `json:"owner_by_nick,omitempty"` // a nick of that name is enough
	Permissions []permission.Rule `json:"permissions,omitempty"`
	Bypass      bool              `json:"bypass,omitempty"`    // what no rule decides is allowed; see permission.Settings
	AskEdits    bool              `json:"ask_edits,omitempty"` // changes of files are asked for; see permission.Settings
	// Protected are files besides its own state that the agent must not change:
	// they decide who decides.
	Protected []string `json:"protected,omitempty"`
	// Decisive is the file with the list of those that the workspace is made of,
	// which the keeper keeps up to date; or "".
	Decisive string `json:"decisive,omitempty"`
	// ApprovalExpiry is how long a question for permission stays open; 0
	// means 15 minutes.
	ApprovalExpiry time.Duration `json:"approval_expiry,omitempty"`

	Budget     budget.Limits `json:"budget,omitzero"`
	Supervisor Supervision   `json:"supervisor,omitzero"`
	Webhook    Webhook       `json:"webhook,omitzero"`

	Den string `json:"den"` // the den binary, for the agent's PATH

	// Sandbox keeps the agent's processes on this machine, or is nil.
	Sandbox *sandbox.Policy `json:"sandbox,omitempty"`

	Box *Box `json:"box,omitempty"` // or nil: the agent's own processes run on this machine
}

// Box is the container in which an agent's own processes run.
type Box struct {
	Kind    string `json:"kind,omitempty"` // of its provider; "" means a container
	Session string `json:"session"`        // its name with that provider
	Owner   string `json:"owner"`          // of the session
	Home    string `json:"home"`
	// Engine and Brand are the engine's as the workspace file has them, and
	// EngineEnv the variables by which it is found otherwise.
	Engine    string            `json:"engine,omitempty"`
	Brand     string            `json:"brand,omitempty"`
	EngineEnv map[string]string `json:"engine_env,omitempty"`
	// Cluster is the one of a pod, as the workspace file has it.
	Cluster *Cluster `json:"cluster,omitempty"`
	// Socket is where the agent finds the harness's socket, "" where that is the
	// same path; see Options.Relay.
	Socket string `json:"socket,omitempty"`
	// Env names the variables of the harness that the agent gets.
	Env []string `json:"env,omitempty"`
}

// Cluster says where pods are.
type Cluster struct {
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
}

// SocketPath is where the harness listens.
func (c Config) SocketPath(stateDir string, getenv func(string) string) (string, error) {
	if c.Box != nil {
		return ipc.BoxSocketPath(stateDir, getenv)
	}
	return ipc.OwnSocketPath(stateDir, getenv)
}

// Supervision is how the agent is supervised.
type Supervision struct {
	Backend   string   `json:"backend,omitempty"` // whose judgement; "" and "rules" for fixed rules
	Command   []string `json:"command,omitempty"`
	Model     string   `json:"model,omitempty"`
	Thinking  string   `json:"thinking,omitempty"`
	Window    int      `json:"window,omitempty"`
	Every     int      `json:"every,omitempty"`
	Threshold int      `json:"threshold,omitempty"`
	// Instructions replace den's own, for a judge that is an agent.
	Instructions string `json:"instructions,omitempty"`
}

// Webhook is who outside of the channels is told.
type Webhook struct {
	URL       string   `json:"url,omitempty"`
	SecretEnv string   `json:"secret_env,omitempty"` // the variable with the key of signatures
	Channel   string   `json:"channel,omitempty"`    // where it is said, too
	Events    []string `json:"events,omitempty"`
}

// Server is where the channels are.
type Server struct {
	Address  string `json:"address,omitempty"` // host:port, or the path of a socket; "" for no channels
	Own      bool   `json:"own,omitempty"`     // the keeper's: it takes more at once than others
	TLS      bool   `json:"tls,omitempty"`
	Insecure bool   `json:"insecure,omitempty"` // any certificate
	Account  string `json:"account,omitempty"`
	// PasswordEnv names the variable with the account's password.
	PasswordEnv string `json:"password_env,omitempty"`
	// PasswordFile has the secret by which the server knows the agent, if it is
	// the keeper's.
	PasswordFile string `json:"password_file,omitempty"`
}

func configFile(stateDir string) string { return filepath.Join(stateDir, "config.json") }

// Save writes the configuration for the harness's next start.
func (c Config) Save(stateDir string) error {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return fault.Errorf(fault.Storage, "make the harness's directory: %w", err)
	}
	if err := statefile.Save(configFile(stateDir), configVersion, c); err != nil {
		return fault.Errorf(fault.Storage, "write the harness's configuration: %w", err)
	}
	return nil
}

// Load reads the configuration.
func Load(stateDir string) (Config, error) {
	c, found, err := statefile.Load[Config](configFile(stateDir), configVersion, statefile.Large)
	if err == nil && !found {
		err = fault.Errorf(fault.Internal, "there is no %s", configFile(stateDir))
	}
	if fault.KindOf(err) == fault.Protocol {
		err = fault.Hintf(err, "use one den for the whole workspace")
	}
	if err != nil {
		return c, fmt.Errorf("read the harness's configuration: %w", err)
	}
	return c, nil
}
