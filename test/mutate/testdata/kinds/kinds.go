// Package kinds has what can be changed beside the original, and what cannot.
package kinds

import "time"

func Wait(n int) time.Duration { return 3*time.Millisecond + time.Duration(n) }

func Name(a, b string) string { return a + b }

func Table() int { return len([4]bool{}) }

func Among(a, b bool) (n int) {
	if a && b {
		n++
	}
	return n
}

func Never() {
	if false {
		Name("", "")
	}
}
