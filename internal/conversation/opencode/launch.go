package opencode

import (
	"crypto/rand"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/fault"
)

// Endpoint is how a running opencode is reached. It holds a secret: it is
// kept in a file for its owner only, and never printed.
type Endpoint struct {
	Port     int    `json:"port"`
	Password string `json:"password"`
	// Session is the one that opencode was told to open, or "".
	Session string `json:"session,omitempty"`
	// Continue says that it was told to open its last one.
	Continue bool      `json:"continue,omitempty"`
	Started  time.Time `json:"started"`
}

// PasswordVariable hands opencode the password of its server.
const PasswordVariable = "OPENCODE_SERVER_PASSWORD"

// subcommands are those of opencode that do something else than its screen.
var subcommands = []string{"acp", "attach", "auth", "db", "debug", "export", "github", "import", "mcp", "models", "plugin", "pr", "run", "serve", "session", "stats", "web"}

// Launch returns the endpoint of an opencode that is about to be started with
// argv, and the arguments that it needs for that. Who chose a port of their
// own keeps it, and there is no endpoint then.
func Launch(argv []string, at time.Time) (Endpoint, []string, error) {
	if len(argv) > 1 && slices.Contains(subcommands, argv[1]) {
		return Endpoint{}, nil, fault.Errorf(fault.Unsupported, "'opencode %s' has no screen of its own", argv[1])
	}
	e := Endpoint{Password: rand.Text(), Started: at}
	for i, arg := range argv {
		name, value, joined := strings.Cut(arg, "=")
		switch name {
		case "--port":
			return Endpoint{}, nil, fault.Errorf(fault.Unsupported, "its command has a --port of its own")
		case "-s", "--session":
			if !joined && i+1 < len(argv) {
				value = argv[i+1]
			}
			e.Session = value
		case "-c", "--continue":
			e.Continue = true
		}
	}
	port, err := freePort()
	if err != nil {
		return Endpoint{}, nil, err
	}
	e.Port = port
	return e, []string{"--port", strconv.Itoa(port)}, nil
}

// freePort asks the system for one that nobody uses now. Somebody may take it
// before opencode does: it ends then, and is started again with another.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fault.Errorf(fault.Unreachable, "choose a port for opencode: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return 0, fault.Errorf(fault.Unreachable, "choose a port for opencode: %w", err)
	}
	return port, nil
}
