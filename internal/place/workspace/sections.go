package workspace

import (
	"fmt"
	"net"
	"slices"
	"strconv"
)

// IsElsewhere reports whether the file names a server on another machine, which
// no keeper here can be.
func (s Server) IsElsewhere() bool {
	ip := net.ParseIP(s.Host)
	return s.Host != "" && s.Host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// checkServer checks how the keeper's own server is offered to other machines.
func checkServer(s Server, table *node, r *report) {
	if s.Listen == "" {
		for _, key := range []string{"tls_cert", "tls_key"} {
			if n := table.get(key); n != nil {
				r.add(n.origin, "'server.%s' is for clients of other machines: 'server.listen' says where they connect", key)
			}
		}
		return
	}
	at := table.get("listen").origin
	_, port, err := net.SplitHostPort(s.Listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		r.add(at, "'server.listen' is '%s'; it must be an address and a port, such as \"0.0.0.0:6697\"", s.Listen)
	}
	if s.TLSCert == "" || s.TLSKey == "" {
		r.add(at, "'server.listen' needs 'tls_cert' and 'tls_key': people of other machines log in with passwords")
	}
	if s.IsElsewhere() {
		r.add(at, "'server.listen' is for the keeper's own server, and 'server.host' names another one, '%s': keep one", s.Host)
	}
}

// supervisors are who can judge agents: fixed rules, or an agent of one of
// these kinds.
func supervisors() []string { return append([]string{"rules"}, protocols...) }

// IsMind reports whether an agent judges, and not fixed rules: without a model
// or a command there is nobody to ask.
func (s Supervisor) IsMind() bool {
	return s.Agent != "" && s.Agent != "rules" && (s.Model != "" || len(s.Command) > 0)
}

// withCommand adds the command that agents of the supervisor's kind have, where
// the file gives none.
func (s Supervisor) withCommand() Supervisor {
	if s.Agent != "acp" || s.Model == "" || len(s.Command) > 0 {
		return s
	}
	for _, word := range builtin.Get().get("presets").get("acp").get("acp_command").items {
		s.Command = append(s.Command, word.text)
	}
	return s
}

// withoutModel warns of a supervisor whose agent judges nothing: nobody says
// which model.
func withoutModel(s Supervisor, n *node) []string {
	if agent := n.get("agent"); agent != nil && s.Agent != "rules" && !s.IsMind() {
		return []string{fmt.Sprintf("%s: 'supervisor.agent' is '%s', and fixed rules judge: 'supervisor.model' is missing", agent.origin, s.Agent)}
	}
	return nil
}

// checkSupervisor reports a supervisor that could judge nothing.
func checkSupervisor(s Supervisor, n *node, r *report) {
	if n == nil || n.kind != tableNode {
		return
	}
	at := n.origin
	if agent := n.get("agent"); agent != nil {
		at = agent.origin
	}
	if message := notOneOf("supervisor.agent", s.Agent, supervisors()); message != "" {
		r.add(at, "%s", message)
		return
	}
	if s.Agent == "script" && len(s.Command) == 0 {
		r.add(at, "'supervisor.agent' is 'script', which needs 'supervisor.command': the program that judges")
	}
	if s.Agent == "rules" && slices.ContainsFunc([]string{"model", "command", "acp_command"}, func(key string) bool { return n.get(key) != nil }) {
		r.add(at, "'supervisor.agent' is 'rules', which has neither a model nor a command: name an agent, or leave them out")
	}
}
