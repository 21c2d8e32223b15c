package cli

import (
	"context"

	"den/internal/screen/eventlog"
	"den/internal/screen/render/film"
	"den/internal/screen/render/redact"
	"den/internal/screen/vt"
	"den/internal/session"

	"github.com/spf13/cobra"
)

// redactOptions say what screens, pictures and recordings must not show.
type redactOptions struct {
	expressions []string
	tokens      bool
}

func (o *redactOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.expressions, "redact", nil, "hide what `REGEX` matches, or only its groups; repeatable")
	f.BoolVar(&o.tokens, "redact-tokens", false, "hide common tokens: of GitHub, OpenAI, Anthropic, AWS, Slack, JWTs, private keys")
}

func (o *redactOptions) redactor() (*redact.Redactor, error) {
	return redact.New(o.expressions, o.tokens)
}

// pastWithSecrets is the terminal after event seq, from the log: it knows the
// rows above the screen and which rows are wrapped. The redactor that it
// returns also knows the secrets of which the screen shows only a part.
func pastWithSecrets(ctx context.Context, s *session.Session, seq uint64, hide *redact.Redactor) (*vt.Terminal, *redact.Redactor, error) {
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return nil, nil, err
	}
	if hide, err = film.Learn(ctx, log, hide); err != nil {
		return nil, nil, err
	}
	past, err := s.Replay(ctx, session.AtSeq(seq))
	if err != nil {
		return nil, nil, err
	}
	return past.Terminal, hide, nil
}
