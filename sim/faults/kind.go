package faults

import "gbroker/grid"

// Kind is a kind of fault.
type Kind uint8

// The kinds.
const (
	Loss Kind = iota
	Duplicate
	Delay
	VeryLate
	Partition
	OneWay
	FalseWord
	FetchBreak

	SaveFails
	DiskFull
	SlowDisk
	JournalLost
	JournalRestored
	TailLost
	MachineRestored
	DuplicateInstance

	Crash
	CrashAtPoint
	PowerCut
	Pause
	PauseInside
	SiteGone

	SubmitFails
	SubmitUnanswered
	SubmitLate
	SubmitForgotten
	CommandFails
	CommandSlow
	ListingFails
	ListingEmpty
	JobHidden
	JobLost
	Requeue
	IDReused
	EarlyStart
	ControlUnreadable
	OperatorHold
	OperatorDelete
	ReservationLost
	NodeDown
	CollectFails

	ClockStep

	Drain
	Forgotten
	Fenced
	MemberRemoved
	MemberJoins

	UserCancels
	UserRemoves

	kinds
)

var kindNames = [kinds]string{
	Loss: "loss", Duplicate: "duplicate", Delay: "delay", VeryLate: "very-late", Partition: "partition", OneWay: "one-way", FalseWord: "false-word",
	FetchBreak: "fetch-break",
	SaveFails:  "save-fails", DiskFull: "disk-full", SlowDisk: "slow-disk", JournalLost: "journal-lost", JournalRestored: "journal-restored",
	TailLost: "journal-tail-lost", MachineRestored: "machine-restored", DuplicateInstance: "duplicate-instance",
	Crash: "crash", CrashAtPoint: "crash-at-point", PowerCut: "power-cut", Pause: "pause", PauseInside: "pause-before-effect", SiteGone: "site-gone",
	SubmitFails: "submit-fails", SubmitUnanswered: "submit-unanswered", SubmitLate: "submit-late", SubmitForgotten: "submit-forgotten",
	CommandFails: "command-fails", CommandSlow: "command-slow", ListingFails: "listing-fails", ListingEmpty: "listing-empty",
	JobHidden: "job-hidden", JobLost: "job-lost", Requeue: "requeue", IDReused: "id-reused", EarlyStart: "early-start",
	ControlUnreadable: "control-unreadable", OperatorHold: "operator-hold", OperatorDelete: "operator-delete", ReservationLost: "reservation-lost", NodeDown: "node-down", CollectFails: "collect-fails",
	ClockStep: "clock-step", Drain: "drain", Forgotten: "forgotten", Fenced: "forgotten-fenced",
	MemberRemoved: "member-removed", MemberJoins: "member-joins", UserCancels: "user-cancels", UserRemoves: "user-removes",
}

func (k Kind) String() string { return kindNames[k] }

// rates says how much of each kind there is. Of Partition, OneWay, FalseWord, DiskFull,
// SlowDisk, Crash, PowerCut, Pause, SiteGone, JournalLost, JournalRestored, TailLost, MachineRestored, DuplicateInstance, ControlUnreadable, ClockStep,
// Drain, Forgotten, Fenced, MemberRemoved and MemberJoins
// it is how many are to be expected in one history; of all others how likely it is that
// one message, command, commit or job meets it.
type rates [kinds]float64

// plus adds up.
func (r rates) plus(o rates) rates {
	for k := range r {
		r[k] += o[k]
	}
	return r
}

var (
	calmRates    = rates{Drain: 1}
	networkRates = rates{Loss: 0.04, Duplicate: 0.06, Delay: 0.03, Partition: 1.5, OneWay: 1, FalseWord: 2, FetchBreak: 0.15}
	diskRates    = rates{SaveFails: 0.004, DiskFull: 0.5, SlowDisk: 1, JournalLost: 0.15, JournalRestored: 0.2, TailLost: 0.15, MachineRestored: 0.1, Crash: 2, CrashAtPoint: 0.0008}
	crashRates   = rates{Crash: 4, CrashAtPoint: 0.002, Pause: 2, PauseInside: 0.0004, PowerCut: 0.3, SiteGone: 0.08, Drain: 0.5, Forgotten: 0.15, Fenced: 0.15}
	batchRates   = rates{
		SubmitFails: 0.04, SubmitUnanswered: 0.04, SubmitLate: 0.03, SubmitForgotten: 0.02, CommandFails: 0.05, CommandSlow: 0.05,
		ListingFails: 0.04, ListingEmpty: 0.04, JobHidden: 0.04, JobLost: 0.02, Requeue: 0.06, IDReused: 0.1, EarlyStart: 0.2,
		ControlUnreadable: 0.5, OperatorHold: 0.02, OperatorDelete: 0.02, CollectFails: 0.05,
	}
	cancelRates = rates{UserCancels: 0.2, UserRemoves: 0.1}
	memberRates = rates{MemberRemoved: 1.5, MemberJoins: 0.5}
	lateRates   = rates{VeryLate: 0.004, SubmitLate: 0.03, CommandSlow: 0.05}
	clockRates  = rates{ClockStep: 4, Pause: 3, Crash: 1, CrashAtPoint: 0.0005}
)

// Profile is a named mixture of faults.
type Profile struct {
	Name, About string
	rates       rates
	reserved    bool      // holders reserve nodes, and fall silent
	wide        float64   // so many users are to be expected who hand in a job that may have several sites
	flows       int       // workflows
	apart       grid.Tick // clocks are wrong by up to so much
}

// Profiles lists the profiles, the one that is taken if none is named first.
func Profiles() []Profile {
	return []Profile{
		{Name: "all", About: "everything at once", rates: networkRates.plus(diskRates).plus(crashRates).plus(batchRates).plus(clockRates).plus(cancelRates).plus(memberRates).plus(lateRates).plus(rates{DuplicateInstance: 0.1, ReservationLost: 0.03, NodeDown: 0.03}), wide: 1},
		{Name: "calm", About: "nothing fails; sites are drained", rates: calmRates},
		{Name: "network", About: "messages lost, doubled, late; partitions, also one-way; wrong words of who lives; broken fetches", rates: networkRates},
		{Name: "crash", About: "brokers crash, at chosen points too, stop and go on; power cuts; sites that never return", rates: crashRates},
		{Name: "disk", About: "saves that fail, full and slow disks, journals lost, restored, cut short; machines put back", rates: diskRates},
		{Name: "batch", About: "batch systems that fail, lie, forget, requeue and act late", rates: batchRates},
		{Name: "forget", About: "sites forgotten by mistake, or fenced off; they come back", rates: rates{Forgotten: 3, Fenced: 1, Crash: 1}},
		{
			Name: "fence", About: "sites that are fenced off, most of them as they are about to start a job of another home; they come back",
			rates: rates{Fenced: 12, PauseInside: 0.002},
		},
		{Name: "handoff", About: "handoffs that are slow, lost and broken, between sites that are drained", rates: rates{Delay: 0.5, FetchBreak: 0.4, Drain: 3, Loss: 0.1}},
		{Name: "lost", About: "journals that are lost while jobs change hands", rates: rates{JournalLost: 2, Loss: 0.2, Drain: 3, Delay: 0.3}},
		{Name: "rollback", About: "journals restored from backups, and nothing else", rates: rates{JournalRestored: 2}},
		{Name: "tail", About: "disks that lie: the last seconds of a journal are gone after a power cut, and nobody knows", rates: rates{TailLost: 2}},
		{Name: "machine", About: "whole machines put back to snapshots, control directories too", rates: rates{MachineRestored: 1.5}},
		{Name: "duplicate-instance", About: "journals copied to a second machine and started there, and nothing else", rates: rates{DuplicateInstance: 2}},
		{Name: "cancel", About: "users who cancel and remove at all times, at any broker; crashes", rates: cancelRates.plus(rates{UserCancels: 0.4, UserRemoves: 0.3, Crash: 2, CrashAtPoint: 0.0005, Loss: 0.02})},
		{Name: "members", About: "sites that are removed from the neighbours' files, also with handoffs open, and join (again)", rates: memberRates.plus(rates{MemberRemoved: 4, MemberJoins: 1, Drain: 1, Crash: 1, Loss: 0.02})},
		{Name: "late", About: "messages and commands that arrive when nobody expects them any more", rates: lateRates.plus(rates{VeryLate: 0.02, Delay: 0.05, Forgotten: 1, Crash: 2})},
		{Name: "reserve", About: "nodes are reserved by holders who fall silent; brokers crash, batch systems fail", rates: crashRates.plus(batchRates), reserved: true},
		{
			Name: coallocate, About: "jobs over several sites, whose homes may die for ever or are set back; clocks apart, late words, batch systems that fail",
			rates: networkRates.plus(batchRates).plus(lateRates).plus(cancelRates).plus(rates{
				ReservationLost: 0.03, NodeDown: 0.03, SaveFails: 0.002, JournalRestored: 0.3, TailLost: 0.2, Crash: 4, CrashAtPoint: 0.002, Pause: 2, PauseInside: 0.0004, SiteGone: 0.4,
			}),
			wide: 6, apart: 30 * grid.Second,
		},
		{
			Name: "flow", About: "workflows of tasks with data between them; brokers crash, at each write of how far one is too, disks are full, networks and batch systems fail, users cancel",
			rates: networkRates.plus(batchRates).plus(rates{SaveFails: 0.01, DiskFull: 1, Crash: 5, CrashAtPoint: 0.002, Pause: 1, UserCancels: 0.05}), flows: 4,
		},
		{Name: "clock", About: "clocks that jump, pauses", rates: clockRates},
	}
}
