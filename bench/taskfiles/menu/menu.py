#!/usr/bin/env python3
"""A menu whose entries are in no certain order, and a question that has to be confirmed."""
import curses
import sys

ENTER = (10, 13, curses.KEY_ENTER)


def choose(screen, title, entries):
    at = 0
    while True:
        screen.erase()
        screen.addstr(1, 2, title)
        for i, entry in enumerate(entries):
            screen.addstr(3 + i, 4, ("* " if i == at else "  ") + entry, curses.A_REVERSE if i == at else 0)
        screen.refresh()
        key = screen.getch()
        if key in ENTER:
            return entries[at]
        if key == curses.KEY_DOWN:
            at = min(at + 1, len(entries) - 1)
        elif key == curses.KEY_UP:
            at = max(at - 1, 0)


def menu(screen):
    curses.curs_set(0)
    target = choose(screen, "Deploy where? (arrows, Enter)", open("entries").read().split())
    return target, choose(screen, f"Deploy to {target}?", ["no", "yes"])


target, sure = curses.wrapper(menu)
if sure == "no":
    print("cancelled")
    sys.exit(1)
open("deployed", "w").write(target)
print(f"deployed to {target} as {open('key').read()}")
sys.exit(6)
