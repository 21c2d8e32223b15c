package acceptance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpClient is a client of MCP for scripts: it reads calls from stdin, one JSON
// object a line, and prints what the tools answer. Its arguments are those of
// 'den mcp', which it starts; or '--server FILE', what 'den mcp --http -j'
// printed. With '--vanish FILE' it has no stream, and goes without a word.
func mcpClient() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	transport := mcp.Transport(&mcp.CommandTransport{Command: mcpCommand(os.Args[1:])})
	vanish := len(os.Args) == 3 && os.Args[1] == "--vanish"
	if vanish || len(os.Args) == 3 && os.Args[1] == "--server" {
		over, err := mcpOverHTTP(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		over.DisableStandaloneSSE = vanish
		transport = over
	}
	if err := callAll(ctx, transport, os.Stdin, os.Stdout, !vanish); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func mcpCommand(args []string) *exec.Cmd {
	cmd := exec.Command("den", append([]string{"mcp"}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// mcpOverHTTP reaches a server by what it printed.
func mcpOverHTTP(file string) (*mcp.StreamableClientTransport, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var printed struct {
		URL       string `json:"url"`
		TokenFile string `json:"token_file"`
	}
	if err := json.Unmarshal(raw, &printed); err != nil {
		return nil, err
	}
	token, err := os.ReadFile(printed.TokenFile)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: bearer(strings.TrimSpace(string(token)))}
	return &mcp.StreamableClientTransport{Endpoint: printed.URL, HTTPClient: client}, nil
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// callAll makes the calls one after the other, and says goodbye or not.
func callAll(ctx context.Context, transport mcp.Transport, in io.Reader, out io.Writer, goodbye bool) (err error) {
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "script", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	if goodbye {
		defer func() { err = errors.Join(err, cs.Close()) }()
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var call struct {
			Tool      string         `json:"tool"`
			Arguments map[string]any `json:"arguments"`
		}
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			return fmt.Errorf("%w: %s", err, lines.Bytes())
		}
		r, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: call.Tool, Arguments: call.Arguments})
		if err != nil {
			return err
		}
		if err := printAnswer(out, r); err != nil {
			return err
		}
	}
	return nil
}

func printAnswer(out io.Writer, r *mcp.CallToolResult) error {
	begin := ""
	if r.IsError {
		begin = "error: "
	}
	for _, c := range r.Content {
		words := fmt.Sprintf("%T", c)
		switch c := c.(type) {
		case *mcp.TextContent:
			words = c.Text
		case *mcp.ImageContent:
			words = c.MIMEType
		}
		if _, err := fmt.Fprintln(out, begin+words); err != nil {
			return err
		}
	}
	return nil
}
