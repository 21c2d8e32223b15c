package providertest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"den/internal/base/fault"
)

var togetherCases = []testCase{
	{"ManyTogether", manyTogether},
	{"OneNameTogether", oneNameTogether},
}

// manyTogether starts, asks about and stops many sessions at once.
func manyTogether(w *world) {
	var names []string
	for i := range w.h.Sessions {
		names = append(names, fmt.Sprintf("many-%02d", i))
	}
	each := func(what string, do func(name string) error) {
		w.Helper()
		var work sync.WaitGroup
		for _, name := range names {
			work.Go(func() {
				if err := do(name); err != nil {
					w.Errorf("%s(%q): %v", what, name, err)
				}
			})
		}
		work.Wait()
	}
	ctx := w.Context()
	var ready sync.Map
	each("Start", func(name string) error {
		c, file := w.config("idle")
		ready.Store(name, file)
		return w.p.Start(ctx, name, c)
	})
	ready.Range(func(_, file any) bool { w.appears(file.(string)); return true })
	w.lists("after all starts", w.p, "many-", names...)
	each("IsRunning", func(name string) error {
		running, err := w.p.IsRunning(ctx, name)
		if err == nil && !running {
			err = fmt.Errorf("it does not run")
		}
		return err
	})
	each("Stop", func(name string) error {
		if _, err := w.p.ListRunning(ctx, "many-"); err != nil {
			return err
		}
		if err := w.p.Stop(ctx, name); err != nil {
			return err
		}
		running, err := w.p.IsRunning(ctx, name)
		if err == nil && running {
			err = fmt.Errorf("it runs after Stop")
		}
		return err
	})
	w.lists("after all were stopped", w.p, "")
}

// oneNameTogether: of many starts of one name one wins.
func oneNameTogether(w *world) {
	again := w.opened(w.h.Reopen(w.T, w.p))
	var starts sync.WaitGroup
	var won atomic.Int64
	for i := range 8 {
		p := w.p
		if i%2 == 1 {
			p = again
		}
		c, _ := w.config("idle")
		starts.Go(func() {
			err := p.Start(w.Context(), "one", c)
			if err == nil {
				won.Add(1)
			} else if fault.KindOf(err) != fault.Busy {
				w.Errorf("Start beside another = %v, want busy", err)
			}
		})
	}
	starts.Wait()
	w.equal("starts that won", won.Load(), int64(1))
	w.lists("after all starts", w.p, "", "one")
	w.stop("one")
}
