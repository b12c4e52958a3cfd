package e2e

import (
	"context"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/test/cluster"
)

// Who follows the feed hears of every job as it goes, also over a restart of the broker, after which he is told to look
// for himself.
func TestFeedOfChanges(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 2})
	start(t, s)
	c, err := api.NewClient(api.ClientConfig{Address: s.Address()})
	must(t, err)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	events, ended := make(chan api.FeedEvent), make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Follow(ctx, api.Position{}, time.Minute, func(e api.FeedEvent) error {
			select {
			case events <- e:
			case <-ctx.Done():
			}
			return nil
		}, nil)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	until := func(what string, is func(api.FeedEvent) bool) (seen []api.FeedEvent) {
		t.Helper()
		limit := time.After(60 * time.Second)
		for {
			select {
			case e := <-events:
				if seen = append(seen, e); is(e) {
					return seen
				}
			case <-limit:
				t.Fatalf("the feed does not tell %s; it told %+v", what, seen)
			}
		}
	}
	state := func(id, state string) func(api.FeedEvent) bool {
		return func(e api.FeedEvent) bool { return e.Job != nil && string(e.Job.ID) == id && e.Job.State == state }
	}
	until("where it begins", func(e api.FeedEvent) bool { return e.Name == api.EventHere })
	id := work{script: "sleep 0.3"}.submit(t, s, dir, "one")
	ran := false
	for _, e := range until("its end", state(id, "COMPLETED")) {
		ran = ran || state(id, "RUNNING")(e)
	}
	if !ran {
		t.Error("it did not tell that the job runs")
	}
	client(t, s, "remove", id)
	until("its removal", func(e api.FeedEvent) bool { return e.Name == api.EventRemoved && e.ID == id })

	must(t, s.Stop())
	start(t, s)
	until("that the broker began anew", func(e api.FeedEvent) bool { return e.Name == api.EventReset })
	id = work{script: "true"}.submit(t, s, dir, "two")
	until("the next job's end", state(id, "COMPLETED"))
}
