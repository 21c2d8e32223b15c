package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"den/internal/agent/harness/ipc"
	"den/internal/base/fault"

	"github.com/spf13/cobra"
)

// channelVerb is one of the verbs by which an agent uses channels.
type channelVerb struct {
	use, short, example string
	least, most         int
	request             func(args []string) (ipc.Request, error)
	run                 func(a *app, ctx context.Context, c *ipc.Conn, r ipc.Request) error
}

func (a *app) channelCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "channel",
		Short: "Talk in channels, as the agent that DEN_NICK names",
		Long: `Talk in channels with people and other agents, as an agent whose harness runs. Inside an agent's
process DEN_NICK says which agent that is; --nick names another one.

Messages that your supervisor has for you are printed on standard error as [whisper:KIND] TEXT.`,
		Example: "  den channel send '#general' 'the tests pass'\n  den channel read '#general'\n  den channel ask '#general' --timeout 60 'which port?'",
		GroupID: groupAgent,
		Args:    unknownVerb,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var nick, reader string
	var limit int
	timeout := duration(30 * time.Second)
	cmd.PersistentFlags().StringVar(&nick, "nick", "", "the agent's `NICK` (default $DEN_NICK)")
	for _, v := range channelVerbs {
		sub := &cobra.Command{
			Use: v.use, Short: v.short, Example: v.example, Args: args(v.least, v.most),
			RunE: func(cmd *cobra.Command, args []string) error {
				r, err := v.request(args)
				if err != nil {
					return err
				}
				r.Reader = reader
				if limit != 0 {
					r.Limit = limit
				}
				r.Timeout = time.Duration(timeout).Seconds()
				return a.onHarness(cmd.Context(), nick, func(c *ipc.Conn) error { return v.run(a, cmd.Context(), c, r) })
			},
		}
		switch v.use[:strings.IndexByte(v.use+" ", ' ')] {
		case "read":
			sub.Flags().IntVarP(&limit, "limit", "n", 0, "at most so many messages (default 50)")
			sub.Flags().StringVar(&reader, "reader", "", "whose place in the channel is kept; each reader has its own")
		case "ask":
			sub.Flags().VarP(&timeout, "timeout", "t", "how long to wait for the answer")
		}
		cmd.AddCommand(sub)
	}
	return cmd
}

// onHarness connects to the harness of an agent.
func (a *app) onHarness(ctx context.Context, nick string, do func(c *ipc.Conn) error) error {
	path, err := ipc.Find(nick, a.getenv)
	if err != nil {
		return err
	}
	conn, err := ipc.Dial(ctx, path)
	if err != nil {
		return err
	}
	defer conn.Close() // Best effort: everything was answered.
	conn.OnWhisper = func(w ipc.Whisper) { fmt.Fprintf(a.stderr, "[whisper:%s] %s\n", w.Kind, w.Message) }
	return do(conn)
}

// call makes a request, prints its warnings and then its answer.
func call[T any](a *app, ctx context.Context, c *ipc.Conn, r ipc.Request, text func(w io.Writer, answer T)) error {
	var answer T
	warnings, err := c.Call(ctx, r, &answer)
	for _, w := range warnings {
		fmt.Fprintln(a.stderr, "warning:", w)
	}
	if err != nil {
		return err
	}
	return a.answer(answer, func(w io.Writer) {
		if text != nil {
			text(w, answer)
		}
	})
}

type nothing struct{}

func quietly(a *app, ctx context.Context, c *ipc.Conn, r ipc.Request) error {
	return call[nothing](a, ctx, c, r, nil)
}

var channelVerbs = []channelVerb{
	{
		use: "send TARGET TEXT...", short: "Send a message to a channel or a person", example: "  den channel send '#general' 'done'\n  den channel send bob 'a word in private'", least: 2, most: -1,
		request: func(args []string) (ipc.Request, error) {
			return ipc.Request{Type: ipc.Send, Channel: args[0], Message: strings.Join(args[1:], " ")}, nil
		},
		run: quietly,
	},
	{
		use: "read TARGET [LIMIT]", short: "Print the messages that you have not read", example: "  den channel read '#general' 20", least: 1, most: 2,
		request: func(args []string) (ipc.Request, error) {
			r := ipc.Request{Type: ipc.Read, Channel: args[0]}
			if len(args) == 2 {
				if _, err := fmt.Sscanf(args[1], "%d", &r.Limit); err != nil || r.Limit <= 0 {
					return r, fault.Errorf(fault.Usage, "LIMIT is a number above 0, not %q", args[1])
				}
			}
			return r, nil
		},
		run: func(a *app, ctx context.Context, c *ipc.Conn, r ipc.Request) error {
			return call(a, ctx, c, r, func(w io.Writer, m ipc.Messages) {
				if m.Dropped > 0 {
					fmt.Fprintf(w, "(%d older messages are no longer kept)\n", m.Dropped)
				}
				for _, l := range m.Messages {
					fmt.Fprintf(w, "%s <%s> %s\n", l.At.Local().Format("15:04:05"), l.Nick, l.Text)
				}
			})
		},
	},
	{
		use: "ask TARGET TEXT...", short: "Ask in a channel, or a person, and wait for the answer", example: "  den channel ask '#general' --timeout 60 'which port?'", least: 2, most: -1,
		request: func(args []string) (ipc.Request, error) {
			return ipc.Request{Type: ipc.Ask, Channel: args[0], Message: strings.Join(args[1:], " ")}, nil
		},
		run: func(a *app, ctx context.Context, c *ipc.Conn, r ipc.Request) error {
			return call(a, ctx, c, r, func(w io.Writer, reply ipc.Reply) { fmt.Fprintf(w, "<%s> %s\n", reply.Nick, reply.Text) })
		},
	},
	{
		use: "join CHANNEL", short: "Join a channel", example: "  den channel join '#builds'", least: 1, most: 1,
		request: func(args []string) (ipc.Request, error) {
			return ipc.Request{Type: ipc.Join, Channel: args[0]}, nil
		},
		run: quietly,
	},
	{
		use: "part CHANNEL", short: "Leave a channel", example: "  den channel part '#builds'", least: 1, most: 1,
		request: func(args []string) (ipc.Request, error) {
			return ipc.Request{Type: ipc.Part, Channel: args[0]}, nil
		},
		run: quietly,
	},
	{
		use: "channels", short: "List the channels that you are in", example: "  den channel channels",
		request: func([]string) (ipc.Request, error) { return ipc.Request{Type: ipc.Channels}, nil },
		run: func(a *app, ctx context.Context, c *ipc.Conn, r ipc.Request) error {
			return call(a, ctx, c, r, func(w io.Writer, j ipc.Joined) {
				for _, name := range j.Channels {
					fmt.Fprintln(w, name)
				}
			})
		},
	},
	{
		use: "who TARGET", short: "List who is in a channel, or tell of one person", example: "  den channel who '#general'", least: 1, most: 1,
		request: func(args []string) (ipc.Request, error) { return ipc.Request{Type: ipc.Who, Target: args[0]}, nil },
		run: func(a *app, ctx context.Context, c *ipc.Conn, r ipc.Request) error {
			return call(a, ctx, c, r, func(w io.Writer, p ipc.People) {
				for _, one := range p.People {
					fmt.Fprintln(w, one.Nick)
				}
			})
		},
	},
	{
		use: "topic CHANNEL [TEXT...]", short: "Print or set a channel's topic", example: "  den channel topic '#general'\n  den channel topic '#general' 'release on Friday'", least: 1, most: -1,
		request: func(args []string) (ipc.Request, error) {
			r := ipc.Request{Type: ipc.Topic, Channel: args[0]}
			if len(args) > 1 {
				topic := strings.Join(args[1:], " ")
				r.Topic = &topic
			}
			return r, nil
		},
		run: func(a *app, ctx context.Context, c *ipc.Conn, r ipc.Request) error {
			return call(a, ctx, c, r, func(w io.Writer, t ipc.ChannelTopic) { fmt.Fprintln(w, t.Topic) })
		},
	},
	{
		use: "compact", short: "Have your conversation summarised to make room", example: "  den channel compact",
		request: func([]string) (ipc.Request, error) { return ipc.Request{Type: ipc.Compact}, nil }, run: quietly,
	},
	{
		use: "clear", short: "Begin a new conversation", example: "  den channel clear",
		request: func([]string) (ipc.Request, error) { return ipc.Request{Type: ipc.Clear}, nil }, run: quietly,
	},
}

func (a *app) harnessCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "harness",
		Short:   "Look at and steer the harness of an agent: status, pause, resume, cancel, shutdown",
		Example: "  den harness status coder\n  den harness pause coder",
		GroupID: groupAgent,
		Args:    unknownVerb,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.harnessStatusCmd())
	for _, v := range []struct{ kind, short string }{
		{ipc.Pause, "Begin no more turns; messages are kept"},
		{ipc.Resume, "Begin turns again, also after too many failures"},
		{ipc.Cancel, "End the turn that runs"},
		{ipc.Shutdown, "End the agent and its harness; its keeper starts them again"},
	} {
		cmd.AddCommand(&cobra.Command{
			Use: v.kind + " NICK", Short: v.short, Example: "  den harness " + v.kind + " coder", Args: args(1, 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.onHarness(cmd.Context(), args[0], func(c *ipc.Conn) error {
					return quietly(a, cmd.Context(), c, ipc.Request{Type: v.kind})
				})
			},
		})
	}
	return cmd
}

func (a *app) harnessStatusCmd() *cobra.Command {
	return &cobra.Command{
		Use: "status NICK", Short: "Tell what an agent does", Example: "  den harness status coder -j", Args: args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onHarness(cmd.Context(), args[0], func(c *ipc.Conn) error {
				return call(a, cmd.Context(), c, ipc.Request{Type: ipc.Status}, func(w io.Writer, s ipc.AgentStatus) {
					fmt.Fprintf(w, "%s: %s\n%d turns, %d messages wait\n", s.Activity, s.Description, s.TurnCount, s.Pending)
					if s.Why != "" {
						fmt.Fprintln(w, s.Why)
					}
					if s.CircuitOpen {
						fmt.Fprintln(w, "it failed too often and is not restarted: 'den harness resume' tries again")
					}
					if s.Question != nil {
						fmt.Fprintf(w, "asks %s: %s\n", s.Question.ID, s.Question.Text)
					}
				})
			})
		},
	}
}
