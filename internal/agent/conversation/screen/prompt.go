package screen

import (
	"context"
	"slices"
	"strings"
)

// Where the provider does not follow input, what stands in a plain program's
// line is known by the prompt left of it. A program may change its prompt at
// any time. Certain is it at two moments only: when the program has come up,
// and when it waits for input again behind a line of den's.

// metaPrompt keeps a program's newest prompt beside its session.
const metaPrompt = "den.prompt"

// maxPrompts bounds what is remembered of prompts: the oldest go. A question of
// the program looks like one, and its prompt comes back.
const maxPrompts = 8

// learnPrompt remembers a prompt as the newest.
func (c *Conversation) learnPrompt(ctx context.Context, prompt string) {
	c.mu.Lock()
	if n := len(c.prompts); n > 0 && c.prompts[n-1] == prompt {
		c.mu.Unlock()
		return
	}
	c.prompts = append(slices.DeleteFunc(c.prompts, func(p string) bool { return p == prompt }), prompt)
	if len(c.prompts) > maxPrompts {
		c.prompts = c.prompts[1:]
	}
	c.mu.Unlock()
	// Best effort: it is for the keeper after this one.
	_ = c.provider.SetMeta(ctx, c.session, metaPrompt, prompt)
}

// recallPrompt takes over what an earlier keeper has learnt.
func (c *Conversation) recallPrompt(ctx context.Context) {
	if c.hints.CodingAgent || c.knowsPrompt() {
		return
	}
	prompt, err := c.provider.GetMeta(ctx, c.session, metaPrompt)
	if err != nil || prompt == "" {
		return // there is no session, or no place to keep anything, or nothing
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prompts = append(c.prompts, prompt)
}

// knowsPrompt reports whether a prompt of the plain program is known.
func (c *Conversation) knowsPrompt() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.prompts) > 0
}

// behindPrompt returns what stands behind the longest known prompt in the row
// left of the cursor; ok is false where no known prompt is there.
func (c *Conversation) behindPrompt(row string) (left string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	longest := ""
	for _, p := range c.prompts {
		if strings.HasPrefix(row, p) && len(p) > len(longest) {
			longest = p
		}
	}
	return row[len(longest):], longest != ""
}

// followPrompt learns the prompt anew after each message, until the context
// ends.
func (c *Conversation) followPrompt(ctx context.Context) {
	if c.terminal == nil || c.hints.CodingAgent {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.submitted:
		}
		if c.terminal.AwaitReady(ctx, c.session) != nil {
			continue // it has ended, or cannot be asked
		}
		// An error is that of the context.
		_ = c.whileTyping(ctx, func() error {
			if !c.somebodyTypes(ctx) {
				c.LearnLine(ctx)
			}
			return nil
		})
	}
}
