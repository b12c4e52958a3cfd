// Package apitest has the API's services in memory for tests: it keeps what it is
// given, runs nothing, and changes a job only when the test says so.
package apitest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/plan"
)

// Peer is the identity of the broker that Service plays, whose site is called here.
const Peer = grid.PeerID("12D3KooWHere")

// Service is all of the API's services in memory. Its zero value is not ready: use New.
type Service struct {
	reserved []grid.Reservation
	mu       sync.Mutex
	changed  chan struct{} // closed and made anew at each change
	jobs     map[grid.JobID]*job
	keys     map[string]grid.JobID
	groups   map[grid.GroupID]grid.Group
	fail     error
	sites    []api.SiteView
	moving   map[grid.SiteName][]api.Handoff
	notified int
	moves    []move // in the order in which things changed
	flows    map[api.FlowID]api.FlowStatus
	foreseen api.Foreseen
	forgets  int // how many of those are not known any more
	resting  atomic.Int32
}

type job struct {
	record    grid.Record
	wanted    grid.Manifest
	uploads   map[string][]byte
	begun     map[string][]byte
	outputs   grid.Manifest
	content   map[string][]byte
	complete  bool
	events    []grid.Event
	decided   []grid.Decision
	allocated *grid.Allocation
}

var (
	_ api.UserService  = (*Service)(nil)
	_ api.AdminService = (*Service)(nil)
	_ api.HookService  = (*Service)(nil)
)

// New is a service without jobs, at a site of 16 processes.
func New() *Service {
	s := &Service{changed: make(chan struct{}), jobs: make(map[grid.JobID]*job), keys: make(map[string]grid.JobID), groups: make(map[grid.GroupID]grid.Group), flows: make(map[api.FlowID]api.FlowStatus)}
	site, peer := s.Self()
	s.sites = []api.SiteView{{Site: site, Peer: peer, Self: true, State: grid.Alive,
		Started: 20, Accuracy: plan.Accuracy{Waited: 10, Mean: 266.2, Median: 80, P90: 601, Within60: 0.2, Within600: 0.8, TooEarly: 0.25}}}
	return s
}

// Fail makes every call but Self fail with err; nil ends that.
func (s *Service) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// AddSite adds a line to Sites.
func (s *Service) AddSite(v api.SiteView) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sites = append(s.sites, v)
}

// Move sets the jobs on their way to or from a neighbour.
func (s *Service) Move(neighbour grid.SiteName, list ...api.Handoff) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moving == nil {
		s.moving = map[grid.SiteName][]api.Handoff{}
	}
	s.moving[neighbour] = list
}

// Change changes a job's record, and wakes who waits for it.
func (s *Service) Change(id grid.JobID, f func(*grid.Record)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, ok := s.jobs[id]
	if !ok {
		return fmt.Errorf("job %s: %w", id, grid.ErrNotFound)
	}
	f(&j.record)
	j.events = append(j.events, grid.Event{At: grid.Tick(len(j.events)+1) * grid.Second, State: j.record.State, Site: "here", Epoch: j.record.Epoch, Why: "the test said so"})
	s.moved(api.KindJob, string(id))
	if g, _ := id.Group(); s.groups[g].ID != "" {
		s.moved(api.KindGroup, string(g))
	}
	return nil
}

// find is the job if who may see it. Callers hold mu.
func (s *Service) find(who api.Identity, id grid.JobID) (*job, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	j, ok := s.jobs[id]
	if !ok {
		return nil, fmt.Errorf("job %s: %w", id, grid.ErrNotFound)
	}
	if !who.Administrator && j.record.Job.User.Name != who.Name {
		return nil, fmt.Errorf("job %s is another user's: %w", id, grid.ErrForbidden)
	}
	return j, nil
}

// Self is the site here.
func (s *Service) Self() (grid.Site, grid.PeerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	site := grid.Site{Name: "here", Processes: 16, Speed: 1, Architecture: "x86_64", System: "LINUX"}
	site.Draining = len(s.sites) > 0 && s.sites[0].Site.Draining
	return site, Peer
}

// Warnings are about mail, which nobody sends here.
func (s *Service) Warnings(j *grid.Job) (list []string) {
	for _, n := range j.Terms.Notify {
		if to := n.Mail(); to != "" {
			list = append(list, "no mail will go to "+to)
		}
	}
	return list
}

// Submit keeps the job: SUBMITTED, STAGEIN with files to come.
func (s *Service) Submit(_ context.Context, who api.Identity, n api.NewJob) (grid.Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return grid.Record{}, false, s.fail
	}
	key := who.Name + "\x00" + n.Key
	if id, ok := s.keys[key]; ok {
		return s.jobs[id].record, true, nil
	}
	id := grid.NewJobID("here", fmt.Sprintf("%026d", len(s.keys)+1))
	n.Job.ID, n.Job.Home, n.Job.User = id, Peer, grid.User{Home: Peer, Name: who.Name}
	r := grid.Record{
		Job:       n.Job,
		Key:       n.Key,
		State:     grid.Submitted,
		Submitted: 1_700_000_000_123,
		Tenure:    grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}, Owner: Peer},
	}
	if len(n.Job.Inputs) > 0 {
		r.State = grid.StageIn
	}
	s.keys[key] = id
	s.jobs[id] = &job{record: r, wanted: n.Job.Inputs, uploads: make(map[string][]byte),
		events: []grid.Event{{At: r.Submitted, State: r.State, Site: "here", Epoch: r.Epoch, Why: "submitted"}}}
	s.wake()
	return r, false, nil
}

// Foresee sets what Where answers.
func (s *Service) Foresee(f api.Foreseen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foreseen = f
}

// Where is what was set.
func (s *Service) Where(context.Context, api.Identity, api.NewJob) (api.Foreseen, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.foreseen, s.fail
}

// Job is the record of a job.
func (s *Service) Job(_ context.Context, who api.Identity, id grid.JobID) (grid.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return grid.Record{}, err
	}
	return j.record, nil
}

// Decide sets what was decided of a job's place.
func (s *Service) Decide(id grid.JobID, list []grid.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, ok := s.jobs[id]
	if !ok {
		return fmt.Errorf("job %s: %w", id, grid.ErrNotFound)
	}
	j.decided = list
	return nil
}

// Decisions is what was set.
func (s *Service) Decisions(_ context.Context, who api.Identity, id grid.JobID) ([]grid.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return nil, err
	}
	return j.decided, nil
}

// Allocation is what was set.
func (s *Service) Allocation(_ context.Context, who api.Identity, id grid.JobID) (*grid.Allocation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return nil, err
	}
	return j.allocated, nil
}

// SetAllocation sets how far a job over several sites is.
func (s *Service) SetAllocation(a *grid.Allocation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, ok := s.jobs[a.Of]
	if !ok {
		return fmt.Errorf("job %s: %w", a.Of, grid.ErrNotFound)
	}
	j.allocated = a
	return nil
}

// Jobs lists jobs by their identifiers.
func (s *Service) Jobs(_ context.Context, who api.Identity, after grid.JobID, limit int, f api.Filter) ([]grid.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, s.fail
	}
	var list []grid.Record
	for id, j := range s.jobs {
		if id > after && (who.Administrator || j.record.Job.User.Name == who.Name) && f.Passes(&j.record, s.siteName) && !(f.Unswept && s.swept(id)) &&
			!(f.Folded && j.record.Job.Part != nil) && (f.Group != "" || !s.waits(id)) {
			list = append(list, j.record)
		}
	}
	slices.SortFunc(list, func(a, b grid.Record) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
	return list[:min(limit, len(list))], nil
}

// swept tells of a job that a sweep has made.
func (s *Service) swept(id grid.JobID) bool {
	group, _ := id.Group()
	g := s.groups[group]
	return g.Made()
}

// History is what happened to a job.
func (s *Service) History(_ context.Context, who api.Identity, id grid.JobID) ([]grid.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(j.events), nil
}

// Cancel ends a job that runs nowhere; one that has a handoff open is only marked,
// and confirmed when the test ends it.
func (s *Service) Cancel(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, bool, error) {
	err := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		j, err := s.find(who, id)
		if err != nil {
			return err
		}
		if !j.record.State.Terminal() {
			j.record.CancelRequested = true
			if j.record.State != grid.Moving {
				j.record.State = grid.Killed
			}
			s.wake()
		}
		return nil
	}()
	if err != nil {
		return grid.Record{}, false, err
	}
	r, err := s.until(ctx, who, id, func(r *grid.Record) bool { return r.State.Terminal() })
	return r, r.State.Terminal(), err
}

// Remove forgets an ended job.
func (s *Service) Remove(_ context.Context, who api.Identity, id grid.JobID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return err
	}
	if !j.record.State.Terminal() {
		return fmt.Errorf("job %s has not ended, cancel it first: %w", id, grid.ErrNotYet)
	}
	delete(s.jobs, id)
	s.moved(api.KindJob, string(id))
	return nil
}
