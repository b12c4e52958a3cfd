package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// Verdicts of a Finding.
const (
	Fine    = "ok"
	Mend    = "mend"    // something is wrong; the text says what to do
	Untried = "untried" // it could not be tried; the text says why
)

// Finding is one line of a doctor's examination.
type Finding struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Text    string `json:"text"`
}

// DoctorOptions says how much is tried.
type DoctorOptions struct {
	Job  bool          // a job, from its submission to its exit status
	As   string        // the account of that job; "" is one of those that are mapped, if any
	Wait time.Duration // for it to start
}

// Examine checks one by one whether the batch system is as the broker needs it, and tells
// each as soon as it is known. It leaves nothing behind.
func Examine(ctx context.Context, file string, o DoctorOptions, tell func(Finding)) error {
	cfg, wrong, err := Check(file)
	if err != nil {
		return err
	}
	d := &doctor{ctx: ctx, cfg: cfg, tell: tell, as: o.As}
	for _, m := range wrong {
		d.mend("configuration", "%s", m)
	}
	if len(wrong) > 0 {
		d.untried("batch system", "the configuration comes first")
		return nil
	}
	d.fine("configuration", "%s is right", file)
	d.data()
	d.ports()
	d.socket()
	d.mail()
	if cfg.Batch.System == Pool {
		d.untried("batch system", "a pool has its computers while its daemon runs: `gbroker pool list --config %s` says which", file)
		return nil
	}
	if cfg.Batch.System != Embedded && !d.external() {
		return nil
	}
	d.inHand(o)
	return nil
}

type doctor struct {
	ctx     context.Context
	cfg     Config
	tell    func(Finding)
	client  external.Client
	listing external.Listing
	asked   span   // when the listing was made, by this machine's clock
	as      string // under which account the test job runs

	room func(dir string) (int64, error) // what is free there; nil is freeIn
}

func (d *doctor) fine(name, format string, args ...any) {
	d.tell(Finding{name, Fine, fmt.Sprintf(format, args...)})
}

func (d *doctor) mend(name, format string, args ...any) {
	d.tell(Finding{name, Mend, fmt.Sprintf(format, args...)})
}

func (d *doctor) untried(name, format string, args ...any) {
	d.tell(Finding{name, Untried, fmt.Sprintf(format, args...)})
}

// external checks what is reached by commands; false is that nothing further makes sense.
func (d *doctor) external() bool {
	if !d.commands() {
		return false
	}
	client, err := d.cfg.client()
	if err != nil {
		d.mend("driver", "%v", err)
		return false
	}
	d.client = client
	if !d.controller() {
		return false
	}
	d.limits()
	d.clock()
	d.memory()
	d.queue()
	d.others()
	d.accounts()
	d.folders()
	return true
}

// used are the commands that a driver runs, and those that it needs for reservations.
var used = map[string]struct{ always, reserving []string }{
	Slurm:   {always: []string{"sbatch", "squeue", "sinfo", "scontrol", "scancel"}},
	Torque:  {always: []string{"qsub", "qstat", "qdel", "qhold", "qrls", "pbsnodes"}},
	OpenPBS: {[]string{"qsub", "qstat", "qdel", "qhold", "qrls", "pbsnodes"}, []string{"pbs_rsub", "pbs_rstat", "pbs_ralter", "pbs_rdel"}},
}

// mauis are Maui's commands.
var mauis = []string{"showq", "showres", "showconfig", "setres", "releaseres", "mdiag"}

func (d *doctor) commands() bool {
	r := d.cfg.runner()
	path := strings.Join(append(slices.Clone(r.Folders), detector{environment: r.Environment}.value("PATH")), ":")
	look := detector{environment: []string{"PATH=" + path}}
	missing := func(names []string) (list []string) {
		for _, name := range names {
			if look.folder(name) == "" {
				list = append(list, name)
			}
		}
		return list
	}
	u := used[d.cfg.Batch.System]
	always := slices.Clone(u.always)
	if d.cfg.Batch.External.Maui {
		always = append(always, mauis...)
	}
	if list := missing(always); len(list) > 0 {
		d.mend("commands", "%s not found in %s: install the client commands, or write their folder as batch.commands", strings.Join(list, ", "), path)
		return false
	}
	if list := missing(u.reserving); len(list) > 0 {
		d.mend("commands", "%s not found in %s: without them there are no reservations", strings.Join(list, ", "), path)
		return true
	}
	at := look.folder(always[0])
	if own := d.cfg.Batch.External.Commands; own != "" && at != own {
		d.mend("commands", "batch.commands says %s, and %s is not there but in %s: write that folder", own, always[0], at)
		return true
	}
	d.fine("commands", "all found, %s in %s", always[0], at)
	return true
}

// controller asks for a listing, as the daemon does at each poll.
func (d *doctor) controller() bool {
	begun, asked := time.Now(), wall()
	l, err := d.client.Listing(d.ctx)
	if err != nil {
		d.mend("controller", "%s does not answer as it should: %s", d.cfg.Batch.System, advice(err, d.leading()))
		return false
	}
	d.listing, d.asked = l, span{asked, wall()}
	t := d.client.Traits()
	version := strings.TrimSpace(t.Kind + " " + t.Version)
	up := 0
	for _, n := range l.Nodes {
		if !n.Down {
			up++
		}
	}
	if up == 0 {
		d.mend("controller", "%s answers, but none of its %d nodes is up: nothing can start", version, len(l.Nodes))
		return true
	}
	d.fine("controller", "%s: %d of %d nodes up, %d queues, %d jobs, policy %s, in %v",
		version, up, len(l.Nodes), len(l.Queues), len(l.Jobs), l.Policy, time.Since(begun).Round(time.Millisecond))
	return true
}

// limits tells what jobs meet in this system that they would not meet in another.
func (d *doctor) limits() {
	t := d.client.Traits()
	age := "the age of a job does not order its queue"
	if t.Ages {
		age = "the age of a job orders its queue"
	}
	text := fmt.Sprintf("names of up to %d bytes; no walltime below %v; %s; jobs that may not run twice are submitted with %s",
		t.NameLimit, t.Least.Duration(), age, t.RequeueFlag)
	if t.Slack > 0 {
		text += fmt.Sprintf("; a reservation must be %v longer than its job", t.Slack.Duration())
	}
	d.fine("limits", "%s", text)
}

// servers are what answers the commands.
var servers = map[string]string{Slurm: "slurmctld", Torque: "pbs_server", OpenPBS: "the PBS server"}

// leading says what usually keeps commands from their server.
func (d *doctor) leading() string {
	where := "is not set"
	if set := d.cfg.Batch.External.Environment; len(set) > 0 {
		where = "says " + strings.Join(set, " ")
	}
	return fmt.Sprintf("is %s up, and do the commands find it? batch.environment, which leads them there, %s", servers[d.cfg.Batch.System], where)
}

// skew is how far the system's clock may be from ours: starts and ends are compared by it.
const skew = 5 * grid.Second

// span is a time by this machine's clock in which something was told.
type span struct{ from, to grid.Tick }

// ahead is how far a clock that told at in the span is ahead of this machine's, at the least; 0 if it may agree.
func (s span) ahead(at grid.Tick) grid.Tick { return max(at-s.to, 0) + min(at-s.from, 0) }

func (d *doctor) clock() {
	ahead := d.asked.ahead(d.listing.At)
	if ahead > skew || ahead < -skew {
		d.mend("clock", "the batch system's clock is %v ahead of this machine's: let both follow the same time servers", ahead.Duration())
		return
	}
	d.fine("clock", "the batch system's clock and ours agree within %v; commands are run with TZ=UTC", skew.Duration())
}

// forgets says how the system is made to remember jobs that have ended.
var forgets = map[string]string{
	Slurm:   "set MinJobAge=300 in slurm.conf",
	Torque:  "set it with: qmgr -c 'set server keep_completed = 300'",
	OpenPBS: "set it with: qmgr -c 'set server job_history_enable = True'",
}

// memory: how a job ended must be read before the system forgets it.
func (d *doctor) memory() {
	keeps, least := d.client.Traits().Forgets, 6*grid.Span(d.cfg.Batch.Refresh)
	switch {
	case keeps == 0:
		d.mend("memory", "jobs that have ended are not listed, so that the cause of a death is not known: %s", forgets[d.cfg.Batch.System])
	case keeps < least:
		d.mend("memory", "jobs that have ended are listed for %v only, and it is polled each %v: %s", keeps.Duration(), d.cfg.Batch.Refresh, forgets[d.cfg.Batch.System])
	default:
		d.fine("memory", "jobs that have ended are listed for %v", keeps.Duration())
	}
}

// queue: is there one for jobs that name none?
func (d *doctor) queue() {
	name := d.cfg.Batch.External.Queue
	if name == "" {
		name = d.listing.Default
	}
	var names []string
	for _, q := range d.listing.Queues {
		switch {
		case q.Name == name && (q.Stopped || q.Closed):
			d.mend("queue", "jobs that name none go to %s, which is closed now: %s", name, q.Why)
			return
		case q.Name == name:
			d.fine("queue", "jobs that name none go to %s", name)
			return
		case !q.Stopped && !q.Closed:
			names = append(names, string(q.Name))
		}
	}
	if name == "" {
		d.mend("queue", "the batch system has no default queue: write batch.queue, one of %s", strings.Join(names, ", "))
		return
	}
	d.mend("queue", "there is no queue %s that takes jobs: write batch.queue, one of %s", name, strings.Join(names, ", "))
}

// advice adds what usually mends an error.
func advice(err error, hint string) string {
	if errors.Is(err, context.Canceled) {
		return "it was interrupted"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("%v: the time was over", err)
	}
	return fmt.Sprintf("%v: %s", err, hint)
}

// folderOfJobs is where the job's folders are, for advice.
func (d *doctor) folderOfJobs() string { return filepath.Clean(d.cfg.JobsFolder()) }
