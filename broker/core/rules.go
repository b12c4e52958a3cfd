package core

// Rules are rules of the protocol that are switched off on purpose, so that a
// checker can prove that it would see them missing (gsim faults --break). The zero
// value, all rules in force, is the only one that a daemon uses. They stand at the gates (gates*.go), and
// those of the order of effects in host.go.
type Rules uint64

// The rules, each with what happens without it.
const (
	// OfferUnbound: what a candidate answers counts for whatever offer to it is open now.
	OfferUnbound Rules = 1 << iota
	// EpochReused: an offer that failed burns no hop, so the next one has its epoch.
	EpochReused
	// CommitNotRepeated: a Commit is said once, and nobody who asks for it is told.
	CommitNotRepeated
	// CommitCreates: Commit makes this site the owner also where it is not PREPARED: of a
	// job that it declined, handed on or has ended.
	CommitCreates
	// UnknownTakenBack: the owner takes a job back that the candidate says it has no record of.
	UnknownTakenBack
	// ReturnedUnasked: a broker takes a job back, at the word of who had it, before others have said what they saw of its journal.
	// Histories hardly notice it, as two branches of a journal have to hear one word; TestNothingIsTakenBackBeforeAllWereAsked holds it.
	ReturnedUnasked
	// LateOffersCount: an offer is considered though this site has owned the job at that epoch, as far as others and its control
	// directories know.
	LateOffersCount
	// CancelledToldEarly: a home tells KILLED before the owner has confirmed it.
	CancelledToldEarly
	// NoLease: an owner waits for ever for a candidate that has accepted.
	NoLease
	// NoEpochCheck: a home takes the report of an owner of an older epoch for the job's.
	NoEpochCheck
	// RollbackUnseen: a broker does not care that others have seen a later journal of it.
	RollbackUnseen
	// CancelFenced: a cancel counts only at the epoch at which it was said.
	CancelFenced
	// ForgetStartsAll: forgetting a site starts jobs again that may have started there unseen.
	ForgetStartsAll
	// AbsenceOverStall: absence counts also while this broker did not listen, and a home's word
	// from before counts as fresh.
	AbsenceOverStall
	// EndsUntold: what the file beside the journal says of the ends that users were told does not count.
	EndsUntold
	// WitnessUnread: what that file says of how far the journal had come does not count. Histories hardly notice
	// it, as the members say the same within seconds; TestRulesOfJournals holds it.
	WitnessUnread
	// LivesIgnored: a journal reaches any position of a lower sequence, whatever its lives.
	LivesIgnored
	// StampsCounted: a term or hop is the next number after the last one of the job in this journal. Histories
	// hardly notice it: two branches of a journal have to use one number for two sites, and both to go on;
	// TestRulesOfJournals and TestBranchesDoNotMeet hold it.
	StampsCounted
	// EnteredUncounted: jobs of a group that enter are counted in a later commit than that which has them.
	EnteredUncounted
	// RestGoesOn: the cancel of a group does not reach its jobs whose turn has not come.
	RestGoesOn
	// EffectBeforeSave: effects leave before the saves of their step are durable.
	EffectBeforeSave
	// EffectBeforeEarlierSave: a step that saves nothing does not wait for the saves of the steps before it.
	EffectBeforeEarlierSave
	// KeptBackStarts: what keeps a job back at home (held, not before, dependencies, altered) keeps it from nothing.
	KeptBackStarts
	// DependenciesIgnored: every dependency counts as come true.
	DependenciesIgnored
	// DeadlineUnseen: an owner does not end a job by its deadline.
	DeadlineUnseen
	// ConfirmBeforeAllTentative: reservations of a round are confirmed as soon as one is made.
	ConfirmBeforeAllTentative
	// GoBeforeAllThere: parts are told to go when one of them has arrived.
	GoBeforeAllThere
	// GoUnsaved: GO is said, and not on disk.
	GoUnsaved
	// TokenBeforeGo: a part is told to go when it arrives, by its own site.
	TokenBeforeGo
	// BegunWithoutOthers: parts are told that all have begun when one has.
	BegunWithoutOthers
	// ReleaseNotRepeated: the release of a reservation is said once.
	ReleaseNotRepeated
	// TentativeNeverExpires: a reservation that is not confirmed stays until its end.
	TentativeNeverExpires
	// OverlapAllowed: neither the book nor the batch system refuses reservations that overlap.
	OverlapAllowed
	// LeaseNotChecked: a reservation stays though its lease is over.
	LeaseNotChecked
	// ClockOffsetIgnored: the clocks of other sites count as this one.
	ClockOffsetIgnored
)

// Without tells that a rule, or one of several, is switched off.
func (r Rules) Without(rule Rules) bool { return r&rule != 0 }

func (c *kernel) without(rule Rules) bool { return c.cfg.Broken.Without(rule) }
