package ircd

import (
	"strings"

	"den/internal/chat/irc"
)

// A command is how the server handles one. Handlers run under Server.mu.
type command struct {
	handle    func(*Server, *client, irc.Message)
	minParams int
	early     bool // also before the client has registered
}

var commands = map[string]command{
	"CAP":  {handleCap, 1, true},
	"NICK": {handleNick, 0, true},
	"PASS": {handlePass, 1, true},
	"PING": {handlePing, 1, true},
	"PONG": {func(*Server, *client, irc.Message) {}, 0, true},
	"QUIT": {handleQuit, 0, true},
	"USER": {handleUser, 4, true},

	"AWAY":        {handleAway, 0, false},
	"CHATHISTORY": {handleChatHistory, 1, false},
	"INVITE":      {handleInvite, 2, false},
	"ISON":        {handleIson, 1, false},
	"JOIN":        {handleJoin, 1, false},
	"KICK":        {handleKick, 2, false},
	"LIST":        {handleList, 0, false},
	"LUSERS":      {handleLusers, 0, false},
	"MODE":        {handleMode, 1, false},
	"MOTD":        {handleMotd, 0, false},
	"NAMES":       {handleNames, 0, false},
	"NOTICE":      {handleMessage, 0, false},
	"PART":        {handlePart, 1, false},
	"PRIVMSG":     {handleMessage, 0, false},
	"SETNAME":     {handleSetName, 1, false},
	"TAGMSG":      {handleMessage, 0, false},
	"TIME":        {handleTime, 0, false},
	"TOPIC":       {handleTopic, 1, false},
	"USERHOST":    {handleUserhost, 1, false},
	"VERSION":     {handleVersion, 0, false},
	"WHO":         {handleWho, 0, false},
	"WHOIS":       {handleWhois, 1, false},
}

// maxLabel is the longest label of a request.
const maxLabel = 64

// handleLine handles one line of a client.
func (s *Server) handleLine(c *client, line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	m, err := parseFromClient(line)
	if err != nil {
		s.tooLong(c)
		return
	}
	m.Command = strings.ToUpper(m.Command)
	if m.Command == "AUTHENTICATE" {
		s.authenticate(c, m)
		return
	}
	if m.Command == "PASS" && s.cfg.Accounts != nil && strings.Contains(m.Param(0), ":") {
		s.logInByPass(c, m.Param(0))
		return
	}
	var refused error
	if m.Command == "NICK" {
		refused = s.askReserved(c, m.Param(0))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.burst = &c.burst
	defer func() { s.burst = nil }()
	if m.Command != "PING" && m.Command != "PONG" {
		c.lastActive = s.cfg.Now()
	}
	if label := m.Tags.Value("label"); label != "" && len(label) <= maxLabel && c.caps.has(capLabels) {
		c.response = &response{label: label}
		defer c.respondLocked()
	}
	if refused != nil {
		c.numericLocked(irc.ERR_NICKNAMEINUSE, printable(m.Param(0)), reservedText(refused))
		return
	}
	s.handleLocked(c, m)
}

// parseFromClient drops what a client may not set: its source, and tags
// without a plus except the label.
func parseFromClient(line string) (irc.Message, error) {
	if len(line) > irc.MaxBody-2 {
		if tags, body, _ := strings.Cut(line, " "); tags[0] != '@' || len(tags)+1 > irc.MaxClientTags || len(body) > irc.MaxBody-2 {
			return irc.Message{}, irc.ErrLineTooLong
		}
	}
	m, err := irc.Parse(line)
	m.Source = ""
	clean(m)
	return m, err
}

// clean makes text of all that a client says, in place: whatever part of it
// others get to see, it drives nobody's terminal.
func clean(m irc.Message) {
	command := strings.ToUpper(m.Command)
	if command == "PASS" || command == "AUTHENTICATE" {
		return // for the server alone
	}
	isMessage := command == "PRIVMSG" || command == "NOTICE"
	for i, param := range m.Params {
		if i != 1 || !isMessage { // handleMessage sees to its text
			m.Params[i] = irc.Clean(param)
		}
	}
	for i, tag := range m.Tags {
		m.Tags[i].Value = irc.Clean(tag.Value)
	}
}

func (s *Server) handleLocked(c *client, m irc.Message) {
	command, known := commands[m.Command]
	switch {
	case !c.registered && !command.early:
		c.numericLocked(irc.ERR_NOTREGISTERED, "You have not registered")
	case !known:
		c.numericLocked(irc.ERR_UNKNOWNCOMMAND, m.Command, "Unknown command")
	case len(m.Params) < command.minParams:
		c.numericLocked(irc.ERR_NEEDMOREPARAMS, m.Command, "Not enough parameters")
	default:
		command.handle(s, c, m)
	}
}

// tooLong answers a line above the limits, or one that is not a message.
func (s *Server) tooLong(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.numericLocked(irc.ERR_INPUTTOOLONG, "Input line was too long or not valid")
}

func handlePing(s *Server, c *client, m irc.Message) {
	c.sendLocked(s.messageLocked("PONG", s.cfg.Name, m.Param(0)))
}

func handleQuit(s *Server, c *client, m irc.Message) {
	reason := "Quit"
	if text := m.Param(0); text != "" {
		reason = "Quit: " + cut(text, awayLen)
	}
	c.out.close(reason)
}

// cut shortens text to a number of bytes, between two characters.
func cut(text string, limit int) string {
	if pieces := irc.SplitText(text, limit); len(pieces) > 0 {
		return pieces[0]
	}
	return ""
}
