package daemon

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/plan"
)

// inHand tries what needs our side of the batch system: a reservation and a job.
func (d *doctor) inHand(o DoctorOptions) {
	h, err := OpenHand(d.ctx, d.cfg, zap.NewNop())
	if err != nil {
		d.mend("folders", "%s", d.opening(err))
		return
	}
	defer func() {
		if err := h.Close(); err != nil {
			d.mend("folders", "letting go of the batch system: %v", err)
		}
	}()
	shot, err := h.batch.Snapshot(d.ctx)
	if err != nil {
		d.mend("snapshot", "%v", err)
		return
	}
	d.confinement(h)
	as, why := d.testAccount()
	h.RunAs(as)
	d.reservation(h, shot, as)
	if !o.Job {
		d.untried("test job", "left out, as it was asked for")
		return
	}
	d.job(h, shot, o.Wait, why)
}

// opening says what to do where the folders of what is done by hand cannot be used.
func (d *doctor) opening(err error) string {
	if errors.Is(err, grid.ErrForbidden) {
		return err.Error() // which says it
	}
	return fmt.Sprintf("%v: the daemon's user must be able to write in %s (data) and %s (sandboxes)", err, d.cfg.Data, d.folderOfJobs())
}

// confinement tells whether jobs of the embedded system get the control groups that were asked for.
func (d *doctor) confinement(h *Hand) {
	b, is := h.batch.(interface{ Confinement() (string, error) })
	if !is || !d.cfg.Batch.Confine {
		return
	}
	if what, err := b.Confinement(); err != nil {
		d.mend("control groups", "%v: delegate one to the broker (Delegate=yes in its unit), or remove batch.confine", err)
	} else {
		d.fine("control groups", "%s", what)
	}
}

// reserving says who may, and operating what an operator needs.
var (
	reserving = map[string]string{
		Slurm:   "write its SlurmUser as batch.operator, and let sudoers allow scontrol as that account",
		Torque:  "only ADMIN1 and ADMIN2 of maui.cfg reserve: add the daemon's account there, or write batch.operator",
		OpenPBS: "the acl of the server must let this account submit, and the server must have resv_enable = True; of root it takes none: write an account as batch.operator",
	}
	operating = map[string]string{
		Slurm:   "it must be SlurmUser, and sudoers must let this user run scontrol as that account",
		Torque:  "it must be in ADMIN1 or ADMIN2 of maui.cfg, and sudoers must let this user run Maui's commands as that account",
		OpenPBS: "the server must have resv_enable = True and let it submit, and sudoers must let this user run pbs_rsub, pbs_ralter and pbs_rdel as that account",
	}
)

// mayReserve says what is needed for a reservation to be made.
func (d *doctor) mayReserve() string {
	operator, system := d.cfg.Batch.External.Operator, d.cfg.Batch.System
	if need, is := operating[system]; is && operator != "" {
		return fmt.Sprintf("batch.operator is %s: %s", operator, need)
	}
	return reserving[system]
}

// reservation makes one far ahead, reads it back and takes it away.
func (d *doctor) reservation(h *Hand, shot plan.Snapshot, as string) {
	const name = "test reservation"
	s, err := h.Reserver()
	if err != nil {
		d.fine(name, "this batch system has none: the site takes no part in co-allocation")
		return
	}
	node, ok := upNode(shot)
	if !ok {
		d.untried(name, "no node is up")
		return
	}
	start := (wall()/grid.Second)*grid.Second + 7*grid.Day
	r := pbs.Reservation{ID: NewReservationID(), Nodes: []grid.NodeName{node}, Start: start, End: start + 10*grid.Minute, Account: as}
	err = s.Reserve(d.ctx, r)
	switch {
	case errors.Is(err, pbs.ErrNoReservations):
		d.fine(name, "this batch system has none: the site takes no part in co-allocation")
		return
	case err != nil:
		d.mend(name, "%s in a week: %s", node, advice(err, d.mayReserve()))
		return
	}
	seen, err := s.Reservations(d.ctx)
	there := false
	for _, other := range seen {
		there = there || other.ID == r.ID && other.Start == r.Start && other.End == r.End
	}
	if gone := s.Release(context.WithoutCancel(d.ctx), r.ID); gone != nil {
		d.mend(name, "%s was reserved in a week, and cannot be released: %v: release it by hand: gbroker batch unreserve %s", node, gone, r.ID)
		return
	}
	if err != nil || !there {
		d.mend(name, "%s was reserved in a week, and is not listed so: %v", node, err)
		return
	}
	d.fine(name, "%s was reserved for ten minutes in a week, read back, and released", node)
	d.fine("reservations", "%s; %s", vanishing(d.cfg.Batch.System), entering(d.cfg.Batch.System, d.cfg.Batch.External.Users.Mapped))
}

// vanishing tells what becomes of a reservation when the broker never returns.
func vanishing(system string) string {
	if system == "slurm" {
		return "should the broker never return, one ends by itself five minutes after its start, if no job is in it"
	}
	return "should the broker never return, one ends by itself at its end, and not before"
}

// entering tells who could enter one by its name.
func entering(system string, mapped bool) string {
	switch {
	case !mapped:
		return "no users are mapped: all jobs run under the daemon's account, which no user can submit by"
	case system == Slurm:
		return "each is for an account of its own, if Slurm lets in accounts that its database does not have: " +
			"another job of the same user enters it only by naming that too, and is then told to its holder"
	case system == Torque:
		return "each is for an account of its own: another job enters it only by naming that, and is then told to its holder"
	}
	return "access is by account: another job of the same account can enter one by its name, beside the one that it is for"
}

func upNode(shot plan.Snapshot) (grid.NodeName, bool) {
	for _, n := range shot.Nodes {
		if !n.Down {
			return n.Name, true
		}
	}
	return "", false
}

// closedFile is what the test job leaves where only its account can read it.
const closedFile = "closed/file"

var testScript = "uname -n; date +%s; id -un; umask 077; mkdir -m 700 closed && echo ok >" + closedFile + "; exit " + strconv.Itoa(testExit)

// testExit is the exit status by which the test job is known to have come through.
const testExit = 7

// job follows one from its submission to its exit status. without is why it may be refused.
func (d *doctor) job(h *Hand, shot plan.Snapshot, wait time.Duration, without string) {
	const name = "test job"
	job := grid.Job{
		Name: "doctor", Walltime: grid.Minute,
		Program: grid.Program{Executable: "/bin/sh", Arguments: []string{"-c", testScript}},
		Demand:  grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}},
		Outputs: []grid.Output{{Path: grid.DefaultOutput, Target: grid.DefaultOutput, Required: true}, {Path: closedFile, Target: closedFile, Required: true}},
	}
	expected, refusal := plan.Build(shot).Ask(plan.Question{Demand: job.Demand, Queue: job.Queue, Limit: job.Walltime, NotBefore: shot.At})
	begun := wall()
	j, err := h.Submit(d.ctx, job, "")
	if errors.Is(err, errNobody) {
		d.untried(name, "%v", err)
		return
	}
	if err != nil && without != "" {
		d.untried(name, "%s (%v)", without, err)
		return
	}
	if err != nil {
		d.mend(name, "%v", err)
		return
	}
	p, err := h.await(d.ctx, j, wait)
	switch {
	case errors.Is(err, context.Canceled):
		d.untried(name, "%s was submitted, and taken away again: it was interrupted", j.Local)
	case err != nil:
		d.mend(name, "%s (%s) was submitted, and nothing is known of it: %v", j.ID, j.Local, err)
	case p.Phase == grid.Waiting:
		d.untried(name, "%s waits still after %v: say --wait with more", j.Local, wait)
	case p.Phase == grid.Started:
		d.mend(name, "%s has started, and its end is not seen: is the folder %s on a file system that the nodes share?", j.Local, d.folderOfJobs())
	case p.Phase != grid.Ended || p.Cause != grid.ByItself:
		d.mend(name, "%s ended without its exit status (%s, %s): is the folder %s on a file system that the nodes share, under the same path?",
			j.Local, p.Phase, p.Detail, d.folderOfJobs())
	case p.ExitCode != testExit:
		d.mend(name, "%s ended with %d, and should have with %d", j.Local, p.ExitCode, testExit)
	default:
		d.fine(name, "%s ran and ended with its exit status, %v after it was submitted", j.Local, (p.Finished - begun).Duration().Round(100*time.Millisecond))
		job.ID = j.ID
		d.node(h, job, span{begun, wall()})
	}
	d.estimate(p, expected, refusal)
	if err := h.clear(d.ctx, j); err != nil {
		d.mend(name, "taking it away: %v", err)
	}
}

// node reads what the job wrote: from which machine, what time it is there, and as whom; taken back
// as the output of any job is. It did so in a span of this machine's clock.
func (d *doctor) node(h *Hand, job grid.Job, ran span) {
	text, missing, err := h.Collect(d.ctx, job, grid.DefaultOutput)
	switch {
	case err != nil:
		d.mend("output", "what the job left cannot be collected: %s", advice(err, "docs/batch.md has what mapped accounts need"))
		return
	case len(missing) > 0:
		d.mend("shared folder", "what the job wrote (%v) is not in %s: is it on a file system that the nodes share?", missing, d.folderOfJobs())
		return
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	seconds, bad := strconv.ParseInt(lines[min(1, len(lines)-1)], 10, 64)
	if len(lines) != 3 || bad != nil {
		d.mend("shared folder", "what the job wrote is not what we read: %.200q", text)
		return
	}
	host, as := lines[0], lines[2]
	d.fine("shared folder", "the node %s writes where we read", host)
	if h.as != "" && as != h.as {
		d.mend("output", "the job ran under the account %s and not %s", as, h.as)
	} else {
		d.fine("output", "what the job left under the account %s is collected, also what is closed to all others", as)
	}
	if off := ran.ahead(grid.Tick(seconds) * grid.Second); off > skew || off < -skew {
		d.mend("node's clock", "that of %s is %v ahead of this machine's: let all follow the same time servers", host, off.Duration())
		return
	}
	d.fine("node's clock", "that of %s and ours agree within %v", host, skew.Duration())
}

// estimate compares the start that the broker would have told with the real one.
func (d *doctor) estimate(p grid.Progress, expected grid.Tick, refusal *grid.Refusal) {
	const name = "estimate"
	switch {
	case refusal != nil:
		d.mend(name, "by our plan the test job could not run here: %s (asked %s, available %s)", refusal.Reason, refusal.Asked, refusal.Available)
	case p.Started == 0:
		d.untried(name, "the test job has not started")
	default:
		d.fine(name, "expected %s, it came at %s: %v apart", clockTime(expected), clockTime(p.Started),
			(max(expected, p.Started) - min(expected, p.Started)).Duration().Round(100*time.Millisecond))
	}
}

func clockTime(t grid.Tick) string { return time.UnixMilli(int64(t)).UTC().Format("15:04:05.0Z") }

// await follows a job until it has ended, or waits still after a while. One that has started
// has its walltime and two minutes more.
func (h *Hand) await(ctx context.Context, j HandJob, wait time.Duration) (grid.Progress, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(wait)
	running := false
	for {
		p, err := h.Progress(ctx, j)
		if err == nil && p.Phase == grid.Started && !running {
			running, end = true, time.Now().Add(3*time.Minute)
		}
		if err == nil && (p.Phase == grid.Ended || p.Phase == grid.Withdrawn) || time.Now().After(end) {
			return p, err
		}
		select {
		case <-ctx.Done():
			return p, errors.Join(err, ctx.Err())
		case <-tick.C:
		}
	}
}

// clear ends a job and forgets it.
func (h *Hand) clear(ctx context.Context, j HandJob) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	for {
		gone, err := h.Remove(ctx, j)
		if err != nil || gone {
			return err
		}
		if _, err := h.await(ctx, j, time.Minute); err != nil {
			return err
		}
	}
}
