package pbstest

import "testing"

// scope is by which kinds a test is passed.
type scope int

const (
	all        scope = iota
	slow             // all, but it takes a minute or more where a limit does: left out by -short
	supervised       // kinds whose programs stand under our supervisor
	handed           // kinds that are reached by commands
)

// Run runs the suite over a kind of batch system.
func Run(t *testing.T, k Kind) {
	var ran tally
	t.Cleanup(func() {
		if err := ran.judge(); k.Live && err != nil && !t.Skipped() {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		name  string
		scope scope
		test  func(*testing.T, Kind)
	}{
		{"Ends", all, testEnds},
		{"ProgramGetsWhatItAsked", all, testProgramGetsWhatItAsked},
		{"EveryByte", all, testEveryByte},
		{"OutputFiles", all, testOutputFiles},
		{"CannotRun", all, testCannotRun},
		{"MemoryLimit", all, testMemoryLimit},
		{"Usage", all, testUsage},
		{"HostFile", all, testHostFile},
		{"Shapes", all, testShapes},
		{"Properties", all, testProperties},
		{"DistinctNodes", all, testDistinctNodes},
		{"Parallel", all, testParallel},
		{"Dialect", all, testDialect},
		{"Warning", all, testWarning},
		{"NeverRan", supervised, testNeverRan},
		{"StaysInSandbox", supervised, testStaysInSandbox},
		{"InheritsNothing", supervised, testInheritsNothing},

		{"Kill", all, testKill},
		{"Walltime", slow, testWalltime},
		{"CancelledByOthers", all, testCancelledByOthers},
		{"EndsWhileNobodyLooks", all, testEndsWhileNobodyLooks},
		{"NodeCrashes", slow, testNodeCrashes},
		{"WalltimeEndsTheTree", supervised, testWalltimeEndsTheTree},
		{"KillEndsTheTree", supervised, testKillEndsTheTree},
		{"NothingIsLeftBehind", supervised, testNothingIsLeftBehind},
		{"SupervisorKilled", supervised, testSupervisorKilled},
		{"SupervisorTerminated", supervised, testSupervisorTerminated},

		{"Withdraw", all, testWithdraw},
		{"WithdrawRacesStart", all, testWithdrawRacesStart},
		{"KillBeforeStart", all, testKillBeforeStart},
		{"SubmitAgain", all, testSubmitAgain},
		{"SubmitGivenUp", all, testSubmitGivenUp},
		{"SubmitRefuses", all, testSubmitRefuses},
		{"ControlDirectoryLost", all, testControlDirectoryLost},
		{"ControlDirectoryRemade", handed, testControlDirectoryRemade},
		{"LateSubmission", handed, testLateSubmission},
		{"LostAnswer", handed, testLostAnswer},
		{"RequeuedByOthers", handed, testRequeuedByOthers},
		{"Restart", all, testRestart},
		{"KillAcrossRestart", all, testKillAcrossRestart},
		{"Backfill", supervised, testBackfill},
		{"OlderFirst", all, testOlderFirst},

		{"Barrier", all, testBarrier},
		{"BarrierParallel", all, testBarrierParallel},
		{"WithdrawAtBarrier", all, testWithdrawAtBarrier},
		{"Alone", all, testAlone},
		{"ForgottenAtBarrier", all, testForgottenAtBarrier},

		{"Holds", all, testHolds},
		{"HeldByOthers", handed, testHeldByOthers},
		{"RemovedByOthers", handed, testRemovedByOthers},
		{"JobsOfOthers", handed, testJobsOfOthers},
		{"ControllerDown", handed, testControllerDown},
		{"CommandsHang", handed, testCommandsHang},
		{"Snapshot", all, testSnapshot},
		{"SnapshotOfOthers", handed, testSnapshotOfOthers},
		{"NodeDrained", handed, testNodeDrained},

		{"ReservedForOneJob", all, testReservedForOneJob},
		{"ReservedForOurs", handed, testReservedForOurs},
		{"ReservedAgain", all, testReservedAgain},
		{"ReservationsNeverOverlap", all, testReservationsNeverOverlap},
		{"ReservationChanges", all, testReservationChanges},
		{"ReservationEnds", all, testReservationEnds},
		{"ReservationOnDownNode", all, testReservationOnDownNode},
	} {
		if c.scope == supervised && !k.Supervised || c.scope == handed && k.Supervised {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			defer ran.note(t)
			if c.scope == slow && k.Least >= minute && testing.Short() {
				t.Skip("it takes the shortest limit of this system, and longer")
			}
			c.test(t, k)
		})
	}
}
