package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"den/internal/base/fault"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is something that clients can call.
type Tool[C Client] struct {
	Name        string
	Description string // for the model
	Schema      string // a JSON schema of the arguments, which are an object
	Output      string // or "": one of Answer.Value, which an error's object meets, too
	Hints       Hints
	// Call does it. An error is what the model is told: what happened, and by
	// its hint what to do.
	Call func(ctx context.Context, client C, call Call) (Answer, error)
}

// Hints say what a call may do, for clients that ask a person before some. The
// zero value is what the protocol assumes of a tool that says nothing.
type Hints struct {
	ReadOnly   bool // it changes nothing
	Additive   bool // it destroys nothing
	Idempotent bool // a second call with the same arguments changes nothing more
	Closed     bool // it reaches nothing but what is the server's
}

// annotations leaves out what means nothing of a tool that only reads.
func (h Hints) annotations() *sdk.ToolAnnotations {
	destroys, reaches := !h.Additive, !h.Closed
	a := &sdk.ToolAnnotations{ReadOnlyHint: h.ReadOnly, IdempotentHint: h.Idempotent, OpenWorldHint: &reaches}
	if !h.ReadOnly {
		a.DestructiveHint = &destroys
	}
	return a
}

// Call is one use of a tool.
type Call struct {
	Arguments json.RawMessage // an object, or empty
	// Report, or nil, tells the client how a long call goes.
	Report func(message string)
}

// Answer is what a tool returns.
type Answer struct {
	Text  string // for the model
	PNG   []byte // or nil: a picture beside the text
	Value any    // or nil: the same for programs, an object
}

func (t Tool[C]) declared() *sdk.Tool {
	d := &sdk.Tool{Name: t.Name, Description: t.Description, InputSchema: json.RawMessage(t.Schema), Annotations: t.Hints.annotations()}
	if t.Output != "" {
		d.OutputSchema = json.RawMessage(t.Output)
	}
	return d
}

func (s *Server[C]) handler(t Tool[C]) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c, err := s.connect(req.Session)
		if err != nil {
			return failed(err), nil
		}
		while, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := context.AfterFunc(c.ctx, cancel)
		defer stop()
		a, err := t.Call(while, c.client, Call{Arguments: req.Params.Arguments, Report: reporter(while, req)})
		if ctx.Err() != nil && req.Extra != nil && req.Extra.CloseSSEStream != nil {
			req.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{}) // over HTTP: who cancelled the call hears no answer
		}
		if err != nil {
			return failed(err), nil
		}
		return answered(a), nil
	}
}

// reporter returns what sends progress to the client, or nil if it did not ask
// for that.
func reporter(ctx context.Context, req *sdk.CallToolRequest) func(string) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	begun := time.Now()
	return func(message string) {
		// Best effort: the answer is what counts.
		_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: token, Message: message, Progress: time.Since(begun).Seconds(),
		})
	}
}

func answered(a Answer) *sdk.CallToolResult {
	r := &sdk.CallToolResult{StructuredContent: a.Value}
	if a.Text != "" || a.PNG == nil {
		r.Content = append(r.Content, &sdk.TextContent{Text: a.Text})
	}
	if a.PNG != nil {
		r.Content = append(r.Content, &sdk.ImageContent{Data: a.PNG, MIMEType: "image/png"})
	}
	return r
}

// failed is an error as the model is told.
func failed(err error) *sdk.CallToolResult {
	text := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		text += "\nhint: " + hint
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: fault.ObjectOf(err)}
}
