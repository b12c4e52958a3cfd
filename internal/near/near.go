// Package near finds the word that somebody meant who wrote another.
package near

import "strings"

// Word is the one of some words that is nearest to what was written; "" if none is near.
func Word(written string, words ...string) string {
	best, least := "", len(written)/3+2
	for _, w := range words {
		if n := distance(strings.ToLower(written), strings.ToLower(w)); n < least {
			best, least = w, n
		}
	}
	return best
}

// longest is the length of the longest words that are compared.
const longest = 40

// distance is the number of letters to insert, delete or replace between two words.
func distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
