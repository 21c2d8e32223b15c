package agent

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/conversation/protocol"
	"den/internal/agent/conversation/screen"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/provider"
	"den/internal/place/sandbox"
)

// Keys of what is kept beside a session.
const (
	MetaFingerprint = "den.fingerprint"
	MetaLife        = "den.life" // differs between two starts
	MetaStarting    = "den.starting"
	MetaSetup       = "den.setup"
	MetaDrain       = "den.drain"   // when and why it was asked to finish
	MetaDrained     = "den.drained" // set by the agent: it has
)

// NameEnv is the environment variable that holds the agent's name in its
// session.
const NameEnv = "DEN_AGENT"

// Options makes a Managed.
type Options struct {
	Workspace     string // its name
	WorkspaceFile string // absolute: den's commands inside the session find the workspace by it
	Name          string // qualified
	Session       string
	Provider      provider.Provider
	Config        SessionConfig
	Nudges        *outbox.Queue
	Timing        screen.Timing
	Source        conversation.Source      // of the state of an agent on a screen; or nil
	Harness       *protocol.Harness        // drives it by its protocol; nil: den talks on its screen
	PrepareSource Preparer                 // or nil: the command is started as it is
	HandIn        Preparer                 // or nil; adds what the agent must not be started without
	OnState       func(conversation.State) // called with every change; or nil
	// MakeDir makes the work directory before anything else of a start, and
	// returns what there is to say of it; or nil: it is there.
	MakeDir func(ctx context.Context) (string, error)
	// Confine keeps the agent's processes in a sandbox; or nil.
	Confine Confiner
	Clock   func() time.Time // nil means time.Now
}

// A Confiner keeps the processes of an agent in a sandbox.
type Confiner interface {
	// Prepare is called once a start, before the first of them, and returns
	// what holds the sandbox.
	Prepare(ctx context.Context) (string, error)
	// Await is called before the session is made, and returns what tells
	// whether its command was executed in the sandbox.
	Await() (*sandbox.Entry, error)
	// Started is called when the session is there.
	Started() error
	// Wrap returns the command that becomes argv in the sandbox.
	Wrap(argv []string) []string
	// Explain says which words of a program come from the sandbox, and why.
	Explain(text string) []string
}

// A Preparer adds to a start what the source of the agent's state needs, or what
// else den hands in. The variables may be secrets. An error says why it cannot;
// without its source an agent is started as it is, and its state comes from its
// screen.
type Preparer func(argv []string) (prepared []string, env map[string]string, err error)

// Managed is an agent over any provider.
type Managed struct {
	Conversation
	workspace     string
	workspaceFile string
	name          string
	session       string
	provider      provider.Provider
	config        SessionConfig
	nudges        *outbox.Queue
	launch        Preparer                                  // or nil
	handIn        Preparer                                  // or nil
	makeDir       func(ctx context.Context) (string, error) // or nil
	confine       Confiner                                  // or nil
	screen        *screen.Conversation                      // of its session: how it comes up is seen there
	clock         func() time.Time

	mu     sync.Mutex        // guards the fields below
	last   []Step            // of the last start
	now    string            // the step of a start that is under way, or ""
	values map[string]string // the user's variables, secrets read, while a start runs; or nil
	known  map[string]string // as values, of the last time they were read; or nil
}

// New makes an agent. It starts nothing.
func New(o Options) (*Managed, error) {
	if err := provider.CheckName(o.Session); err != nil {
		return nil, fmt.Errorf("agent '%s': %w", o.Name, err)
	}
	switch {
	case len(o.Config.Command) == 0:
		return nil, fault.Errorf(fault.Usage, "agent '%s' has no command", o.Name)
	case o.Nudges == nil:
		return nil, fault.Errorf(fault.Internal, "agent '%s' has no queue for its nudges", o.Name)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Config.StartupTimeout == 0 {
		o.Config.StartupTimeout = time.Minute
	}
	m := &Managed{workspace: o.Workspace, workspaceFile: o.WorkspaceFile, name: o.Name, session: o.Session, provider: o.Provider, config: o.Config, nudges: o.Nudges, launch: o.PrepareSource, handIn: o.HandIn, makeDir: o.MakeDir, confine: o.Confine, clock: o.Clock}
	m.screen = screen.New(screen.Options{
		Agent: o.Name, Session: o.Session, Provider: o.Provider, Queue: o.Nudges, Hints: o.Config.screenHints(), Timing: o.Timing,
		Source: o.Source, OnState: o.OnState,
		Ended: m.ended, StartCutOff: m.startCutOff, Life: m.life, Clock: o.Clock,
	})
	m.Conversation = m.screen
	if o.Harness != nil {
		m.Conversation = protocol.New(protocol.Options{Agent: o.Name, Harness: *o.Harness, Queue: o.Nudges, Session: m.screen, OnState: o.OnState})
	}
	return m, nil
}

// Name is the qualified name.
func (m *Managed) Name() string { return m.name }

// SessionName is the name of its session.
func (m *Managed) SessionName() string { return m.session }

// DenSession is the session's name for den's own verbs, "" where they do not
// work on it.
func (m *Managed) DenSession() string {
	if p, ok := m.provider.(provider.InHome); ok {
		return p.DenSession(m.session)
	}
	return ""
}

// address is what set-up commands call the session: a name that den's verbs
// take, where they do.
func (m *Managed) address() string {
	if name := m.DenSession(); name != "" {
		return name
	}
	return m.session
}

// SessionConfig is what its session is made of.
func (m *Managed) SessionConfig() SessionConfig { return m.config }

// IsRunning asks for the session first and then for its processes.
func (m *Managed) IsRunning(ctx context.Context) (bool, error) {
	running, err := m.provider.IsRunning(ctx, m.session)
	if err != nil || !running || len(m.config.Hints.ProcessNames) == 0 {
		return running, err
	}
	alive, err := m.processAlive(ctx)
	if err != nil || alive {
		return alive, err
	}
	// A program that another takes the place of is not there for a moment.
	if err := poll.Pause(ctx, secondLook); err != nil {
		return false, err
	}
	return m.processAlive(ctx)
}

// secondLook is how long after the first an agent's processes are looked for
// again before they are taken for gone.
const secondLook = 100 * time.Millisecond

func (m *Managed) processAlive(ctx context.Context) (bool, error) {
	alive, err := m.provider.ProcessAlive(ctx, m.session, m.config.Hints.ProcessNames)
	if fault.KindOf(err) == fault.Unsupported {
		return true, nil // the provider cannot tell processes: the session is all there is
	}
	return alive, err
}

// Stop ends the session.
func (m *Managed) Stop(ctx context.Context) error { return m.provider.Stop(ctx, m.session) }

// Interrupt is Ctrl-C.
func (m *Managed) Interrupt(ctx context.Context) error { return m.provider.Interrupt(ctx, m.session) }

// Attach joins a person's terminal.
func (m *Managed) Attach(ctx context.Context, in, out *os.File) error {
	return m.provider.Attach(ctx, m.session, in, out)
}

// Peek returns the last n lines.
func (m *Managed) Peek(ctx context.Context, n int) (string, error) {
	return m.provider.Peek(ctx, m.session, n)
}

// Held says why the agent must be left alone now, "" for no reason: a person
// is at its terminal, or it asks somebody for a decision.
func (m *Managed) Held(ctx context.Context) (string, error) {
	if t, ok := m.provider.(provider.OnTerminal); ok {
		n, _, err := t.Attached(ctx, m.session)
		if err != nil && fault.KindOf(err) != fault.Unsupported {
			return "", err
		}
		if n > 0 {
			return "somebody is attached", nil
		}
	}
	asks, err := m.screen.Asks(ctx)
	if err != nil || !asks {
		return "", err
	}
	return "it asks for a decision", nil
}

// LastWrite is when it last wrote something.
func (m *Managed) LastWrite(ctx context.Context) (time.Time, error) {
	at, err := m.provider.GetLastActivity(ctx, m.session)
	if fault.KindOf(err) == fault.Unsupported {
		return time.Time{}, nil
	}
	return at, err
}

// Exit is how it ended, nil while it runs and where that is not known.
func (m *Managed) Exit(ctx context.Context) (*provider.Exit, error) {
	exit, err := m.provider.Exit(ctx, m.session)
	if k := fault.KindOf(err); k == fault.NotFound || k == fault.Unsupported {
		return nil, nil
	}
	return exit, err
}

// Fingerprint is of the configuration as it should be.
func (m *Managed) Fingerprint() Fingerprint { return FingerprintOf(m.config) }

// StartStep returns the step of a start that is under way, "" for none.
func (m *Managed) StartStep() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *Managed) setStartStep(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = name
}

// LastStart returns the steps of the last start of this Managed.
func (m *Managed) LastStart() []Step {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Step(nil), m.last...)
}

// environ is the session's environment: the user's with den's names on top.
// Secrets are read once a start.
func (m *Managed) environ(ctx context.Context) (map[string]string, error) {
	m.mu.Lock()
	values := m.values
	m.mu.Unlock()
	if values == nil {
		var err error
		if values, err = ResolveEnv(ctx, m.config.Env, m.config.secretsDir()); err != nil {
			return nil, err
		}
		m.mu.Lock()
		m.values, m.known = values, values
		m.mu.Unlock()
	}
	env := sandbox.Chosen(os.Environ(), m.config.SandboxEnv)
	maps.Copy(env, values)
	env[NameEnv] = m.name
	env["DEN_WORKSPACE"] = m.workspaceFile
	env["DEN_WORKSPACE_NAME"] = m.workspace
	if m.config.Index > 0 {
		env["DEN_POOL_INDEX"] = strconv.Itoa(m.config.Index)
	}
	// An agent may write files, and git takes a directory with a few of them for
	// a repository, and runs what its configuration says. Not so here, unless
	// the user has git's settings in the environment: there is one list of them.
	if env["GIT_CONFIG_COUNT"] == "" && os.Getenv("GIT_CONFIG_COUNT") == "" {
		env["GIT_CONFIG_COUNT"], env["GIT_CONFIG_KEY_0"], env["GIT_CONFIG_VALUE_0"] = "1", "safe.bareRepository", "explicit"
	}
	return env, nil
}

// forgetSecrets lets the next start read them anew.
func (m *Managed) forgetSecrets() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values = nil
}

// hidden takes the secrets that were read last out of text that is kept.
func (m *Managed) hidden(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return hideSecrets(text, m.config.Env, m.known)
}

// LastText is Peek for records: without the agent's secrets. Where these cannot
// be read, its text is not told.
func (m *Managed) LastText(ctx context.Context, n int) (string, error) {
	text, err := m.Peek(ctx, n)
	if err != nil || len(m.config.Env.Secrets) == 0 {
		return text, err
	}
	m.mu.Lock()
	known := m.known
	m.mu.Unlock()
	if known == nil { // another process started it
		if known, err = ResolveEnv(ctx, m.config.Env, m.config.secretsDir()); err != nil {
			return "", fmt.Errorf("the text may hold secrets, and these could not be read: %w", err)
		}
		m.mu.Lock()
		m.known = known
		m.mu.Unlock()
	}
	return m.hidden(text), nil
}
