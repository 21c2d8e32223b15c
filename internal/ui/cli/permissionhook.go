package cli

import (
	"context"
	"fmt"
	"io"

	"den/internal/agent/toolhook"
	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
)

// maxHookInput bounds what a program tells its hook: a file that is written comes
// whole.
const maxHookInput = 8 << 20

// permissionHook is the hook that coding agents run before they use a tool: it
// asks the keeper, and prints what the program takes for an answer. Where the
// keeper cannot be asked, the program asks its user.
func (a *app) permissionHook(words []string) int {
	call, ok := toolhook.ParseCall(words)
	if !ok {
		return a.report(fault.Errorf(fault.Usage, "'den %s' is for den itself", toolhook.Verb))
	}
	ctx, cancel := context.WithTimeout(context.Background(), call.Patience())
	defer cancel()
	judged, err := judge(ctx, call, a.stdin)
	if err != nil {
		fmt.Fprintln(a.stderr, "den:", err)
		judged = keeper.Judged{Outcome: toolhook.Ask, Why: "den's keeper could not be asked: " + err.Error()}
	}
	if _, err := a.stdout.Write(call.Answer(judged.Outcome, judged.Why)); err != nil {
		return a.report(fault.Errorf(fault.KindOf(err), "answer %s: %w", call.Vendor, err))
	}
	return 0
}

func judge(ctx context.Context, call toolhook.Call, stdin io.Reader) (keeper.Judged, error) {
	var judged keeper.Judged
	input, err := io.ReadAll(io.LimitReader(stdin, maxHookInput+1))
	switch {
	case err != nil:
		return judged, fault.Errorf(fault.KindOf(err), "read what %s tells: %w", call.Vendor, err)
	case len(input) > maxHookInput:
		return judged, fault.Errorf(fault.Usage, "%s tells more than %d bytes", call.Vendor, maxHookInput)
	}
	c, err := rpc.Dial(ctx, rpc.Unix(call.Socket), rpc.Target{Version: keeper.Version, Den: build.Version, Name: "the keeper", Hint: "'den down' and 'den up' with one den"})
	if err != nil {
		return judged, err
	}
	defer c.Close() // Best effort: it was answered, or not.
	err = c.Call(ctx, keeper.MethodJudge, keeper.ToolUse{Agent: call.Agent, Vendor: call.Vendor, Moment: call.Moment, Input: input}, &judged)
	return judged, err
}
