#!/bin/sh
# Thirty steps of a tenth of a second, and the longest pause between two of them.
longest=0 last=$(date +%s%N)
for i in $(seq 30); do
	sleep 0.1
	echo $i > steps
	now=$(date +%s%N)
	[ $((now - last)) -gt $longest ] && longest=$((now - last))
	last=$now
done
echo "30 steps on $(head -n 1 "$GBROKER_HOSTFILE"); the longest pause between two took $((longest / 1000000)) ms"
