package runnertest

import (
	"os"
	"slices"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/agent/runner/stdio"
	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// A Backend is a driver, and what the suite must know of its agent.
type Backend struct {
	Driver runner.Driver

	// Home makes a home for the real agent.
	Home func(t realcli.TB, stub *modelstub.Server) *realcli.Home
	// Options changes what the session is opened with, or nil.
	Options func(*runner.Options)

	// Tool is one that the agent offers the model in every turn, but not when
	// it asks for a title.
	Tool string
	// Shell is the model's use of the shell, Write of the tool that makes a
	// file in the agent's directory.
	Shell func(command string) modelstub.Reply
	Write func(file, text string) modelstub.Reply
	// Read is the model's use of the tool that reads a file, by its absolute path;
	// nil if it reads by the shell.
	Read func(file string) modelstub.Reply
	// Question is the model's question to a person, whether pears or plums are
	// better; nil if it has no tool for that.
	Question *modelstub.Reply
	// Model is another one than the agent's default, Thinking a way to think.
	Model, Thinking string
	// ContextFull is how the model's API says that the conversation is too long.
	ContextFull modelstub.Reply
	// Unknown is a session id that looks like the agent's.
	Unknown string
	// EndOfTurn is a part of the line by which the agent ends a turn.
	EndOfTurn string
	// Hostile are lines of types that do not exist, among them one request that
	// the driver must refuse by an error. %d is a number.
	Hostile []string
	// Reasons is that the agent is told why something was denied.
	Reasons bool
	// TellsDir is that a request to run a command says in which directory.
	TellsDir bool
	// Partials is that the answer is streamed.
	Partials bool
	// Noise are parts of messages that no test depends on: they are not recorded.
	Noise []string
	// Framed is that messages have a header with their length, and are no lines.
	Framed bool
}

// Main runs the tests, or plays a recording if this process was started for
// that. TestMain calls it.
func Main(m *testing.M) {
	if path := os.Getenv(playVariable); path != "" {
		os.Exit(play(path))
	}
	if os.Getenv("DEN_TEST_AGENTS") != "1" {
		// What plays writes no session before it ends, as real agents do.
		stdio.DefaultGraces = stdio.Graces{EOF: 2 * time.Second, Term: time.Second}
	}
	os.Exit(m.Run())
}

// A law is a test that every driver passes.
type law struct {
	name string
	run  func(*world)
	// from names the recording of another law that this one plays; a law that
	// has one is not run with the real agent.
	from string
	// bad changes the recording while it plays.
	bad damage
}

var laws = []law{
	{name: "two-turns", run: twoTurns},
	{name: "options", run: options},
	{name: "allowed", run: allowed},
	{name: "denied", run: denied},
	{name: "allowed-always", run: allowedAlways},
	{name: "moved", run: moved},
	{name: "denied-and-interrupted", run: deniedAndInterrupted},
	{name: "denied-read", run: deniedRead},
	{name: "asked-read", run: askedRead},
	{name: "file-change", run: fileChange},
	{name: "question", run: question},
	{name: "interrupted", run: interrupted},
	{name: "interrupted-when-accepted", run: interruptedWhenAccepted},
	{name: "interrupted-at-once", run: interruptedAtOnce},
	{name: "interrupted-while-asking", run: interruptedWhileAsking},
	{name: "daemon-left", run: daemonLeft},
	{name: "killed", run: killed},
	{name: "resumed", run: resumed},
	{name: "no-session", run: noSession},
	{name: "failures", run: failures},
	{name: "model-cut", run: modelCut},
	{name: "context-ended", run: contextEnded},
	{name: "closed-in-turn", run: closedInTurn},
	{name: "compacted", run: compacted},

	{name: "hostile", run: hostile, from: "two-turns", bad: damage{Hostile: true}},
	{name: "hostile-questions", run: allowed, from: "allowed", bad: damage{Hostile: true}},
	{name: "output-cut", run: outputCut, from: "two-turns", bad: damage{Cut: true}},
	{name: "output-closed", run: outputCut, from: "two-turns", bad: damage{CloseOutput: true}},
	{name: "deaf", run: deaf, from: "two-turns", bad: damage{Deaf: true}},
}

// lawsOf leaves out what the agent has no ability for.
func lawsOf(b Backend) []law {
	_, compacts := b.Driver.(runner.Compacter)
	return slices.DeleteFunc(slices.Clone(laws), func(l law) bool {
		return l.name == "question" && b.Question == nil || l.name == "compacted" && !compacts
	})
}

// Run checks the driver with the recordings in testdata/recordings.
func Run(t *testing.T, b Backend) {
	for _, l := range lawsOf(b) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.run(newPlayWorld(t, b, l))
		})
	}
	t.Run("not-installed", func(t *testing.T) { notInstalled(newPlayWorld(t, b, law{name: "not-installed"})) })
}

// RunReal checks the driver with the real agent and a model stub.
func RunReal(t *testing.T, b Backend) {
	for _, l := range lawsOf(b) {
		if l.from != "" {
			continue
		}
		t.Run(l.name, func(t *testing.T) { l.run(newRealWorld(t, b, l)) })
	}
}
