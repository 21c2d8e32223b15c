// Command helper is the program that the providers' tests run in sessions: it
// does one thing, says by a file that it has begun, and needs nothing else of
// the place where it runs.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// modes are the things that it does. Each gets the file by which it says that
// it has begun, and what else it was given.
var modes = map[string]func(ready string, args []string) error{
	"idle":   idle,
	"read":   read,
	"paste":  paste,
	"report": report,
	"exit":   exit,
	"die":    die,
	"lines":  lines,
	"echo":   echo,
	"trap":   trap,
	"tree":   tree,
	"branch": branch,
}

func main() {
	if len(os.Args) < 3 || modes[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: helper MODE READY [ARG...]")
		os.Exit(2)
	}
	if err := modes[os.Args[1]](os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "helper:", err)
		os.Exit(1)
	}
}

// begun makes the file, whole.
func begun(ready string) error { return put(ready, []byte("begun\n")) }

func put(path string, data []byte) error {
	if err := os.WriteFile(path+".tmp", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func rest() error {
	for {
		time.Sleep(time.Hour)
	}
}

func idle(ready string, _ []string) error {
	if err := begun(ready); err != nil {
		return err
	}
	return rest()
}

// read takes its input byte for byte and appends it to a file.
func read(ready string, args []string) error {
	if term.IsTerminal(0) {
		if _, err := term.MakeRaw(0); err != nil {
			return err
		}
	}
	out, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err := begun(ready); err != nil {
		return err
	}
	if _, err := io.Copy(out, os.Stdin); err != nil {
		return err
	}
	return rest() // a place that closes the input has not ended the program
}

// paste is read by a program that wants pastes marked.
func paste(ready string, args []string) error {
	fmt.Print("\x1b[?2004h")
	return read(ready, args)
}

// report writes down what it was given.
func report(ready string, _ []string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	said := map[string]any{"cwd": cwd, "env": os.Environ(), "terminal": term.IsTerminal(0) && term.IsTerminal(1)}
	if cols, rows, err := term.GetSize(0); err == nil {
		said["cols"], said["rows"] = cols, rows
	}
	raw, err := json.Marshal(said)
	if err != nil {
		return err
	}
	if err := put(ready, raw); err != nil {
		return err
	}
	return rest()
}

func exit(ready string, args []string) error {
	code, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if err := begun(ready); err != nil {
		return err
	}
	os.Exit(code)
	return nil
}

// die ends by a signal.
func die(ready string, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if err := begun(ready); err != nil {
		return err
	}
	if err := syscall.Kill(os.Getpid(), syscall.Signal(n)); err != nil {
		return err
	}
	return rest()
}

// lines prints so many, then so many blank ones, and ends if told to.
func lines(ready string, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	blank, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for i := range n {
		fmt.Fprintf(out, "line %d\n", i+1)
	}
	fmt.Fprint(out, strings.Repeat("\n", blank))
	if err := out.Flush(); err != nil {
		return err
	}
	if err := begun(ready); err != nil {
		return err
	}
	if len(args) > 2 {
		return nil
	}
	return rest()
}

// echo answers every line.
func echo(ready string, _ []string) error {
	if err := begun(ready); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fmt.Printf("got <%s>\n", in.Text())
	}
	if err := in.Err(); err != nil {
		return err
	}
	return rest()
}

// trap writes down an interrupt and goes on.
func trap(ready string, args []string) error {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	if err := begun(ready); err != nil {
		return err
	}
	<-interrupted
	if err := put(args[0], []byte("interrupted\n")); err != nil {
		return err
	}
	return rest()
}
