// Command modelstub serves scripted answers of a model on loopback, to try
// agents by hand and in demos without an account.
//
//	modelstub -script rules.json -log requests.jsonl
//	modelstub -say 'hello from nobody'
//
// It prints its URL and serves until it is interrupted.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"den/internal/base/fault"
	"den/internal/testkit/modelstub"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "`address` on loopback to listen on")
	script := flag.String("script", "", "`file` with rules in JSON, see modelstub.Server.Load")
	say := flag.String("say", "", "`text` to answer where no rule matches")
	logTo := flag.String("log", "", "`file` to write the recorded requests to when it ends, a JSON object a line")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *script, *say, *logTo); err != nil {
		fmt.Fprintln(os.Stderr, "modelstub:", err)
		os.Exit(fault.ExitCode(err))
	}
}

func run(ctx context.Context, addr, script, say, logTo string) error {
	s := modelstub.New()
	if script != "" {
		f, err := os.Open(script)
		if err != nil {
			return err
		}
		err = s.Load(f)
		f.Close() // Best effort: it was read.
		if err != nil {
			return err
		}
	}
	if say != "" {
		s.Always(modelstub.Any, modelstub.Say(say))
	}
	if err := s.Listen(ctx, addr); err != nil {
		return err
	}
	fmt.Println(s.URL())
	if err := s.Serve(ctx); err != nil {
		return err
	}
	return writeLog(logTo, s.Requests())
}

func writeLog(path string, requests []modelstub.Request) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	for _, r := range requests {
		line := map[string]any{"method": r.Method, "path": r.Path, "header": r.Header, "dialect": r.Dialect, "text": r.Text}
		if json.Valid(r.Body) {
			line["body"] = json.RawMessage(r.Body)
		}
		if err := enc.Encode(line); err != nil {
			f.Close() // Best effort: the write's error counts.
			return err
		}
	}
	return f.Close()
}
