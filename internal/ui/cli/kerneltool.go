package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/ticks/toolsocket"

	"github.com/spf13/cobra"
)

func (a *app) kernelToolCmd() *cobra.Command {
	return &cobra.Command{
		Use: "tool TOOL [NAME=VALUE...]", Short: "Use a tool of the tick that runs: login, open, type, wait, close",
		Long: `Use one of the tools that an agent has in a tick, from the agent's own program: its
environment names the tick. Models use the same tools by the Model Context Protocol. Arguments
are NAME=VALUE, or one JSON object.`,
		Example: "  den kernel tool login\n  den kernel tool type tty=0 expect=bash text='make test'\n  den kernel tool wait timeout=60 until='ok|FAIL'\n  den kernel tool close tty=0",
		Args:    args(1, -1),
		RunE: func(cmd *cobra.Command, given []string) error {
			socket := a.getenv(toolsocket.Variable)
			if socket == "" {
				return fault.Hintf(fault.Errorf(fault.NotRunning, "no tick runs here: %s is not set", toolsocket.Variable), "tools are for the program of an agent in its tick")
			}
			arguments, err := toolArguments(given[0], given[1:])
			if err != nil {
				return err
			}
			answer, err := toolsocket.Use(cmd.Context(), socket, build.Version, toolsocket.Call{Tool: given[0], Arguments: arguments})
			if err != nil {
				return err
			}
			if answer.Failed {
				return fault.Errorf(fault.Usage, "%s", strings.TrimPrefix(answer.Text, "Error: "))
			}
			return a.answer(answer, func(w io.Writer) { fmt.Fprintln(w, answer.Text) })
		},
		ValidArgsFunction: func(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, t := range toolsocket.Tools {
				if len(given) == 0 {
					names = append(names, t.Name)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// toolArguments makes an object of NAME=VALUE words, by the tool's schema.
func toolArguments(tool string, words []string) (json.RawMessage, error) {
	if len(words) == 1 && strings.HasPrefix(words[0], "{") {
		if !json.Valid([]byte(words[0])) {
			return nil, fault.Errorf(fault.Usage, "the arguments of %s are not JSON: %s", tool, words[0])
		}
		return json.RawMessage(words[0]), nil
	}
	kinds, err := argumentKinds(tool)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || kinds[name] == "" {
			return nil, fault.Hintf(fault.Errorf(fault.Usage, "%s: '%s' is no argument of it", tool, word), "arguments are NAME=VALUE; 'den kernel tool --help' has examples")
		}
		if object[name], err = argumentOf(kinds[name], value); err != nil {
			return nil, fault.Errorf(fault.Usage, "%s: %s: %w", tool, name, err)
		}
	}
	return json.Marshal(object)
}

// argumentKinds maps the arguments of a tool to their types.
func argumentKinds(tool string) (map[string]string, error) {
	for _, t := range toolsocket.Tools {
		if t.Name != tool {
			continue
		}
		var schema struct {
			Properties map[string]struct {
				Type string `json:"type"`
			} `json:"properties"`
		}
		if err := json.Unmarshal([]byte(t.Schema), &schema); err != nil {
			return nil, fmt.Errorf("read the schema of %s: %w", tool, err)
		}
		kinds := map[string]string{}
		for name, p := range schema.Properties {
			kinds[name] = p.Type
		}
		return kinds, nil
	}
	return nil, fault.Hintf(fault.Errorf(fault.Usage, "there is no tool '%s'", tool), "there are login, open, type, wait and close")
}

func argumentOf(kind, value string) (any, error) {
	switch kind {
	case "integer":
		n, err := strconv.Atoi(value)
		if err != nil {
			return nil, fmt.Errorf("'%s' is not a whole number", value)
		}
		return n, nil
	case "boolean":
		b, err := strconv.ParseBool(value)
		if err != nil {
			return nil, fmt.Errorf("'%s' is neither true nor false", value)
		}
		return b, nil
	}
	return value, nil
}
