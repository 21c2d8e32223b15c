// Package irc is the codec, the rules and the client of the Internet Relay
// Chat protocol: RFC 2812 with the extensions of IRCv3.
//
// The codec (Parse, Message.Append), casemapping, splitting and mentions are
// pure functions. A Client keeps one connection to one server: it registers,
// reconnects, rejoins, paces what it sends and matches answers to requests.
// It owns its goroutines; Run returns when all of them have ended.
package irc
