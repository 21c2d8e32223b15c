package workspace

import (
	"errors"
	"strings"
)

// shellSyntax are the characters that only a shell gives a meaning to.
const shellSyntax = "|&;<>()$`*?[]{}~#!\n"

// commandWords splits a command line at spaces, heeding quotes. A line with
// shell syntax outside of quotes becomes a call of sh with the line whole.
func commandWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == '"' && strings.ContainsRune("$`", r):
			return throughShell(line), nil
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case strings.ContainsRune(shellSyntax, r):
			return throughShell(line), nil
		case r == '=' && len(words) == 0:
			return throughShell(line), nil // VAR=value command
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	switch {
	case quote != 0 || escaped:
		return nil, errors.New("a quote is not closed")
	case inWord:
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("a command is empty")
	}
	return words, nil
}

func throughShell(line string) []string { return []string{"sh", "-c", line} }

// Argv is the command with its arguments and then extra ones, such as a
// prompt. A command that goes through a shell gets them as its "$@".
func (a *Agent) Argv(extra ...string) []string {
	command := a.StartCommand
	args := append([]string(nil), a.Args...)
	if a.Channel.Model != "" && a.Channel.ModelFlag != "" {
		args = append(args, a.Channel.ModelFlag, a.Channel.Model)
	}
	args = append(args, extra...)
	if len(args) > 0 && len(command) == 3 && command[0] == "sh" && command[1] == "-c" {
		command = []string{"sh", "-c", command[2] + ` "$@"`, "sh"}
	}
	return append(append([]string(nil), command...), args...)
}
