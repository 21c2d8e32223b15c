package codex

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/fault"
)

// Endpoint is how the server of a running codex is reached.
type Endpoint struct {
	Socket string `json:"socket"`
}

// launchScript starts the server, then the screen on it, and ends the server
// with the screen. A codex without such a server, or one that does not come up
// within ten seconds, runs as it would without den.
const launchScript = `%[1]s </dev/null >%[2]s 2>&1 &
server=$!
tries=0
while [ ! -S %[3]s ] && [ $tries -lt 200 ] && kill -0 $server 2>/dev/null; do
	sleep 0.05
	tries=$((tries+1))
done
if [ -S %[3]s ]; then
	%[4]s
else
	kill $server 2>/dev/null
	%[5]s
fi
code=$?
kill $server 2>/dev/null
wait $server
exit $code
`

// subcommands are those of codex that do something else than its screen, or
// that take --remote elsewhere.
var subcommands = []string{
	"agents", "exec", "e", "review", "login", "logout", "mcp", "plugin", "app-server", "remote-control", "completion", "update", "doctor",
	"sandbox", "debug", "apply", "a", "queue", "archive", "delete", "migrate-rollouts", "migrate-nfs-db", "unarchive", "cloud", "exec-server", "features", "help",
}

// Launch returns the endpoint of a codex that is about to be started with
// argv, and the command to start instead. The socket and the server's log go
// below dir.
func Launch(argv []string, dir string) (Endpoint, []string, error) {
	if len(argv) > 1 && slices.Contains(subcommands, argv[1]) {
		return Endpoint{}, nil, fault.Errorf(fault.Unsupported, "'codex %s' has no screen of its own", argv[1])
	}
	if slices.ContainsFunc(argv, func(arg string) bool { return arg == "--remote" || strings.HasPrefix(arg, "--remote=") }) {
		return Endpoint{}, nil, fault.Errorf(fault.Unsupported, "its command has a --remote of its own")
	}
	e := Endpoint{Socket: filepath.Join(dir, "codex.sock")}
	server := append([]string{argv[0], "app-server", "--listen", "unix://" + e.Socket}, configArgs(argv[1:])...)
	screen := append([]string{argv[0], "--remote", "unix://" + e.Socket}, argv[1:]...)
	script := fmt.Sprintf(launchScript, quoteAll(server), quote(filepath.Join(dir, "codex.log")), quote(e.Socket), quoteAll(screen), quoteAll(argv))
	return e, []string{"sh", "-c", script}, nil
}

// configArgs picks the arguments that configure the server, too.
func configArgs(args []string) []string {
	var picked []string
	for i, arg := range args {
		name, _, joined := strings.Cut(arg, "=")
		if arg == "--" {
			break
		}
		if !slices.Contains([]string{"-c", "--config", "--enable", "--disable"}, name) {
			continue
		}
		picked = append(picked, arg)
		if !joined && i+1 < len(args) {
			picked = append(picked, args[i+1])
		}
	}
	return picked
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// quote makes a word that a shell takes as it is.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
