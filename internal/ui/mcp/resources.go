package mcp

import (
	"context"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/mcpserver"
	"den/internal/screen/eventlog"
	"den/internal/session/terminals"
)

const (
	// uriPrefix begins every URI; a terminal's name and a part of it follow.
	uriPrefix      = "den://terminal/"
	partScreen     = "screen"
	partRecording  = "recording"
	typeRecording  = "application/x-asciicast"
	maxRecording   = 4 << 20 // bytes
	screenWords    = "The screen, as text."
	recordingWords = "Everything that it printed, as an asciicast."
)

func resources() *mcpserver.Resources[*terminals.Client] {
	return &mcpserver.Resources[*terminals.Client]{
		Templates: []mcpserver.Resource{
			{URI: uriPrefix + "{session}/" + partScreen, Name: "a terminal's screen", Description: screenWords, MIMEType: "text/plain"},
			{URI: uriPrefix + "{session}/" + partRecording, Name: "a terminal's recording", Description: recordingWords, MIMEType: typeRecording},
		},
		List: listResources,
		Read: readResource,
	}
}

func listResources(ctx context.Context, c *terminals.Client) ([]mcpserver.Resource, error) {
	all, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	var found []mcpserver.Resource
	for _, l := range all {
		found = append(found,
			mcpserver.Resource{URI: uriPrefix + l.Session + "/" + partScreen, Name: "screen of " + l.Session, Description: screenWords, MIMEType: "text/plain"},
			mcpserver.Resource{URI: uriPrefix + l.Session + "/" + partRecording, Name: "recording of " + l.Session, Description: recordingWords, MIMEType: typeRecording})
	}
	return found, nil
}

// parseURI splits a resource's URI.
func parseURI(uri string) (session, part string, ok bool) {
	rest, ok := strings.CutPrefix(uri, uriPrefix)
	if !ok {
		return "", "", false
	}
	session, part, ok = strings.Cut(rest, "/")
	return session, part, ok && session != "" && (part == partScreen || part == partRecording)
}

func readResource(ctx context.Context, c *terminals.Client, uri string) (string, error) {
	session, part, ok := parseURI(uri)
	if !ok {
		return "", fault.Errorf(fault.NotFound, "there is no %s", uri)
	}
	if part == partScreen {
		shot, err := c.Snapshot(ctx, session, 0, 0)
		if err != nil {
			return "", err
		}
		return shot.Screen.Text, nil
	}
	dir, err := c.Recording(session)
	if err != nil {
		return "", err
	}
	return cast(session, dir)
}

// cast is the recording of a session, if it is not too long for a message. What
// was typed is not in it.
func cast(session, dir string) (string, error) {
	log, err := eventlog.Open(dir)
	if err != nil {
		return "", err
	}
	b := bounded{limit: maxRecording}
	if _, err := eventlog.WriteCast2(&b, log, eventlog.CastOptions{}); err != nil {
		if b.full {
			return "", fault.Hintf(fault.Errorf(fault.Unsupported, "the recording of '%s' is longer than %d bytes", session, maxRecording), "its files are in %s", dir)
		}
		return "", err
	}
	return b.String(), nil
}

// bounded takes so many bytes and refuses more.
type bounded struct {
	strings.Builder
	limit int
	full  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.full = b.Len()+len(p) > b.limit; b.full {
		return 0, fault.Errorf(fault.Unsupported, "more than %d bytes", b.limit)
	}
	return b.Builder.Write(p)
}
