package tui

import (
	"context"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/session"
	"den/internal/session/attention"
	"den/internal/session/wire"
	"den/internal/ui/dashboard"
)

// waysOf returns the ways to decide what waits that the dashboard offers. Of what
// it cannot decide there are none.
func waysOf(w keeper.Waiting) []Way {
	var ways []Way
	switch w.Kind {
	case keeper.WaitingApproval:
		for _, a := range w.Actions {
			ways = append(ways, Way{Name: a.Name, Words: a.Name == "answer", Gives: a.Name != "deny"})
		}
	case keeper.WaitingQuestion:
		for _, a := range w.Actions {
			if number, label, ok := strings.Cut(a.Name, ": "); ok && number == strconv.Itoa(len(ways)+1) {
				ways = append(ways, Way{Name: label, Gives: true})
			}
		}
	}
	return ways
}

// requestText is all of a request for permission, a line for each part.
func requestText(w keeper.Waiting) string {
	if w.Approval == nil {
		return ""
	}
	r := w.Approval.Request
	lines := []string{r.Tool}
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, label+text)
		}
	}
	add("", r.Command)
	add("files: ", strings.Join(r.Paths, "\n       "))
	add("address: ", r.URL)
	add("in: ", r.Dir)
	add("says: ", r.Text)
	add("choices: ", strings.Join(r.Choices, " | "))
	add("because: ", w.Approval.Asked)
	return strings.Join(lines, "\n")
}

// decideFor carries out what a person chose on the dashboard. What waits is asked
// for once more: somebody else may have decided it.
func decideFor(config string, model *dashboard.Model) func(context.Context, string, int, string) (string, error) {
	return func(ctx context.Context, id string, way int, words string) (string, error) {
		if session, ok := strings.CutPrefix(id, CellAsks); ok {
			return answerCell(ctx, model, session, words)
		}
		if config == "" {
			return "", fault.Errorf(fault.NotFound, "there is no workspace here")
		}
		place, err := keeper.At(config)
		if err != nil {
			return "", err
		}
		c, err := place.Dial(ctx, build.Version)
		if err != nil {
			return "", err
		}
		defer c.Close() // Best effort: it was answered, or not.
		all, err := c.Attention(ctx)
		if err != nil {
			return "", err
		}
		var at int
		if all != nil {
			at = slices.IndexFunc(all.Waiting, func(w keeper.Waiting) bool { return w.ID == id })
		}
		if all == nil || at < 0 {
			return "", fault.Errorf(fault.NotFound, "it waits no more")
		}
		return decideWaiting(ctx, c, all.Waiting[at], way, words)
	}
}

// answerCell types the answer to what the cell of a session asks, if it still
// asks that.
func answerCell(ctx context.Context, model *dashboard.Model, id, words string) (string, error) {
	l := model.List()
	s, ok := l.Find(id)
	if !ok || s.Attention.State != attention.Asking {
		return "", fault.Errorf(fault.NotFound, "it asks no more")
	}
	question := s.Attention.What
	if strings.HasPrefix(question, "the program waits for ") {
		question = "" // it shows none
	}
	in := wire.Input{Text: &words, Enter: true}
	_, err := session.In(s.Dir, session.Options{Version: build.Version}).Answer(ctx, in, session.Run{Question: question, Timeout: time.Second})
	return "answered", err
}

func decideWaiting(ctx context.Context, c *keeper.Client, w keeper.Waiting, way int, words string) (string, error) {
	ways := waysOf(w)
	if way < 0 || way >= len(ways) {
		return "", fault.Errorf(fault.Usage, "there is no such way to decide it")
	}
	if w.Kind == keeper.WaitingQuestion {
		question := strings.TrimPrefix(w.ID, w.Kind+":"+w.Agent+":")
		var answered keeper.Answered
		err := c.Call(ctx, keeper.MethodAnswer, keeper.Answer{Agent: w.Agent, Question: question, Option: strconv.Itoa(way + 1), By: dashboardUser()}, &answered)
		return "answered: " + ways[way].Name, err
	}
	var decided keeper.Decided
	err := c.Call(ctx, keeper.MethodDecide, keeper.Decision{ID: w.Approval.ID, Agent: w.Agent, Option: ways[way].Name, Text: words, By: dashboardUser()}, &decided)
	return "it is " + decided.State, err
}

// dashboardUser is who decides, for audit logs.
func dashboardUser() string {
	name := "user " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return "dashboard of " + name
}
