package core

import "strconv"

// WorkKind tells apart what slow effects wait for.
type WorkKind uint8

// The kinds.
const (
	BatchWork   WorkKind = iota // submit, withdraw, kill, probe
	FileWork                    // all that is done with the files of a job
	FetchWork                   // of that what others are waited for; it bounds, and has no queue. See Bound
	HintWork                    // what nothing waits for
	LookWork                    // of the whole batch system
	WeighWork                   // ask what sources cost
	NoticeWork                  // tell users
	ReserveWork                 // reservations in the batch system
	ServeWork                   // what users of other brokers ask for
)

// WorkKey names a queue of slow effects: those of one key are done one after another, in
// order, those of different keys side by side.
type WorkKey struct {
	Kind WorkKind
	Of   string // job, or what it is about
}

// Route says on which queue a slow effect is done, and of which queues what is at work now is
// ended before it. What is not slow is done at once. A Launch prepares on its queue and submits
// on that of BatchWork of its job, so that a Withdraw may overtake it: the token decides.
//
// What is done with the files of one job has one queue, so that nothing of a job that has come again is dropped by what was
// to clear its folder before, however long that had to wait.
func Route(e Effect) (key WorkKey, ends []WorkKey, slow bool) {
	switch e := e.(type) {
	case Look:
		return WorkKey{Kind: LookWork}, nil, true
	case Reconcile:
		return WorkKey{LookWork, "reconcile"}, nil, true
	case Launch:
		return WorkKey{FileWork, string(e.Submission.ID.Job)}, nil, true
	case Check:
		return WorkKey{FileWork, string(e.Job)}, nil, true
	case Furnish:
		return WorkKey{FileWork, string(e.Job)}, nil, true
	case Collect:
		return WorkKey{FileWork, string(e.Job.ID)}, nil, true
	case Withdraw:
		return WorkKey{BatchWork, string(e.ID.Job)}, nil, true
	case Kill:
		return WorkKey{BatchWork, string(e.ID.Job)}, nil, true
	case Gather: // not behind what the batch system is slow with
		return WorkKey{FileWork, string(e.ID.Job)}, nil, true
	case Probe:
		return WorkKey{BatchWork, string(e.ID.Job)}, nil, true
	case Fetch:
		return WorkKey{FileWork, string(e.Job)}, nil, true
	case Discard:
		key = WorkKey{FileWork, string(e.Job)}
		return key, []WorkKey{key}, true
	case SetAside:
		key = WorkKey{FileWork, string(e.Job)}
		return key, []WorkKey{key}, true
	case Export:
		return WorkKey{FileWork, string(e.Job.ID)}, nil, true
	case Weigh:
		return WorkKey{WeighWork, string(e.Job.ID)}, nil, true
	case Notify:
		return WorkKey{NoticeWork, string(e.Record.Job.ID)}, nil, true
	case Serve:
		return WorkKey{ServeWork, string(e.From) + "/" + strconv.FormatUint(e.Number, 10)}, nil, true
	case Reserve, Unreserve, ListReservations: // in their order: what a list lacks was not there when it was made
		return WorkKey{ReserveWork, ""}, nil, true
	case Publish:
		return WorkKey{HintWork, string(e.Job)}, nil, true
	case Delivered:
		// Not at once: what it learns comes back as an event, and what does effects takes events.
		return WorkKey{HintWork, "deliveries"}, nil, true
	}
	return WorkKey{}, nil, false
}

// Bound is the kind that bounds how many like an effect are done at once: that of its queue; but what waits for others, which may
// take as long as they like, keeps nothing waiting that is done here.
func Bound(e Effect, key WorkKey) WorkKind {
	switch e := e.(type) {
	case Fetch, Export:
		return FetchWork
	case Launch:
		if len(e.Submission.Job.Sources) > 0 {
			return FetchWork
		}
	}
	return key.Kind
}
