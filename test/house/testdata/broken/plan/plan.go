// Package plan uses the global generator once, and its own once.
package plan

import (
	"broken/internal/disk"
	"math/rand/v2"
)

func F(time struct{ Now func() int }) int {
	own := rand.New(rand.NewPCG(1, 2))
	return own.IntN(3) + rand.IntN(3) + disk.N + time.Now() // this time is a parameter
}
