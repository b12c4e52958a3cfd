package flows

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/stage"
)

// broker is a broker in memory, whose jobs run as long as their names say: it outlives the keepers that use it.
type broker struct {
	mu    sync.Mutex
	jobs  map[grid.JobID]*grid.Record
	keys  map[string]grid.JobID
	files map[string][]byte // by job and path
	begun map[string]int    // by name
	fail  map[string]bool
	moved chan struct{}
	site  string
	waits map[string]time.Duration                // that the sites estimate, by name
	sites []string                                // beside home
	rates map[string]float64                      // from home to them; 0 is the default
	links map[grid.PeerID]map[grid.PeerID]float64 // of them to each other, by peer, which is the name
	heard map[grid.PeerID]int                     // how often each was asked for those
	runs  time.Duration                           // how long each job runs
	limit time.Duration                           // that home takes the jobs that run to have, one core each; 0 is that it does not reckon with them
	lag   time.Duration                           // how long before it starts, and until its end is known

	cores    int                       // that home has; 0 is two
	gpus     int64                     // that home has; other sites have none
	memory   int64                     // that home has; 0 is any
	lacks    map[string]grid.QueueName // by site
	refuses  bool                      // all reservations
	reserved []grid.Reservation
	released []grid.ReservationID
	bound    []grid.ReservationID // to which jobs were handed in

	breaks func() bool   // a job that ends has failed
	asked  time.Duration // how long the sites take for their answers
}

func newBroker() *broker {
	return &broker{jobs: map[grid.JobID]*grid.Record{}, keys: map[string]grid.JobID{}, files: map[string][]byte{}, begun: map[string]int{}, heard: map[grid.PeerID]int{}, fail: map[string]bool{}, moved: make(chan struct{}), site: "home", runs: 2 * time.Second}
}

func (b *broker) SiteName(grid.PeerID) string { return b.site }

func (b *broker) Sites(context.Context) ([]api.SiteView, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := []api.SiteView{{Self: true, Send: true, State: grid.Alive, Site: grid.Site{Name: "home", Processes: cmp.Or(b.cores, 2), Speed: 1}}}
	for _, name := range b.sites {
		v := api.SiteView{Send: true, State: grid.Alive, Peer: grid.PeerID(name), Site: grid.Site{Name: grid.SiteName(name), Processes: 2, Speed: 1}}
		if r := b.rates[name]; r > 0 {
			v.Link = grid.Link{Rates: []grid.Rate{{Size: 1 << 20, BytesPerSecond: r, Measured: true}}}
		}
		list = append(list, v)
	}
	return list, nil
}

// Links tells those of a site; a site without any is of before.
func (b *broker) Links(_ context.Context, of grid.PeerID, to []grid.PeerID) (map[grid.PeerID]grid.Link, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard[of]++
	if b.links[of] == nil {
		return nil, errors.New("protocols not supported")
	}
	list := map[grid.PeerID]grid.Link{}
	for _, p := range to {
		if r := b.links[of][p]; r > 0 {
			list[p] = grid.Link{Rates: []grid.Rate{{Size: 1 << 20, BytesPerSecond: r, Measured: true}}}
		}
	}
	return list, nil
}

// WhereEach says what waits has, and of other sites that all is free.
func (b *broker) WhereEach(ctx context.Context, _ api.Identity, jobs []grid.Job) (list []grid.Decision, err error) {
	if b.asked > 0 {
		select {
		case <-time.After(b.asked):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range jobs {
		list = append(list, b.where(&j))
	}
	return list, nil
}

// Never says of jobs that all refuse for ever why.
func (b *broker) Never(ctx context.Context, who api.Identity, jobs []grid.Job) ([]error, error) {
	why := make([]error, len(jobs))
	list, err := b.WhereEach(ctx, who, jobs)
	for i, d := range list {
		for _, c := range d.Candidates {
			if c.Refusal == nil || c.Refusal.MayPass() {
				why[i] = nil
				break
			}
			why[i] = errors.New(c.Refusal.Reason)
		}
	}
	return why, err
}

func (b *broker) where(j *grid.Job) (f grid.Decision) {
	for _, r := range j.Demand.Resources() {
		if r.Amount > b.gpus {
			f.Candidates = append(f.Candidates, grid.Candidate{Site: "home", Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "no such resource"}})
			return f
		}
	}
	if b.memory > 0 && j.Demand.Memory() > b.memory {
		f.Candidates = append(f.Candidates, grid.Candidate{Site: "home", Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "not enough memory"}})
		return f
	}
	running := 0
	for _, r := range b.jobs {
		if r.State == grid.Running {
			running++
		}
	}
	if free := 2 - running; b.limit > 0 && j.Demand.Cores() > free {
		f.Candidates = append(f.Candidates, grid.Candidate{Site: "home", Wait: grid.Span(b.limit)})
		return f
	}
	for site, wait := range b.waits {
		if b.lacks[site] != "" && j.Queue == b.lacks[site] {
			f.Candidates = append(f.Candidates, grid.Candidate{Site: grid.SiteName(site), Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "no such queue"}})
			continue
		}
		f.Candidates = append(f.Candidates, grid.Candidate{Site: grid.SiteName(site), Wait: grid.Span(wait)})
	}
	return f
}

// Reserve holds nodes of a site that may.
func (b *broker) Reserve(_ context.Context, who api.Identity, n api.NewReservation) (grid.Reservation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuses {
		return grid.Reservation{}, fmt.Errorf("%w: no nodes are free then", grid.ErrNotYet)
	}
	r := grid.Reservation{ID: grid.ReservationID(fmt.Sprintf("r%d", len(b.reserved)+1)), Holder: grid.User{Name: who.Name}, Start: n.From, End: n.From + n.Length}
	b.reserved = append(b.reserved, r)
	return r, nil
}

func (b *broker) Release(_ context.Context, _ api.Identity, id grid.ReservationID) (grid.Reservation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.released = append(b.released, id)
	return grid.Reservation{ID: id}, nil
}

func (b *broker) Submit(_ context.Context, who api.Identity, n api.NewJob) (grid.Record, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id, known := b.keys[n.Key]; known {
		return *b.jobs[id], true, nil
	}
	id := grid.JobID(fmt.Sprintf("home.%026d", len(b.jobs)+1))
	r := &grid.Record{Job: n.Job, State: grid.StageIn}
	r.Job.ID, r.Job.User.Name = id, who.Name
	b.jobs[id], b.keys[n.Key] = r, id
	if n.Reserved != "" {
		b.bound = append(b.bound, n.Reserved)
	}
	if len(n.Job.Inputs) == 0 {
		b.start(r)
	}
	return *r, false, nil
}

// start runs a job; the lock is held.
func (b *broker) start(r *grid.Record) {
	b.begun[r.Job.Name]++
	started := time.Now().Add(b.lag)
	r.State, r.Started = grid.Running, grid.InstantOf(started)
	time.AfterFunc(b.runs+2*b.lag, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if r.State.Terminal() {
			return
		}
		r.State, r.Finished = grid.Completed, grid.InstantOf(started.Add(b.runs))
		if b.fail[r.Job.Name] || b.breaks != nil && b.breaks() {
			r.ExitCode = 1
		}
		for _, o := range r.Job.Outputs {
			if o.Target == "" {
				continue
			}
			text := []byte(o.Target + " of")
			for _, in := range r.Job.Inputs {
				text = append(text, b.files[string(r.Job.ID)+"/in/"+in.Path]...)
			}
			sums, n, _ := stage.Hash(bytes.NewReader(text))
			b.files[string(r.Job.ID)+"/"+o.Target] = text
			r.Outputs = append(r.Outputs, grid.File{Path: o.Target, Size: n, Mode: 0o644, Ranges: sums})
		}
		b.stir()
	})
}

func (b *broker) stir() { close(b.moved); b.moved = make(chan struct{}) }

func (b *broker) Upload(_ context.Context, _ api.Identity, id grid.JobID, path string, _ int64, body io.Reader) error {
	text, err := io.ReadAll(body)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files[string(id)+"/in/"+path] = text
	return err
}

func (b *broker) Uploaded(_ context.Context, _ api.Identity, id grid.JobID) (grid.Record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.jobs[id]; r.State == grid.StageIn {
		b.start(r)
	}
	return *b.jobs[id], nil
}

func (b *broker) Job(_ context.Context, _ api.Identity, id grid.JobID) (grid.Record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.jobs[id] == nil {
		return grid.Record{}, grid.ErrNotFound
	}
	return *b.jobs[id], nil
}

func (b *broker) Wait(ctx context.Context, who api.Identity, id grid.JobID, since grid.State) (grid.Record, error) {
	for {
		b.mu.Lock()
		moved, r := b.moved, *b.jobs[id]
		b.mu.Unlock()
		if r.State != since {
			return r, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return r, nil
		}
	}
}

func (b *broker) Cancel(_ context.Context, _ api.Identity, id grid.JobID) (grid.Record, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs[id].State = grid.Killed
	b.stir()
	return *b.jobs[id], true, nil
}

func (b *broker) Output(_ context.Context, _ api.Identity, id grid.JobID, path string) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, has := b.files[string(id)+"/"+path]
	if !has {
		return nil, grid.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}
