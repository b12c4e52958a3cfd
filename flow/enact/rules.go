package enact

// Rules is a set of rules that are switched off, for the simulator of faults: each has to be missed there.
type Rules uint16

// The rules that can be switched off, by what is done instead.
const (
	KeyWithoutAttempt Rules = 1 << iota // the key of a retry is that of the first attempt
	AttemptAnew                         // a task that was handed in is handed in as another attempt after a kill
	GivenUnnoted                        // a task is handed in before that is noted
	GivenNotResumed                     // after a kill nobody looks after what was handed in
	NeedsUnheeded                       // a task is due whatever becomes of what it needs
	FailureStaysAlone                   // what needs a task that has failed is not cancelled
	AllRetried                          // tasks that are not rerunnable are tried again too
	RetriesUnbounded                    // tasks are tried again without a limit
)
