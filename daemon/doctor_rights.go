package daemon

import (
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
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

// submitting is the command for which accounts need a right.
var submitting = map[string]string{Slurm: "sbatch", Torque: "qsub", OpenPBS: "qsub"}

// accounts: may we submit as each that is named?
func (d *doctor) accounts() {
	x := d.cfg.Batch.External
	if !x.Users.Mapped {
		d.fine("accounts", "all jobs run under the daemon's own account")
		return
	}
	if root := os.Geteuid() == 0; x.As == "root" && !root {
		d.mend("accounts", "batch.as says root, and this is uid %d: run the daemon as root, or write as: sudo", os.Geteuid())
		return
	}
	names := slices.Collect(maps.Values(x.Users.Map))
	if x.Users.Otherwise != "" {
		names = append(names, x.Users.Otherwise)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		d.account(name)
	}
	if x.Users.Same {
		hint := ""
		if os.Geteuid() != 0 {
			hint = fmt.Sprintf(": try one with `sudo -n -u ACCOUNT -- %s --version`", submitting[d.cfg.Batch.System])
		}
		d.untried("accounts", "users: {same: true} means every account of this machine%s", hint)
	}
}

// account runs a harmless form of the submitting command under an account.
func (d *doctor) account(name string) {
	what := "account " + name
	if _, err := user.Lookup(name); err != nil {
		d.mend(what, "there is no such account: %v", err)
		return
	}
	submit := submitting[d.cfg.Batch.System]
	r, err := d.cfg.runner().Run(d.ctx, command.Call{Name: submit, Args: []string{"--version"}, As: name})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("exit code %d: %s", r.Exit, r.Said())
	}
	if err != nil {
		d.mend(what, "%s", advice(err, "docs/batch.md has the lines for sudoers"))
		return
	}
	d.fine(what, "%s can be run under it", submit)
}
