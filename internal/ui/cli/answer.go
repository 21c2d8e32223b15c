package cli

import (
	"time"

	"den/internal/base/fault"
	"den/internal/screen/keys"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
)

func (a *app) answerCmd() *cobra.Command {
	o := runOptions{timeout: duration(30 * time.Second)}
	var chords bool
	var question string
	cmd := &cobra.Command{
		Use:   "answer [SESSION] TEXT | --keys [SESSION] CHORD...",
		Short: "Answer what a cell asks and wait until it is done",
		Long: `Type TEXT and Enter, or press the chords, when the active cell asks something ("waiting_for",
exit 13), and wait: until it asks again, is done, or the time is up. The result and the
exit code are those of 'den run'. If the cell asks nothing, nothing is typed (exit 5). With
--question nothing is typed if the cell asks another question by then.`,
		Example: "  den answer work yes\n  den answer work --keys Down Enter -t 5m",
		GroupID: groupCell,
		Args:    args(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runAnswer(cmd, args, chords, question, o)
		},
		ValidArgsFunction: a.completeSession,
	}
	a.addRunFlags(cmd, &o)
	cmd.Flags().BoolVar(&chords, "keys", false, "the words are chords, as for 'den keys'")
	cmd.Flags().StringVar(&question, "question", "", "answer only this question, as 'run' or 'poll' told it")
	return cmd
}

func (a *app) runAnswer(cmd *cobra.Command, args []string, chords bool, question string, o runOptions) error {
	req, err := o.request("")
	if err != nil {
		return err
	}
	isWord := func(word string) bool { return !chords || isChord(word) }
	s, words, err := a.leadingTarget(args, isWord)
	if err != nil {
		return err
	}
	in := wire.Input{Keys: words}
	if chords {
		for _, word := range words {
			if _, err := keys.Parse(word); err != nil {
				return err
			}
		}
	}
	switch {
	case len(words) == 0:
		return fault.Hintf(fault.Errorf(fault.Usage, "no answer was given"), "for example 'den answer work yes'; '' is Enter alone")
	case !chords && len(words) > 1:
		return fault.Hintf(fault.Errorf(fault.Usage, "an answer is one word: %d were given", len(words)), "quote it, as in 'den answer work \"two words\"'")
	case !chords:
		in = wire.Input{Text: &words[0], Enter: true}
	}
	req.Question = question
	r, err := s.Answer(cmd.Context(), in, req)
	if err != nil {
		return err
	}
	return a.answerRun(s, r, o)
}

func isChord(word string) bool {
	_, err := keys.Parse(word)
	return err == nil
}
