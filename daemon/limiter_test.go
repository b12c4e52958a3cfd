package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
)

// hosts answers in the place of all: those that are called slow never do.
type hosts struct {
	mu      sync.Mutex
	now     map[string]int // requests of each
	most    int            // that one host had at once
	all, at int
}

func (h *hosts) RoundTrip(q *http.Request) (*http.Response, error) {
	h.count(q.URL.Hostname(), 1)
	defer h.count(q.URL.Hostname(), -1)
	if strings.HasPrefix(q.URL.Hostname(), "slow") {
		<-q.Context().Done()
		return nil, q.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
}

func (h *hosts) count(host string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now[host] += n
	h.at += n
	h.most, h.all = max(h.most, h.now[host]), max(h.all, h.at)
}

// tells makes a notifier that asks these hosts, and tell, which has a user's webhook told of a job.
func tells(t *testing.T, h *hosts) (n *notifier, tell func(ctx context.Context, user, to string) error) {
	n, err := newNotifier(Config{}, func(grid.PeerID) string { return "alpha" })
	if err != nil {
		t.Fatal(err)
	}
	n.client = &http.Client{Transport: h}
	return n, func(ctx context.Context, user, to string) error {
		r := &grid.Record{Job: grid.Job{ID: "j", User: grid.User{Name: user}}, State: grid.Completed}
		return n.Notify(ctx, r, grid.Owed{Notice: grid.Notice{To: to, When: "end"}, At: 5})
	}
}

// A host that takes its time, or a user with many such, does not keep the notices of others; of no host and no user are many told at
// once, and of all no more than may be.
func TestASlowWebhookKeepsNobodyElse(t *testing.T) {
	t.Parallel()
	for _, far := range []string{"https://slow.example/hook", "https://slow%d.example/hook"} {
		synctest.Test(t, func(t *testing.T) {
			h := &hosts{now: map[string]int{}}
			n, tell := tells(t, h)
			var slow sync.WaitGroup
			for i := range 100 {
				slow.Go(func() {
					if err := tell(t.Context(), "ann", strings.Replace(far, "%d", fmt.Sprint(i), 1)); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("the slow one: %v", err)
					}
				})
			}
			synctest.Wait()
			before := time.Now()
			for range 50 {
				if err := tell(t.Context(), "bob", "https://quick.example/"); err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(before); took > time.Second {
				t.Errorf("the quick one is told after %v", took)
			}
			slow.Wait()
			if h.most > ofHost || h.all > ofUser+1 || len(n.users.keys)+len(n.hosts.keys)+len(n.all.keys) > 0 {
				t.Errorf("%d of one host, %d of all; kept are %v, %v", h.most, h.all, n.users.keys, n.hosts.keys)
			}
		})
	}
}

// Of one user so many wait; what is more is told to be tried again, and many users together have no more than there are places.
func TestSoManyWebhooksWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &hosts{now: map[string]int{}}
		_, tell := tells(t, h)
		var slow sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for i := range maxHeld {
			slow.Go(func() { tell(ctx, "ann", "https://slow.example/") })
			slow.Go(func() { tell(ctx, fmt.Sprint(i), fmt.Sprintf("https://slow%d.example/", i)) })
		}
		synctest.Wait()
		if err := tell(ctx, "ann", "https://quick.example/"); !errors.Is(err, errBusy) || errors.Is(err, grid.ErrInvalid) {
			t.Errorf("one more: %v", err)
		}
		cancel()
		slow.Wait()
		if h.all != maxHooks {
			t.Errorf("%d are told at once", h.all)
		}
		if err := tell(t.Context(), "ann", "https://quick.example/"); err != nil {
			t.Errorf("after all are told: %v", err)
		}
	})
}
