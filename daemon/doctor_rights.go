package daemon

import (
	"strings"

	"gbroker/pbs/command"
)

// seeing is how one asks whether the jobs of others are shown, and what the answer must hold.
var seeing = map[string]struct {
	name string
	args []string
	want func(text string) bool
	mend string
}{
	Slurm: {"scontrol", []string{"show", "config"}, func(text string) bool {
		return !strings.Contains(setting(text, "PrivateData"), "jobs")
	}, "take jobs out of PrivateData in slurm.conf, or run the broker as SlurmUser"},
	Torque: {"qstat", []string{"-B", "-f", "-1"}, func(text string) bool {
		return setting(text, "query_other_jobs") == "True"
	}, "set it with: qmgr -c 'set server query_other_jobs = True'"},
	OpenPBS: {"qstat", []string{"-B", "-f", "-F", "json"}, func(text string) bool {
		return strings.Contains(strings.Join(strings.Fields(text), ""), `"query_other_jobs":"True"`)
	}, "set it with: qmgr -c 'set server query_other_jobs = True'"},
}

// setting is the value of a line "name = value".
func setting(text, name string) string {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// others: a plan needs the jobs of everybody.
func (d *doctor) others() {
	s := seeing[d.cfg.Batch.System]
	r, err := d.cfg.runner().Run(d.ctx, command.Call{Name: s.name, Args: s.args})
	switch {
	case err != nil || r.Exit != 0:
		d.untried("jobs of others", "%s does not tell: %v %s", s.name, err, r.Said())
	case !s.want(string(r.Stdout)):
		d.mend("jobs of others", "they are not shown, so that every estimate is too early: %s", s.mend)
	default:
		d.fine("jobs of others", "they are shown")
	}
}
