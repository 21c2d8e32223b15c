package ircd

import (
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/chat/irc"
)

// Config is what a server needs to know. Zero values mean the defaults.
type Config struct {
	Name    string   // of the server; default irc.den.local
	Network string   // default den
	MOTD    []string // or nil
	Dir     string   // of the history; empty: none is kept
	// HistoryBytes bounds the history on disk; default 64 MiB.
	HistoryBytes int64
	// SyncInterval is how often the history is synced to the disk; default 1 s.
	// A kill of the process loses nothing, a power loss at most this much.
	SyncInterval time.Duration
	// OpenTopics has new channels let every member set the topic.
	OpenTopics bool
	Accounts   *Accounts // or nil: nobody logs in
	LoginHint  string    // what to do, for those who have to log in and do not; or empty
	Limits     Limits
	Now        func() time.Time // default time.Now
}

// Limits bound what clients can use up. Zero values mean the defaults.
type Limits struct {
	Clients           int           // default 1024; more are refused
	ClientsPerAddress int           // default 1024
	Strangers         int           // clients that must log in and have not; default 64; more are refused, so that there is room for others
	Channels          int           // default 4096; more are not created
	ChannelsPerClient int           // default 256
	ListEntries       int           // bans of a channel, invitations of a client; default 256
	HistoryPage       int           // messages in one answer; default 256
	SendQueue         int           // bytes for a client that reads slowly; default 1 MiB; it is disconnected
	LineRate          float64       // lines a second of one client, over time; default 200; more wait
	LineBurst         int           // lines at once; default 1000
	Register          time.Duration // to register; default 30 s
	PingInterval      time.Duration // of silence before a PING; default 90 s
	PingTimeout       time.Duration // for its answer; default 60 s
	Write             time.Duration // for one write to a client; default 30 s
	LoginAttempts     int           // on one connection; default 5
}

// The lengths that ISUPPORT announces.
const (
	nickLen     = 64
	userLen     = 18
	channelLen  = 64
	topicLen    = 380
	realNameLen = 150
	awayLen     = 200
	keyLen      = 32
	maxTargets  = 8
	maxModes    = 6
)

func orDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}

func (c Config) withDefaults() (Config, error) {
	orDefault(&c.Name, "irc.den.local")
	orDefault(&c.Network, "den")
	orDefault(&c.SyncInterval, time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	l := &c.Limits
	orDefault(&l.Clients, 1024)
	orDefault(&l.ClientsPerAddress, 1024)
	orDefault(&l.Strangers, 64)
	orDefault(&l.Channels, 4096)
	orDefault(&l.ChannelsPerClient, 256)
	orDefault(&l.ListEntries, 256)
	orDefault(&l.HistoryPage, 256)
	orDefault(&l.SendQueue, 1<<20)
	orDefault(&l.LineRate, 200)
	orDefault(&l.LineBurst, 1000)
	orDefault(&l.Register, 30*time.Second)
	orDefault(&l.PingInterval, 90*time.Second)
	orDefault(&l.PingTimeout, time.Minute)
	orDefault(&l.Write, 30*time.Second)
	orDefault(&l.LoginAttempts, 5)
	if !strings.Contains(c.Name, ".") || strings.ContainsAny(c.Name, " :!@\r\n\x00") || len(c.Name) > 63 {
		return c, fault.Errorf(fault.Usage, "configure IRC server: %q is no server name: it needs a period, and no spaces", c.Name)
	}
	if strings.ContainsAny(c.Network, " \r\n\x00") || len(c.Network) > 63 {
		return c, fault.Errorf(fault.Usage, "configure IRC server: %q is no network name", c.Network)
	}
	return c, nil
}

// fold is the server's casemapping.
func fold(name string) string { return irc.CaseASCII.Fold(name) }
