package faults

import (
	"fmt"
	"slices"
	"strings"

	"gbroker/broker/core"
	"gbroker/flow/enact"
	"gbroker/grid"
)

// shellRule is a rule outside of Core: of the shell's order, or of a driver.
type shellRule uint8

const (
	noStartToken shellRule = iota
	submitWithoutLookup
	removeWithoutSecondLook
	requeueAllowed
	tagWithoutEpoch
	emptyListingMeansGone
	submitAfterPause
	shellRules
)

// Rule is one rule of the protocol that can be switched off on purpose.
type Rule struct {
	Name, Without string // Without says what is done instead
	// Profile and Seed are where its absence shows soonest, as far as is known.
	Profile string
	Seed    uint64
	core    core.Rules
	flow    enact.Rules
	shell   shellRule
	inShell bool
	inFlows bool
}

// Rules lists what --break takes.
func Rules() []Rule {
	shell := func(r shellRule, name, without string) Rule {
		return Rule{Name: name, Without: without, shell: r, inShell: true}
	}
	list := []Rule{
		{Name: "effect-before-save", core: core.EffectBeforeSave, Without: "effects leave before the saves of their step are durable"},
		{Name: "effect-before-earlier-save", core: core.EffectBeforeEarlierSave, Without: "a step that saves nothing does not wait for the saves of the steps before it"},
		shell(noStartToken, "no-start-token", "a wrapper starts its program without asking the token, and a withdrawal trusts a look"),
		shell(submitWithoutLookup, "submit-without-lookup", "an attempt is submitted though the batch system has it (pbs.System.Submit)"),
		shell(removeWithoutSecondLook, "remove-without-second-look", "where there are no tokens, what was removed counts as never started (pbs.System.Withdraw)"),
		shell(requeueAllowed, "requeue-allowed", "jobs that are not rerunnable are submitted as if they were"),
		shell(tagWithoutEpoch, "tag-without-epoch", "tags and tokens of attempts leave the epoch out (grid.AttemptID.Tag)"),
		shell(emptyListingMeansGone, "empty-listing-means-gone", "what an empty listing does not show has ended (pbs.System.Progress)"),
		shell(submitAfterPause, "submit-after-pause", "an attempt is submitted though this broker was stopped since it decided that"),
		{Name: "offer-unbound", core: core.OfferUnbound, Without: "an answer to an older offer counts for the one that is open"},
		{Name: "epoch-reused", core: core.EpochReused, Without: "an offer that failed burns no hop"},
		{Name: "commit-not-repeated", core: core.CommitNotRepeated, Without: "Commit is said once, and not to those who ask"},
		{Name: "commit-creates", core: core.CommitCreates, Without: "Commit makes an owner of who is not PREPARED"},
		{Name: "unknown-taken-back", core: core.UnknownTakenBack, Without: "a job is taken back from a candidate that does not know it"},
		{Name: "late-offers-count", core: core.LateOffersCount, Without: "an offer counts though this site has owned the job at that epoch, and an answer to a journal that is lost"},
		{Name: "cancelled-told-early", core: core.CancelledToldEarly, Without: "KILLED is told before the owner has confirmed it"},
		{Name: "no-lease", core: core.NoLease, Without: "an owner waits for ever for a candidate that has accepted"},
		{Name: "no-epoch-check", core: core.NoEpochCheck, Without: "a home takes the report of an older epoch for the job's"},
		{Name: "rollback-unseen", core: core.RollbackUnseen, Without: "a journal that was restored from a backup goes on as if nothing had been"},
		{Name: "cancel-fenced", core: core.CancelFenced, Without: "a cancel counts only at the epoch at which it was said"},
		{Name: "forget-starts-all", core: core.ForgetStartsAll, Without: "forgetting a site starts again what may have started there"},
		{Name: "absence-over-stall", core: core.AbsenceOverStall, Without: "a pause counts as the others' silence, and what was heard before it as fresh"},
		{Name: "entered-uncounted", core: core.EnteredUncounted, Without: "jobs of a sweep enter in one commit, and are counted in a later one"},
		{Name: "rest-goes-on", core: core.RestGoesOn, Without: "the cancel of a sweep does not reach the jobs whose turn has not come"},
		{Name: "ends-untold", core: core.EndsUntold, Without: "what that file says of the ends that users were told does not count"},
		{Name: "kept-back-starts", core: core.KeptBackStarts, Without: "a job goes that is held, not due, altered or depends on another"},
		{Name: "dependencies-ignored", core: core.DependenciesIgnored, Without: "every dependency counts as come true"},
		{Name: "tentative-never-expires", core: core.TentativeNeverExpires, Without: "a reservation that is not confirmed stays until its end"},
		{Name: "overlap-allowed", core: core.OverlapAllowed, Without: "neither the book nor the batch system refuses reservations that overlap"},
		{Name: "lease-not-checked", core: core.LeaseNotChecked, Without: "a reservation stays though its lease is over"},
		{Name: "confirm-before-all-tentative", core: core.ConfirmBeforeAllTentative, Without: "reservations of a job over several sites are confirmed as soon as one is made"},
		{Name: "go-before-all-there", core: core.GoBeforeAllThere, Without: "its parts are told to go when one of them has arrived"},
		{Name: "go-unsaved", core: core.GoUnsaved, Without: "GO is said, and not on disk"},
		{Name: "token-before-go", core: core.TokenBeforeGo, Without: "a part is told to go when it arrives, by its own site"},
		{Name: "begun-without-others", core: core.BegunWithoutOthers, Without: "parts are told that all have begun when one has"},
		{Name: "release-not-repeated", core: core.ReleaseNotRepeated, Without: "the release of a reservation is said once"},
		{Name: "clock-offset-ignored", core: core.ClockOffsetIgnored, Without: "the clocks of other sites count as that of the home"},
		{Name: "deadline-unseen", core: core.DeadlineUnseen, Without: "an owner does not end a job by its deadline"},
	}
	list = append(list, flowRules()...)
	for i := range list {
		list[i].Profile = Profiles()[0].Name
		if list[i].inFlows {
			list[i].Profile = "flow"
		}
		if at, ok := shows[list[i].Name]; ok {
			list[i].Profile, list[i].Seed = at.profile, at.seed
		}
	}
	return list
}

// flowRules are those of workflows.
func flowRules() []Rule {
	list := []Rule{
		{Name: "key-without-attempt", flow: enact.KeyWithoutAttempt, Without: "a task that is tried again is handed in under the key of its first attempt"},
		{Name: "attempt-anew", flow: enact.AttemptAnew, Without: "a task that was handed in is another attempt after a kill"},
		{Name: "given-unnoted", flow: enact.GivenUnnoted, Without: "a task is handed in before that is noted"},
		{Name: "given-not-resumed", flow: enact.GivenNotResumed, Without: "nobody looks after a task that was handed in before a kill"},
		{Name: "needs-unheeded", flow: enact.NeedsUnheeded, Without: "a task is due whatever becomes of what it needs"},
		{Name: "failure-stays-alone", flow: enact.FailureStaysAlone, Without: "what needs a task that has failed is not cancelled"},
		{Name: "all-retried", flow: enact.AllRetried, Without: "tasks that are not rerunnable are tried again too"},
		{Name: "retries-unbounded", flow: enact.RetriesUnbounded, Without: "tasks are tried again without a limit"},
	}
	for i := range list {
		list[i].inFlows = true
	}
	return list
}

// coallocate is the profile of jobs over several sites.
const coallocate = "coallocate"

// shows tells where the absence of a rule shows soonest, if that is not at once in the
// first profile. Each change of the protocol may move that: TestBrokenRulesAreNoticed looks further, for minutes if
// it is rare, and tells with -v where it found it now.
var shows = map[string]struct {
	profile string
	seed    uint64
}{
	"submit-without-lookup":      {"batch", 1},
	"remove-without-second-look": {"all", 236},
	"tag-without-epoch":          {"fence", 1494},
	"offer-unbound":              {"handoff", 10},
	"commit-creates":             {"all", 20},
	"epoch-reused":               {"handoff", 24},
	"unknown-taken-back":         {"lost", 12},
	"no-lease":                   {"network", 13},
	"no-epoch-check":             {"forget", 23},
	"rollback-unseen":            {"machine", 206},
	"cancel-fenced":              {"all", 1546},
	"forget-starts-all":          {"all", 23},
	"absence-over-stall":         {"fence", 106},
	"submit-after-pause":         {"fence", 2276},
	"late-offers-count":          {"lost", 2329},
	"ends-untold":                {"rollback", 0},
	"entered-uncounted":          {"all", 2},
	"rest-goes-on":               {"all", 29},
	"kept-back-starts":           {"calm", 5},
	"dependencies-ignored":       {"calm", 7},
	"deadline-unseen":            {"calm", 35},
	"tentative-never-expires":    {"reserve", 0},
	"overlap-allowed":            {"reserve", 0},
	"lease-not-checked":          {"reserve", 0},

	"confirm-before-all-tentative": {coallocate, 0},
	"go-before-all-there":          {coallocate, 1},
	"go-unsaved":                   {coallocate, 1},
	"token-before-go":              {coallocate, 1},
	"clock-offset-ignored":         {coallocate, 5},
	"begun-without-others":         {coallocate, 89},
	"release-not-repeated":         {coallocate, 76},
}

// switched are the rules that are off.
type switched struct {
	core  core.Rules
	flow  enact.Rules
	shell [shellRules]bool
}

// Broken is a set of rules that are off.
type Broken struct{ off switched }

// ParseRules reads names with commas between them.
func ParseRules(text string) (Broken, error) {
	var b Broken
	if text == "" {
		return b, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		all := Rules()
		k := slices.IndexFunc(all, func(r Rule) bool { return r.Name == name })
		if k < 0 {
			return b, fmt.Errorf("%w: there is no rule %q", grid.ErrInvalid, name)
		}
		if all[k].inShell {
			b.off.shell[all[k].shell] = true
		} else {
			b.off.core |= all[k].core
			b.off.flow |= all[k].flow
		}
	}
	return b, nil
}
