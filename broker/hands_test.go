package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/plan"
)

// hands are ports that note what they are asked, and fail as they are told.
type hands struct {
	shell
	mu          sync.Mutex // of calls and fails
	calls       []string
	fails       map[string]error // by the name of the call
	unavailable bool             // what fails of Bring
	again       string           // why an output is brought again
	folders     []grid.JobID
	aside       string
	putAside    map[string]grid.JobID
	b           *Broker
}

func (h *hands) call(name string, args ...any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, fmt.Sprint(append([]any{name, ":"}, args...)...))
	return h.fails[name]
}

// only lets one call fail from now on, or none ("").
func (h *hands) only(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fails = map[string]error{name: errBoom}
}

func (h *hands) Snapshot(context.Context) (plan.Snapshot, error) {
	return plan.Snapshot{Site: grid.Site{Name: "a"}}, h.call("Snapshot")
}
func (h *hands) Submit(_ context.Context, s grid.Submission) (grid.LocalID, error) {
	return "l", h.call("Submit", s.Work, s.Control)
}
func (h *hands) Withdraw(_ context.Context, _ grid.AttemptID, control string) (bool, error) {
	return true, h.call("Withdraw", control)
}
func (h *hands) Kill(_ context.Context, _ grid.AttemptID, control string) error {
	return h.call("Kill", control)
}
func (h *hands) Progress(_ context.Context, _ grid.AttemptID, control string) (grid.Progress, error) {
	return grid.Progress{Phase: grid.Started}, h.call("Progress", control)
}
func (h *hands) Attempts(context.Context) ([]grid.AttemptID, error) {
	return []grid.AttemptID{{Job: "batch"}}, h.call("Attempts")
}
func (h *hands) Paths(id grid.JobID) (string, string) {
	return "work/" + string(id), "ctl/" + string(id)
}
func (h *hands) Fetch(_ context.Context, from grid.PeerID, _ grid.JobID, set core.FileSet, files grid.Manifest, user grid.User, _ []grid.Grant) error {
	return h.call("Fetch", from, set, len(files), user.Name)
}
func (h *hands) Bring(_ context.Context, from grid.PeerID, _ grid.Job) (bool, error) {
	return h.unavailable, h.call("Bring", from)
}
func (h *hands) Costs(ctx context.Context, _ grid.Job) grid.SourceCost {
	_, bounded := ctx.Deadline()
	h.call("Costs", bounded)
	return grid.SourceCost{Bytes: 5}
}
func (h *hands) Export(_ context.Context, _ grid.Job, left grid.Manifest, tell func(string)) (failed, gone []string, err error) {
	if h.again != "" {
		tell(h.again)
	}
	return []string{"f"}, []string{"g"}, h.call("Export", len(left))
}
func (h *hands) End(grid.JobID) error { return h.call("End") }
func (h *hands) HasInputs(_ grid.JobID, files grid.Manifest) error {
	return h.call("HasInputs", len(files))
}
func (h *hands) Share(_, from grid.JobID, files grid.Manifest) error {
	return h.call("Share", from, len(files))
}
func (h *hands) MakeFolder(grid.JobID) error { return h.call("MakeFolder") }
func (h *hands) Prepare(_ context.Context, _ grid.Job, keep bool) error {
	return h.call("Prepare", keep)
}
func (h *hands) Collect(context.Context, grid.Job) (grid.Manifest, []grid.MissingOutput, error) {
	return grid.Manifest{{Path: "out"}}, []grid.MissingOutput{{Path: "m"}}, h.call("Collect")
}
func (h *hands) Discard(_ grid.JobID, keep bool) error { return h.call("Discard", keep) }
func (h *hands) SetAside(_ grid.JobID, foreign bool, _ time.Time) (string, error) {
	return h.aside, h.call("SetAside", foreign)
}
func (h *hands) Aside() (map[string]grid.JobID, error) {
	return h.putAside, h.call("Aside")
}
func (h *hands) PutBack(control string, _ grid.JobID) (bool, error) {
	return true, h.call("PutBack", control)
}
func (h *hands) Jobs() ([]grid.JobID, error) { return h.folders, h.call("Jobs") }
func (h *hands) PublishOwner(_ context.Context, id grid.JobID, e grid.Epoch) error {
	return h.call("PublishOwner", id, e)
}
func (h *hands) Observe(peer grid.PeerID, size int64, took time.Duration) {
	h.call("Observe", peer, size, took)
}
func (h *hands) Reserve(_ context.Context, r grid.Reservation, change bool) error {
	return h.call("Reserve", r.ID, change)
}
func (h *hands) Release(_ context.Context, id grid.ReservationID) error { return h.call("Release", id) }
func (h *hands) Reservations(context.Context) ([]core.HeldReservation, error) {
	return []core.HeldReservation{{ID: "r1"}}, h.call("Reservations")
}
func (h *hands) Notify(_ context.Context, r *grid.Record, _ grid.Owed) error {
	return h.call("Notify", r.Job.Name)
}

// at is when these brokers work.
const at = grid.Tick(1_000_000)

// newHands has ports of everything, and a journal that is open.
func newHands() *hands {
	h := &hands{fails: map[string]error{}}
	h.b = NewBroker(core.Config{Self: me}, nil, Ports{
		Peers: h, Hints: h, Links: h, Batch: h, Stager: h, Reserver: h, Notifier: h, Log: zap.NewNop(),
		Clock: func() grid.Tick { return at },
		Tokens: func(control string, id grid.JobID) ([]grid.AttemptID, error) {
			return []grid.AttemptID{{Job: id, Attempt: 1}}, h.call("Tokens", control)
		},
		Gather: func(control string, _ grid.AttemptID, begun bool, sites []grid.Gathered) error {
			return h.call("Gather", control, begun, len(sites))
		},
		Serve: func(context.Context, core.Serve) (core.Found, error) {
			return core.Found{Certain: true}, h.call("Serve")
		},
	})
	var journal Journal = &h.journal
	h.b.journal.Store(&journal)
	return h
}

// done does an effect to its end, and gives what Core hears of it.
func (h *hands) done(t *testing.T, e core.Effect, pauses uint64) (heard []core.Event) {
	h.b.work(t.Context(), t.Context(), e, pauses)
	h.b.executor.group.Wait()
	for len(h.b.events) > 0 {
		heard = append(heard, <-h.b.events)
	}
	return heard
}

var (
	errBoom    = errors.New("boom")
	errGone    = fmt.Errorf("%w: it", grid.ErrNotFound)
	errWrong   = fmt.Errorf("%w: it", grid.ErrInvalid)
	errDamage  = fmt.Errorf("%w: it", grid.ErrDamaged)
	errBusy    = fmt.Errorf("%w: it", grid.ErrUnavailable)
	errRefused = fmt.Errorf("%w: it", grid.ErrForbidden)
)

// works is what one effect is, what fails of it, what is asked for it and what Core hears.
type works struct {
	name   string
	effect core.Effect
	fails  map[string]error
	change func(h *hands)
	pauses uint64
	calls  []string
	heard  []core.Event
}

func try(t *testing.T, all []works) {
	t.Helper()
	for _, k := range all {
		h := newHands()
		if k.fails != nil {
			h.fails = k.fails
		}
		if k.change != nil {
			k.change(h)
		}
		heard := h.done(t, k.effect, k.pauses)
		if !slices.Equal(h.calls, k.calls) {
			t.Errorf("%s: asked were %q, want %q", k.name, h.calls, k.calls)
		}
		if got, want := fmt.Sprintf("%+v", heard), fmt.Sprintf("%+v", k.heard); got != want {
			t.Errorf("%s: Core hears\n%s, want\n%s", k.name, got, want)
		}
	}
}
