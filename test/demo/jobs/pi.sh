#!/bin/sh
# Monte Carlo: the share of $1 darts that hit the quarter circle, times four.
awk -v n="$1" 'BEGIN { srand(42); for (i = 0; i < n; i++) { x = rand(); y = rand(); if (x*x + y*y < 1) h++ } printf "pi is about %.4f\n", 4*h/n }'
