package pbstest

import "testing"

// Run runs the suite over the systems that open makes.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"Ends", testEnds},
		{"ProgramGetsWhatItAsked", testProgramGetsWhatItAsked},
		{"OutputFiles", testOutputFiles},
		{"NeverRan", testNeverRan},
		{"StaysInSandbox", testStaysInSandbox},
		{"MemoryLimit", testMemoryLimit},
		{"HostFile", testHostFile},
		{"WalltimeEndsTheTree", testWalltimeEndsTheTree},
		{"KillEndsTheTree", testKillEndsTheTree},
		{"NothingIsLeftBehind", testNothingIsLeftBehind},
		{"SupervisorKilled", testSupervisorKilled},
		{"SupervisorTerminated", testSupervisorTerminated},
		{"Withdraw", testWithdraw},
		{"WithdrawRacesStart", testWithdrawRacesStart},
		{"KillBeforeStart", testKillBeforeStart},
		{"SubmitAgain", testSubmitAgain},
		{"SubmitRefuses", testSubmitRefuses},
		{"ControlDirectoryLost", testControlDirectoryLost},
		{"Restart", testRestart},
		{"KillAcrossRestart", testKillAcrossRestart},
		{"Backfill", testBackfill},
		{"OlderFirst", testOlderFirst},
		{"Snapshot", testSnapshot},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open)
		})
	}
}
