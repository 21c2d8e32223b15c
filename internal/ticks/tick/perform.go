package tick

import (
	"context"

	"den/internal/ticks/plan"
)

// perform begins an action, or does it if it takes no time.
func (t *tick) perform(a plan.Action) {
	switch a.Kind {
	case plan.Begin:
		t.begin(t.count)
	case plan.Prepare:
		t.begin(t.prepare)
	case plan.RunHooks:
		t.runHooks(a)
	case plan.Open:
		t.begin(func(ctx context.Context) plan.Event { return t.mind.open(ctx, a.Resume) })
	case plan.Prompt:
		t.tools.calm()
		r := t.mind.begin(a.Turn)
		t.begin(func(context.Context) plan.Event { return t.mind.turn(r, a.Text) })
	case plan.Interrupt:
		t.work.Go(func() { t.mind.interrupt(a.Turn) })
	case plan.DropSession:
		t.mind.drop()
	case plan.CheckEnd:
		s := t.s // of now: the goroutine must not read the loop's
		t.begin(func(ctx context.Context) plan.Event { return t.check(ctx, s) })
	case plan.RouseWait:
		t.tools.rouse()
	case plan.Tell:
		t.tools.tell(a.Call, a.Notices, a.More)
	case plan.AckNotices:
		t.inbox.acknowledge(a.Notices)
	case plan.AckCauses:
		t.ackCauses(a.Causes)
	case plan.Close:
		t.conclude(t.close)
	case plan.Finish:
		s := t.s
		t.conclude(func() plan.Event { return t.finish(s) })
	case plan.Push:
		t.conclude(t.push)
	case plan.Clean:
		t.conclude(t.clean)
	default:
		t.o.Log.Error("the plan wants something unknown", "action", a.Kind)
	}
}
