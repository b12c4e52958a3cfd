package grid

import "slices"

// Role is what this broker is to a job, beside being its home or not.
type Role uint8

// Roles. The numbers are stored: append only.
const (
	Owning    Role = 1 + iota // the owner: the one site that may run the job
	Watching                  // the home of a job that another site owns
	Prepared                  // a candidate that holds the files and waits for Commit
	Tombstone                 // a tombstone: it was here; Owner is the forwarding address
	Declined                  // a tombstone: this broker will never own it at this epoch
)

// noRole is that of a job that is not known here.
const noRole Role = 0

func (s Role) String() string {
	return [...]string{"none", "owning", "watching", "prepared", "tombstone", "declined"}[min(int(s), 5)]
}

// roleMoves is the machine of roles: all changes there are, at the home of a job and elsewhere. The diagram in docs/protocol.md is
// made from it.
var roleMoves = [...]struct{ home, elsewhere []Role }{
	noRole:    {home: []Role{Owning, Watching}, elsewhere: []Role{Prepared}}, // watching: it is learnt again
	Owning:    {home: []Role{Watching}, elsewhere: []Role{Tombstone}},
	Watching:  {home: []Role{Owning, Prepared}},
	Prepared:  {home: []Role{Owning, Watching}, elsewhere: []Role{Owning, Tombstone, Declined}},
	Tombstone: {elsewhere: []Role{Owning, Prepared}}, // owning: the candidate declined it, or its control directory tells so
	Declined:  {elsewhere: []Role{Prepared}},
}

// CanBecome reports that there is such a change, at the home of the job or elsewhere. A role may always stay.
func (s Role) CanBecome(t Role, home bool) bool {
	if s == t {
		return true
	}
	if int(s) >= len(roleMoves) {
		return false
	}
	if home {
		return slices.Contains(roleMoves[s].home, t)
	}
	return slices.Contains(roleMoves[s].elsewhere, t)
}

// HandoffPhase is how far an owner is in giving a job away.
type HandoffPhase uint8

// Phases of a handoff, at the owner. The numbers are stored: append only.
const (
	NoHandoff   HandoffPhase = iota
	Offering                 // Offer is out; the job is still ours
	Withdrawing              // the candidate is ready; our own attempt is being withdrawn
	Committed                // the commit point is passed: Commit is repeated until Owned
)

func (p HandoffPhase) String() string {
	return [...]string{"none", "offering", "withdrawing", "committed", "?"}[min(int(p), 4)]
}

// phaseMoves is the machine of a handoff at its owner: all changes there are. The diagram in docs/protocol.md is made from it.
var phaseMoves = [...][]HandoffPhase{
	NoHandoff:   {Offering},
	Offering:    {NoHandoff, Withdrawing, Committed},
	Withdrawing: {NoHandoff, Committed},
	Committed:   {NoHandoff},
}

// CanBecome reports that there is such a change. A phase may always stay.
func (p HandoffPhase) CanBecome(q HandoffPhase) bool {
	return p == q || int(p) < len(phaseMoves) && slices.Contains(phaseMoves[p], q)
}

// Handoff is the one handoff of a job that is open at its owner.
type Handoff struct {
	Phase HandoffPhase
	To    PeerID
	Epoch Epoch // the epoch at which To will own
}
