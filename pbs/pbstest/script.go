package pbstest

import (
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
)

// A batch script finds the variables of the system that it was written for, whichever runs it.
func testDialect(t *testing.T, k Kind) {
	s := newSite(t, k)
	for _, c := range []struct {
		dialect grid.Dialect
		script  string
	}{
		{grid.DialectSlurm, `[ -n "$SLURM_JOB_ID" ] && [ "$SLURM_SUBMIT_DIR" = "$PWD" ] && echo $SLURM_JOB_NUM_NODES $SLURM_PROCID "$1"`},
		{grid.DialectOpenPBS, `[ -n "$PBS_JOBID" ] && [ "$PBS_O_WORKDIR" = "$PWD" ] && echo $(sort -u $PBS_NODEFILE | wc -l) $PBS_TASKNUM "$1"`},
	} {
		j := s.job(grid.Program{Executable: "job.sh", Arguments: []string{"a b"}, Dialect: c.dialect})
		s.write(j, "job.sh", "#!/bin/sh\n"+c.script+"\n", 0o755)
		p := s.end(s.submit(j))
		want := map[grid.Dialect]string{grid.DialectSlurm: "1 0 a b\n", grid.DialectOpenPBS: "1 1 a b\n"}[c.dialect]
		if got := s.read(j, grid.DefaultOutput); got != want || p.ExitCode != 0 || p.Cause != grid.ByItself {
			t.Errorf("%s: it says %q, not %q, and ended %+v; %s", c.dialect, got, want, p, s.read(j, grid.DefaultError))
		}
	}
}

// A program that asks for it gets a signal before its time is up: all of it, the first process alone, or, of a
// batch script, what that has started.
func testWarning(t *testing.T, k Kind) {
	s := newSite(t, k)
	const child = `sh -c 'trap "echo child; exit 0" USR1; echo begun; n=0; while [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done' &`
	const script = child + "\n" + `wait; wait; echo over`
	var jobs []grid.Submission
	cases := []struct {
		what    string
		dialect grid.Dialect
		leader  bool
		script  string
		want    string
	}{
		{"a script's children", grid.DialectSlurm, false, script, "begun child over"},
		{"a script itself", grid.DialectSlurm, true, "trap 'echo shell; kill $!' USR1\n" + script, "begun over shell"},
		{"a program", "", false, "trap 'echo shell' USR1\n" + script, "begun child over shell"},
	}
	for _, c := range cases {
		j := s.job(grid.Program{Executable: "job.sh", Dialect: c.dialect})
		j.Limit = grid.Minute
		j.Job.Warning = grid.Warning{Signal: 10, Before: grid.Minute - 2*grid.Second, Leader: c.leader}
		s.write(j, "job.sh", "#!/bin/sh\n"+c.script+"\n", 0o755)
		jobs = append(jobs, s.submit(j))
	}
	for i, c := range cases {
		p := s.end(jobs[i])
		words := slices.Sorted(strings.FieldsSeq(s.read(jobs[i], grid.DefaultOutput))) // which is first is open
		if got := strings.Join(words, " "); got != c.want || p.Cause != grid.ByItself || p.ExitCode != 0 {
			t.Errorf("%s: it says %q, not %q, and ended %+v", c.what, got, c.want, p)
		}
	}
}
