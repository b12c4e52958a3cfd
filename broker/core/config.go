package core

import (
	"cmp"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/reserve"
)

// Config is what a Core is told once. Zero fields take the defaults of Defaults.
type Config struct {
	Self    grid.PeerID
	Site    grid.Site
	Journal grid.JournalID // with its present life
	Lives   []grid.Life    // of the journal, the oldest first, the present one last
	// Witness and Told are what the file beside the journal says; Told of jobs of this home, the
	// last word on each (see also [Core.SetTold]).
	Witness grid.Witness
	Told    []grid.Record
	// Unwritten is what that file lacks of what the journal has; see [Unwritten].
	Unwritten map[grid.JobID]bool
	// Prices are what this site asks of jobs of other sites; nil: nothing.
	Prices *plan.Pricing
	Seed   uint64 // first round number: random, so that answers to an earlier life are not taken

	// AskDeadline bounds the wait for estimates: longer hears slow sites, shorter decides sooner.
	EstimateDeadline grid.Tick
	// Retry is how soon an unanswered message is repeated; repeats back off to RetryMax.
	Retry, RetryMax grid.Tick
	// AcceptDeadline bounds the wait for the answer to an Offer.
	AcceptDeadline grid.Tick
	// Lease is how long an owner waits for a candidate that pulls files without a word.
	Lease grid.Tick
	// PullGrace is how long fetching files may take beside what was reckoned with.
	PullGrace grid.Tick
	// Keepalive is how often a pulling candidate says so.
	Keepalive grid.Tick
	// SourceRate is how fast inputs by URI are believed to come to any site, in bytes a second.
	SourceRate float64
	// Block is how long a candidate that refused a job is not asked again for it.
	Block grid.Tick
	// Refresh is how often estimates of waiting jobs are renewed and attempts probed.
	Refresh grid.Tick
	// Digest is how often an owner reports an unchanged job to its home.
	Digest grid.Tick
	// UploadLimit is how long a submission may wait for its files.
	UploadLimit grid.Tick
	// Keep is how long ended jobs, their files and tombstones are kept.
	Keep grid.Tick
	// KeepBytes bounds the files of ended jobs, oldest dropped first; 0 is no bound.
	KeepBytes int64
	// OfferFiles bounds the bytes of the files of one member's offers that are held here and
	// are not owned.
	OfferFiles int64
	// User limits each user of this site.
	User UserLimits
	// Decline is after how long a prepared candidate that hears nothing drops the job.
	Decline grid.Tick

	// Delta is how often a place is searched anew for each waiting job, if nothing
	// changes; Settle is the least time between two passes of that search.
	Delta, Settle grid.Tick
	// Tell is how often members are told at most when jobs would start here, and with it searches ask only those that could win by what
	// they told; 0 tells nothing, and asks all.
	Tell grid.Tick
	// Margin and MarginShare (of the time to its end here) are what a waiting job must
	// gain at least to move: less follows every difference, more moves fewer jobs. By default
	// Margin is an eighth of Settle, so that it is small beside jobs for which such passes are worth their cost.
	Margin      grid.Tick
	MarginShare float64
	// Cooldown is how long a job stays where it has come to, by default for Margin: a place that was chosen by an old
	// view is wrong at once, and every pass asks anew. MaxHops bounds the moves.
	Cooldown grid.Tick
	// Soon: a job that is to start within it stays; by default Margin, for it can hardly gain more.
	Soon grid.Tick
	// MaxHops bounds the moves of one job for a gain; one comes back after each HopBack.
	MaxHops uint32
	HopBack grid.Tick
	// Grace is how long good listings must lack an attempt before it counts as vanished.
	Grace grid.Tick

	// AutoForget starts a rerunnable job again, at a new term, when its owner has not been
	// heard for so long; 0 is never. Short, and a cut network runs jobs twice.
	AutoForget grid.Tick

	// Boot is a random number made at each start, by which a duplicate is found; 0 finds none.
	Boot uint64
	// Seen is how far the journals of peers were seen to be, in the order first seen.
	Seen map[grid.PeerID][]grid.JournalID

	// Sign signs a text with this broker's key, and Verify tells whether a signature is
	// that of a peer; both are pure. Without Sign no other site can prove that it got a
	// job from here; without Verify no such proof is believed.
	Sign   func(text []byte) []byte
	Verify func(by grid.PeerID, text, signature []byte) bool
	// Draining is what the journal says: take no grid jobs, hand on those that wait.
	Draining bool
	// State is the rest of what the journal says of this site.
	State grid.SiteState

	// Reservations are those of the journal: of the nodes here, and what users here hold elsewhere. Reserving are the
	// operator's rules of those here.
	Reservations []grid.Reservation
	Reserving    reserve.Rules

	// Groups are what the journal says of the groups of this home, with what lies beside them.
	Groups    []grid.Group
	Templates []grid.Template
	Results   []grid.Results
	// Reserves tells that the batch system makes reservations; they must be so much longer than what is
	// to run in them.
	Reserves bool
	Slack    grid.Tick
	// Budgets are what the journal says of those of users here, Granted what each is granted in all; who is not named may pay
	// anything.
	Budgets []grid.Budget
	Granted map[string]grid.Amount
	// Allocations are what it says of co-allocated jobs.
	Allocations  []grid.Allocation
	Coallocating Coallocating
	// Window is how many jobs of one group that makes them from a template are under way at most: more
	// keeps more sites busy, and takes more memory and more of what a user may have.
	Window int
	// Expand reads a template; it is pure.
	Expand func(grid.Template) (Expansion, error)
	// Load reads the record of a job as it was last made durable. With it, jobs that have
	// ended are not kept in memory; without, all are.
	Load func(grid.JobID) (grid.Record, error)

	// LongDocument is how many bytes the arguments and the environment of a job take at least that are not kept in
	// memory; see document.go. Without Load all are.
	LongDocument int64

	// Published searches as it was published first: by the least total alone, of which the crowding of a site
	// (crowded.go) is no part.
	Published bool
	// Draws is how often run times are drawn for an estimate, a prime; 1 plans with the median of each job. See plan.Ensemble.
	Draws int
	// Unlearned has nothing learned of run times: jobs are expected to run to their limits. Known tells, in
	// experiments, how long a job will run at speed 1; nil knows nothing.
	Unlearned bool
	Known     func(*grid.Job) grid.Tick

	// Broken are rules switched off to prove a checker; never in a daemon.
	Broken Rules
}

// Defaults are the values for a wide-area neighbourhood.
func Defaults() Config {
	return Config{
		EstimateDeadline: 2 * grid.Second, Retry: grid.Second, RetryMax: 30 * grid.Second,
		AcceptDeadline: 5 * grid.Second, Lease: 30 * grid.Second, PullGrace: 10 * grid.Minute, Keepalive: 5 * grid.Second,
		Block: grid.Minute, Refresh: 5 * grid.Second, Digest: 30 * grid.Second,
		UploadLimit: grid.Day, Keep: 30 * grid.Day, Decline: 7 * grid.Day,
		Delta: grid.Minute, Settle: 5 * grid.Second, MarginShare: 0.005,
		MaxHops: 8, HopBack: grid.Hour, Grace: grid.Minute,
		Draws:      plan.UsualDraws,
		OfferFiles: grid.MaxSandbox, LongDocument: 16 << 10, SourceRate: 25e6,
	}
}

func (c Config) WithDefaults() Config {
	d := Defaults()
	for _, f := range []struct{ v, d *grid.Tick }{
		{&c.EstimateDeadline, &d.EstimateDeadline}, {&c.Retry, &d.Retry}, {&c.RetryMax, &d.RetryMax},
		{&c.AcceptDeadline, &d.AcceptDeadline}, {&c.Lease, &d.Lease}, {&c.PullGrace, &d.PullGrace}, {&c.Keepalive, &d.Keepalive},
		{&c.Block, &d.Block}, {&c.Refresh, &d.Refresh}, {&c.Digest, &d.Digest},
		{&c.UploadLimit, &d.UploadLimit}, {&c.Keep, &d.Keep}, {&c.Decline, &d.Decline},
		{&c.Delta, &d.Delta}, {&c.Settle, &d.Settle}, {&c.HopBack, &d.HopBack}, {&c.Grace, &d.Grace},
		{&c.Margin, new(max(1, cmp.Or(c.Settle, d.Settle)/8))}, {&c.Cooldown, &c.Margin}, {&c.Soon, &c.Margin}, // which follow that
	} {
		if *f.v == 0 {
			*f.v = *f.d
		}
	}
	if c.MarginShare == 0 {
		c.MarginShare = d.MarginShare
	}
	if c.Draws == 0 {
		c.Draws = d.Draws
	}
	if c.SourceRate == 0 {
		c.SourceRate = d.SourceRate
	}
	if c.OfferFiles == 0 {
		c.OfferFiles = d.OfferFiles
	}
	if c.LongDocument == 0 {
		c.LongDocument = d.LongDocument
	}
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	if c.MaxHops == 0 {
		c.MaxHops = d.MaxHops
	}
	return c
}
