package flows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/localfs"
)

// Jobs is what a Keeper needs of the broker.
type Jobs interface {
	Submit(ctx context.Context, who api.Identity, j api.NewJob) (r grid.Record, again bool, err error)
	Upload(ctx context.Context, who api.Identity, id grid.JobID, path string, offset int64, body io.Reader) error
	Uploaded(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, error)
	Job(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, error)
	Wait(ctx context.Context, who api.Identity, id grid.JobID, since grid.State) (grid.Record, error)
	Cancel(ctx context.Context, who api.Identity, id grid.JobID) (r grid.Record, confirmed bool, err error)
	Output(ctx context.Context, who api.Identity, id grid.JobID, path string) (io.ReadCloser, error)
	Sites(ctx context.Context) ([]api.SiteView, error)
	// WhereEach asks all sites once about several jobs that nobody hands in, each as if it were the only one.
	WhereEach(ctx context.Context, who api.Identity, jobs []grid.Job) ([]grid.Decision, error)
	// Never says of each job why no site that is known could ever run it; "" where one may.
	Never(ctx context.Context, who api.Identity, jobs []grid.Job) ([]error, error)
	// Reserve has nodes held for a user, and Release gives them up.
	Reserve(ctx context.Context, who api.Identity, n api.NewReservation) (grid.Reservation, error)
	Release(ctx context.Context, who api.Identity, id grid.ReservationID) (grid.Reservation, error)
	SiteName(p grid.PeerID) string
	// Links asks a site for its ways to others; of those that are no neighbours of it nothing is said.
	Links(ctx context.Context, of grid.PeerID, to []grid.PeerID) (map[grid.PeerID]grid.Link, error)
}

// Config is what a Keeper is made of.
type Config struct {
	Folder   string // of all workflows
	Jobs     Jobs
	Site     grid.SiteName
	Self     grid.PeerID
	Sign     func(text []byte) ([]byte, error) // by the key of Self; nil signs no grants
	Walltime grid.Tick                         // of a task that names none
	Now      func() grid.Tick
	NewID    func() (string, error) // a ULID
	Log      *slog.Logger
	Most     int // workflows of a user that have not ended; 0 is [defaultMost]
	// Tasks bounds those of the instances of a user's periodic workflows that are under way; 0 is [defaultTasks].
	Tasks int
	// Documents and Bytes bound those of a user that are kept, by their documents and by their files; 0 is without a bound.
	Documents, Bytes int64
	Keep             grid.Tick // how long an ended one is kept
	Watch            string    // the folder below which users' workflows may watch others: Watch/USER; "" is none
	// Free is how many bytes may be written, beside what is kept back; nil is without a bound.
	Free func() (int64, error)
	// OpenRoot opens Watch; nil is [os.OpenRoot].
	OpenRoot func(name string) (*os.Root, error)
	// Changed hears of each workflow that has changed, or is removed, once that is durable, but for instances. It must not wait; nil hears nothing.
	Changed func(id api.FlowID, user string, removed bool)
	// Replace writes a file whole or not at all; nil is [localfs.Replace].
	Replace func(path string, text []byte, mode fs.FileMode) error
	// Sync makes the names in a folder durable; nil is [localfs.Sync].
	Sync func(folder string) error
}

// defaultMost is how many workflows a user may have that have not ended, and defaultTasks how many tasks the instances under way of all of them.
const (
	defaultMost  = 100
	defaultTasks = 20_000
)

// Keeper has the workflows of a home.
type Keeper struct {
	config    Config
	overheads overheads
	probing   chan struct{} // of one place: a site answers few questions of a home at a time
	ways      ways

	taking sync.Mutex // held while a workflow is taken or removed, over the writing; before mu

	mu      sync.Mutex // never held over the disk
	flows   map[api.FlowID]*flow
	copying map[*watcher]int64       // bytes of the file that each has copied
	making  map[*flow]bool           // that make an instance, which is not known yet
	turns   map[string]chan struct{} // of users who ask for folders to be watched
	ctx     context.Context          // of Run; nil before
	running sync.WaitGroup
}

// New reads the workflows of a folder; they go on when it runs.
func New(c Config) (*Keeper, error) {
	if c.Most == 0 {
		c.Most = defaultMost
	}
	if c.Tasks == 0 {
		c.Tasks = defaultTasks
	}
	if c.Replace == nil {
		c.Replace = localfs.Replace
	}
	if c.Sync == nil {
		c.Sync = localfs.Sync
	}
	if c.OpenRoot == nil {
		c.OpenRoot = os.OpenRoot
	}
	k := &Keeper{config: c, flows: map[api.FlowID]*flow{}, turns: map[string]chan struct{}{}, copying: map[*watcher]int64{}, making: map[*flow]bool{}, overheads: overheads{seen: map[string][]time.Duration{}}, probing: make(chan struct{}, 1), ways: ways{told: map[grid.PeerID]toldWays{}}}
	return k, k.load()
}

// add makes a workflow known; k.mu is held.
func (k *Keeper) add(f *flow) {
	f.show()
	k.flows[f.spec.ID] = f
}

// Run sees the workflows through until ctx is done.
func (k *Keeper) Run(ctx context.Context) error {
	k.mu.Lock()
	k.ctx = ctx
	for _, f := range k.flows {
		if f.phase() == running {
			k.begin(f)
		}
	}
	k.mu.Unlock()
	k.retain(ctx)
	k.mu.Lock()
	k.ctx = nil
	k.mu.Unlock()
	k.running.Wait()
	return ctx.Err()
}

// begin sees a run of a workflow through, once; k.mu is held.
func (k *Keeper) begin(f *flow) {
	n := int(f.runs.Load())
	if ctx := k.ctx; ctx != nil && ctx.Err() == nil && f.begun != n {
		f.begun = n
		run := f.run
		if f.spec.Submission.Periodic != nil {
			run = f.runPeriods
		}
		k.running.Go(func() { run(ctx) })
	}
}

// see begins a run that f.start made.
func (k *Keeper) see(f *flow) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin(f)
}

// SubmitFlow takes a workflow.
func (k *Keeper) SubmitFlow(ctx context.Context, who api.Identity, s api.FlowSubmission) (api.FlowStatus, bool, error) {
	parts, err := s.Parts(k.config.Walltime)
	if err != nil {
		return api.FlowStatus{}, false, err
	}
	if err := k.possible(ctx, who, &s, parts); err != nil {
		return api.FlowStatus{}, false, err
	}
	var unwatched error
	if s.Periodic != nil && s.Periodic.Folder != "" {
		unwatched = k.mayWatch(who.Name, s.Periodic.Folder)
	}
	f, again, gone, err := k.take(who, s, parts, unwatched)
	for _, old := range gone { // after others may take and remove again: folders can be large
		if err := remains(old); err != nil {
			k.config.Log.Error("what is left of an old workflow is not removed", "workflow", old.spec.ID, "error", err)
		}
	}
	if err != nil || again {
		return f.answer(), again, err
	}
	if len(s.Files) == 0 {
		var begun bool
		if begun, err = f.start(coming); begun {
			k.see(f)
		}
	}
	return f.status(), false, err
}

// answer is how a workflow is; nil is none.
func (f *flow) answer() api.FlowStatus {
	if f == nil {
		return api.FlowStatus{}
	}
	return f.status()
}

// take writes a workflow that is new, unless its folder cannot be watched, and forgets those that have to go for it.
func (k *Keeper) take(who api.Identity, s api.FlowSubmission, parts []api.FlowPart, unwatched error) (f *flow, again bool, gone []*flow, err error) {
	k.taking.Lock()
	defer k.taking.Unlock()
	for _, f := range k.all() {
		if f.spec.User == who.Name && f.spec.Parent == "" && f.spec.Submission.Key == s.Key {
			if what, differ := differs(&f.spec.Submission, &s); differ {
				return nil, false, nil, fmt.Errorf("%w: the key is that of the workflow %s, which differs in %s: use another key", grid.ErrInvalid, f.spec.ID, what)
			}
			return f, true, nil, nil
		}
	}
	if err := k.oneMore(who.Name, &s); err != nil {
		return nil, false, nil, err
	}
	if unwatched != nil {
		return nil, false, nil, unwatched
	}
	if gone, err = k.room(who.Name, s); err != nil {
		return nil, false, gone, err
	}
	_, files := sizes(&s)
	if err = k.roomFor(files); err != nil {
		return nil, false, gone, err
	}
	if f, err = k.make(who, s, parts); err != nil {
		return nil, false, gone, err
	}
	k.mu.Lock()
	k.add(f)
	k.mu.Unlock()
	f.tell(false)
	return f, false, gone, nil
}

// make writes a new workflow.
func (k *Keeper) make(who api.Identity, s api.FlowSubmission, parts []api.FlowPart) (*flow, error) {
	ulid, err := k.config.NewID()
	if err != nil {
		return nil, err
	}
	f := newFlow(k, parts)
	f.spec = spec{ID: api.NewFlowID(k.config.Site, ulid), User: who.Name, Submission: s, At: k.config.Now()}
	f.rec = record{State: coming, Memo: map[string]grid.JobID{}, Files: map[string]string{}}
	if s.Periodic != nil {
		f.rec.Periods = &periods{Open: map[int]bool{}}
	}
	if s.Resumes != "" {
		old, err := k.flow(who, s.Resumes)
		if err != nil {
			return nil, err
		}
		f.rec.Memo = old.memo()
	}
	f.reset()
	f.identify()
	f.folder = k.folder(f.spec.ID)
	if err := os.MkdirAll(filepath.Join(f.folder, "in"), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of a workflow: %w", err)
	}
	if err := f.create(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(f.folder))
	}
	return f, nil
}

// find is a workflow that who may see; k.mu is held.
func (k *Keeper) find(who api.Identity, id api.FlowID) (*flow, error) {
	f := k.flows[id]
	switch {
	case f == nil && grid.JobID(id).Site() == k.config.Site:
		return nil, fmt.Errorf("%w: the workflow %s is not known here, or was removed", grid.ErrNotFound, id)
	case f == nil:
		return nil, fmt.Errorf("%w: the workflow %s is not known here; it is known at its home, the site %s", grid.ErrNotFound, id, grid.JobID(id).Site())
	case !who.Administrator && f.spec.User != who.Name:
		return nil, fmt.Errorf("%w: the workflow %s belongs to another user", grid.ErrForbidden, id)
	}
	return f, nil
}

func (k *Keeper) flow(who api.Identity, id api.FlowID) (*flow, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.find(who, id)
}

// StartFlow begins a workflow.
func (k *Keeper) StartFlow(_ context.Context, who api.Identity, id api.FlowID) (api.FlowStatus, error) {
	f, err := k.flow(who, id)
	if err != nil {
		return api.FlowStatus{}, err
	}
	begun, err := f.start(coming)
	if err != nil {
		return api.FlowStatus{}, err
	}
	if begun {
		k.see(f)
	}
	return f.status(), nil
}

// Flow tells how a workflow is.
func (k *Keeper) Flow(_ context.Context, who api.Identity, id api.FlowID) (api.FlowStatus, error) {
	f, err := k.flow(who, id)
	if err != nil {
		return api.FlowStatus{}, err
	}
	return f.status(), nil
}

// Flows are those that who may see, the oldest first.
func (k *Keeper) Flows(_ context.Context, who api.Identity) (list []api.FlowStatus, err error) {
	for _, f := range k.all() {
		if f.spec.Parent == "" && (who.Administrator || f.spec.User == who.Name) {
			s := f.status()
			s.Tasks, s.Edges = nil, nil
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b api.FlowStatus) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return list, nil
}

// WaitFlow returns when a workflow has ended, or ctx is done.
func (k *Keeper) WaitFlow(ctx context.Context, who api.Identity, id api.FlowID) (api.FlowStatus, error) {
	f, err := k.flow(who, id)
	if err != nil {
		return api.FlowStatus{}, err
	}
	f.mu.Lock()
	over := f.over
	if f.rec.State == ended {
		over = nil
	}
	f.mu.Unlock()
	if over != nil {
		select {
		case <-over:
		case <-ctx.Done():
		}
	}
	return f.status(), nil
}

// CancelFlow ends a workflow.
func (k *Keeper) CancelFlow(_ context.Context, who api.Identity, id api.FlowID) (api.FlowStatus, error) {
	f, err := k.flow(who, id)
	if err != nil {
		return api.FlowStatus{}, err
	}
	if err := f.cancel(); err != nil {
		return api.FlowStatus{}, err
	}
	return f.status(), nil
}

// ResumeFlow runs what of an ended workflow has no valid output.
func (k *Keeper) ResumeFlow(_ context.Context, who api.Identity, id api.FlowID) (api.FlowStatus, error) {
	f, err := k.flow(who, id)
	if err != nil {
		return api.FlowStatus{}, err
	}
	begun, err := k.restart(f)
	if err != nil {
		return api.FlowStatus{}, err
	}
	if !begun {
		return f.status(), fmt.Errorf("%w: the workflow %s has not ended: cancel it first, or wait", grid.ErrNotYet, id)
	}
	k.see(f)
	return f.status(), nil
}
