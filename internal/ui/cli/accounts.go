package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/keeper"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func (a *app) accountsCmd() *cobra.Command {
	cmd := a.fileFlag(&cobra.Command{
		Use:   "accounts",
		Short: "List the accounts of the workspace's own chat server; set or remove one",
		Long: `List the accounts of the chat server that the workspace's keeper runs. People log in with them
(SASL, or the server's password account:password), at its port on this machine and, where [server]
has 'listen', from others. Programs of this user need none at its socket, which 'den ps' prints.
An account that is the 'owner' of an agent decides in the channels what the agent may do.`,
		Example: "  den accounts\n  den accounts set bob\n  den accounts remove bob",
		GroupID: groupAgent,
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
		Long:    "Make an account, or change its password. The password is read from stdin, or from a file; a terminal\nis asked for it without showing it. Who is logged in with the account is disconnected.",
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
		Use: "remove NAME", Short: "Remove an account; who is logged in with it is disconnected", Example: "  den accounts remove bob", Args: args(1, 1),
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

// askPassword asks at the terminal. An interrupt gives it its echo back.
func (a *app) askPassword(ctx context.Context, name string) (string, error) {
	fd := int(a.stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fault.Errorf(fault.Internal, "read the password: %w", err)
	}
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
			_ = term.Restore(fd, before) // Best effort: there is another error to tell.
			return "", err
		}
	}
	if words[0] != words[1] {
		return "", fault.Errorf(fault.Usage, "the two passwords differ")
	}
	return words[0], nil
}
