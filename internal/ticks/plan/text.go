package plan

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What the agent reads. It is told what is the matter and what to do.

// queryText is the first prompt: what is configured, and why the tick was
// begun.
func queryText(query string, causes []Cause) string {
	var why []string
	for _, c := range causes {
		if reason := strings.TrimSpace(c.Reason); reason != "" {
			why = append(why, fmt.Sprintf("%s: %s", c.Kind, reason))
		}
	}
	if len(why) == 0 {
		return query
	}
	return query + "\n\nThis tick was begun by:\n" + bullets(why)
}

func continueText(why string) string {
	return fmt.Sprintf("Your last turn was cut off (%s). Look at what you have done of it already, and go on.", why)
}

func restartText(query, why string) string {
	return query + fmt.Sprintf("\n\nAn earlier attempt of this tick was lost (%s). Its terminals and files may still be there: look before you do something twice.", why)
}

func issuesText(issues []string) string {
	return "The tick cannot end yet:\n" + bullets(issues) + "\nDo this, and then end your turn."
}

func wrapUpText(why string) string {
	return "The tick must come to its end: " + why + ". Finish what you are doing, write down what has to be kept, close your terminals and end your turn."
}

func bullets(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("- " + strings.ReplaceAll(line, "\n", "\n  ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// NoticesText is how notices stand in a prompt, or behind a tool's answer.
func NoticesText(notices []Notice) string {
	texts := make([]string, len(notices))
	for i, n := range notices {
		texts[i] = n.Text
		if n.ID != "" {
			texts[i] = "[notification]\n" + n.Text
		}
	}
	return strings.Join(texts, "\n\n")
}

// issuesOf lists what keeps a tick from ending.
func issuesOf(c Check, lastText string) []string {
	if !c.LoggedIn {
		return []string{"You have not logged in: call login()."}
	}
	var issues []string
	if len(c.Live) > 0 {
		numbers := make([]string, len(c.Live))
		for i, n := range c.Live {
			numbers[i] = strconv.Itoa(n)
		}
		issues = append(issues, "Terminals are still open: "+strings.Join(numbers, ", ")+". Close them.")
	}
	for _, issue := range c.Issues {
		if issue = strings.TrimSpace(issue); issue != "" {
			issues = append(issues, issue)
		}
	}
	if strings.TrimSpace(lastText) == "" {
		issues = append(issues, "You have said nothing: end with a sentence on what you did.")
	}
	return issues
}

// maxLastText bounds the record; hooks get less of it.
const maxLastText = 8 << 10

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
