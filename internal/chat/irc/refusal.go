package irc

import (
	"fmt"
	"strings"

	"den/internal/base/fault"
)

// A Refusal is a server's answer that it did not do what was asked: an error
// numeric, or a FAIL of the standard replies.
type Refusal struct {
	Code   string // the numeric, or the code of the FAIL
	Target string // the channel, nick or command that it is about, or empty
	Text   string // the server's words
}

func (r *Refusal) Error() string {
	about := r.Target
	if about != "" {
		about += ": "
	}
	return fmt.Sprintf("%s%s (%s)", about, reason(r), r.Code)
}

// reason prefers words that are the same whatever the server.
func reason(r *Refusal) string {
	if known, ok := refusals[r.Code]; ok && known.text != "" {
		return known.text
	}
	return r.Text
}

type knownRefusal struct {
	kind fault.Kind
	text string // or empty: the server's words
}

// refusals gives error numerics a kind. Those that are not listed are denied.
var refusals = map[string]knownRefusal{
	ERR_NOSUCHNICK:       {fault.NotFound, "nobody there"},
	ERR_NOSUCHSERVER:     {fault.NotFound, "no such server"},
	ERR_NOSUCHCHANNEL:    {fault.NotFound, "no such channel"},
	ERR_CANNOTSENDTOCHAN: {fault.Denied, "cannot send to this channel"},
	ERR_TOOMANYCHANNELS:  {fault.Busy, "in too many channels"},
	ERR_INPUTTOOLONG:     {fault.Usage, "the line is too long"},
	ERR_NOTEXTTOSEND:     {fault.Usage, "no text to send"},
	ERR_UNKNOWNCOMMAND:   {fault.Unsupported, "the server does not know this command"},
	ERR_ERRONEUSNICKNAME: {fault.Usage, "not a valid nick here"},
	ERR_NICKNAMEINUSE:    {fault.Busy, "the nick is in use"},
	ERR_NICKCOLLISION:    {fault.Busy, "the nick is in use"},
	ERR_UNAVAILRESOURCE:  {fault.Busy, "temporarily not available"},
	ERR_USERNOTINCHANNEL: {fault.NotFound, "they are not on that channel"},
	ERR_NOTONCHANNEL:     {fault.NotFound, "not on that channel"},
	ERR_USERONCHANNEL:    {fault.Usage, "already on that channel"},
	ERR_NEEDMOREPARAMS:   {fault.Usage, ""},
	ERR_PASSWDMISMATCH:   {fault.Denied, "wrong password"},
	ERR_CHANNELISFULL:    {fault.Busy, "the channel is full"},
	ERR_INVITEONLYCHAN:   {fault.Denied, "the channel is for invited users"},
	ERR_BANNEDFROMCHAN:   {fault.Denied, "banned from the channel"},
	ERR_BADCHANNELKEY:    {fault.Denied, "wrong key for the channel"},
	ERR_BADCHANMASK:      {fault.Usage, "not a valid channel name"},
	ERR_NEEDREGGEDNICK:   {fault.Denied, "the channel needs a login"},
	ERR_CHANOPRIVSNEEDED: {fault.Denied, "not a channel operator"},
	ERR_NICKLOCKED:       {fault.Denied, "the account is locked"},
	ERR_SASLFAIL:         {fault.Denied, "wrong account or password"},
	ERR_SASLTOOLONG:      {fault.Usage, "the credentials are too long"},
	ERR_SASLABORTED:      {fault.Denied, "the login was aborted"},
}

// refusalOf returns the error that a message reports, or nil.
func refusalOf(m Message) *Refusal {
	if m.Command == "FAIL" && len(m.Params) >= 3 {
		return &Refusal{Code: m.Params[1], Target: strings.Join(m.Params[2:len(m.Params)-1], " "), Text: m.Last()}
	}
	n := m.Numeric()
	if !(n >= 400 && n < 600 || n >= 902 && n <= 907 && m.Command != RPL_SASLSUCCESS) || m.Command == ERR_NOMOTD {
		return nil
	}
	r := &Refusal{Code: m.Command, Text: m.Last()}
	if len(m.Params) > 2 {
		r.Target = m.Params[len(m.Params)-2]
	}
	return r
}

// asError wraps a refusal with its kind and what was attempted.
func (r *Refusal) asError(doing string) error {
	kind := fault.Denied
	if known, ok := refusals[r.Code]; ok {
		kind = known.kind
	}
	return fault.Errorf(kind, "%s: %w", doing, r)
}
