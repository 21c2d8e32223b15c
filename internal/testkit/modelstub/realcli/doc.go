// Package realcli gives the real coding agents that tests drive a home of
// their own, in which a model stub is the only model and the only way out.
//
// The agents are those that scripts/agents installs; a test whose agent is
// missing is skipped and says so. Nothing of the user's own settings, keys or
// environment reaches them. The stub is their proxy, too: what they try to
// fetch from elsewhere is refused and recorded (Server.Elsewhere).
package realcli
