package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/mcpserver"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// patience bounds what must happen; nothing waits for it to pass.
const patience = 2 * time.Minute

// visitor is what belongs to a client.
type visitor struct {
	by     string
	closed chan struct{}
}

func (v *visitor) Close(context.Context) error {
	close(v.closed)
	return nil
}

// house is a server and its visitors.
type house struct {
	t        *testing.T
	server   *mcpserver.Server[*visitor]
	visitors chan *visitor // as they come
	begun    chan struct{} // a token for each call of hang that has begun
	ended    chan error    // what hang's context said
}

func newHouse(t *testing.T, change ...func(*mcpserver.Options[*visitor])) *house {
	h := &house{t: t, visitors: make(chan *visitor, 100), begun: make(chan struct{}, 100), ended: make(chan error, 100)}
	const anything = `{"type":"object"}`
	o := mcpserver.Options[*visitor]{
		Name: "test", Version: "1", Instructions: "words",
		Tools: []mcpserver.Tool[*visitor]{
			{Name: "echo", Description: "echo", Schema: anything, Output: anything, Hints: mcpserver.Hints{ReadOnly: true, Closed: true}, Call: func(_ context.Context, v *visitor, call mcpserver.Call) (mcpserver.Answer, error) {
				return mcpserver.Answer{Text: v.by, PNG: []byte("picture"), Value: map[string]json.RawMessage{"arguments": call.Arguments}}, nil
			}},
			{Name: "fail", Description: "fail", Schema: anything, Call: func(context.Context, *visitor, mcpserver.Call) (mcpserver.Answer, error) {
				return mcpserver.Answer{}, fault.Hintf(fault.Errorf(fault.Busy, "it is busy"), "try later")
			}},
			{Name: "hang", Description: "hang", Schema: anything, Hints: mcpserver.Hints{Additive: true, Idempotent: true}, Call: func(ctx context.Context, _ *visitor, call mcpserver.Call) (mcpserver.Answer, error) {
				if call.Report != nil {
					call.Report("half way")
				}
				h.begun <- struct{}{}
				<-ctx.Done()
				h.ended <- ctx.Err()
				return mcpserver.Answer{}, ctx.Err()
			}},
		},
		Resources: &mcpserver.Resources[*visitor]{
			Templates: []mcpserver.Resource{{URI: "test://{name}", Name: "a thing", MIMEType: "text/plain"}},
			List: func(_ context.Context, v *visitor) ([]mcpserver.Resource, error) {
				return []mcpserver.Resource{{URI: "test://" + strings.Fields(v.by)[0], Name: "it", MIMEType: "text/plain"}}, nil
			},
			Read: func(_ context.Context, v *visitor, uri string) (string, error) {
				if uri != "test://"+strings.Fields(v.by)[0] {
					return "", fault.Errorf(fault.NotFound, "no %s", uri)
				}
				return "text of " + v.by, nil
			},
		},
		Connect: func(by string) (*visitor, error) {
			v := &visitor{by: by, closed: make(chan struct{})}
			h.visitors <- v
			return v, nil
		},
	}
	for _, c := range change {
		c(&o)
	}
	h.server = mcpserver.New(o)
	return h
}

// stdio serves on pipes; the returned func waits for the server's end.
func (h *house) stdio(ctx context.Context) (sdk.Transport, func() error) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := h.server.Stdio(ctx, fromClient, toClient)
		toClient.Close()
		served <- err
	}()
	return &sdk.IOTransport{Reader: fromServer, Writer: toServer}, sync.OnceValue(func() error { return <-served })
}

func connect(t *testing.T, transport sdk.Transport, name string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	cs, err := sdk.NewClient(&sdk.Implementation{Name: name, Version: "9"}, o).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

func text(r *sdk.CallToolResult) string {
	for _, c := range r.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			return c.Text
		}
	}
	return ""
}

func await[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

// expectService uses everything that the server offers.
func expectService(t *testing.T, cs *sdk.ClientSession, name string) {
	t.Helper()
	tools, err := cs.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 3 {
		t.Fatalf("tools: %+v, %v", tools, err)
	}
	for i, want := range []string{
		`"annotations":{"idempotentHint":false,"openWorldHint":false,"readOnlyHint":true},"description":"echo","inputSchema":{"type":"object"},"name":"echo","outputSchema":{"type":"object"}`,
		`"annotations":{"destructiveHint":true,"idempotentHint":false,"openWorldHint":true,"readOnlyHint":false},"description":"fail","inputSchema":{"type":"object"},"name":"fail"`,
		`"annotations":{"destructiveHint":false,"idempotentHint":true,"openWorldHint":true,"readOnlyHint":false},"description":"hang","inputSchema":{"type":"object"},"name":"hang"`,
	} {
		if raw, err := json.Marshal(tools.Tools[i]); err != nil || string(raw) != "{"+want+"}" {
			t.Errorf("%s, %v, want %s", raw, err, want)
		}
	}
	r, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"a": 1}})
	if err != nil || r.IsError || text(r) != name+" 9" || len(r.Content) != 2 {
		t.Fatalf("echo: %+v, %v", r, err)
	}
	if raw, _ := json.Marshal(r.StructuredContent); string(raw) != `{"arguments":{"a":1}}` {
		t.Errorf("echo: %s", raw)
	}
	r, err = cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "fail"})
	if err != nil || !r.IsError || text(r) != "it is busy\nhint: try later" {
		t.Errorf("fail: %+v, %v", r, err)
	}
	list, err := cs.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != "test://"+name {
		t.Errorf("resources: %+v, %v", list, err)
	}
	read, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "test://" + name})
	if err != nil || len(read.Contents) != 1 || read.Contents[0].Text != "text of "+name+" 9" || read.Contents[0].MIMEType != "text/plain" {
		t.Errorf("a resource: %+v, %v", read, err)
	}
	if _, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "test://other"}); err == nil {
		t.Error("a resource that is not there was read")
	}
}

func TestStdio(t *testing.T) {
	h := newHouse(t)
	transport, served := h.stdio(t.Context())
	cs := connect(t, transport, "ann", nil)
	expectService(t, cs, "ann")
	v := await(t, "the visitor", h.visitors)
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	await(t, "the visitor's end", v.closed)
	if err := served(); err != nil {
		t.Error(err)
	}
	if len(h.visitors) != 0 {
		t.Error("there was more than one visitor")
	}
}

// A client that closes its end in the middle of a call waits for no answer.
func TestStdioEndsInACall(t *testing.T) {
	h := newHouse(t)
	transport, served := h.stdio(t.Context())
	pipes := transport.(*sdk.IOTransport)
	cs := connect(t, transport, "ann", nil)
	go cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "hang"}) // its error is that of the closed pipe
	await(t, "the call", h.begun)
	if err := pipes.Writer.Close(); err != nil {
		t.Error(err)
	}
	if err := await(t, "the call's end", h.ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	await(t, "the visitor's end", await(t, "the visitor", h.visitors).closed)
	if err := served(); err != nil {
		t.Error(err)
	}
}

// A client that was killed reads nothing any more, which is no fault of the
// server.
func TestStdioClientIsKilled(t *testing.T) {
	h := newHouse(t)
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := ours.Close(); err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	fromClient, toServer := io.Pipe()
	defer toServer.Close()
	go io.WriteString(toServer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n")
	if err := h.server.Stdio(t.Context(), fromClient, theirs); err != nil {
		t.Error(err)
	}
}

func TestStdioIsTold(t *testing.T) {
	h := newHouse(t)
	ctx, cancel := context.WithCancel(t.Context())
	transport, served := h.stdio(ctx)
	cs := connect(t, transport, "ann", nil)
	go cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "hang"}) // its error is that of the closed pipe
	await(t, "the call", h.begun)
	cancel()
	if err := served(); err != nil {
		t.Error(err)
	}
	await(t, "the visitor's end", await(t, "the visitor", h.visitors).closed)
}

// What is no message is answered with an error, and ends nothing. A call that was
// cancelled is not answered.
func TestStdioLines(t *testing.T) {
	h := newHouse(t)
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := h.server.Stdio(t.Context(), fromClient, toClient)
		toClient.Close()
		served <- err
	}()
	lines := bufio.NewScanner(fromServer)
	say := func(line string) {
		t.Helper()
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("heard %s %v, want %s", lines.Text(), lines.Err(), want)
		}
	}
	for _, c := range []struct{ line, want string }{
		{`{bad json`, `"id":null,"error":{"code":-32700`},
		{`[]`, `"id":null,"error":{"code":-32600`},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"id":null,"error":{"code":-32600`},
		{`"words"`, `"id":null,"error":{"code":-32600`},
		{`{"id":1,"method":"ping"}`, `"id":null,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"id":null,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} x`, `"id":null,"error":{"code":-32700`},
		{"\x00\xff", `"id":null,"error":{"code":-32700`},
		{`{"x":"` + strings.Repeat("x", 17<<20) + `"}`, `"id":null,"error":{"code":-32700,"message":"the message is longer than`},
		{"\n  \r\n" + `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"ann","version":"9"}}}`, `"id":1,"result"`},
	} {
		say(c.line)
		hear(c.want)
	}
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang"}}`)
	await(t, "the call", h.begun)
	say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	await(t, "the call's end", h.ended)
	say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}`)
	hear(`"id":3,"result"`)
	if _, err := io.WriteString(toServer, `{"jsonrpc":"2.0","id":4,"method":"ping"}`); err != nil { // without an end
		t.Fatal(err)
	}
	toServer.Close()
	for lines.Scan() { // it is answered unless the end is seen first
		if !strings.Contains(lines.Text(), `"id":4`) {
			t.Errorf("heard %s", lines.Text())
		}
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A client that reads nothing, and leaves, does not keep the server.
func TestStdioReadsNothing(t *testing.T) {
	h := newHouse(t)
	fromClient, toServer := io.Pipe()
	_, toClient := io.Pipe() // a write to it waits for ever
	served := make(chan error, 1)
	go func() { served <- h.server.Stdio(t.Context(), fromClient, toClient) }()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"ann","version":"9"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{bad json`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, `[]`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
	} {
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	toServer.Close()
	if err := await(t, "the server's end", served); err != nil {
		t.Error(err)
	}
}

// A call is cancelled by its caller, and tells how it goes before.
func TestProgressAndCancel(t *testing.T) {
	for name, begin := range map[string]func(h *house) sdk.Transport{
		"stdio": func(h *house) sdk.Transport { transport, _ := h.stdio(h.t.Context()); return transport },
		"http":  func(h *house) sdk.Transport { l, _ := h.http(); return overHTTP(l) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			heard := make(chan string, 10)
			cs := connect(t, begin(h), "ann", &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { heard <- r.Params.Message },
			})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "hang", Meta: sdk.Meta{"progressToken": "p"}})
				done <- err
			}()
			if got := await(t, "progress", heard); got != "half way" {
				t.Errorf("heard %q", got)
			}
			await(t, "the call", h.begun)
			cancel()
			if err := await(t, "the call's end", h.ended); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if err := await(t, "the answer", done); err == nil {
				t.Error("the cancelled call succeeded")
			}
			expectService(t, cs, "ann") // the client is still there
		})
	}
}

const token = "0123456789-secret"

// withToken adds the token to a client's requests.
type withToken struct{ token string }

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.token)
	return http.DefaultTransport.RoundTrip(r)
}

// http serves on a port; the returned func ends the server.
func (h *house) http() (net.Listener, func() error) {
	h.t.Helper()
	l, err := mcpserver.Listen(h.t.Context(), "")
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.server.HTTP(ctx, l, token) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	h.t.Cleanup(func() {
		if err := stop(); err != nil {
			h.t.Error(err)
		}
	})
	return l, stop
}

func overHTTP(l net.Listener) sdk.Transport {
	return &sdk.StreamableClientTransport{Endpoint: mcpserver.URL(l), HTTPClient: &http.Client{Transport: withToken{token}}}
}

// Clients over HTTP are apart, and what belongs to one ends when it says
// goodbye, also in the middle of a call.
func TestHTTP(t *testing.T) {
	h := newHouse(t)
	l, stop := h.http()
	ann, bob := connect(t, overHTTP(l), "ann", nil), connect(t, overHTTP(l), "bob", nil)
	expectService(t, ann, "ann")
	a := await(t, "the first visitor", h.visitors)
	expectService(t, bob, "bob")
	b := await(t, "the second visitor", h.visitors)
	go bob.CallTool(t.Context(), &sdk.CallToolParams{Name: "hang"}) // it is ended below
	await(t, "the call", h.begun)
	sayGoodbye(t, l, bob.ID()) // bob's own Close waits for the call
	await(t, "the second visitor's end", b.closed)
	select {
	case <-a.closed:
		t.Error("the first visitor was closed with the second")
	default:
	}
	expectService(t, ann, "ann")
	go ann.CallTool(t.Context(), &sdk.CallToolParams{Name: "hang"}) // it is ended by the server's end
	await(t, "the call", h.begun)
	if err := stop(); err != nil {
		t.Error(err)
	}
	await(t, "the first visitor's end", a.closed)
}

// sayGoodbye ends a client's session.
func sayGoodbye(t *testing.T, l net.Listener, id string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, mcpserver.URL(l), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Mcp-Session-Id", id)
	answer, err := withToken{token}.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		t.Errorf("goodbye: %s", answer.Status)
	}
}

// A client that asks nothing any more is gone after a while.
func TestHTTPIdle(t *testing.T) {
	h := newHouse(t, func(o *mcpserver.Options[*visitor]) { o.SessionIdle = 2 * time.Second }) // more than a busy machine needs between the first three requests
	l, _ := h.http()
	cs := connect(t, overHTTP(l), "ann", nil)
	if _, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo"}); err != nil {
		t.Fatal(err)
	}
	await(t, "the visitor's end", await(t, "the visitor", h.visitors).closed)
}

// raw is a client over HTTP that can do what no polite one does.
type raw struct {
	t       *testing.T
	l       net.Listener
	session string
}

// newRaw begins a session.
func newRaw(t *testing.T, l net.Listener) *raw {
	t.Helper()
	c := &raw{t: t, l: l}
	begin := c.ask(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	c.session = begin.Header.Get("Mcp-Session-Id")
	c.ask(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// ask makes a request, whose answer may go on.
func (c *raw) ask(ctx context.Context, method, body string) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, mcpserver.URL(c.l), strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	answer, err := withToken{token}.RoundTrip(r)
	if err != nil || answer.StatusCode/100 != 2 {
		c.t.Fatalf("%s %s: %v, %v", method, body, answer, err)
	}
	c.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// echo calls the tool.
func (c *raw) echo() {
	c.t.Helper()
	call := c.ask(c.t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{}}}`)
	if body, err := io.ReadAll(call.Body); err != nil || !strings.Contains(string(body), "x 1") {
		c.t.Fatalf("%s, %v", body, err)
	}
}

// A client that lets go of its stream without a word is gone.
func TestHTTPVanishes(t *testing.T) {
	h := newHouse(t, func(o *mcpserver.Options[*visitor]) { o.StreamGrace = 10 * time.Millisecond })
	l, _ := h.http()
	c := newRaw(t, l)
	ctx, letGo := context.WithCancel(t.Context())
	c.ask(ctx, http.MethodGet, "")
	c.echo()
	v := await(t, "the visitor", h.visitors)
	select {
	case <-v.closed:
		t.Error("it was closed while it had a stream")
	default:
	}
	letGo()
	await(t, "the visitor's end", v.closed)
}

// A client without a stream is gone when it asks nothing for a while, and no
// longer has a seat.
func TestHTTPIsSilent(t *testing.T) {
	h := newHouse(t, func(o *mcpserver.Options[*visitor]) {
		o.Silence = 10 * time.Second // more than a busy machine needs between two requests
		o.MaxClients = 1
	})
	l, _ := h.http()
	newRaw(t, l).echo()
	await(t, "the visitor's end", await(t, "the visitor", h.visitors).closed)
	newRaw(t, l)
}

// A call that is cancelled over HTTP ends without an answer, and its stream with
// it.
func TestHTTPCancel(t *testing.T) {
	h := newHouse(t)
	l, _ := h.http()
	c := newRaw(t, l)
	call := c.ask(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang","arguments":{},"_meta":{"progressToken":"p"}}}`)
	await(t, "the call", h.begun)
	c.ask(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	if err := await(t, "the call's end", h.ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	body, err := io.ReadAll(call.Body)
	if err != nil || !strings.Contains(string(body), `"half way"`) || strings.Contains(string(body), `"id":2`) {
		t.Errorf("heard %s, %v", body, err)
	}
	c.echo() // the client is still there
}

func TestHTTPIsFull(t *testing.T) {
	h := newHouse(t, func(o *mcpserver.Options[*visitor]) { o.MaxClients = 1 })
	l, _ := h.http()
	for range 10 {
		ann := connect(t, overHTTP(l), "ann", nil)
		_, err := sdk.NewClient(&sdk.Implementation{Name: "bob"}, nil).Connect(t.Context(), overHTTP(l), nil)
		if err == nil || !strings.Contains(err.Error(), "there are 1 clients") {
			t.Errorf("a second client: %v", err)
		}
		if err := ann.Close(); err != nil { // and there is room again
			t.Fatal(err)
		}
	}
}

func TestHTTPIsGuarded(t *testing.T) {
	h := newHouse(t)
	l, _ := h.http()
	post := func(header ...string) int {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, mcpserver.URL(l), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(header); i += 2 {
			if header[i] == "Host" {
				r.Host = header[i+1]
			}
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		io.Copy(io.Discard, answer.Body) // Best effort: the status is what counts.
		return answer.StatusCode
	}
	auth := []string{"Authorization", "Bearer " + token}
	for _, c := range []struct {
		name   string
		header []string
		want   int
	}{
		{"with the token", auth, http.StatusOK},
		{"without", nil, http.StatusUnauthorized},
		{"with another", []string{"Authorization", "Bearer x"}, http.StatusUnauthorized},
		{"under a name that leads here", append(auth, "Host", "evil.example"), http.StatusMisdirectedRequest},
		{"from a page", append(auth, "Origin", "http://evil.example"), http.StatusForbidden},
	} {
		if got := post(c.header...); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if len(h.visitors) != 0 {
		t.Error("a request that called nothing made a visitor")
	}
}

func TestListenOnThisMachineOnly(t *testing.T) {
	if l, err := mcpserver.Listen(t.Context(), "0.0.0.0:0"); fault.KindOf(err) != fault.Usage {
		t.Errorf("%v, %v", l, err)
	}
}

// What cannot be made for a client is told to it.
func TestConnectFails(t *testing.T) {
	h := newHouse(t, func(o *mcpserver.Options[*visitor]) {
		o.Connect = func(string) (*visitor, error) { return nil, fault.Errorf(fault.Storage, "no room") }
	})
	transport, served := h.stdio(t.Context())
	cs := connect(t, transport, "ann", nil)
	r, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo"})
	if err != nil || !r.IsError || text(r) != "no room" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	if err := served(); err != nil {
		t.Error(err)
	}
}
