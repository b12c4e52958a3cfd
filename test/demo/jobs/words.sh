#!/bin/sh
# The most frequent words of standard input.
tr -cs '[:alpha:]' '\n' | tr '[:upper:]' '[:lower:]' | sort | uniq -c | sort -k1,1nr -k2 > counts.txt
echo "most frequent: $(head -n 3 counts.txt | awk '{ printf "%s (%d) ", $2, $1 }')"
