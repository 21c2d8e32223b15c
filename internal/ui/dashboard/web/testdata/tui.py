"""A program whose screen looks like that of a coding agent: a message opens a menu."""

import os, re, tty

options = ["Yes", "Yes, and always allow it", "No"]
text, said, menu, chosen = "", "", False, 0

def draw():
    lines = ["a coding agent", said, ""]
    if menu:
        lines += [" Bash command", "", " touch made", "", " Do you want to proceed?"]
        lines += [(" ❯ " if i == chosen else "   ") + f"{i + 1}. {o}" for i, o in enumerate(options)] + ["", " Esc to cancel"]
    else:
        lines += ["─" * 60, "❯ " + text, "─" * 60, "  ? for shortcuts"]
    os.write(1, ("\x1b[H\x1b[2J" + "\r\n".join(lines)).encode())
    if not menu:
        os.write(1, f"\x1b[5;{3 + len(text)}H".encode())

tty.setraw(0)
draw()
while True:
    for key in re.findall(r"\x1b[\[O][A-D]|[^\x1b]", os.read(0, 64).decode()):
        if menu and key.endswith("A"):
            chosen = max(0, chosen - 1)
        elif menu and key.endswith("B"):
            chosen = min(len(options) - 1, chosen + 1)
        elif menu and key == "\r":
            said, menu = "chose " + options[chosen], False
        elif not menu and key == "\r":
            text, menu, chosen = "", True, 0
        elif not menu:
            text += key
    draw()
