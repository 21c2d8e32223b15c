package providertest

import (
	"os"
	"slices"
	"strings"

	"den/internal/base/fault"
)

var nameCases = []testCase{
	{"ExactNames", exactNames},
	{"OddNames", oddNames},
	{"BadNames", badNames},
	{"ListRunning", listRunning},
	{"Owners", owners},
}

// exactNames does everything to a session that is not there, and to nobody
// else.
func exactNames(w *world) {
	file := w.path("typed")
	w.start("w-10", "read", file)
	w.ok("SetMeta", w.p.SetMeta(w.Context(), "w-10", "k", "ten"))
	ctx := w.Context()
	for _, absent := range []string{"w-1", "w", "w-100", "-10", "W-10"} {
		w.stop(absent)
		w.equal(absent+" runs", w.running(w.p, absent), false)
		w.is("SetMeta", w.p.SetMeta(ctx, absent, "k", "one"), fault.NotFound)
		w.is("RemoveMeta", w.p.RemoveMeta(ctx, absent, "k"), fault.NotFound)
		_, err := w.p.GetMeta(ctx, absent, "k")
		w.is("GetMeta", err, fault.NotFound)
		w.is("Nudge", w.p.Nudge(ctx, absent, "text"), fault.NotFound, w.unless(Nudge))
		w.is("SendKeys", w.p.SendKeys(ctx, absent, "x"), fault.NotFound, w.unless(SendKeys))
		w.is("Interrupt", w.p.Interrupt(ctx, absent), fault.NotFound, w.unless(Interrupt))
		w.is("Attach", w.p.Attach(ctx, absent, os.Stdin, os.Stdout), fault.NotFound, fault.Unsupported)
		_, err = w.p.Peek(ctx, absent, 5)
		w.is("Peek", err, fault.NotFound, w.unless(Peek))
		_, err = w.p.GetLastActivity(ctx, absent)
		w.is("GetLastActivity", err, fault.NotFound, w.unless(GetLastActivity))
		alive, err := w.p.ProcessAlive(ctx, absent, nil)
		w.ok("ProcessAlive", err)
		w.equal("ProcessAlive of "+absent, alive, false)
	}
	w.equal("w-10 runs", w.running(w.p, "w-10"), true)
	w.hasMeta("w-10", "k", "ten")
	w.equal("what w-10 was sent", w.appears(file), "")
}

// unless is Unsupported where the provider lacks the ability, and otherwise
// NotFound again.
func (w *world) unless(ability string) fault.Kind {
	if w.lacks(ability) {
		return fault.Unsupported
	}
	return fault.NotFound
}

// oddNames are allowed by CheckName, and differ only in what a place may not
// tell apart.
func oddNames(w *world) {
	long := strings.Repeat("long-", 39)
	names := []string{
		"a.b", "a:b", "a/b", "a-b", "a--b", "a_b", "A-b", "a", ".a", "..", "../a", "-a", "a;", "$(a)", "a*", "a'b\"", "=a", "%1", "#{a}", "@1",
		"größe", "名前", long + "1", long + "2",
	}
	for _, name := range names {
		w.start(name, "idle")
		w.ok("SetMeta", w.p.SetMeta(w.Context(), name, "name", name))
	}
	want := slices.Sorted(slices.Values(names))
	w.lists("after all starts", w.p, "", want...)
	for _, name := range names {
		w.hasMeta(name, "name", name)
	}
	for i, name := range want {
		w.stop(name)
		w.lists("after Stop of "+name, w.p, "", want[i+1:]...)
	}
}

func badNames(w *world) {
	for _, name := range []string{"", "a b", "a\nb", "a\x00b", "\xff", strings.Repeat("x", 201)} {
		c, _ := w.config("idle")
		w.is("Start", w.p.Start(w.Context(), name, c), fault.Usage)
	}
	w.lists("after all were refused", w.p, "")
}

func listRunning(w *world) {
	w.lists("at first", w.p, "")
	for _, name := range []string{"b-2", "a-1", "b-1", "b"} {
		w.start(name, "idle")
	}
	w.start("b-3", "exit", "0")
	w.ends("b-3")
	w.start("b-4", "idle")
	w.stop("b-4")
	for prefix, want := range map[string][]string{
		"": {"a-1", "b", "b-1", "b-2"}, "b": {"b", "b-1", "b-2"}, "b-": {"b-1", "b-2"}, "b-1": {"b-1"}, "c": nil, "*": nil,
	} {
		w.lists("with prefix "+prefix, w.p, prefix, want...)
	}
}

// owners share a place and have the same names.
func owners(w *world) {
	other := w.opened(w.h.Owner2(w.T, w.p))
	w.start("w", "idle")
	w.start("mine", "idle")
	if w.running(other, "w") || len(w.list(other, "")) > 0 {
		w.Error("another owner sees the session")
	}
	_, err := other.GetMeta(w.Context(), "w", "k")
	w.is("GetMeta of another owner's session", err, fault.NotFound)
	w.startOn(other, "w", "idle") // a session of its own
	w.ok("SetMeta", other.SetMeta(w.Context(), "w", "k", "theirs"))
	w.hasMeta("w", "k", "")
	w.ok("Stop", other.Stop(w.Context(), "mine"))
	w.stop("w")
	if !w.running(other, "w") || !w.running(w.p, "mine") {
		w.Error("Stop ended another owner's session")
	}
	w.lists("of the other owner", other, "", "w")
}
