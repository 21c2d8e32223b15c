#!/bin/bash
# Asks three things, the last one after some work, and ends with a code of its own.
echo "Widget installer"
read -r -p "Install directory [/opt/widget]: " dir
read -r -p "Port [8080]: " port
echo "checking port $port"
sleep 1.5
read -r -p "Start it now? [y/N] " start
echo "$dir $port $start" >answers
echo "installed as widget-$(cat key)"
exit 4 # a restart is needed
