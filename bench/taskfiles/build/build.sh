#!/bin/bash
# Five seconds: many lines, one of which matters, and a linker that says nothing.
for i in $(seq 1500); do
	echo "cc -O2 -Wall -c src/part$i.c -o obj/part$i.o"
	((i == 700)) && echo "src/part$i.c:12: error: undeclared name 'lamp$(cat key)'"
	((i % 50)) || sleep 0.1
done
sleep 2
echo "make: *** [all] Error 2"
exit 2
