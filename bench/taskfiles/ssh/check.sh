#!/bin/bash
# Is on the other machine.
echo "disk lamp$(cat key) is full"
exit 5
