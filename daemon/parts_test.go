package daemon

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A part that does not end with the others is told by name, once it is overdue, and waited for.
func TestPartsThatAreOverdue(t *testing.T) {
	t.Parallel()
	for takes, want := range map[time.Duration][]string{overdue / 2: nil, 2 * overdue: {"late"}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p := newParts(ctx, cancel)
			p.start("prompt", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
			p.start("late", func(ctx context.Context) error { <-ctx.Done(); time.Sleep(takes); return nil })
			cancel()
			told := make(chan []string, 2)
			began := time.Now()
			err := p.wait(func(alive []string) { told <- alive })
			told <- nil // for when none is told
			if got := <-told; err != nil || time.Since(began) != takes || !slices.Equal(got, want) {
				t.Errorf("after %v: %v, %v told", time.Since(began), err, got)
			}
		})
	}
}
