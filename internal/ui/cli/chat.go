package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"den/internal/agent/harness/ipc"
	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/process/pty"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// channelVerb is one of the verbs by which an agent uses channels.
type channelVerb struct {
	use, short, example string
	least, most         int
	kind                string // of the request
	run                 harnessCall
}

// harnessCall makes a request to a harness, and prints its answer.
type harnessCall func(a *app, ctx context.Context, c *ipc.Conn, r ipc.Request) error

func (a *app) channelCmd() *cobra.Command {
	cmd := parentCmd(&cobra.Command{
		Use:   "channel",
		Short: "Talk in channels, as the agent that DEN_NICK names",
		Long: `Talk in channels with people and other agents, as an agent whose harness runs. Inside an agent's
process DEN_NICK says which agent that is; --nick names another one.

Messages that your supervisor has for you are printed on standard error as [whisper:KIND] TEXT.`,
		Example: "  den channel send '#general' 'the tests pass'\n  den channel read '#general'\n  den channel ask '#general' --timeout 60 'which port?'",
	})
	var nick, reader string
	var limit int
	timeout := duration(30 * time.Second)
	cmd.PersistentFlags().StringVar(&nick, "nick", "", "the agent's `NICK` (default $DEN_NICK)")
	for _, v := range channelVerbs() {
		sub := &cobra.Command{
			Use: v.use, Short: v.short, Example: v.example, Args: args(v.least, v.most),
			RunE: func(cmd *cobra.Command, args []string) error {
				r, err := channelRequest(v.kind, args)
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
		switch v.kind {
		case ipc.Read:
			sub.Flags().IntVarP(&limit, "limit", "n", 0, "at most so many messages (default 50)")
			sub.Flags().StringVar(&reader, "reader", "", "the reader whose place in the channel is kept; each has its own")
		case ipc.Ask:
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

// printing makes a request, prints its warnings and then its answer.
func printing[T any](text func(w io.Writer, answer T)) harnessCall {
	return func(a *app, ctx context.Context, c *ipc.Conn, r ipc.Request) error {
		var answer T
		warnings, err := c.Call(ctx, r, &answer)
		for _, w := range warnings {
			fmt.Fprintln(a.stderr, "warning:", w)
		}
		if err != nil {
			return err
		}
		return a.answer(answer, func(w io.Writer) { text(w, answer) })
	}
}

// quietly prints nothing of an answer.
func quietly(a *app, ctx context.Context, c *ipc.Conn, r ipc.Request) error {
	return printing(func(io.Writer, struct{}) {})(a, ctx, c, r)
}

func channelVerbs() []channelVerb {
	return []channelVerb{
		{"send TARGET TEXT...", "Send a message to a channel or a person", "  den channel send '#general' 'done'\n  den channel send bob 'a word in private'", 2, -1, ipc.Send, quietly},
		{"read TARGET [LIMIT]", "Print the messages that you have not read", "  den channel read '#general' 20", 1, 2, ipc.Read, printing(func(w io.Writer, m ipc.Messages) {
			if m.Dropped > 0 {
				fmt.Fprintf(w, "(%d older messages are no longer kept)\n", m.Dropped)
			}
			for _, l := range m.Messages {
				fmt.Fprintf(w, "%s <%s> %s\n", l.At.Local().Format("15:04:05"), l.Nick, l.Text)
			}
		})},
		{"ask TARGET TEXT...", "Ask in a channel, or a person, and wait for the answer", "  den channel ask '#general' --timeout 60 'which port?'", 2, -1, ipc.Ask,
			printing(func(w io.Writer, reply ipc.Reply) { fmt.Fprintf(w, "<%s> %s\n", reply.Nick, reply.Text) })},
		{"join CHANNEL", "Join a channel", "  den channel join '#builds'", 1, 1, ipc.Join, quietly},
		{"part CHANNEL", "Leave a channel", "  den channel part '#builds'", 1, 1, ipc.Part, quietly},
		{"channels", "List the channels that you are in", "  den channel channels", 0, 0, ipc.Channels, printing(func(w io.Writer, j ipc.Joined) {
			for _, name := range j.Channels {
				fmt.Fprintln(w, name)
			}
		})},
		{"who TARGET", "List who is in a channel, or describe one person", "  den channel who '#general'", 1, 1, ipc.Who, printing(func(w io.Writer, p ipc.People) {
			for _, one := range p.People {
				fmt.Fprintln(w, one.Nick)
			}
		})},
		{"topic CHANNEL [TEXT...]", "Print or set a channel's topic", "  den channel topic '#general'\n  den channel topic '#general' 'release on Friday'", 1, -1, ipc.Topic,
			printing(func(w io.Writer, t ipc.ChannelTopic) { fmt.Fprintln(w, t.Topic) })},
		{"compact", "Have your conversation summarised to make room", "  den channel compact", 0, 0, ipc.Compact, quietly},
		{"clear", "Begin a new conversation", "  den channel clear", 0, 0, ipc.Clear, quietly},
	}
}

// channelRequest is what the words of a verb ask for.
func channelRequest(kind string, words []string) (ipc.Request, error) {
	r := ipc.Request{Type: kind, Channel: first(words)}
	switch {
	case kind == ipc.Who:
		r.Channel, r.Target = "", words[0]
	case kind == ipc.Send || kind == ipc.Ask:
		r.Message = strings.Join(words[1:], " ")
	case kind == ipc.Topic && len(words) > 1:
		topic := strings.Join(words[1:], " ")
		r.Topic = &topic
	case kind == ipc.Read && len(words) == 2:
		if _, err := fmt.Sscanf(words[1], "%d", &r.Limit); err != nil || r.Limit <= 0 {
			return r, fault.Errorf(fault.Usage, "LIMIT is a number above 0, not %q", words[1])
		}
	}
	return r, nil
}

func (a *app) harnessCmd() *cobra.Command {
	cmd := parentCmd(&cobra.Command{
		Use:     "harness",
		Short:   "Look at and steer the harness of an agent: status, pause, resume, cancel, shutdown",
		Example: "  den harness status coder\n  den harness pause coder",
	})
	for _, v := range []struct {
		kind, short, example string
		run                  harnessCall
	}{
		{ipc.Status, "Show what an agent does", "  den harness status coder -j", printing(printHarness)},
		{ipc.Pause, "Begin no more turns; messages are kept", "  den harness pause coder", quietly},
		{ipc.Resume, "Begin turns again, also after too many failures", "  den harness resume coder", quietly},
		{ipc.Cancel, "End the turn that runs", "  den harness cancel coder", quietly},
		{ipc.Shutdown, "End the agent and its harness; its keeper starts them again", "  den harness shutdown coder", quietly},
	} {
		cmd.AddCommand(&cobra.Command{
			Use: v.kind + " NICK", Short: v.short, Example: v.example, Args: args(1, 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.onHarness(cmd.Context(), args[0], func(c *ipc.Conn) error { return v.run(a, cmd.Context(), c, ipc.Request{Type: v.kind}) })
			},
		})
	}
	return cmd
}

func printHarness(w io.Writer, s ipc.AgentStatus) {
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
}

func (a *app) accountsCmd() *cobra.Command {
	cmd := a.fileFlag(&cobra.Command{
		Use:   "accounts",
		Short: "List the accounts of the workspace's own chat server; set or remove one",
		Long: `List the accounts of the chat server that the workspace's keeper runs. People log in with them
(SASL, or the server's password account:password), at its port on this machine and, where [server]
has 'listen', from others. Programs of this user need no account at its socket, which 'den ps' prints.
An account that is the 'owner' of an agent decides in the channels what the agent may do.`,
		Example: "  den accounts\n  den accounts set bob\n  den accounts remove bob",
		Args:    unknownVerb,
		RunE: asking(a, keeper.MethodAccounts, func([]string) any { return nil }, func(w io.Writer, all keeper.Accounts) {
			for _, name := range all.Accounts {
				fmt.Fprintln(w, name)
			}
		}),
	})
	cmd.AddCommand(a.setAccountCmd(), a.removeAccountCmd())
	return cmd
}

func (a *app) setAccountCmd() *cobra.Command {
	var passwordFile string
	cmd := a.fileFlag(&cobra.Command{
		Use:     "set NAME",
		Short:   "Make an account, or change its password, which is read from stdin",
		Long:    "Make an account, or change its password. The password is read from stdin or from a file; on a terminal\nden asks for it and does not show it. Whoever is logged in with the account is disconnected.",
		Example: "  den accounts set bob\n  den accounts set bob <password.txt",
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			password, err := a.password(cmd.Context(), args[0], passwordFile)
			if err != nil {
				return err
			}
			return a.changeAccount(cmd.Context(), keeper.MethodSetAccount, keeper.Account{Name: args[0], Password: password}, "set")
		},
	})
	cmd.Flags().StringVar(&passwordFile, "password-file", "", "read the password from this `FILE`")
	return cmd
}

func (a *app) removeAccountCmd() *cobra.Command {
	return a.fileFlag(&cobra.Command{
		Use: "remove NAME", Short: "Remove an account, and disconnect whoever is logged in with it", Example: "  den accounts remove bob", Args: args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeAccount(cmd.Context(), keeper.MethodRemoveAccount, keeper.Account{Name: args[0]}, "removed")
		},
	})
}

func (a *app) changeAccount(ctx context.Context, method string, account keeper.Account, status string) error {
	err := a.keep(ctx, method, account, nil)
	return a.result(err, map[string]any{"name": account.Name, "status": status}, func(w io.Writer) { fmt.Fprintf(w, "account '%s' is %s\n", account.Name, status) })
}

// maxPasswordInput bounds what is read as a password.
const maxPasswordInput = 4096

// password reads the password of an account: from a file, else from stdin. A
// terminal is asked twice.
func (a *app) password(ctx context.Context, name, file string) (string, error) {
	if file == "" && term.IsTerminal(int(a.stdin.Fd())) {
		return a.askPassword(ctx, name)
	}
	var raw []byte
	var err error
	if file != "" {
		raw, err = atomicfile.Read(file, maxPasswordInput)
	} else {
		raw, err = a.readStdin(ctx, maxPasswordInput)
	}
	if err != nil {
		return "", fault.Errorf(fault.KindOf(err), "read the password: %w", err)
	}
	if len(raw) > maxPasswordInput {
		return "", fault.Errorf(fault.Usage, "read the password: it has more than %d bytes", maxPasswordInput)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r"), nil
}

// askPassword asks at the terminal, which shows nothing of what is typed from the
// first prompt on: a password that was typed early is not seen either.
func (a *app) askPassword(ctx context.Context, name string) (string, error) {
	fd := int(a.stdin.Fd())
	restore, err := pty.HideInput(fd)
	if err != nil {
		return "", fault.Errorf(fault.Internal, "read the password: %w", err)
	}
	defer restore() // Best effort: the terminal was there a moment ago.
	var words [2]string
	for i, prompt := range []string{"Password for " + name, "Once more"} {
		fmt.Fprintf(a.stderr, "%s: ", prompt)
		err := a.whileReading(ctx, func(io.Reader) error {
			raw, err := term.ReadPassword(fd)
			words[i] = string(raw)
			return err
		})
		fmt.Fprintln(a.stderr)
		if err != nil {
			return "", err
		}
	}
	if words[0] != words[1] {
		return "", fault.Errorf(fault.Usage, "the two passwords differ")
	}
	return words[0], nil
}
