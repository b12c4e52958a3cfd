package api_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// listen follows the feed in the background.
func listen(t *testing.T, c *api.Client, after api.Position) <-chan api.FeedEvent {
	t.Helper()
	events := make(chan api.FeedEvent)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Follow(ctx, after, time.Minute, func(e api.FeedEvent) error {
			select {
			case events <- e:
			case <-ctx.Done():
			}
			return nil
		}, nil)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Follow: %v", err)
		}
	})
	return events
}

// next is the next event of a name.
func next(t *testing.T, events <-chan api.FeedEvent, name string) api.FeedEvent {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case e := <-events:
			if e.Name == name {
				return e
			}
		case <-limit:
			t.Fatalf("no event %q comes", name)
		}
	}
}

// A change is told to who follows, as the job is then; who comes back goes on behind what he had, and where that cannot
// be he is told so.
func TestFeed(t *testing.T) {
	t.Parallel()
	service, s, c := serve(t, api.Config{Limits: api.Limits{LongPoll: 50 * time.Millisecond, Stream: 300 * time.Millisecond}})
	events := listen(t, c, api.Position{})
	next(t, events, api.EventHere)
	job, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain})
	if err != nil {
		t.Fatal(err)
	}
	change := func(to grid.State) {
		t.Helper()
		if err := service.Change(job.ID, func(r *grid.Record) { r.State = to }); err != nil {
			t.Fatal(err)
		}
	}
	change(grid.Running)
	if e := next(t, events, string(api.KindJob)); e.Job.ID != job.ID || e.Job.State != "RUNNING" {
		t.Errorf("told is %+v", e.Job)
	}
	before := next(t, events, api.EventHere).At
	for range 10 { // the server ends the stream meanwhile, and the client comes again
		next(t, events, api.EventHere)
	}
	change(grid.Completed)
	if e := next(t, events, string(api.KindJob)); e.Job.State != "COMPLETED" {
		t.Errorf("over a new connection is told %+v", e.Job)
	}
	if err := c.Remove(t.Context(), job.ID); err != nil {
		t.Fatal(err)
	}
	if e := next(t, events, api.EventRemoved); e.ID != string(job.ID) {
		t.Errorf("removed is %q", e.ID)
	}
	late := listen(t, client(t, api.ClientConfig{Address: s.Addresses()[0]}), before)
	if e := next(t, late, api.EventRemoved); e.ID != string(job.ID) {
		t.Errorf("who comes late hears of %q", e.ID)
	}
	service.ForgetChanges()
	if e := next(t, listen(t, c, before), api.EventReset); e.At == (api.Position{}) || e.At == before {
		t.Errorf("he is to go on at %v", e.At)
	}
}

// Who follows is told that the broker is away, and hears it again when it is back.
func TestFeedOfABrokerThatIsAway(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{Limits: api.Limits{LongPoll: 50 * time.Millisecond, Stream: 300 * time.Millisecond}})
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	away, enough := false, errors.New("enough")
	err := c.Follow(ctx, api.Position{}, time.Minute, func(api.FeedEvent) error {
		if away {
			return enough
		}
		service.Fail(fmt.Errorf("test: %w", grid.ErrUnavailable))
		return nil
	}, func(err error) {
		away = errors.Is(err, grid.ErrUnavailable)
		service.Fail(nil)
	})
	if !away || !errors.Is(err, enough) {
		t.Errorf("away was told: %v; then came %v", away, err)
	}
}

// until gives the events behind a position, by their names and identifiers, to the first that is last; and the last position that came.
func until(t *testing.T, c *api.Client, after api.Position, last string, kinds ...api.Kind) (seen []string, at api.Position) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	enough := errors.New("enough")
	err := c.Changes(ctx, after, func(e api.FeedEvent) error {
		text := e.Name + " " + e.ID
		switch {
		case e.Job != nil:
			text += string(e.Job.ID)
		case e.Group != nil:
			text += fmt.Sprintf("%s %d of %d", e.Group.ID, e.Group.Over, e.Group.Jobs)
		case e.Reservation != nil:
			text += string(e.Reservation.ID) + " " + e.Reservation.State
		case e.Flow != nil:
			text += string(e.Flow.ID) + " " + e.Flow.State
		case e.Name == api.EventRemoved:
			text += " of " + string(e.Kind)
		default:
			at = e.At
		}
		if seen = append(seen, text); text == last {
			return enough
		}
		return nil
	}, kinds...)
	if !errors.Is(err, enough) {
		t.Fatalf("after %q: %v", seen, err)
	}
	return seen, at
}

// Who asks for them hears of groups, reservations and workflows as of jobs, and goes on in the middle as he does with those; who does not
// gets what he ever got.
func TestFeedOfAllKinds(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{})
	_, begin := until(t, c, api.Position{}, "here ", api.Kinds...)
	h, err := c.Reserve(t.Context(), api.ReservationRequest{Nodes: 1, Cores: 1, From: 2_000_000_000_000, Span: 60})
	if err != nil {
		t.Fatal(err)
	}
	service.ChangeFlow(api.FlowStatus{ID: "here.01ABCDEFGHJKMNPQRSTVWXYZ00.flow", User: h.User, State: "running"})
	g, err := c.SubmitGroup(t.Context(), api.GroupSubmission{Key: "g", Jobs: []api.Submission{{Document: plain}, {Document: plain}}})
	if err != nil {
		t.Fatal(err)
	}
	flow, group := "flow here.01ABCDEFGHJKMNPQRSTVWXYZ00.flow running", "group "+string(g.ID)
	first := []string{"reservation r1 " + h.State, flow, group + " 0 of 2"}
	seen, at := until(t, c, begin, flow, api.Kinds...)
	if !slices.Equal(seen, first[:2]) || at != (api.Position{}) {
		t.Errorf("first is told %q, up to %v", seen, at)
	}
	seen, at = until(t, c, begin, "here ", api.Kinds...) // it broke within a piece: that comes again
	if !slices.Equal(seen, append(first, "here ")) {
		t.Errorf("again is told %q", seen)
	}
	for n := range 2 {
		if err := service.Change(g.ID.Job(n+1), func(r *grid.Record) { r.State = grid.Completed }); err != nil {
			t.Fatal(err)
		}
	}
	if seen, _ = until(t, c, at, "here ", api.KindGroup, api.KindReservation); !slices.Equal(seen, []string{group + " 2 of 2", "here "}) {
		t.Errorf("of groups and reservations is told %q", seen)
	}
	if err := c.RemoveGroup(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	if seen, _ = until(t, c, at, "here ", api.KindGroup); !slices.Equal(seen, []string{"removed " + string(g.ID) + " of group", "here "}) {
		t.Errorf("of the group is told %q", seen)
	}
	job, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain})
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Change(job.ID, func(r *grid.Record) { r.State = grid.Running }); err != nil {
		t.Fatal(err)
	}
	for _, id := range []grid.JobID{g.ID.Job(1), g.ID.Job(2)} {
		first = append(first, "removed "+string(id)+" of job")
	}
	if seen, _ = until(t, c, begin, "here "); !slices.Equal(seen, append(first[3:], "job "+string(job.ID), "here ")) {
		t.Errorf("who names no kind is told %q", seen)
	}
}

// Who comes back to where nothing has changed since hears that the broker lives, before he takes it to be lost.
func TestFeedComesBackToQuiet(t *testing.T) {
	t.Parallel()
	_, s := start(t, api.Config{Limits: api.Limits{LongPoll: 50 * time.Millisecond}})
	c := client(t, api.ClientConfig{Address: s.Addresses()[0], Stall: 2 * time.Second})
	_, at := until(t, c, api.Position{}, "here ")
	if seen, again := until(t, c, at, "here "); len(seen) != 1 || again != at {
		t.Errorf("he hears %q, and is at %v after %v", seen, again, at)
	}
}

// Who takes his time over an event, as a terminal that is stopped does, goes on behind it, though the connection is lost meanwhile.
func TestFollowerTakesHisTime(t *testing.T) {
	t.Parallel()
	service, s := start(t, api.Config{Limits: api.Limits{LongPoll: 50 * time.Millisecond}})
	c := client(t, api.ClientConfig{Address: s.Addresses()[0], Stall: 200 * time.Millisecond})
	job, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	enough, paused := errors.New("enough"), false
	err = c.Follow(ctx, api.Position{}, 500*time.Millisecond, func(e api.FeedEvent) error {
		switch {
		case e.Job != nil:
			return enough
		case paused:
			return nil
		}
		paused = true
		if err := service.Change(job.ID, func(r *grid.Record) { r.State = grid.Running }); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		return nil
	}, nil)
	if !errors.Is(err, enough) {
		t.Errorf("he hears nothing more: %v", err)
	}
}

// Who takes nothing of what he asked for has no more of it waiting here than one event.
func TestFeedOfWhoTakesNothing(t *testing.T) {
	const feeds, jobs, reason = 16, 100, 64 << 10
	service, s, c := serve(t, api.Config{})
	_, begin := until(t, c, api.Position{}, "here ")
	for i := range jobs {
		job, err := c.Submit(t.Context(), api.Submission{Key: fmt.Sprint(i), Document: plain})
		if err != nil {
			t.Fatal(err)
		}
		if err := service.Change(job.ID, func(r *grid.Record) { r.Reason = strings.Repeat("x", reason) }); err != nil {
			t.Fatal(err)
		}
	}
	held := func() int64 {
		runtime.GC()
		runtime.GC() // pools keep what they have over one
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := held()
	for range feeds {
		conn, err := net.Dial("unix", strings.TrimPrefix(s.Addresses()[0], "unix://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "GET /v1/changes?after=%v HTTP/1.1\r\nHost: gbroker\r\n\r\n", begin); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 15)); err != nil { // the answer has begun
			t.Fatal(err)
		}
	}
	if grown := held() - before; grown > feeds*jobs*reason/8 {
		t.Errorf("%d MiB are kept for %d feeds of which nobody takes anything", grown>>20, feeds)
	}
}

func TestFeedRefuses(t *testing.T) {
	t.Parallel()
	service, s := start(t, api.Config{Limits: api.Limits{Waits: 4, WaitsEach: 1, WaitsReserve: 1}})
	for _, bad := range []string{"x", "1", "0000000000000001", "0000000000000001.", "0000000000000001.-1", "1.1", "0000000000000001.01"} {
		if code, f := raw(t, s.Addresses()[0], nil, "GET", "/v1/changes?after="+bad, ""); code != http.StatusBadRequest || f.Kind != "invalid" {
			t.Errorf("after=%s: %d %+v", bad, code, f)
		}
		header := func(r *http.Request) { r.Header.Set("Last-Event-ID", bad) }
		if code, f := raw(t, s.Addresses()[0], header, "GET", "/v1/changes", ""); code != http.StatusBadRequest || f.Kind != "invalid" {
			t.Errorf("Last-Event-ID: %s: %d %+v", bad, code, f)
		}
	}
	for _, bad := range []string{"x", "Job", "job,", "job,group,x", ","} {
		if code, f := raw(t, s.Addresses()[0], nil, "GET", "/v1/changes?kinds="+bad, ""); code != http.StatusBadRequest || f.Kind != "invalid" || !strings.Contains(f.Text, "job,group,reservation,flow") {
			t.Errorf("kinds=%s: %d %+v", bad, code, f)
		}
	}
	stale := func(r *http.Request) { r.Header.Set("Last-Event-ID", "x") }
	if code, _ := raw(t, s.Addresses()[0], stale, "GET", "/v1/changes?after=0000000000000001.1", ""); code != http.StatusBadRequest {
		t.Errorf("where a browser comes again the address has the first position still, and the header the last: the answer is %d", code)
	}
	c := client(t, api.ClientConfig{Address: s.Addresses()[0]})
	next(t, listen(t, c, api.Position{}), api.EventHere)
	err := c.Changes(t.Context(), api.Position{}, func(api.FeedEvent) error { return nil })
	if !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "waiting") {
		t.Errorf("a second feed where each may have one: %v", err)
	}
	service.Fail(grid.ErrForbidden)
	if code, _ := raw(t, s.Addresses()[0], nil, "GET", "/v1/changes", ""); code == http.StatusOK {
		t.Error("a feed of a broker that has none")
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	for _, p := range []api.Position{{}, {Life: 1}, {Life: 1<<63 + 5, Sequence: 1<<64 - 1}} {
		if back, err := api.ParsePosition(p.String()); err != nil || back != p {
			t.Errorf("%v becomes %v, %v", p, back, err)
		}
	}
}

// What a client cannot read of a feed it cannot read the next time either: it is told so, and does not ask again. A line that broke off with the
// connection is no such thing.
func TestAnEventThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for sent, again := range map[string]bool{
		"event: job\ndata: {]\n\n":                false,
		"event: here\nid: nowhere\n\n":            false,
		"event: here\nid: 00000000000000":         true,
		"event: job\ndata: {\"id\":":              true,
		"event: of a later broker\ndata: {]\n\n":  true,
		"event: here\nid: 0000000000000001.7\n\n": true,
	} {
		t.Run(sent, func(t *testing.T) {
			t.Parallel()
			asked := make(chan bool, 1)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				select {
				case asked <- true:
				default:
				}
				fmt.Fprint(w, sent)
			}))
			t.Cleanup(s.Close)
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			ended, c := make(chan error, 1), client(t, api.ClientConfig{Address: s.URL, Token: tokenText})
			go func() {
				ended <- c.Follow(ctx, api.Position{}, time.Minute, func(api.FeedEvent) error { return nil }, nil)
			}()
			select {
			case <-asked:
			case err := <-ended: // both may be so by now
				if len(asked) == 0 {
					t.Fatalf("nobody was asked: %v", err)
				}
				<-asked
				ended <- err
			}
			select {
			case err := <-ended:
				if again || !strings.Contains(fmt.Sprint(err), "cannot read what the broker tells") {
					t.Errorf("it ends with %v", err)
				}
			case <-asked:
				if !again {
					t.Error("it asks again")
				}
			}
		})
	}
}

// Kinds may be named in one word or in several: all of them count.
func TestKindsInSeveralWords(t *testing.T) {
	t.Parallel()
	_, s, _ := serve(t, api.Config{Limits: api.Limits{LongPoll: 50 * time.Millisecond, Stream: 100 * time.Millisecond}})
	if code, fault := raw(t, s.Addresses()[0], nil, http.MethodGet, "/v1/changes?kinds=job&kinds=nothing", ""); code != http.StatusBadRequest {
		t.Errorf("%d: %+v", code, fault)
	}
}
