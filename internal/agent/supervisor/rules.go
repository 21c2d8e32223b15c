package supervisor

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Rules is a judge that knows a few patterns of an agent that is stuck. It
// costs nothing and needs no network. Only patterns that last until the newest
// step count: what an agent has left behind is not held against it.
type Rules struct{}

// How often is too often.
const (
	repeats  = 3  // of one tool call, or of a short cycle of calls, with the same results
	failures = 4  // tool calls in a row that failed, or failures of one call whatever was said in between
	stills   = 4  // steps in a row with the same text and nothing new from tools
	hopeless = 12 // as one of these, but a person is called
)

// maxCycle is the longest cycle of tool calls that is looked for.
const maxCycle = 3

// Judge never fails.
func (Rules) Judge(_ context.Context, w Window) (Verdict, error) {
	calls := calls(w.Steps)
	rounds, cycle := repetition(calls)
	errors := errorsInARow(w.Steps)
	still := stepsWithoutProgress(w.Steps)
	again, tool := failuresOfOneCall(w.Steps)
	worst := max(rounds, errors, still, again)
	var v Verdict
	switch {
	case rounds >= repeats && cycle == 1:
		v = Verdict{Correction, fmt.Sprintf("You have called %s %d times with the same input and the same result. Calling it again will not help: try another way, or say what you need.", calls[len(calls)-1].Name, rounds)}
	case rounds >= repeats:
		v = Verdict{Correction, fmt.Sprintf("You have gone through the same %d tool calls %d times with the same results. Stop the cycle: try another way, or say what you need.", cycle, rounds)}
	case again >= failures:
		v = Verdict{Correction, fmt.Sprintf("You have called %s %d times with the same input, and it failed each time with the same result. Calling it again will not help: find out why it fails, try another way, or say what you need.", tool, again)}
	case errors >= failures:
		v = Verdict{ThinkDeeper, fmt.Sprintf("Your last %d tool calls failed. Before the next one, think about why they fail and whether the approach is right.", errors)}
	case still >= stills:
		v = Verdict{Correction, fmt.Sprintf("Your last %d messages say the same, and nothing new came from tools. Do something else, or say that you are done or what you need.", still)}
	default:
		return Verdict{Action: OK}, nil
	}
	if worst >= hopeless {
		return Verdict{Escalation, fmt.Sprintf("%s seems to be stuck: %s", w.Agent, asSeen(rounds, errors, still))}, nil
	}
	return v, nil
}

// asSeen tells a person what was counted.
func asSeen(rounds, errors, still int) string {
	return fmt.Sprintf("%d equal rounds of tool calls, %d failed calls in a row, %d equal messages in a row", rounds, errors, still)
}

// calls returns the tool calls since the agent last spoke without using one.
func calls(steps []Step) []Tool {
	var all []Tool
	for _, s := range steps {
		if len(s.Tools) == 0 && s.Text != "" {
			all = nil
		}
		all = append(all, s.Tools...)
	}
	return all
}

// repetition returns how often the newest calls were made in a row, and how
// many calls one round has.
func repetition(calls []Tool) (rounds, cycle int) {
	for n := 1; n <= maxCycle; n++ {
		if r := roundsOf(calls, n); r > rounds {
			rounds, cycle = r, n
		}
	}
	return rounds, cycle
}

func roundsOf(calls []Tool, n int) int {
	rounds := 0
	for end := len(calls); end >= n; end -= n {
		if rounds > 0 && !slices.Equal(calls[end-n:end], calls[len(calls)-n:]) {
			break
		}
		rounds++
	}
	return rounds
}

// errorsInARow counts the newest tool calls that failed, and turns that did.
func errorsInARow(steps []Step) int {
	count := 0
	for _, s := range slices.Backward(steps) {
		if s.Error != "" {
			count++
		}
		for _, tool := range slices.Backward(s.Tools) {
			if !tool.Done {
				continue
			}
			if !tool.Failed {
				return count
			}
			count++
		}
		if s.Error == "" && len(s.Tools) == 0 && s.Text != "" {
			return count // it spoke, and nothing failed
		}
	}
	return count
}

// failuresOfOneCall counts how often the newest tool call was made in a row and
// failed alike. Words in between do not end the row, because an agent that is
// asked again and again says each time that it did not work.
func failuresOfOneCall(steps []Step) (count int, name string) {
	var newest Tool
	for _, s := range slices.Backward(steps) {
		for _, tool := range slices.Backward(s.Tools) {
			if count == 0 {
				newest = tool
			}
			if !tool.Failed || tool != newest {
				return count, newest.Name
			}
			count++
		}
	}
	return count, newest.Name
}

// stepsWithoutProgress counts the newest steps that say the same and bring no
// result that was not seen in one of them before. What a person asks for again
// is said again: the count begins with the last thing that a person asked for.
func stepsWithoutProgress(steps []Step) int {
	if len(steps) == 0 {
		return 0
	}
	last := normal(steps[len(steps)-1].Text)
	if last == "" {
		return 0
	}
	count := 0
	var results []string
	for _, s := range slices.Backward(steps) {
		if normal(s.Text) != last {
			break
		}
		for _, tool := range s.Tools {
			if count > 0 && !slices.Contains(results, tool.Result) {
				return count
			}
			results = append(results, tool.Result)
		}
		count++
		if s.Asked {
			break
		}
	}
	return count
}

// normal removes what does not make a text another text.
func normal(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
