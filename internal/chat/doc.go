// Package chat is the wing of the channels: the protocol and its client (irc), and
// the server with its history (irc/ircd). It has no code of its own.
//
// Its packages import base. Begin with ircd.Server.
package chat
