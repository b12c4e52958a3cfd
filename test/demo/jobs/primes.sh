#!/bin/sh
# Sieve of Eratosthenes below $1.
awk -v n="$1" 'BEGIN { for (i = 2; i < n; i++) if (!(i in c)) { print i; for (k = i*i; k < n; k += i) c[k] } }' > primes.txt
echo "$(wc -l < primes.txt) primes below $1, the last is $(tail -n 1 primes.txt)"
