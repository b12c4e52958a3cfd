package grid

// Word is by whose word a state changes.
type Word uint8

// Words.
const (
	Own   Word = 1 + iota // of the broker that owns the job, or as its home ends it
	Heard                 // of another: what an owner reports to the home, and the home's word of the end to an owner
	Begun                 // the job comes here, or comes back to a journal that was put back
)

func (w Word) String() string {
	return [...]string{"none", "its own", "heard", "begun"}[min(int(w), 3)]
}

// unknown is the state of a job that is not known.
const unknown State = 0

// moves is the machine of a job's states: all changes there are. The diagram in docs/protocol.md is
// made from it.
var moves = [...]struct {
	by       Word
	from, to []State
}{
	{Own, []State{Submitted}, []State{StageIn, Ready}},
	{Own, []State{StageIn}, []State{Ready}},
	{Own, []State{Ready}, []State{Assigned, Moving, Running}}, // running: one that lies in parts at several sites
	{Own, []State{Assigned}, []State{Ready, Moving, Running, Finished}},
	{Own, []State{Moving}, []State{Ready, Assigned, Running, Finished}},
	{Own, []State{Running}, []State{Ready, Finished}},
	{Own, []State{Ready, Assigned, Moving, Running, Finished}, []State{StageOut}},
	{Own, []State{Submitted, StageIn, Ready, Assigned, Moving, Running, Finished, StageOut}, []State{Failed, Killed, CancelledDeadline, Lost}},
	{Own, []State{Finished, StageOut, Lost}, []State{Completed, CancelledWalltime}},
	{Own, []State{Lost}, []State{Failed, Killed, CancelledDeadline}},

	// Reports get lost, and the journal of an owner may be put back: its home follows it from any state.
	{Heard, []State{Submitted, StageIn, Ready, Assigned, Moving, Running, Finished, StageOut}, []State{Ready, Assigned, Moving, Running, Finished, StageOut}},
	{Heard, []State{Ready, Assigned, Moving, Running, Finished, StageOut}, []State{Completed, Failed, Killed, CancelledWalltime, CancelledDeadline, Lost}},

	{Begun, []State{unknown}, []State{Submitted, Assigned}},
	{Begun, []State{unknown, Ready, Assigned, Moving, Running, Finished, StageOut, Completed, Failed, Killed, CancelledWalltime, CancelledDeadline, Lost}, []State{Moving}},                                                                                    // a candidate, also one that had it before
	{Begun, []State{Submitted, StageIn, Ready, Assigned, Moving, Running, Finished, StageOut}, []State{StageIn, Ready, Assigned}},                                                                                                                              // files to come: its home has not had them
	{Begun, []State{unknown, Submitted, StageIn, Ready, Assigned, Moving, Running, Finished, StageOut, Completed, Failed, Killed, CancelledWalltime, CancelledDeadline, Lost}, []State{Completed, Failed, Killed, CancelledWalltime, CancelledDeadline, Lost}}, // users were told of it
}

// table is moves by word, from and to.
var table = func() (t [Begun + 1][Lost + 1][Lost + 1]bool) {
	for _, m := range moves {
		for _, from := range m.from {
			for _, to := range m.to {
				t[m.by][from][to] = true
			}
		}
	}
	return t
}()

// CanBecome reports that there is such a move. A state may always stay.
func (s State) CanBecome(t State, by Word) bool {
	return s == t || s <= Lost && t <= Lost && by <= Begun && table[by][s][t]
}
