package keeper

import "strings"

// ItsLastLines is LastOutput for people, on lines of their own; "" for none.
func (s AgentStatus) ItsLastLines(indent string) string {
	if s.LastOutput == "" {
		return ""
	}
	return "\n" + indent + "its last lines:\n" + indent + "  " + strings.ReplaceAll(s.LastOutput, "\n", "\n"+indent+"  ")
}
