package daemon

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"
	"go.uber.org/zap"

	"gbroker/broker"
	"gbroker/grid"
	"gbroker/internal/form"
	"gbroker/internal/localfs"
	"gbroker/pbs"
	"gbroker/stage"
)

// handOwner begins what marks things made by hand, so that no daemon takes them for its own.
const handOwner = "hand"

// Hand acts on a batch system by hand, through the same driver as the daemon of the site,
// beside it or without it. What it keeps is in hand/ of the data folder: the driver's own
// notes, and for each job a record; one process at a time. The folders of its jobs are in
// hand/ of that of all jobs.
//
// By hand the embedded batch system is one of its own, over nodes like the daemon's: a job that
// does not start at once waits until the next command.
type Hand struct {
	cfg    Config
	as     string // the account of the jobs, as RunAs has said
	folder string
	batch  pbs.System
	stager *stage.Stager
	unlock func()
	cancel context.CancelFunc
	ended  chan error
}

// HandJob is a job that was submitted by hand.
type HandJob struct {
	ID        grid.JobID   `json:"id"`
	Local     grid.LocalID `json:"local"`
	Command   []string     `json:"command"`
	Submitted grid.Tick    `json:"submitted_ms"`
	Folder    string       `json:"folder"` // where it ran; stdout and stderr are there
}

// OpenHand takes the batch system in hand until Close. Commands that it runs end with ctx.
func OpenHand(ctx context.Context, cfg Config, log *zap.Logger) (_ *Hand, err error) {
	if err := rightUser(cfg); err != nil {
		return nil, err
	}
	h := &Hand{cfg: cfg, folder: filepath.Join(cfg.Data, handOwner), ended: make(chan error, 1)}
	if err := os.MkdirAll(filepath.Join(h.folder, "records"), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of what is done by hand: %w", err)
	}
	if h.unlock, err = localfs.Lock(ctx, h.folder); err != nil {
		return nil, fmt.Errorf("waiting for another command that has %s: %w", h.folder, err)
	}
	defer func() {
		if err != nil {
			h.unlock()
		}
	}()
	if err = h.passable(); err != nil {
		return nil, err
	}
	if h.stager, err = stage.New(stage.Config{
		Root: h.jobs(), Passable: cfg.Batch.External.Users.Mapped, As: cfg.as(), Reserve: broker.Reserve, Logger: log,
		Authorize: func(grid.PeerID, grid.JobID, stage.Set) (stage.Grant, error) {
			return stage.Grant{}, grid.ErrForbidden
		},
	}); err != nil {
		return nil, err
	}
	owner, err := h.owner()
	if err != nil {
		return nil, errors.Join(err, h.stager.Close())
	}
	if h.batch, err = cfg.system(ours{
		Owner: owner, Site: cfg.facts(), Spool: filepath.Join(h.folder, "batch"), Log: log,
		Accounts: h.accounts(cfg.handAccounts(os.Geteuid() == 0)), Lend: h.stager.Lend,
		Changed: func(grid.AttemptID) {},
	}); err != nil {
		return nil, errors.Join(err, h.stager.Close())
	}
	running, cancel := context.WithCancel(ctx)
	h.cancel = cancel
	go func() { h.ended <- h.batch.Run(running) }()
	return h, nil
}

// RunAs says under which account jobs run that are submitted from now on; "" is the one that is
// taken where nobody says.
func (h *Hand) RunAs(account string) { h.as = account }

// accounts is what RunAs has said, before what others say.
func (h *Hand) accounts(others func(grid.User) (string, error)) func(grid.User) (string, error) {
	return func(u grid.User) (string, error) {
		if h.as != "" || others == nil {
			return h.as, nil
		}
		return others(u)
	}
}

// passable lets accounts through the folder of all jobs, as the daemon does when it starts.
func (h *Hand) passable() error {
	if !h.cfg.Batch.External.Users.Mapped {
		return nil
	}
	jobs := h.cfg.JobsFolder()
	if err := os.MkdirAll(jobs, 0o711); err != nil {
		return fmt.Errorf("making the folder of the jobs: %w", err)
	}
	if err := os.Chmod(jobs, 0o711); err != nil {
		return fmt.Errorf("letting accounts pass the folder of the jobs: %w", err)
	}
	return nil
}

// Collect takes what a job that has ended left, as the daemon does, and reads the first bytes of one file.
func (h *Hand) Collect(ctx context.Context, job grid.Job, name string) (text []byte, missing []grid.MissingOutput, err error) {
	_, missing, err = h.stager.Collect(ctx, job)
	if err != nil || slices.ContainsFunc(missing, func(m grid.MissingOutput) bool { return m.Path == name }) {
		return nil, missing, err
	}
	r, _, _, err := h.stager.Open(job.ID, stage.Outputs, name)
	if err != nil {
		return nil, missing, err
	}
	defer r.Close()
	text, err = io.ReadAll(io.LimitReader(r, maxRead))
	return text, missing, err
}

// maxRead bounds what is read of an output.
const maxRead = 64 << 10

// owner is a word for what is made by hand with this data folder: another broker at the same
// batch system, also one under this account, must not take it for its own and sweep it.
func (h *Hand) owner() (string, error) {
	name := filepath.Join(h.folder, "owner")
	word, err := readBounded(name)
	if errors.Is(err, fs.ErrNotExist) {
		word = []byte(handOwner + "-" + strings.ToLower(rand.Text()[:16]))
		err = localfs.Replace(name, word, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("naming what is done by hand: %w", err)
	}
	return string(word), nil
}

// errNobody tells that jobs by hand cannot run, which says nothing of those of users.
var errNobody = errors.New("batch.users names no account for a job by hand")

// handAccounts is under which account jobs by hand run; nil is the daemon's own. TORQUE and
// OpenPBS take no jobs of root: there it is one of those that users are mapped to.
func (c Config) handAccounts(root bool) func(grid.User) (string, error) {
	x := c.Batch.External
	if !root || !x.Users.Mapped || c.Batch.System != Torque && c.Batch.System != OpenPBS {
		return nil
	}
	names := x.Users.accounts()
	return func(grid.User) (string, error) {
		if len(names) == 0 {
			return "", fmt.Errorf("%w: %w: %s takes no jobs of root: write one in users.map", grid.ErrInvalid, errNobody, c.Batch.System)
		}
		return names[0], nil
	}
}

// Close lets go; jobs that run go on.
func (h *Hand) Close() error {
	h.cancel()
	err := <-h.ended
	h.unlock()
	return errors.Join(err, h.stager.Close())
}

// rightUser refuses to leave files behind that the daemon cannot read.
func rightUser(cfg Config) error {
	info, err := os.Stat(cfg.Data)
	if err != nil {
		return fmt.Errorf("looking at the data folder: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if own := os.Geteuid(); ok && int(stat.Uid) != own {
		return fmt.Errorf("%w: %s belongs to the user with uid %d and this is %d: run it as the daemon's user, by sudo -u", grid.ErrForbidden, cfg.Data, stat.Uid, own)
	}
	return nil
}

func (h *Hand) jobs() string {
	if h.cfg.Sandboxes != "" {
		return filepath.Join(h.cfg.Sandboxes, handOwner)
	}
	return filepath.Join(h.folder, "jobs")
}

func attemptOf(id grid.JobID) grid.AttemptID {
	return grid.AttemptID{Job: id, Epoch: grid.Epoch{Term: 1}, Attempt: 1}
}

// Submit hands a job in; its identifier and user are filled in.
func (h *Hand) Submit(ctx context.Context, job grid.Job, reservation string) (HandJob, error) {
	id, err := ulid.New(ulid.Timestamp(time.Now()), rand.Reader)
	if err != nil {
		return HandJob{}, fmt.Errorf("making an identifier: %w", err)
	}
	job.ID = grid.NewJobID(h.cfg.Site, id.String())
	if err := h.stager.Prepare(ctx, job, true); err != nil {
		return HandJob{}, err
	}
	work, control := h.stager.Paths(job.ID)
	j := HandJob{ID: job.ID, Command: append([]string{job.Program.Executable}, job.Program.Arguments...), Submitted: wall(), Folder: work}
	if err := h.keep(j); err != nil {
		return j, err
	}
	j.Local, err = h.batch.Submit(ctx, grid.Submission{
		ID: attemptOf(job.ID), Job: job, Work: work, Control: control, Limit: job.Walltime, Expected: job.Walltime, Reservation: reservation,
	})
	if errors.Is(err, grid.ErrInvalid) {
		return j, errors.Join(fmt.Errorf("submitting by hand: %w", err), h.forget(ctx, job.ID))
	}
	if err != nil {
		return j, fmt.Errorf("submitting %s by hand, which may have been taken: %w", j.ID, err)
	}
	if h.cfg.Batch.System == Embedded {
		h.awaitStart(ctx, j)
	}
	return j, h.keep(j)
}

// awaitStart waits a moment for a job that only starts while this process lives.
func (h *Hand) awaitStart(ctx context.Context, j HandJob) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if p, err := h.Progress(ctx, j); err == nil && p.Phase != grid.Waiting && p.Phase != grid.Unknown {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (h *Hand) record(id grid.JobID) string {
	return filepath.Join(h.folder, "records", string(id)+".json")
}

func (h *Hand) keep(j HandJob) error {
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the record of %s: %w", j.ID, err)
	}
	return localfs.Replace(h.record(j.ID), append(data, '\n'), 0o600)
}

// forget drops what is kept of a job. The last words of its script may come while the folder
// is removed: then it is tried again.
func (h *Hand) forget(ctx context.Context, id grid.JobID) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := h.stager.Discard(id)
		switch {
		case err == nil:
			if err := os.Remove(h.record(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("forgetting %s: %w", id, err)
			}
			return nil
		case !errors.Is(err, grid.ErrUnavailable):
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// Jobs are those that were submitted by hand and not removed, the oldest first.
func (h *Hand) Jobs() ([]HandJob, error) {
	names, err := os.ReadDir(filepath.Join(h.folder, "records"))
	if err != nil {
		return nil, fmt.Errorf("listing what was submitted by hand: %w", err)
	}
	list := []HandJob{}
	for _, n := range names {
		id, is := strings.CutSuffix(n.Name(), ".json")
		if _, err := grid.ParseJobID(id); !is || err != nil {
			continue
		}
		data, err := readBounded(h.record(grid.JobID(id)))
		if err != nil {
			return nil, err
		}
		var j HandJob
		if err := json.Unmarshal(data, &j); err != nil {
			return nil, fmt.Errorf("the record of %s is damaged; remove it: %w", id, err)
		}
		list = append(list, j)
	}
	slices.SortFunc(list, func(a, b HandJob) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return list, nil
}

// Find is the job that is called name: by our identifier, or by the batch system's.
func (h *Hand) Find(name string) (HandJob, error) {
	list, err := h.Jobs()
	if err != nil {
		return HandJob{}, err
	}
	for _, j := range list {
		if string(j.ID) == name || string(j.Local) == name {
			return j, nil
		}
	}
	return HandJob{}, fmt.Errorf("%w: %s was not submitted by hand: `gbroker batch status` lists those that were", grid.ErrNotFound, strconv.Quote(form.Clip(name)))
}

// Progress is how far a job has come.
func (h *Hand) Progress(ctx context.Context, j HandJob) (grid.Progress, error) {
	_, control := h.stager.Paths(j.ID)
	return h.batch.Progress(ctx, attemptOf(j.ID), control)
}

// Hold keeps a waiting job from starting; Release ends that.
func (h *Hand) Hold(ctx context.Context, j HandJob) error {
	return h.holder(func(s pbs.Holder, control string) error { return s.Hold(ctx, attemptOf(j.ID), control) }, j)
}

// Release ends our own hold.
func (h *Hand) Release(ctx context.Context, j HandJob) error {
	return h.holder(func(s pbs.Holder, control string) error { return s.Unhold(ctx, attemptOf(j.ID), control) }, j)
}

func (h *Hand) holder(do func(s pbs.Holder, control string) error, j HandJob) error {
	s, can := h.batch.(pbs.Holder)
	if !can {
		return fmt.Errorf("%w: the %s batch system holds no jobs", grid.ErrInvalid, h.cfg.Batch.System)
	}
	_, control := h.stager.Paths(j.ID)
	return do(s, control)
}

// Remove ends a job, and forgets one that has ended, with its folder. gone tells which.
func (h *Hand) Remove(ctx context.Context, j HandJob) (gone bool, err error) {
	p, err := h.Progress(ctx, j)
	switch {
	case err != nil:
		return false, err
	case p.Phase == grid.Ended || p.Phase == grid.Withdrawn || p.Phase == grid.Unknown && j.Local == "":
		return true, h.forget(ctx, j.ID)
	}
	_, control := h.stager.Paths(j.ID)
	return false, h.batch.Kill(ctx, attemptOf(j.ID), control)
}

// Reserver is what makes reservations here, or pbs.ErrNoReservations.
func (h *Hand) Reserver() (pbs.Reserver, error) {
	if r, can := h.batch.(pbs.Reserver); can {
		return r, nil
	}
	return nil, fmt.Errorf("%w: %s", pbs.ErrNoReservations, h.cfg.Batch.System)
}

// NewReservationID names a reservation made by hand.
func NewReservationID() string { return handOwner + strings.ToLower(rand.Text()[:12]) }
