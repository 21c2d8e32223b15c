package k

// help is what k prints without a verb, or with one that it does not know.
const help = `k - terminals that stay, for AI agents (den)

  k new <session> [cmd...] [--prompt="x"]   start (default: bash)
  k new <session> <cmd> --prompt=./hook     start; a program tells when a cell is done
  k fire [-t N] [session] <code>            run code, do not wait (default 300s)
  k poll [session] [cell_id]                how it goes, or went
  k run [-j] [-t N] [session] <code>        run code and wait (default 30s)
  k await ...                               the same as run
  k notify [session] <message>              a message for those who listen
  k int [session]                           Ctrl-C
  k kill <session>                          end the session
  k ls                                      list the sessions
  k status [session]                        is it well?
  k watch [session]                         follow it as lines
  k history [-n N] [session]                its last N x 5 lines (default 5)

session left out: $K_SESSION, else the only one there is.

--prompt:  (not set)   den finds out by itself: shell marks, the kernel, the prompt it has learned
           "(gdb)"     the program's prompt
           ./hook      a program; it gets the lines on stdin, and when it exits the cell is done

JSON:
  fired       {"cell_id": "...", "status": "fired"}
  running     {"cell_id": "...", "status": "running"}
  done        {"cell_id": "...", "status": "done", "output": "..."}
  timeout     {"cell_id": "...", "status": "timeout", "output": ""}
  timeout 2+  {"cell_id": "...", "status": "timeout", "output": "use k int or k kill"}
  error       {"status": "error", "output": "..."}
  cell error  {"cell_id": "...", "status": "error", "output": "..."}
done with an exit code other than 0 has "exit_code" behind the output.

Errors without cell_id: no session 'x', active cell 'x', send failed: ..., no active cell on 'x'.
Errors with cell_id: interrupted, unknown cell, watcher died,
  lock update failed; use k int or k kill, interrupt failed; use k kill.
After a timeout the cell runs on, and no other is taken until it is done: poll, k int or k kill.

km <session> [cell_id] [-1]   events as JSON lines: fired, done, notify, closed, error
`

// monitorHelp is what km prints without a session.
const monitorHelp = `km - the events of a session, one JSON object a line (den)

  km <session> [cell_id] [-1]

  fired   {"cell_id": "...", "session": "...", "status": "fired", "ts": "..."}
  done    {"cell_id": "...", "session": "...", "status": "done", "ts": "..."}
  notify  {"session": "...", "status": "notify", "from": "...", "message": "...", "ts": "..."}
  closed  {"session": "...", "status": "closed", "ts": "..."}
  error   {"session": "...", "status": "error", "message": "...", "ts": "..."}

cell_id: only this cell's fired and done.
-1: exit when a cell is over.
`
