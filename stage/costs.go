package stage

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"gbroker/stage/transfer"
)

// costs remembers for a while how large files at URIs are: a decision needs it soon, not exactly.
type costs struct {
	mu    sync.Mutex
	known map[[32]byte]cost
}

type cost struct {
	bytes int64
	until time.Time
}

const (
	costLimit = 5 * time.Second  // of one question
	costLife  = 10 * time.Minute // of an answer
	maxCosts  = 10_000
)

// of is the size of the file at a place; 0 where it is not told. Who may not see it is not told what
// another was: credentials and account are part of the question.
func (c *costs) of(ctx context.Context, places *transfer.Client, p transfer.Place) int64 {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q", p.URI, p.Account)
	for _, s := range p.Secrets {
		fmt.Fprintf(h, " %q", s.Fields())
	}
	key := [32]byte(h.Sum(nil))
	now := time.Now()
	c.mu.Lock()
	k, ok := c.known[key]
	c.mu.Unlock()
	if ok && now.Before(k.until) {
		return k.bytes
	}
	ctx, cancel := context.WithTimeout(ctx, costLimit)
	defer cancel()
	f, err := places.Stat(ctx, p)
	if err != nil {
		f.Size = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCosts {
		c.known = map[[32]byte]cost{}
	}
	c.known[key] = cost{max(f.Size, 0), now.Add(costLife)}
	return max(f.Size, 0)
}
