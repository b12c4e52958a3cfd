package broker

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/plan"
)

// What the batch system is asked, and what Core hears of the answer, or of none.
func TestWhatTheBatchSystemIsAsked(t *testing.T) {
	t.Parallel()
	job := jobOf(me, "a", "1")
	id := grid.AttemptID{Job: job.ID, Attempt: 2}
	sub := grid.Submission{ID: id, Job: job}
	work, ctl := "work/"+string(job.ID), "ctl/"+string(job.ID)
	unconfirmed := func(h *hands) { h.b.view.set(grid.Record{Job: job}) }
	try(t, []works{
		{name: "look", effect: core.Look{}, calls: []string{"Snapshot:"}, heard: []core.Event{core.Looked{Snapshot: plan.Snapshot{Site: grid.Site{Name: "a"}}}}},
		{name: "look at a full disk", effect: core.Look{}, change: func(h *hands) { h.taken.Store(1 << 40) },
			calls: []string{"Snapshot:"}, heard: []core.Event{core.Looked{Snapshot: plan.Snapshot{Site: grid.Site{Name: "a"}}, Full: true}}},
		{name: "look in vain", effect: core.Look{}, fails: map[string]error{"Snapshot": errBoom},
			calls: []string{"Snapshot:"}, heard: []core.Event{core.Looked{Snapshot: plan.Snapshot{Site: grid.Site{Name: "a"}}, Err: errBoom}}},
		{name: "look in vain, without a word", effect: core.Look{}, fails: map[string]error{"Snapshot": errorText("")},
			calls: []string{"Snapshot:"}, heard: []core.Event{core.Looked{Snapshot: plan.Snapshot{Site: grid.Site{Name: "a"}}, Err: errorText("")}}},

		{name: "launch", effect: core.Launch{Submission: sub, Keep: true},
			calls: []string{"Bring:", "Prepare:true", "Submit:" + work + ctl}, heard: []core.Event{core.Launched{ID: id, Local: "l"}}},
		{name: "launch anew", effect: core.Launch{Submission: sub, Fresh: true},
			calls: []string{"Discard:true", "Bring:", "Prepare:false", "Submit:" + work + ctl}, heard: []core.Event{core.Launched{ID: id, Local: "l"}}},
		{name: "launch in a tree that cannot be cleared", effect: core.Launch{Submission: sub, Fresh: true}, fails: map[string]error{"Discard": errBoom},
			calls: []string{"Discard:true"},
			heard: []core.Event{core.Launched{ID: id, Err: errorText(grid.ErrUnavailable.Error() + ": clearing the sandbox of an earlier attempt: boom"), Kind: grid.Temporary}}},
		{name: "launch without a source that nobody has", effect: core.Launch{Submission: sub}, fails: map[string]error{"Bring": errBoom}, change: func(h *hands) { h.unavailable = true },
			calls: []string{"Bring:"}, heard: []core.Event{core.Launched{ID: id, Err: errBoom, Kind: grid.Permanent, Source: true}}},
		{name: "launch while a source cannot be brought", effect: core.Launch{Submission: sub}, fails: map[string]error{"Bring": errBusy},
			calls: []string{"Bring:"}, heard: []core.Event{core.Launched{ID: id, Err: errBusy, Kind: grid.Temporary}}},
		{name: "launch without room", effect: core.Launch{Submission: sub}, fails: map[string]error{"Prepare": syscall.EDQUOT},
			calls: []string{"Bring:", "Prepare:false"}, heard: []core.Event{core.Launched{ID: id, Err: fmt.Errorf("preparing the sandbox: %w", syscall.EDQUOT), Kind: grid.Temporary}}},
		{name: "launch in vain", effect: core.Launch{Submission: sub}, fails: map[string]error{"Submit": errWrong},
			calls: []string{"Bring:", "Prepare:false", "Submit:" + work + ctl}, heard: []core.Event{core.Launched{ID: id, Local: "l", Err: errWrong, Kind: grid.Permanent}}},
		{name: "launch after a pause", effect: core.Launch{Submission: sub}, pauses: 1, calls: []string{"Bring:", "Prepare:false"},
			heard: []core.Event{core.Launched{ID: id, Err: errorText(grid.ErrUnavailable.Error() + ": this broker was stopped for 0s before it could submit the attempt"), Kind: grid.Temporary}}},

		{name: "withdraw", effect: core.Withdraw{ID: id}, calls: []string{"Withdraw:" + ctl}, heard: []core.Event{core.Withdrawn{ID: id, Done: true}}},
		{name: "withdraw what was not confirmed", effect: core.Withdraw{ID: id}, change: unconfirmed,
			calls: []string{"MakeFolder:", "Withdraw:" + ctl}, heard: []core.Event{core.Withdrawn{ID: id, Done: true}}},
		{name: "withdraw without a folder", effect: core.Withdraw{ID: id}, change: unconfirmed, fails: map[string]error{"MakeFolder": errBoom},
			calls: []string{"MakeFolder:"}, heard: []core.Event{core.Withdrawn{ID: id, Err: errBoom}}},
		{name: "withdraw in damage", effect: core.Withdraw{ID: id}, fails: map[string]error{"Withdraw": errDamage},
			calls: []string{"Withdraw:" + ctl}, heard: []core.Event{core.Withdrawn{ID: id, Done: true, Err: errDamage, Damaged: true}}},

		{name: "probe", effect: core.Probe{ID: id}, calls: []string{"Progress:" + ctl}, heard: []core.Event{core.Progressed{Progress: grid.Progress{ID: id, Phase: grid.Started}}}},
		{name: "probe without a folder", effect: core.Probe{ID: id}, change: unconfirmed, fails: map[string]error{"MakeFolder": errBoom},
			calls: []string{"MakeFolder:"}, heard: []core.Event{core.Progressed{Progress: grid.Progress{ID: id}, Err: errBoom}}},
		{name: "probe in damage", effect: core.Probe{ID: id}, fails: map[string]error{"Progress": errDamage},
			calls: []string{"Progress:" + ctl}, heard: []core.Event{core.Progressed{Progress: grid.Progress{ID: id, Phase: grid.Started}, Err: errDamage, Damaged: true}}},

		{name: "kill", effect: core.Kill{ID: id}, calls: []string{"Kill:" + ctl}},
		{name: "kill in vain", effect: core.Kill{ID: id}, fails: map[string]error{"Kill": errBoom}, calls: []string{"Kill:" + ctl}},
		{name: "tell a part", effect: core.Gather{ID: id, Begun: true, Sites: make([]grid.Gathered, 2)}, calls: []string{"Gather:" + ctl + "true 2"}},
		{name: "tell a part in vain", effect: core.Gather{ID: id}, fails: map[string]error{"Gather": errBoom}, calls: []string{"Gather:" + ctl + "false 0"}},
	})
}

// What attempts there were is told of those jobs alone of which it could be read, and of all only where nothing was left out.
func TestWhatAttemptsThereWere(t *testing.T) {
	t.Parallel()
	batch, of := grid.AttemptID{Job: "batch"}, func(id grid.JobID) grid.AttemptID { return grid.AttemptID{Job: id, Attempt: 1} }
	ask := core.Reconcile{Jobs: []grid.JobID{"j"}}
	folder := func(h *hands) { h.folders = []grid.JobID{"x"} }
	aside := func(h *hands) { h.putAside = map[string]grid.JobID{"aside/y": "y", "aside/z": "z"} }
	known := func(h *hands, id grid.JobID) { h.b.view.set(grid.Record{Job: grid.Job{ID: id}}) }
	all := []string{"Attempts:", "Tokens:ctl/j", "Jobs:", "Tokens:ctl/x", "Aside:"}
	try(t, []works{
		{name: "all is read", effect: ask, change: folder, calls: all,
			heard: []core.Event{core.Reconciled{Jobs: ask.Jobs, All: true, Attempts: []grid.AttemptID{batch, of("j"), of("x")}}}},
		{name: "a folder of a job that is known", effect: ask, calls: []string{"Attempts:", "Tokens:ctl/j", "Jobs:", "Aside:"},
			change: func(h *hands) { folder(h); known(h, "x") },
			heard:  []core.Event{core.Reconciled{Jobs: ask.Jobs, All: true, Attempts: []grid.AttemptID{batch, of("j")}}}},
		{name: "a folder of a job that is done with here", effect: ask, calls: all,
			change: func(h *hands) {
				folder(h)
				h.b.view.set(grid.Record{Job: grid.Job{ID: "x"}, Tenure: grid.Tenure{Role: grid.Declined}})
			},
			heard: []core.Event{core.Reconciled{Jobs: ask.Jobs, All: true, Attempts: []grid.AttemptID{batch, of("j"), of("x")}}}},
		{name: "folders that were put aside, one of them of a job that is known", effect: ask, change: func(h *hands) { aside(h); known(h, "z") },
			calls: []string{"Attempts:", "Tokens:ctl/j", "Jobs:", "Aside:", "Tokens:aside/y"},
			heard: []core.Event{core.Reconciled{Jobs: ask.Jobs, All: true, Attempts: []grid.AttemptID{batch, of("j")}, Aside: []grid.AttemptID{of("y")}}}},
		{name: "what was put aside cannot be listed", effect: ask, change: folder, fails: map[string]error{"Aside": errBoom}, calls: all,
			heard: []core.Event{core.Reconciled{Jobs: ask.Jobs, Attempts: []grid.AttemptID{batch, of("j"), of("x")}}}},
		{name: "the batch system does not answer", effect: ask, fails: map[string]error{"Attempts": errBoom}, calls: []string{"Attempts:"}, heard: []core.Event{core.Reconciled{}}},
		{name: "no folder can be listed", effect: ask, fails: map[string]error{"Jobs": errBoom}, calls: []string{"Attempts:", "Tokens:ctl/j", "Jobs:"},
			heard: []core.Event{core.Reconciled{Jobs: ask.Jobs, Attempts: []grid.AttemptID{batch, of("j")}}}},
		{name: "control files cannot be read now", effect: ask, change: folder, fails: map[string]error{"Tokens": errBusy}, calls: all,
			heard: []core.Event{core.Reconciled{Attempts: []grid.AttemptID{batch}}}},
		{name: "control files are damaged", effect: ask, change: folder, fails: map[string]error{"Tokens": errDamage}, calls: all,
			heard: []core.Event{core.Reconciled{All: true, Attempts: []grid.AttemptID{batch}, Damaged: ask.Jobs}}},
	})
}

// A folder that was put aside goes back where the journal knows its job again with an attempt that the folder has; the broker does not start where that cannot be known.
func TestFoldersThatArePutBack(t *testing.T) {
	t.Parallel()
	record := func(role grid.Role, attempt uint32) grid.Record {
		return grid.Record{Job: grid.Job{ID: "y"}, Tenure: grid.Tenure{Role: role}, Run: grid.Run{Attempt: attempt}}
	}
	mine := record(grid.Owning, 1)
	read := []string{"Aside:", "Tokens:aside/y"}
	for _, c := range []struct {
		name   string
		known  *grid.Record
		fails  map[string]error
		calls  []string
		failed bool
	}{
		{"it is known again", &mine, nil, append(slices.Clone(read), "PutBack:aside/y"), false},
		{"its attempt was another", new(record(grid.Owning, 2)), nil, read, false},
		{"it is another's", new(record(grid.Watching, 1)), nil, read[:1], false},
		{"it is not known", nil, nil, read[:1], false},
		{"its control files are damaged", &mine, map[string]error{"Tokens": errDamage}, append(slices.Clone(read), "PutBack:aside/y"), false},
		{"its control files cannot be read now", &mine, map[string]error{"Tokens": errBusy}, read, true},
		{"what was put aside cannot be listed", &mine, map[string]error{"Aside": errBoom}, read[:1], true},
		{"it cannot be put back", &mine, map[string]error{"PutBack": errBoom}, append(slices.Clone(read), "PutBack:aside/y"), true},
	} {
		h := newHands()
		h.putAside, h.fails = map[string]grid.JobID{"aside/y": "y"}, c.fails
		if c.known != nil {
			h.b.view.set(*c.known)
		}
		if err := h.b.putBack(t.Context()); (err != nil) != c.failed || !slices.Equal(h.calls, c.calls) {
			t.Errorf("%s: %v, %v", c.name, err, h.calls)
		}
	}
}

// What is done with files, and what Core hears of it: an error is final where trying again does not mend it.
func TestWhatIsDoneWithFiles(t *testing.T) {
	t.Parallel()
	job, epoch, files := jobOf(me, "a", "1"), grid.Epoch{Term: 3}, grid.Manifest{{Path: "x"}}
	theirs := jobOf(her, "b", "2")
	inputs := core.Fetch{Job: job.ID, Epoch: epoch, From: her, Set: core.InputFiles, Files: files, User: job.User}
	fetched := core.Fetched{Job: job.ID, Epoch: epoch, From: her, Set: core.InputFiles}
	failed := func(err error, final bool) core.Fetched {
		f := fetched
		f.Err, f.Final = err, final
		return f
	}
	source := func(with grid.Job) core.Fetch {
		return core.Fetch{Job: job.ID, Epoch: epoch, From: her, Set: core.InputFiles, With: &with}
	}
	all := []works{
		{name: "fetch", effect: inputs, calls: []string{"Fetch:" + string(her) + "1 1alice"}, heard: []core.Event{fetched}},
		{name: "fetch nothing", effect: core.Fetch{Job: job.ID, Epoch: epoch, From: her, Set: core.InputFiles}, heard: []core.Event{fetched}},
		{name: "fetch from elsewhere, by our users' credentials", effect: source(job), calls: []string{"Bring:"}, heard: []core.Event{fetched}},
		{name: "fetch from elsewhere, by those of theirs", effect: source(theirs), calls: []string{"Bring:" + string(her)}, heard: []core.Event{fetched}},
		{name: "fetch what nobody has", effect: source(theirs), fails: map[string]error{"Bring": errBoom}, change: func(h *hands) { h.unavailable = true },
			calls: []string{"Bring:" + string(her)}, heard: []core.Event{core.Fetched{Job: job.ID, Epoch: epoch, From: her, Set: core.InputFiles, Err: errBoom, Source: true}}},

		{name: "weigh", effect: core.Weigh{Job: job}, calls: []string{"Costs:true"}, heard: []core.Event{core.Weighed{Job: job.ID, Cost: grid.SourceCost{Bytes: 5}}}},
		{name: "export", effect: core.Export{Job: job, Epoch: epoch, Left: files}, change: func(h *hands) { h.again = "slow" }, fails: map[string]error{"Export": errBoom},
			calls: []string{"Export:1"}, heard: []core.Event{
				core.ExportedAgain{Job: job.ID, Epoch: epoch, Why: "slow"}, core.Exported{Job: job.ID, Epoch: epoch, Failed: []string{"f"}, Gone: []string{"g"}, Err: errBoom}}},

		{name: "check", effect: core.Check{Job: job.ID, Epoch: epoch, Files: files}, calls: []string{"HasInputs:1"}, heard: []core.Event{core.Checked{Job: job.ID, Epoch: epoch}}},
		{name: "check what is missing", effect: core.Check{Job: job.ID, Epoch: epoch, Files: files}, fails: map[string]error{"HasInputs": errGone},
			calls: []string{"HasInputs:1"}, heard: []core.Event{core.Checked{Job: job.ID, Epoch: epoch, Missing: errGone}}},
		{name: "check what cannot be read", effect: core.Check{Job: job.ID, Epoch: epoch, Files: files}, fails: map[string]error{"HasInputs": errBoom},
			calls: []string{"HasInputs:1"}, heard: []core.Event{core.Checked{Job: job.ID, Epoch: epoch}}},

		{name: "collect", effect: core.Collect{Job: job, Epoch: epoch}, calls: []string{"Collect:"}, heard: []core.Event{core.Collected{
			Job: job.ID, Epoch: epoch, Outputs: grid.Manifest{{Path: "out"}}, Missing: []grid.MissingOutput{{Path: "m"}}}}},
		{name: "collect on a full disk", effect: core.Collect{Job: job, Epoch: epoch}, change: func(h *hands) { h.taken.Store(1 << 40) }, fails: map[string]error{"Collect": errBoom},
			calls: []string{"Collect:"}, heard: []core.Event{core.Collected{
				Job: job.ID, Epoch: epoch, Outputs: grid.Manifest{{Path: "out"}}, Missing: []grid.MissingOutput{{Path: "m"}}, Full: at, Err: errBoom}}},

		{name: "drop all", effect: core.Discard{Job: job.ID}, calls: []string{"Discard:false"}},
		{name: "drop the working tree, and what only a job that goes on needs", effect: core.Discard{Job: job.ID, Keep: true}, calls: []string{"End:", "Discard:true"}},
		{name: "drop in vain", effect: core.Discard{Job: job.ID, Keep: true}, fails: map[string]error{"End": errBoom, "Discard": errBoom}, calls: []string{"End:", "Discard:true"}},
		{name: "put aside", effect: core.SetAside{Job: job.ID, Foreign: true}, calls: []string{"SetAside:true"}},
	}
	for err, final := range map[error]bool{errGone: true, errRefused: true, errWrong: true, errBoom: false, errBusy: false} {
		all = append(all, works{name: "fetch in vain", effect: inputs, fails: map[string]error{"Fetch": err}, calls: []string{"Fetch:" + string(her) + "1 1alice"}, heard: []core.Event{failed(err, final)}})
	}
	unended := fmt.Errorf("of the output: %w", grid.ErrNotYet)
	all = append(all, works{name: "fetch of what has not ended there", effect: inputs, fails: map[string]error{"Fetch": unended}, calls: []string{"Fetch:" + string(her) + "1 1alice"},
		heard: []core.Event{core.Fetched{Job: job.ID, Epoch: epoch, From: her, Set: core.InputFiles, Err: unended, Unended: true}}})
	for err, final := range map[error]bool{errGone: true, errWrong: true, errBoom: false} {
		all = append(all, works{name: "furnish in vain", effect: core.Furnish{Job: job.ID, From: "t", Files: files}, fails: map[string]error{"Share": err},
			calls: []string{"Share:t1"}, heard: []core.Event{core.Furnished{Job: job.ID, Err: err, Final: final}}})
	}
	try(t, append(all, works{name: "furnish", effect: core.Furnish{Job: job.ID, From: "t", Files: files}, calls: []string{"Share:t1"}, heard: []core.Event{core.Furnished{Job: job.ID}}}))
}

// What is asked of others, and what Core hears where nobody is there to be asked.
func TestWhatOthersAreAsked(t *testing.T) {
	t.Parallel()
	job := jobOf(me, "a", "1")
	job.Name = "render"
	r := grid.Reservation{ID: "r1", Start: 5}
	reserved := func(err error, kind grid.RefusalKind) []core.Event {
		return []core.Event{core.Reserved{ID: "r1", Place: r.Place(), Err: err, Kind: kind}}
	}
	nobody := func(h *hands) { h.b.ports.Reserver, h.b.ports.Notifier, h.b.ports.Serve = nil, nil, nil }
	serve, owed := core.Serve{From: her, Number: 9}, grid.Owed{At: 4}
	notify := core.Notify{Record: grid.Record{Job: job}, Owed: owed}
	try(t, []works{
		{name: "reserve", effect: core.Reserve{Reservation: r}, calls: []string{"Reserve:r1false"}, heard: reserved(nil, grid.Temporary)},
		{name: "change", effect: core.Reserve{Reservation: r, Change: true}, fails: map[string]error{"Reserve": errBusy}, calls: []string{"Reserve:r1true"}, heard: reserved(errBusy, grid.Temporary)},
		{name: "reserve what may not be", effect: core.Reserve{Reservation: r}, fails: map[string]error{"Reserve": errWrong}, calls: []string{"Reserve:r1false"}, heard: reserved(errWrong, grid.Permanent)},
		{name: "reserve where none are made", effect: core.Reserve{Reservation: r}, change: nobody, heard: reserved(errNoReserver, grid.Permanent)},
		{name: "release", effect: core.Unreserve{ID: "r1"}, fails: map[string]error{"Release": errBoom}, calls: []string{"Release:r1"}, heard: []core.Event{core.Unreserved{ID: "r1", Err: errBoom}}},
		{name: "release where none are made", effect: core.Unreserve{ID: "r1"}, change: nobody, heard: []core.Event{core.Unreserved{ID: "r1"}}},
		{name: "list", effect: core.ListReservations{}, fails: map[string]error{"Reservations": errBoom}, calls: []string{"Reservations:"},
			heard: []core.Event{core.ReservationsListed{All: []core.HeldReservation{{ID: "r1"}}, Err: errBoom}}},
		{name: "list where none are made", effect: core.ListReservations{}, change: nobody, heard: []core.Event{core.ReservationsListed{}}},

		{name: "serve", effect: serve, calls: []string{"Serve:"}, heard: []core.Event{core.Served{From: her, Number: 9, Found: core.Found{Certain: true}}}},
		{name: "serve nobody", effect: serve, change: nobody, heard: []core.Event{core.Served{From: her, Number: 9, Err: errorText(grid.ErrUnavailable.Error() + ": this broker serves its own users alone")}}},

		{name: "tell", effect: notify, calls: []string{"Notify:render"}, heard: []core.Event{core.Notified{Job: job.ID, Owed: owed}}},
		{name: "tell in vain", effect: notify, fails: map[string]error{"Notify": errBoom}, calls: []string{"Notify:render"}, heard: []core.Event{core.Notified{Job: job.ID, Owed: owed, Err: errBoom}}},
		{name: "tell a wrong address", effect: notify, fails: map[string]error{"Notify": errWrong}, calls: []string{"Notify:render"}, heard: []core.Event{core.Notified{Job: job.ID, Owed: owed, Err: errWrong, Final: true}}},
		{name: "tell where nobody is told", effect: notify, change: nobody,
			heard: []core.Event{core.Notified{Job: job.ID, Owed: owed, Err: errorText(grid.ErrInvalid.Error() + ": this broker sends no notices"), Final: true}}},

		{name: "publish", effect: core.Publish{Job: "j", Epoch: grid.Epoch{Term: 2, Hop: 1}}, fails: map[string]error{"PublishOwner": errBoom}, calls: []string{"PublishOwner:j" + grid.Epoch{Term: 2, Hop: 1}.String()}},
		{name: "delivered", effect: core.Delivered{Peer: her, Size: 5, Took: grid.Second}, calls: []string{"Observe:" + string(her) + "5 1s"}},
	})
}

// errorText is an error that says so.
type errorText string

func (e errorText) Error() string { return string(e) }
