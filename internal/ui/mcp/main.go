package mcp

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/agent/harness/ipc"
	"den/internal/base/atomicfile"
	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/base/httpguard"
	"den/internal/base/mcpserver"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/terminals"
	"den/internal/ui/served"
)

// options are what the command line says.
type options struct {
	home, den, dir, shell string
	http                  bool
	addr                  string
	tokenFile             string
	json                  bool
	useOthers, keep       bool
	goneAfter             time.Duration
	limits                terminals.Limits
}

// Main runs 'dend mcp' with the arguments after that word: it serves one client
// on stdio, or those that come over HTTP, and returns the process status.
func Main(args, environ []string, stdout, stderr io.Writer) int {
	o := options{limits: terminals.DefaultLimits()}
	f := flag.NewFlagSet("dend mcp", flag.ContinueOnError)
	f.StringVar(&o.home, "home", "", "the Home `DIR` that holds the sessions (default $DEN_HOME, else ~/.den)")
	f.StringVar(&o.den, "den", "", "the den `BINARY` (default: beside dend)")
	f.StringVar(&o.dir, "cwd", "", "where terminals start, a `DIR` (default: here)")
	f.StringVar(&o.shell, "shell", "", "the `SHELL` of terminals (default $SHELL)")
	f.BoolVar(&o.http, "http", false, "serve HTTP instead of stdio")
	f.StringVar(&o.tokenFile, "token-file", "", "the `FILE` of the token for HTTP (default: in the Home)")
	f.BoolVar(&o.useOthers, "use-others", false, "let clients use terminals that are not theirs")
	f.BoolVar(&o.keep, "keep", false, "leave terminals running when their client goes")
	f.IntVar(&o.limits.Terminals, "max-terminals", o.limits.Terminals, "of a client, at a time")
	f.IntVar(&o.limits.Output, "max-output", o.limits.Output, "`BYTES` of output in an answer")
	f.Int64Var(&o.limits.Log, "log-limit", o.limits.Log, "`BYTES` of a terminal's recording")
	f.DurationVar(&o.limits.Idle, "idle", o.limits.Idle, "close terminals that nobody used for so long")
	f.DurationVar(&o.goneAfter, "gone-after", 5*time.Minute, "take clients over HTTP that have no stream, and ask nothing for so long, for gone")
	usage := "Usage: dend mcp [flags] [ADDR]\n\nServe terminals to MCP clients, on stdio or over HTTP on ADDR."
	return served.Main(f, usage, args, stdout, stderr, func(ctx context.Context, words []string, asJSON bool) error {
		if len(words) > 1 || len(words) == 1 && !o.http {
			return fault.Errorf(fault.Usage, "one address, with --http, not %q", words)
		}
		if len(words) == 1 {
			o.addr = words[0]
		}
		o.json = asJSON
		// A client that was killed reads no answers: that must not kill us before
		// its terminals are closed. Caught and not ignored, or programs in terminals
		// would ignore it too.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		return serve(ctx, o, environ, os.Stdin, stdout, stderr)
	})
}

// serve is the life of the process.
func serve(ctx context.Context, o options, environ []string, stdin io.ReadCloser, stdout, stderr io.Writer) error {
	getenv := environment.Getter(environ)
	words := log.New(stderr, "den mcp: ", log.LstdFlags|log.LUTC|log.Lmsgprefix)
	to, err := terminalOptions(o, environ, words)
	if err != nil {
		return err
	}
	offered, said := offer(o, getenv)
	s := mcpserver.New(mcpserver.Options[*terminals.Client]{
		Name: "den", Version: build.Version, Instructions: said, Tools: offered, Resources: resources(), Log: words,
		Connect:    func(by string) (*terminals.Client, error) { return terminals.New(to, by) },
		MaxClients: maxClients, SessionIdle: to.Limits.Idle, Silence: o.goneAfter,
	})
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { tidy(ctx, s, to, words) })
	if !o.http {
		return s.Stdio(ctx, stdin, stdout)
	}
	token, file, err := loadToken(getenv, cmp.Or(o.tokenFile, filepath.Join(to.Home.Path, "mcp-token")))
	if err != nil {
		return err
	}
	l, err := mcpserver.Listen(ctx, o.addr)
	if err != nil {
		return err
	}
	if err := announce(stdout, mcpserver.URL(l), file, o.json); err != nil {
		return errors.Join(err, l.Close())
	}
	return s.HTTP(ctx, l, token)
}

// offer is the list of tools and the instructions. An agent of a harness, which
// the harness names in the environment, has channels too. Clients over HTTP may
// be anybody, and are not that agent.
func offer(o options, getenv func(string) string) (list []tool, said string) {
	socket, err := ipc.Find("", getenv)
	if err != nil || o.http {
		return tools(), instructions
	}
	return append(tools(), channelTools(socket)...), instructions + channelInstructions
}

// maxClients bounds the clients of a server over HTTP.
const maxClients = 64

// terminalOptions is what the terminals of all clients have in common.
func terminalOptions(o options, environ []string, words *log.Logger) (terminals.Options, error) {
	getenv := environment.Getter(environ)
	root, err := home.ResolveHome(o.home, getenv)
	if err != nil {
		return terminals.Options{}, err
	}
	if err := root.CheckReadable(); err != nil {
		return terminals.Options{}, err
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return terminals.Options{}, fmt.Errorf("--cwd: %w", err)
	}
	if o.den == "" {
		self, err := os.Executable()
		if err != nil {
			return terminals.Options{}, fmt.Errorf("find this binary: %w", err)
		}
		o.den = filepath.Join(filepath.Dir(self), "den")
	}
	return terminals.Options{
		Home: root, Prefix: "mcp", Environ: withoutToken(environ), Dir: dir, Shell: []string{cmp.Or(o.shell, session.Shell(getenv))},
		UseOthers: o.useOthers, Keep: o.keep, Limits: o.limits,
		Session: session.Options{Version: build.Version, Binary: o.den, Registry: home.NewRegistry(getenv), Warn: func(err error) { words.Print(err) }},
	}, nil
}

// withoutToken is the environment of programs: they have no use for the token.
func withoutToken(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, TokenVariable+"=") })
}

// tidy ends what clients that were killed left, and then, now and again,
// terminals that nobody uses.
func tidy(ctx context.Context, s *mcpserver.Server[*terminals.Client], o terminals.Options, words *log.Logger) {
	if err := terminals.CloseOrphans(ctx, o); err != nil && ctx.Err() == nil {
		words.Print(err)
	}
	if o.Limits.Idle <= 0 {
		return
	}
	tick := time.NewTicker(min(time.Minute, max(o.Limits.Idle/8, 10*time.Millisecond)))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, c := range s.Clients() {
				if err := c.CloseIdle(ctx, now); err != nil && ctx.Err() == nil {
					words.Print(err)
				}
			}
		}
	}
}

// announce tells where the server is. The token is not shown: its file is
// named.
func announce(w io.Writer, url, tokenFile string, asJSON bool) error {
	object, text := map[string]string{"url": url, "token_file": tokenFile}, url+"\nthe token is in "+tokenFile
	if tokenFile == "" {
		delete(object, "token_file")
		text = url + "\nthe token is that of " + TokenVariable
	}
	return served.Announce(w, "server", asJSON, object, text)
}

const (
	// TokenVariable names the environment variable that may hold the token.
	TokenVariable = "DEN_MCP_TOKEN"
	minToken      = 16      // characters
	maxToken      = 4 << 10 // bytes of a file
)

// loadToken returns the token for HTTP: from the environment, else from a file,
// which is made if it is not there. It returns the file, or "".
func loadToken(getenv func(string) string, path string) (token, file string, err error) {
	if token := getenv(TokenVariable); token != "" {
		return token, "", checkToken(token, TokenVariable)
	}
	if token, err = readToken(path); !errors.Is(err, fs.ErrNotExist) {
		return token, path, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", "", fault.Errorf(fault.KindOf(err), "keep the token: %w", err)
	}
	token = httpguard.NewToken()
	if err := atomicfile.Write(path, []byte(token+"\n")); err != nil {
		return "", "", fault.Errorf(fault.KindOf(err), "keep the token: %w", err)
	}
	return token, path, nil
}

// readToken reads a token that others cannot read.
func readToken(path string) (string, error) {
	raw, err := atomicfile.Read(path, maxToken)
	if errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err != nil {
		return "", fault.Errorf(fault.KindOf(err), "read the token: %w", err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		return "", fault.Errorf(fault.KindOf(err), "read the token: %w", err)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return "", fault.Hintf(fault.Errorf(fault.Denied, "other users can read the token in %s", path), "'chmod 600 %s', and a new token, keep them out", path)
	}
	token := strings.TrimSpace(string(raw))
	return token, checkToken(token, path)
}

// checkToken refuses what could be guessed or cannot stand in a header. The
// error does not show it.
func checkToken(token, from string) error {
	if len(token) < minToken {
		return fault.Errorf(fault.Usage, "the token in %s is shorter than %d characters", from, minToken)
	}
	for _, r := range token {
		if r <= ' ' || r > '~' {
			return fault.Errorf(fault.Usage, "the token in %s has characters that a header cannot carry", from)
		}
	}
	return nil
}
