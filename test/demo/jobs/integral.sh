#!/bin/sh
# Each of GBROKER_PROCESSES processes sums its stripe of the integral of 4/(1+x^2) over 0..1.
n=$GBROKER_PROCESSES
p=0
while read -r host; do
  awk -v p=$p -v n="$n" 'BEGIN { m = 64000; for (i = p; i < m; i += n) { x = (i + 0.5)/m; s += 4/(1 + x*x) } printf "%.12f\n", s/m }' > part.$p &
  p=$((p + 1))
done < "$GBROKER_HOSTFILE"
wait
cat part.* | awk -v n="$n" '{ s += $1 } END { printf "pi is %.8f by %d processes\n", s, NR }'
echo "on $(sort -u "$GBROKER_HOSTFILE" | wc -l) nodes"
