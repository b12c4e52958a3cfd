#!/bin/sh
echo "$(wc -c < data.bin) bytes, $(cksum < data.bin | cut -d ' ' -f 1)"
