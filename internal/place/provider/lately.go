package provider

import "context"

type latelyKey struct{}

// Lately returns a context for questions that are asked over and over, as for what
// is shown of an agent. A place that is far away, and is told of changes by itself,
// may answer them with what it was told in the last seconds. Nothing is done about
// such an answer that cannot be taken back.
func Lately(ctx context.Context) context.Context {
	return context.WithValue(ctx, latelyKey{}, true)
}

// IsLately reports whether a question may be answered so.
func IsLately(ctx context.Context) bool {
	lately, _ := ctx.Value(latelyKey{}).(bool)
	return lately
}
