// Package apitest has the API's services in memory for tests: it keeps what it is
// given, runs nothing, and changes a job only when the test says so.
package apitest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

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
	onJob    func(*grid.Record)
	moving   map[grid.SiteName][]api.Handoff
	notified int
	moves    []grid.JobID // the jobs in the order in which they changed
	foreseen api.Foreseen
	forgets  int // how many of those are not known any more
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
	s := &Service{changed: make(chan struct{}), jobs: make(map[grid.JobID]*job), keys: make(map[string]grid.JobID), groups: make(map[grid.GroupID]grid.Group)}
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

// OnSubmit is called with each new job's record, to change it.
func (s *Service) OnSubmit(f func(*grid.Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onJob = f
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
	s.moves = append(s.moves, id)
	s.wake()
	return nil
}

// ForgetChanges makes every position in the feed of changes one that is not known any more.
func (s *Service) ForgetChanges() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moves = append(s.moves, "")
	s.forgets = len(s.moves)
	s.wake()
}

// Changes tells what Change and Remove did.
func (s *Service) Changes(ctx context.Context, who api.Identity, after api.Position) (api.Changes, error) {
	for {
		s.mu.Lock()
		if s.fail != nil {
			defer s.mu.Unlock()
			return api.Changes{}, s.fail
		}
		c, changed := api.Changes{Next: api.Position{Life: 1, Sequence: uint64(len(s.moves))}}, s.changed
		switch from := int(after.Sequence); {
		case after == (api.Position{}):
			s.mu.Unlock()
			return c, nil
		case from < s.forgets, from > len(s.moves):
			c.Reset = true
		default:
			for i, id := range s.moves[from:] {
				if slices.Contains(s.moves[from+i+1:], id) {
					continue
				}
				if j, err := s.find(who, id); err == nil {
					c.List = append(c.List, api.Change{Record: j.record})
				} else if s.jobs[id] == nil {
					c.List = append(c.List, api.Change{Record: grid.Record{Job: grid.Job{ID: id}}, Removed: true})
				}
			}
		}
		s.mu.Unlock()
		if c.Reset || len(c.List) > 0 {
			return c, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return c, nil
		}
	}
}

// Leave sets what a job has left.
func (s *Service) Leave(id grid.JobID, complete bool, files grid.Manifest, content map[string][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, ok := s.jobs[id]
	if !ok {
		return fmt.Errorf("job %s: %w", id, grid.ErrNotFound)
	}
	j.outputs, j.content, j.complete = files, content, complete
	s.wake()
	return nil
}

// Uploads are the files that were uploaded for a job.
func (s *Service) Uploads(id grid.JobID) map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j, ok := s.jobs[id]; ok {
		return j.uploads
	}
	return nil
}

func (s *Service) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
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
func (s *Service) Warnings(t *grid.Terms) (list []string) {
	for _, n := range t.Notify {
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
	if s.onJob != nil {
		s.onJob(&r)
	}
	s.keys[key] = id
	s.jobs[id] = &job{record: r, wanted: n.Job.Inputs, uploads: make(map[string][]byte),
		events: []grid.Event{{At: r.Submitted, State: r.State, Site: "here", Epoch: r.Epoch, Why: "submitted"}}}
	s.wake()
	return r, false, nil
}

// ReadLog reads what Leave set; a job has run since it is RUNNING, and its epoch names the run.
func (s *Service) ReadLog(ctx context.Context, who api.Identity, id grid.JobID, q api.LogQuery) (api.LogPiece, error) {
	for {
		s.mu.Lock()
		j, err := s.find(who, id)
		if err != nil {
			s.mu.Unlock()
			return api.LogPiece{}, err
		}
		p, changed := j.log(q), s.changed
		s.mu.Unlock()
		if !q.Follow || len(p.Data) > 0 || p.End || p.Run != q.Run {
			return p, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return p, nil
		}
	}
}

func (j *job) log(q api.LogQuery) api.LogPiece {
	name := cmp.Or(q.File, grid.DefaultOutput)
	if q.Error {
		name = grid.DefaultError
	}
	p := api.LogPiece{Offset: q.Offset, State: j.record.State.String(), Site: "here"}
	if j.record.State < grid.Running {
		return p
	}
	p.Run = j.record.Epoch.String()
	data := j.content[name]
	if p.Run != q.Run || p.Offset > int64(len(data)) {
		p.Offset = 0
	}
	p.Data, p.End = data[p.Offset:], j.record.State.Terminal()
	return p
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

// Upload keeps a wanted file.
func (s *Service) Upload(_ context.Context, who api.Identity, id grid.JobID, path string, offset int64, body io.Reader) error {
	s.mu.Lock()
	j, err := s.find(who, id)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	i := slices.IndexFunc(j.wanted, func(w grid.File) bool { return w.Path == path })
	have, there := j.uploads[path]
	s.mu.Unlock()
	if i < 0 {
		return fmt.Errorf("job %s wants no file %q: %w", id, path, grid.ErrNotFound)
	}
	if there && int64(len(have)) == j.wanted[i].Size {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(body, j.wanted[i].Size+1))
	s.mu.Lock()
	if begun := j.begun[path]; offset <= int64(len(begun)) {
		b = append(begun[:offset:offset], b...)
	}
	if j.begun == nil {
		j.begun = map[string][]byte{}
	}
	j.begun[path] = b
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("receiving %q: %w", path, err)
	}
	if int64(len(b)) != j.wanted[i].Size {
		return fmt.Errorf("file %q has not the declared %d bytes: %w", path, j.wanted[i].Size, grid.ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j.uploads[path] = b
	return nil
}

// Begun is how much of a file has come.
func (s *Service) Begun(_ context.Context, who api.Identity, id grid.JobID, path string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return 0, err
	}
	return int64(len(j.begun[path])), nil
}

// Uploaded makes the job READY.
func (s *Service) Uploaded(_ context.Context, who api.Identity, id grid.JobID) (grid.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return grid.Record{}, err
	}
	for _, w := range j.wanted {
		if _, ok := j.uploads[w.Path]; !ok {
			return grid.Record{}, fmt.Errorf("job %s: file %q is missing: %w", id, w.Path, grid.ErrInvalid)
		}
	}
	j.record.State = grid.Ready
	s.wake()
	return j.record, nil
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
			!(f.Folded && j.record.Job.Part != nil) {
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

// Wait waits for a change of state.
func (s *Service) Wait(ctx context.Context, who api.Identity, id grid.JobID, since grid.State) (grid.Record, error) {
	return s.until(ctx, who, id, func(r *grid.Record) bool { return r.State != since || r.State.Terminal() })
}

func (s *Service) until(ctx context.Context, who api.Identity, id grid.JobID, done func(*grid.Record) bool) (grid.Record, error) {
	for {
		s.mu.Lock()
		j, err := s.find(who, id)
		if err != nil {
			s.mu.Unlock()
			return grid.Record{}, err
		}
		r, changed := j.record, s.changed
		s.mu.Unlock()
		if done(&r) {
			return r, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r, nil
		}
	}
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
	s.moves = append(s.moves, id)
	s.wake()
	return nil
}

// Outputs lists what Leave was given.
func (s *Service) Outputs(_ context.Context, who api.Identity, id grid.JobID) (grid.Manifest, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return nil, false, err
	}
	return slices.Clone(j.outputs), j.complete, nil
}

// Output opens one of them.
func (s *Service) Output(_ context.Context, who api.Identity, id grid.JobID, path string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return nil, err
	}
	b, ok := j.content[path]
	if !ok {
		return nil, fmt.Errorf("job %s has no output %q: %w", id, path, grid.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// Drain notes it.
func (s *Service) Drain(_ context.Context, on bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.sites[0].Site.Draining = on
	return nil
}

// Forget lists every job that has not ended as lost.
func (s *Service) Forget(_ context.Context, _ api.Identity, f api.Forgetting) (api.Forgotten, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return api.Forgotten{}, s.fail
	}
	done := api.Forgotten{Peer: grid.PeerID(f.Site)}
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		r := &s.jobs[id].record
		if r.State.Terminal() {
			continue
		}
		done.Jobs = append(done.Jobs, api.Fate{ID: id, State: r.State.String(), Verdict: "lost", Why: "the test said so"})
		if !f.DryRun {
			r.State = grid.Lost
		}
	}
	s.wake()
	return done, nil
}

// End ends a job as FAILED or LOST.
func (s *Service) End(_ context.Context, _ api.Identity, id grid.JobID, e api.Ending) (grid.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[id]
	switch {
	case s.fail != nil:
		return grid.Record{}, s.fail
	case j == nil:
		return grid.Record{}, fmt.Errorf("job %s: %w", id, grid.ErrNotFound)
	case !e.DryRun:
		j.record.State = map[string]grid.State{api.AsDead: grid.Failed, api.AsLost: grid.Lost}[e.As]
		j.record.End = j.record.State
		s.wake()
	}
	return j.record, nil
}

// Resume ends the alarm of the first site.
func (s *Service) Resume(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sites[0].Alarm = ""
	return s.fail
}

// Batch is a batch system without jobs.
func (s *Service) Batch(context.Context) (api.Batch, error) {
	return api.Batch{System: "embedded", Policy: "easy", Nodes: []api.BatchNode{{Name: "n1", Cores: 16}}}, nil
}

// Notify counts itself in Notified.
func (s *Service) Notify(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notified++
	return s.fail
}

// Notified is how often Notify was called.
func (s *Service) Notified() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notified
}

// Handoffs is what Move has set.
func (s *Service) Handoffs(_ context.Context, neighbour grid.SiteName) ([]api.Handoff, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, s.fail
	}
	list, ok := s.moving[neighbour]
	if !ok {
		return nil, fmt.Errorf("no neighbour is called %q: %w", neighbour, grid.ErrNotFound)
	}
	return list, nil
}

// AllSites are those that Sites lists.
func (s *Service) AllSites(ctx context.Context) ([]api.SiteView, error) { return s.Sites(ctx) }

// Sites lists this site and what AddSite added.
func (s *Service) Sites(context.Context) ([]api.SiteView, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, s.fail
	}
	return slices.Clone(s.sites), nil
}

// Overview tells the jobs by state, and the alarm of the first site.
func (s *Service) Overview(context.Context) (api.Overview, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return api.Overview{}, s.fail
	}
	o := api.Overview{Site: "here", Peer: Peer, Jobs: map[string]int{}, Alarms: []string{}, Members: []api.MemberAtGlance{}}
	for _, j := range s.jobs {
		o.Jobs[j.record.State.String()]++
	}
	return o, nil
}

// SiteName knows this site and those that AddSite added.
func (s *Service) SiteName(p grid.PeerID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.siteName(p)
}

func (s *Service) siteName(p grid.PeerID) string {
	for _, v := range s.sites {
		if v.Peer == p {
			return string(v.Site.Name)
		}
	}
	return string(p)
}
