package opencode

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
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

// Ports below those that the system gives to whoever asks for any: opencode
// takes seconds before it listens, and another one may be given away meanwhile.
const (
	firstPort = 20000
	lastPort  = 32000
	portTries = 100
)

// freePort finds one that nobody uses now.
func freePort() (int, error) {
	var problem error
	for range portTries {
		port := firstPort + mathrand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			err = l.Close()
		}
		if err == nil {
			return port, nil
		}
		problem = err
	}
	return 0, fault.Errorf(fault.Unreachable, "choose a port for opencode: %w", problem)
}
