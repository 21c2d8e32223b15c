package screen

import (
	"strings"
	"testing"
)

// The replies of real programs, as they drew them.
func TestReplyOnRecordedScreens(t *testing.T) {
	for _, c := range []struct{ vendor, prompt, text, reply string }{
		{"claude", "❯ ", `hi [[tool Bash {"command":"touch /home/user/tuiproj/x","description":"make x"}]]`, "STUB-DONE (Bash completed with no output)"},
		{"codex", "› ", `do [[tool exec_command {"cmd":"touch zz","sandbox_permissions":"require_escalated","justification":"x"}]]`, "STUB-DONE approval policy is Granular"},
		{"copilot", "❯ ", `do [[tool bash {"command":"touch zz","description":"touch"}]]`, "● STUB-DONE <shellId: 0 completed with exit code 0>"},
		{"gemini", "> ", `do [[tool run_shell_command {"command":"touch zz","description":"touch"}]]`, `✦ STUB-DONE {"output":`},
	} {
		screen := screenOf(t, c.vendor+"-answered")
		got, found := profileOf(c.vendor).replyOn(screen, c.prompt, c.text)
		if !found || !strings.Contains(got, c.reply) || strings.Contains(got, "[[tool") || strings.Contains(got, "───") {
			t.Errorf("%s: %v\n%s", c.vendor, found, got)
		}
		if got, found := profileOf(c.vendor).replyOn(screen, c.prompt, "do"); found {
			t.Errorf("%s: a text that the message begins with has the reply %q", c.vendor, got)
		}
	}
}

func TestReplyOn(t *testing.T) {
	const composer = "\n────\n❯ \n────\n status"
	for _, c := range []struct {
		name, screen, text, reply string
		found                     bool
	}{
		{"a reply", "❯ hello\n\n● Hello!\n  I am here." + composer, "hello", "Hello!\nI am here.", true},
		{"a bullet and what is below it", "❯ hello\n\n● Two things:\n\n    1. one\n    2. two\n" + composer, "hello", "Two things:\n\n  1. one\n  2. two", true},
		{"nothing yet", "❯ hello\n" + composer, "hello", "", true},
		{"the last of two", "❯ hello\n● one\n❯ hello\n● two" + composer, "hello", "two", true},
		{"a quotation", "❯ hello\n● You said\n  hello\n  to me" + composer, "hello", "You said\nhello\nto me", true},
		{"a message of two lines", "❯ hello\n  world\n● yes" + composer, "hello\nworld", "yes", true},
		{"a message that is wrapped", "❯ hello w\n  orld\n● yes" + composer, "hello world", "yes", true},
		{"another message", "❯ hello world\n● yes" + composer, "hello", "", false},
		{"a message in the composer alone", "● yes\n────\n❯ hello\n────\n status", "hello", "", false},
		{"a message with the time", "❯ hello          01:21\n● yes" + composer, "hello", "yes", true},
		{"no composer", "❯ hello\n● yes", "hello", "", false},
	} {
		got, found := profileOf("claude").replyOn(c.screen, "❯ ", c.text)
		if got != c.reply || found != c.found {
			t.Errorf("%s: %q, %v; want %q, %v", c.name, got, found, c.reply, c.found)
		}
	}
	const box = "  ┃\n  ┃  hello\n  ┃\n\n     Hello!\n\n  ┃\n  ┃\n  ┃\n  ┃  Build · Model\n  ╹▀▀▀▀\n"
	for text, reply := range map[string]string{"hello": "Hello!", "Hello!": "Hello!"} {
		if got, found := profileOf("opencode").replyOn(strings.ReplaceAll(box, "hello", text), "", text); got != reply || !found {
			t.Errorf("a box with %q: %q, %v", text, got, found)
		}
	}
}

// Composers that are drawn in another way than the preset's prompt tells: the
// message above is not taken for one.
func TestOtherComposers(t *testing.T) {
	for _, c := range []struct{ name, vendor, prompt, screen string }{
		{"copilot's box", "copilot", "❯ ", " ▄▄▄▄\n  ❯ which one?      04:46\n ▀▀▀▀\n ● The first.\n\n /work\n╻▄▄▄▄\n┃\n╹▀▀▀▀\n ← open sidebar · Interactive\n"},
		{"gemini's without approvals", "gemini", "> ", "▄▄▄▄\n > which one?\n▀▀▀▀\n✦ The first.\n\n ? for shortcuts\n────\n YOLO Ctrl+Y\n▄▄▄▄\n *   Type your message or @path/to/file\n▀▀▀▀\n /work\n"},
	} {
		p := profileOf(c.vendor)
		at := p.findComposer(c.screen, c.prompt)
		if at == nil || !p.empty(at) || !p.takesTyping(c.screen, c.prompt) {
			t.Errorf("%s: %+v", c.name, at)
		}
		if got, found := p.replyOn(c.screen, c.prompt, "which one?"); !found || !strings.HasPrefix(strings.TrimSpace(got), "The first.") {
			t.Errorf("%s: %q, %v", c.name, got, found)
		}
	}
}

func TestPlainReply(t *testing.T) {
	lines := func(text string) []string { return strings.Split(text, "\n") }
	wide := strings.Repeat("x", 70)
	for _, c := range []struct {
		name        string
		old         string // before the message; "-" where that is not known
		now, text   string
		reply       string
		tied, found bool
	}{
		{"a shell", "$ ls", "$ ls\n$ echo hi\nhi", "echo hi", "hi", true, true},
		{"the first command", "-none", "$ echo hi\nhi", "echo hi", "hi", true, true},
		{"the same again", "$ echo hi\nhi", "$ echo hi\nhi\n$ echo hi\nhi", "echo hi", "hi", true, true},
		{"a program that repeats its input", "hello\nhello", "hello\nhello\nhello\nhello", "hello", "hello", true, true},
		{"a line that is wrapped", "-none", "$ echo " + wide + "\nyy\nout", "echo " + wide + "yy", "out", true, true},
		{"the last line of a message", "-none", "$ one\n> two\nout", "one\ntwo", "out", true, true},
		{"a screen that was cleared", "$ ls\na\nb", "$ echo hi\nhi", "echo hi", "hi", false, true},
		{"nothing known", "-", "$ echo hi\nhi\n$ echo hi\nho", "echo hi", "ho", false, true},
		{"no echo", "-none", "hidden", "secret", "", false, false},
		{"a longer command", "-none", "$ echo hi there\nhi there", "echo hi", "", false, false},
		{"blank lines", "-none", "$ x\n\na\n\n\nb\n\n", "x", "a\n\n\nb", true, true},
	} {
		var old []string
		if !strings.HasPrefix(c.old, "-") {
			old = lines(c.old)
		}
		reply, tied, found := plainReply(lines(c.now), old, c.old != "-", c.text)
		if reply != c.reply || tied != c.tied || found != c.found {
			t.Errorf("%s: %q, %v, %v", c.name, reply, tied, found)
		}
	}
}

func TestBehind(t *testing.T) {
	long := make([]string, messageLines-1)
	for i := range long {
		long[i] = strings.Repeat("x", i%7)
	}
	scrolled := append([]string{"a", "b"}, append(long, "new")...)
	if at, ok := behind(scrolled, long); !ok || at != len(scrolled)-1 {
		t.Errorf("%d, %v", at, ok)
	}
	if _, ok := behind(scrolled[5:], long); ok {
		t.Error("what has scrolled away is found")
	}
}

func TestWithoutLine(t *testing.T) {
	for _, c := range []struct {
		lines, prompt, want string
	}{
		{"out\n$", "$ ", "out"}, {"out\n$ half", "$ ", "out"}, {"out", "$ ", "out"}, {"out\nmore", "", "out\nmore"}, {"", "$", ""},
	} {
		if got := strings.Join(withoutLine(strings.Split(c.lines, "\n"), c.prompt), "\n"); got != c.want {
			t.Errorf("%q without %q is %q", c.lines, c.prompt, got)
		}
	}
}

// Reading a screen terminates for any content, and a reply is text of the
// screen.
func FuzzReply(f *testing.F) {
	f.Add("❯ hello\n● yes\n────\n❯ \n────", "hello", "❯ ")
	f.Add("$ echo hi\nhi", "echo hi", "$ ")
	f.Add("┃ hello\n\n yes\n┃\n╹▀", "hello", "")
	f.Fuzz(func(t *testing.T, screen, text, prompt string) {
		for _, vendor := range []string{"claude", "opencode", ""} {
			if reply, _ := profileOf(vendor).replyOn(screen, prompt, text); len(squeeze(reply)) > len(squeeze(screen)) {
				t.Errorf("%q is not on the screen", reply)
			}
		}
		lines := withoutLine(strings.Split(screen, "\n"), prompt)
		if reply, _, found := plainReply(lines, nil, true, text); found && !strings.Contains(screen, strings.SplitN(reply, "\n", 2)[0]) {
			t.Errorf("%q is not on the screen", reply)
		}
	})
}
