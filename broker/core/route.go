package core

import "strconv"

// WorkKind tells apart what slow effects wait for.
type WorkKind uint8

// The kinds.
const (
	BatchWork   WorkKind = iota // submit, withdraw, kill, probe
	FileWork                    // prepare, look for inputs, collect
	FetchWork                   // fetch, discard
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
func Route(e Effect) (key WorkKey, ends []WorkKey, slow bool) {
	switch e := e.(type) {
	case Look:
		return WorkKey{Kind: LookWork}, nil, true
	case Reconcile:
		return WorkKey{LookWork, "reconcile"}, nil, true
	case Launch:
		if len(e.Submission.Job.Sources) > 0 { // which may take long to come
			return WorkKey{FetchWork, string(e.Submission.ID.Job)}, nil, true
		}
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
		return WorkKey{FetchWork, string(e.Job)}, nil, true
	case Discard:
		key, ends = clearing(string(e.Job))
		return key, ends, true
	case SetAside:
		key, ends = clearing(string(e.Job))
		return key, ends, true
	case Export:
		return WorkKey{FetchWork, string(e.Job.ID)}, nil, true
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

// clearing of files is on the queue of fetches: one that is asked for later comes after it.
func clearing(job string) (WorkKey, []WorkKey) {
	fetches := WorkKey{FetchWork, job}
	return fetches, []WorkKey{fetches, {FileWork, job}}
}
