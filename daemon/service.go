package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"gbroker/api"
	"gbroker/broker"
	"gbroker/grid"
	"gbroker/internal/version"
	"gbroker/stage"
)

// service is the broker as the API sees it: it says who may do what, and joins the
// broker's records with the stager's files.
//
// Who may: a job belongs to its user (home peer, name). That user and the
// administrators of this site see it, fetch from it, cancel and remove it. Where the
// neighbours' file says same_users of a site, its users are those of the same name here.
type service struct{ site *site }

// administration is what administrators may do beside.
type administration struct{ service }

// batchHook is what the hooks of the batch system may say.
type batchHook struct{ site *site }

var (
	_ api.UserService  = service{}
	_ api.AdminService = administration{}
	_ api.HookService  = batchHook{}
)

func (s service) Self() (grid.Site, grid.PeerID) { return s.site.factsNow(), s.site.self }

func (s service) SiteName(p grid.PeerID) string {
	if p == s.site.self {
		return string(s.site.facts.Name)
	}
	if m, ok := s.site.member(p); ok {
		return string(m.Name)
	}
	if name := s.site.names.of(p); name != "" && !s.site.named(name) {
		return string(name)
	}
	return string(p)
}

func (s service) Submit(ctx context.Context, who api.Identity, n api.NewJob) (grid.Record, bool, error) {
	id, err := newULID()
	if err != nil {
		return grid.Record{}, false, err
	}
	j, err := s.jobOf(who, grid.NewJobID(s.site.facts.Name, id), n)
	if err != nil {
		return grid.Record{}, false, err
	}
	giveUp, err := s.reserved(ctx, who, &j, n)
	if err != nil {
		giveUp()
		return grid.Record{}, false, err
	}
	if !n.QueueAnyway || j.Reservation != "" {
		if err := s.possible(ctx, j, n.Key); err != nil {
			giveUp()
			return grid.Record{}, false, err
		}
	}
	r, again, err := s.handIn(ctx, j, n)
	if notTaken(again, err) {
		giveUp()
	}
	return r, again, err
}

func (s service) handIn(ctx context.Context, j grid.Job, n api.NewJob) (grid.Record, bool, error) {
	drop, err := s.keepSecrets(map[grid.JobID][]byte{j.ID: n.Credentials})
	if err != nil {
		return grid.Record{}, false, err
	}
	r, again, err := s.site.broker.Submit(ctx, j, n.Key, n.QueueAnyway)
	return r, again, errors.Join(err, drop(again, err))
}

// notTaken tells that what was to be handed in was not, and will not be: what was made for it is not needed. Again tells that it had
// been before.
func notTaken(again bool, err error) bool {
	return again || err != nil && !errors.Is(err, broker.ErrPerhaps)
}

// keepSecrets keeps the credentials of jobs that are to be handed in. drop forgets them again, if these were not taken.
func (s service) keepSecrets(of map[grid.JobID][]byte) (drop func(again bool, err error) error, err error) {
	var kept []grid.JobID
	drop = func(again bool, err error) error {
		if !notTaken(again, err) {
			return nil
		}
		var errs []error
		for _, id := range kept {
			errs = append(errs, s.site.stager.Discard(id))
		}
		return errors.Join(errs...)
	}
	for id, text := range of {
		if len(text) == 0 {
			continue
		}
		kept = append(kept, id)
		if err := s.site.stager.KeepSecrets(id, text); err != nil {
			return nil, errors.Join(err, drop(true, nil))
		}
	}
	return drop, nil
}

func (s service) Warnings(j *grid.Job) []string {
	list := s.site.notifier.Unsent(&j.Terms)
	if why := unheard(j, s.site.sizes()); why != nil {
		list = append(list, why.Error())
	}
	return list
}

func newULID() (string, error) {
	id, err := ulid.New(ulid.Timestamp(time.Now()), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("making an identifier: %w", err)
	}
	return id.String(), nil
}

// jobOf is the job of a submission.
func (s service) jobOf(who api.Identity, id grid.JobID, n api.NewJob) (grid.Job, error) {
	j := n.Job
	j.Renumber(id) // of one that is handed in again
	j.Home = s.site.self
	j.User = grid.User{Home: s.site.self, Name: who.Name}
	j.Inputs = slices.SortedFunc(slices.Values(n.Job.Inputs), func(a, b grid.File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range j.Inputs {
		if err := stage.CheckPath(f.Path); err != nil {
			return j, fmt.Errorf("%w: %w", grid.ErrInvalid, err)
		}
	}
	return j, nil
}

// possible refuses a job that no known site could ever run. One that asks for no more than
// some single cores need not be asked about; of one that may have several sites what these declare counts.
func (s service) possible(ctx context.Context, j grid.Job, key string) error {
	if j.Coallocation != nil {
		if err := worldsApart(&j); err != nil {
			return fmt.Errorf("%w: %w; ask for MPICH or OpenMPI, or leave out that they reach each other", grid.ErrInvalid, err)
		}
		wide := tooWide(&j, s.site.sizes())
		if wide == nil {
			return nil
		}
		if d, err := s.site.broker.Where(ctx, j, key); err != nil || len(d.Candidates) > 0 { // else it was handed in before
			return cmp.Or(err, fmt.Errorf("%w: no sites that are known here could ever run it together: %w; correct the document, or submit it with --queue-anyway to wait for sites that can", grid.ErrInvalid, wide))
		}
		return nil
	}
	if simple(j, s.site.factsNow()) {
		return nil
	}
	d, err := s.site.broker.Where(ctx, j, key)
	if err != nil {
		return err
	}
	return never(&j, d, s.site.sizes())
}

// Where asks every site, as if the job had been handed in now.
func (s service) Where(ctx context.Context, who api.Identity, n api.NewJob) (f api.Foreseen, err error) {
	id, err := newULID()
	if err != nil {
		return f, err
	}
	j, err := s.jobOf(who, grid.NewJobID(s.site.facts.Name, id), n)
	if err != nil {
		return f, err
	}
	f.Decision, f.Spreads, f.Several, err = s.site.broker.WhereAll(ctx, j)
	return f, err
}

// simple tells of a job that any site of enough cores can run, and that this one has enough.
func simple(j grid.Job, site grid.Site) bool {
	d := j.Demand
	for _, c := range d.Chunks {
		if c.Cores > 1 || c.Memory > 0 || len(c.Resources) > 0 {
			return false
		}
	}
	wishes := j.Terms.Deadline != 0 || len(j.Sites.Only)+len(j.Sites.Not) > 0
	return !wishes && j.Reservation == "" && d.Cores() <= site.Processes && j.Queue == "" && !d.Exclusive && !d.DistinctNodes && d.Disk == 0 &&
		len(d.Properties)+len(d.Hosts)+len(d.Measures) == 0 && d.Architecture == "" && d.System == ""
}

// record is the job if who may see it. A job that exists is not denied to exist:
// identifiers cannot be guessed.
func (s service) record(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, error) {
	r, ok, err := s.site.broker.Job(ctx, id)
	switch {
	case err != nil:
		return r, err
	case !ok || r.Role == grid.Declined || r.Removed:
		return r, s.unknown(id)
	case !s.may(who, &r):
		return r, fmt.Errorf("%w: job %s belongs to another user", grid.ErrForbidden, id)
	}
	return r, nil
}

func (s service) unknown(id grid.JobID) error {
	if home := id.Site(); home != s.site.facts.Name {
		return fmt.Errorf("%w: job %s is not known here; its home is the site %s: ask the broker there, or with a pass that 'gclient pass' gets from it", grid.ErrNotFound, id, home)
	}
	return fmt.Errorf("%w: job %s is not known here, or was removed", grid.ErrNotFound, id)
}

func (s service) may(who api.Identity, r *grid.Record) bool {
	if who.Home != "" {
		return r.Job.User == grid.User{Home: who.Home, Name: who.Name}
	}
	return who.Administrator || r.Job.User.Name == who.Name && s.site.broker.SameUsers(r.Job.User.Home)
}

func (s service) Upload(ctx context.Context, who api.Identity, id grid.JobID, path string, offset int64, body io.Reader) error {
	r, err := s.record(ctx, who, id)
	if err != nil {
		return err
	}
	if r.State != grid.StageIn {
		return fmt.Errorf("%w: job %s is %s and takes no more files", grid.ErrInvalid, id, r.State)
	}
	k := slices.IndexFunc(r.Job.Inputs, func(f grid.File) bool { return f.Path == path })
	if k < 0 {
		return fmt.Errorf("%w: job %s was not to bring a file %q", grid.ErrInvalid, id, path)
	}
	f := r.Job.Inputs[k]
	_, err = s.site.stager.Receive(ctx, id, path, f.Size, f.Mode, offset, body)
	return err
}

func (s service) Begun(ctx context.Context, who api.Identity, id grid.JobID, path string) (int64, error) {
	if _, err := s.record(ctx, who, id); err != nil {
		return 0, err
	}
	return s.site.stager.Begun(id, path)
}

func (s service) Uploaded(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, error) {
	r, err := s.record(ctx, who, id)
	if err != nil || r.State != grid.StageIn {
		return r, err
	}
	got, err := s.site.stager.Received(id)
	if err != nil {
		return r, err
	}
	full := make(grid.Manifest, 0, len(r.Job.Inputs))
	for _, want := range r.Job.Inputs {
		k := slices.IndexFunc(got, func(f grid.File) bool { return f.Path == want.Path && f.Size == want.Size })
		if k < 0 {
			return r, fmt.Errorf("%w: the file %q of job %s has not been sent", grid.ErrInvalid, want.Path, id)
		}
		full = append(full, got[k])
	}
	return s.site.broker.Uploaded(ctx, id, full)
}

func (s service) Job(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, error) {
	r, _, err := s.find(ctx, who, id, false)
	return r, err
}

func (s service) Jobs(ctx context.Context, who api.Identity, after grid.JobID, limit int, f api.Filter) ([]grid.Record, error) {
	if f.Group != "" && s.isGroupElsewhere(f.Group) {
		return s.jobsElsewhere(ctx, who, after, limit, f)
	}
	if g, known := s.site.broker.Group(f.Group); known && s.mayGroup(who, &g) && !g.Removed {
		return s.jobsOfGroup(after, limit, f, func(page api.Members) (api.GroupRecord, error) { return s.withJobs(ctx, g, page) })
	}
	user := who.Name
	if who.Administrator {
		user = f.User
	}
	return s.site.broker.Jobs(ctx, after, limit, user, func(r *grid.Record) bool {
		return listed(r) && s.may(who, r) && f.Passes(r, s.SiteName) && !(f.Unswept && s.swept(r.Job.ID)) &&
			!(f.Folded && r.Job.Part != nil && r.Job.Home == s.site.self)
	})
}

// swept tells of a job that a sweep of this home has made.
func (s service) swept(id grid.JobID) bool {
	name, n := id.Group()
	if n == 0 {
		return false
	}
	g, known := s.site.broker.Group(name)
	return known && g.Made()
}

// listed tells of a job that there is something to see of. Of one that this site has let go that is a run which ended here:
// what becomes of any other, its owner and its home know.
func listed(r *grid.Record) bool {
	return r.Role != grid.Declined && !r.Removed && (r.Role != grid.Tombstone || r.Started > 0 && r.State.Terminal())
}

func (s service) Wait(ctx context.Context, who api.Identity, id grid.JobID, since grid.State) (grid.Record, error) {
	if r, at, err := s.find(ctx, who, id, false); err != nil {
		return r, err
	} else if at != s.site.self {
		return s.watchElsewhere(ctx, who, r, func(r *grid.Record) bool { return r.State != since || r.State.Terminal() }), nil
	}
	r, known, err := s.site.broker.Wait(ctx, id, func(r *grid.Record) bool { return r.State != since || r.State.Terminal() })
	if err != nil {
		return r, err
	}
	if !known {
		return r, s.unknown(id)
	}
	return r, nil
}

func (s service) Cancel(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, bool, error) {
	r, at, err := s.find(ctx, who, id, false)
	if err != nil {
		return r, false, err
	}
	if at == s.site.self && (r.Job.Home == s.site.self || r.Role == grid.Owning) {
		return s.site.broker.Cancel(ctx, id, who.Name)
	}
	if r, _, err = s.find(ctx, who, id, true); err != nil {
		return r, false, err
	}
	r = s.watchElsewhere(ctx, who, r, func(r *grid.Record) bool { return r.State.Terminal() || r.End != 0 })
	return r, r.State.Terminal() || r.End != 0, nil
}

func (s service) Sites(context.Context) ([]api.SiteView, error) {
	accuracy := s.site.broker.Accuracy()
	list := []api.SiteView{{
		Site: s.site.factsNow(), Peer: s.site.self, Self: true, Send: true, State: grid.Alive, Alarms: s.site.alarms(), Version: version.Version,
		Started: accuracy.Started, Accuracy: accuracy.Accuracy,
	}}
	for _, m := range s.site.memberList() {
		facts, _ := s.site.factsOf(m.Peer)
		facts.Name, facts.Reach = m.Name, s.site.reachNames(m.Peer, facts)
		v := api.SiteView{
			Site: facts, Peer: m.Peer, Send: m.Send,
			State: s.site.overlay.Liveness(m.Peer), Contact: s.site.overlay.Contact(m.Peer), Link: s.site.monitor.Link(m.Peer), Qualities: s.site.monitor.Qualities(m.Peer),
			Version: s.site.versionOf(m.Peer),
		}
		v.Offset, v.Bound = s.site.offset(m.Peer)
		list = append(list, v)
	}
	for _, m := range s.site.passedOver() {
		v := api.SiteView{Site: grid.Site{Name: m.Name}, Peer: m.Peer, State: grid.Dead, NotChosen: true, Link: m.link}
		if !m.at.IsZero() {
			v.Age = grid.Span(time.Since(m.at))
		}
		list = append(list, v)
	}
	return list, nil
}

// Links asks a neighbour for its ways to others.
func (s service) Links(ctx context.Context, of grid.PeerID, to []grid.PeerID) (map[grid.PeerID]grid.Link, error) {
	return s.site.monitor.Ask(ctx, of, to)
}

// Drain ends, or begins again, that grid jobs are taken.
func (s administration) Drain(ctx context.Context, on bool) error {
	return s.site.broker.Drain(ctx, on)
}

// Notify makes the batch system be looked at now.
func (s batchHook) Notify(context.Context) error {
	s.site.notify()
	return nil
}
