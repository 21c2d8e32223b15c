// Package modelstub is a model server for tests: it listens on loopback and
// says what a script tells it to.
//
// It speaks four dialects, streaming and plain: Anthropic's Messages, OpenAI's
// Responses and Chat Completions, Google's generateContent. Beside them it answers what coding agents ask
// when they come up: lists of models, counts of tokens, and telemetry, which
// gets nothing.
//
//	stub := modelstub.Start(t)
//	stub.When(modelstub.Contains("list"), modelstub.Use("Bash", `{"command":"ls"}`), modelstub.Say("two files"))
//	stub.Always(modelstub.Contains("ping"), modelstub.Say("pong"))
//	… run an agent against stub.URL() (Anthropic) or stub.URL()+"/v1" (OpenAI) …
//	got, err := stub.Await(ctx, modelstub.Contains("ping"))
//
// A request takes the first rule, in the order in which they were added, that
// matches it and has a reply left. Rules match on the newest text of the user,
// which stays the same while the model uses tools: the replies of one rule are
// the steps of one turn. What no rule matches (agents ask for titles and
// summaries on the side) gets a reply that says so, and is recorded as
// unscripted.
//
// Replies can fail with a status, break their stream in four ways, wait, pause
// between chunks, or hold after the first chunk until a test lets them go on.
// Every request is recorded before it is answered.
//
// A Server is safe for concurrent use; rules may be added while it serves. Its
// goroutines belong to Serve, which returns when all of them have ended.
package modelstub
