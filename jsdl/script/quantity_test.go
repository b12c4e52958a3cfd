package script

import (
	"testing"
	"time"

	"gbroker/grid"
)

func TestSpans(t *testing.T) {
	t.Parallel()
	torque := func(s string) (int64, error) { return pbsSpan(s, true) }
	open := func(s string) (int64, error) { return pbsSpan(s, false) }
	for _, c := range []struct {
		what string
		read func(string) (int64, error)
		text string
		want int64 // -1 is refused
	}{
		{"slurm", slurmSpan, "10", 600}, {"slurm", slurmSpan, "10:30", 630}, {"slurm", slurmSpan, "1:00:00", 3600},
		{"slurm", slurmSpan, "2-0", 172800}, {"slurm", slurmSpan, "1-12:30", 131400}, {"slurm", slurmSpan, "1-12:30:15", 131415},
		{"slurm", slurmSpan, "00:00:30", 30}, {"slurm", slurmSpan, "100:00:00", 360000}, {"slurm", slurmSpan, "UNLIMITED", 0},
		{"slurm", slurmSpan, "1:2:3:4", -1}, {"slurm", slurmSpan, "", -1}, {"slurm", slurmSpan, "1-", -1}, {"slurm", slurmSpan, "-5", -1},
		{"slurm", slurmSpan, "1h", -1}, {"slurm", slurmSpan, "1-2-3", -1}, {"slurm", slurmSpan, ":30", -1}, {"slurm", slurmSpan, "+5", -1},
		{"torque", torque, "90", 90}, {"torque", torque, "2:00", 120}, {"torque", torque, "24:00:00", 86400}, {"torque", torque, "2:00:00:00", 172800},
		{"torque", torque, "1:30.5", 90}, {"torque", torque, "1:2:3:4:5", -1}, {"torque", torque, "1.x", -1},
		{"openpbs", open, "168:00:00", 604800}, {"openpbs", open, "1:0:0:0", -1},
	} {
		if got, err := c.read(c.text); (err != nil) != (c.want < 0) || err == nil && got != c.want {
			t.Errorf("%s %q is %d, %v, not %d", c.what, c.text, got, err, c.want)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		read func(string) (int64, error)
		text string
		want int64
	}{
		{"slurm", slurmSize, "100", 100 << 20}, {"slurm", slurmSize, "4G", 4 << 30}, {"slurm", slurmSize, "4gb", 4 << 30}, {"slurm", slurmSize, "512K", 512 << 10},
		{"slurm", slurmSize, "1T", 1 << 40}, {"slurm", slurmSize, "4Q", -1}, {"slurm", slurmSize, "4w", -1}, {"slurm", slurmSize, "", -1}, {"slurm", slurmSize, "-1", -1},
		{"slurm", slurmSize, "9999999999999G", -1}, {"slurm", slurmSize, "4kk", -1},
		{"pbs", pbsSize, "1000", 1000}, {"pbs", pbsSize, "4gb", 4 << 30}, {"pbs", pbsSize, "500MB", 500 << 20}, {"pbs", pbsSize, "2w", 16}, {"pbs", pbsSize, "1kw", 8192},
		{"pbs", pbsSize, "3g", 3 << 30}, {"pbs", pbsSize, "1.5gb", -1}, {"pbs", pbsSize, "gb", -1},
	} {
		if got, err := c.read(c.text); (err != nil) != (c.want < 0) || err == nil && got != c.want {
			t.Errorf("%s %q is %d, %v, not %d", c.what, c.text, got, err, c.want)
		}
	}
}

func TestInstants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, text, want string // "" is refused
		read             func(string, time.Time) (time.Time, error)
	}{
		{"slurm", "now", "2026-11-22T12:00:00", slurmInstant}, {"slurm", "now+2hours", "2026-11-22T14:00:00", slurmInstant},
		{"slurm", "now+90", "2026-11-22T12:01:30", slurmInstant}, {"slurm", "now + 1 week", "2026-11-29T12:00:00", slurmInstant},
		{"slurm", "16:00", "2026-11-22T16:00:00", slurmInstant}, {"slurm", "11:59", "2026-11-23T11:59:00", slurmInstant},
		{"slurm", "3:30pm", "2026-11-22T15:30:00", slurmInstant}, {"slurm", "teatime", "2026-11-22T16:00:00", slurmInstant},
		{"slurm", "midnight", "2026-11-23T00:00:00", slurmInstant}, {"slurm", "noon", "2026-11-23T12:00:00", slurmInstant},
		{"slurm", "tomorrow", "2026-11-23T00:00:00", slurmInstant}, {"slurm", "tomorrow 8:15", "2026-11-23T08:15:00", slurmInstant},
		{"slurm", "2027-01-20T12:34:00", "2027-01-20T12:34:00", slurmInstant}, {"slurm", "2027-01-20", "2027-01-20T00:00:00", slurmInstant},
		{"slurm", "012027", "2027-01-20T00:00:00", slurmInstant}, {"slurm", "01/20", "2027-01-20T00:00:00", slurmInstant},
		{"slurm", "12/24/26-08:00", "2026-12-24T08:00:00", slurmInstant}, {"slurm", "12.24", "2026-12-24T00:00:00", slurmInstant},
		{"slurm", "", "", slurmInstant}, {"slurm", "later", "", slurmInstant}, {"slurm", "25:00", "", slurmInstant}, {"slurm", "now+1fortnight", "", slurmInstant}, {"slurm", "2027-13-01", "", slurmInstant},
		{"pbs", "1830", "2026-11-22T18:30:00", pbsInstant}, {"pbs", "0830", "2026-11-23T08:30:00", pbsInstant}, {"pbs", "240830", "2026-11-24T08:30:00", pbsInstant},
		{"pbs", "010830", "2026-12-01T08:30:00", pbsInstant}, {"pbs", "12240830", "2026-12-24T08:30:00", pbsInstant}, {"pbs", "01020830", "2027-01-02T08:30:00", pbsInstant},
		{"pbs", "2701020830", "2027-01-02T08:30:00", pbsInstant}, {"pbs", "202701020830.15", "2027-01-02T08:30:15", pbsInstant},
		{"pbs", "99", "", pbsInstant}, {"pbs", "9999", "", pbsInstant}, {"pbs", "18:30", "", pbsInstant}, {"pbs", "1830.5", "", pbsInstant}, {"pbs", "", "", pbsInstant},
	} {
		got, err := c.read(c.text, noon)
		if said := got.Format("2006-01-02T15:04:05"); (err == nil) != (c.want != "") || err == nil && said != c.want {
			t.Errorf("%s %q is %s, %v, not %s", c.what, c.text, said, err, c.want)
		}
	}
}

// Words are cut as sbatch and qsub cut them.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text     string
		comments bool
		want     []string
	}{
		{`-N 2  --x="a b"c # rest`, true, []string{"-N", "2", "--x=a bc"}},
		{`-N 2#x`, true, []string{"-N", "2"}},
		{`'a # b' c\ d \"`, true, []string{"a # b", "c d", `"`}},
		{`-N a#b # c`, false, []string{"-N", "a#b", "#", "c"}},
		{`-v "a='b'" 'c\d'`, false, []string{"-v", "a='b'", `c\d`}},
		{`""`, true, []string{""}},
	} {
		var got []string
		for _, w := range split(c.text, place{1, 1}, c.comments, &reporter{}) {
			got = append(got, w.text)
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, not %q", c.text, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %q, not %q", c.text, got, c.want)
			}
		}
	}
}

func TestDirectivesBesideTheScript(t *testing.T) {
	t.Parallel()
	o := options()
	o.Directives, o.Arguments = []string{"--time=7 -n 3", "-J other"}, []string{"a", "b c"}
	s, err := Parse("x/job.sh", []byte("#!/bin/sh\n#SBATCH -t 99 -N 1\n"), o)
	if err != nil {
		t.Fatal(err)
	}
	if s.Job.Walltime != 7*grid.Minute || s.Job.Name != "other" || s.Job.Demand.Processes() != 3 || len(s.Job.Program.Arguments) != 2 || s.Job.Program.Executable != "job.sh" {
		t.Errorf("%s", told(s))
	}
	o.Directives = []string{"--bogus"}
	if _, err := Parse("job.sh", []byte("#!/bin/sh\n#SBATCH -t 9\n"), o); err == nil || err.Error() != "command line:1:1: --bogus: sbatch has no such option" {
		t.Errorf("%v", err)
	}
	for directive, want := range map[string]string{
		"--patition=x": "--patition=x: sbatch has no such option; did you mean --partition?", "--nodes=-1": "--nodes=-1: -1 is no whole number from 1 to 1048576",
	} {
		o.Directives = []string{directive}
		if _, err := Parse("job.sh", []byte("#!/bin/sh\n#SBATCH -t 9\n"), o); err == nil || err.Error() != "command line:1:1: "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	o.Directives, o.Prefix = nil, "#MY"
	s, err = Parse("job.sh", []byte("#!/bin/sh\n#PBS -N no\n#MY -N yes\n#SBATCH -J no\n"), o)
	if err != nil || s.Job.Name != "yes" || s.Job.Program.Dialect != grid.DialectTORQUE {
		t.Errorf("%+v, %v", s, err)
	}
}
