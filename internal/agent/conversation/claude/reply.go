package claude

import (
	"context"
	"path/filepath"
	"strings"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

// RecordName is what Reply.Source says.
const RecordName = "claude transcript"

var _ conversation.Replier = (*Source)(nil)

// ReplyTo reads the transcript of the session that the screen shows. It is
// written a moment after things happen.
func (s *Source) ReplyTo(ctx context.Context, m conversation.Asked) (conversation.Reply, error) {
	path, err := s.transcript(ctx)
	if err != nil {
		return conversation.Reply{}, err
	}
	reply, found := conversation.Reply{}, false
	err = s.reading.Read(path, m, func(t *turn) { reply, found = t.reply, t.begun })
	if err == nil && !found {
		err = fault.Errorf(fault.NotFound, "Claude Code's transcript does not have the message")
	}
	return reply, err
}

// transcript finds the transcript of the session that the process has.
func (s *Source) transcript(ctx context.Context) (string, error) {
	if _, err := s.read(ctx); err != nil { // finds the process
		return "", err
	}
	f, err := s.fileOf(ctx, s.lastFound())
	if err != nil {
		return "", err
	}
	return s.transcriptOf(f)
}

// transcriptOf finds a transcript by the id in the session file, which may be
// nil: its directory is named after the one that Claude Code was started in, in
// a way of its own.
func (s *Source) transcriptOf(f *sessionFile) (string, error) {
	if f == nil || f.SessionID == "" || strings.ContainsAny(f.SessionID, `/*?[\`) {
		return "", fault.Errorf(fault.NotFound, "Claude Code has no session now")
	}
	found, err := filepath.Glob(filepath.Join(s.options.ConfigDir, "projects", "*", f.SessionID+".jsonl"))
	if err != nil {
		return "", fault.Errorf(fault.Internal, "find Claude Code's transcript: %w", err)
	}
	if len(found) != 1 {
		return "", fault.Errorf(fault.NotFound, "Claude Code's session has %d transcripts", len(found))
	}
	return found[0], nil
}
