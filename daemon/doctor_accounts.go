package daemon

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"gbroker/internal/acl"
	"gbroker/pbs/command"
)

// asUser are the commands of a batch system that are run under the accounts of jobs, the one that
// submits first.
var asUser = map[string][]string{
	Slurm: {"sbatch", "scancel", "scontrol"}, Torque: {"qsub", "qdel", "qhold", "qrls"}, OpenPBS: {"qsub", "qdel", "qhold", "qrls"},
}

// mapped are the accounts that the configuration names.
func (u UsersConfig) accounts() []string {
	names := slices.Collect(maps.Values(u.Map))
	if u.Otherwise != "" {
		names = append(names, u.Otherwise)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// accounts: may we submit as each that is named, and take back what its jobs leave?
func (d *doctor) accounts() {
	x := d.cfg.Batch.External
	if !x.Users.Mapped {
		d.fine("accounts", "all jobs run under the daemon's own account")
		return
	}
	root := os.Geteuid() == 0
	if x.As == "root" && !root {
		d.mend("accounts", "batch.as says root, and this is uid %d: run the daemon as root, or write as: sudo", os.Geteuid())
		return
	}
	names := x.Users.accounts()
	if d.as != "" && !slices.Contains(names, d.as) {
		names = append(names, d.as)
	}
	for _, name := range names {
		d.account(name)
	}
	if x.Users.Same {
		hint := ""
		if !root {
			hint = ": say --as ACCOUNT to try one"
		}
		d.untried("accounts", "users: {same: true} means every account of this machine%s", hint)
	}
}

// account runs harmless forms of what is run under an account.
func (d *doctor) account(name string) {
	what := "account " + name
	if _, err := user.Lookup(name); err != nil {
		d.mend(what, "there is no such account: %v", err)
		return
	}
	sudo := os.Geteuid() != 0
	if line := d.lacking(name); sudo && line != "" {
		d.mend(what, "sudoers does not allow all that is needed; it must have: %s", line)
		return
	}
	submit := asUser[d.cfg.Batch.System][0]
	calls := []command.Call{{Name: submit, Args: []string{"--version"}}}
	if hello, err := sandboxCommand("hello"); err != nil {
		d.mend(what, "%v", err)
		return
	} else if sudo {
		calls = append(calls, hello)
	}
	for _, c := range calls {
		c.As = name
		r, err := d.cfg.runner().Run(d.ctx, c)
		if err == nil && r.Exit != 0 {
			err = fmt.Errorf("%s ends with %d: %s", c, r.Exit, r.Said())
		}
		if err != nil {
			d.mend(what, "%s", advice(err, "docs/batch.md has the lines for sudoers; the account must be able to pass all folders above the program"))
			return
		}
	}
	if sudo {
		submit += " and " + calls[1].String()
	}
	d.fine(what, "%s can be run under it", submit)
}

// lacking is the rule of sudo for an account, "" where all of it is allowed.
func (d *doctor) lacking(name string) string {
	r := d.cfg.runner()
	look := detector{environment: []string{"PATH=" + strings.Join(append(slices.Clone(r.Folders), detector{environment: r.Environment}.value("PATH")), ":")}}
	lacks := false
	var list []string
	allowed := func(shown, path string, args ...string) {
		got, err := r.Run(d.ctx, command.Call{Name: "sudo", Args: append([]string{"-n", "-l", "-u", name, "--", path}, args...)})
		lacks = lacks || err != nil || got.Exit != 0
		list = append(list, shown)
	}
	for _, c := range append(slices.Clone(asUser[d.cfg.Batch.System]), "test") {
		path := filepath.Join(look.folder(c), c)
		allowed(path, path)
	}
	hello, err := sandboxCommand("hello")
	if err != nil {
		return err.Error()
	}
	for _, words := range [][]string{{"hello"}, {"send", d.folderOfJobs()}, {"clear", d.folderOfJobs()}} {
		allowed(hello.Name+" sandbox *", hello.Name, append([]string{"sandbox"}, words...)...)
	}
	if !lacks {
		return ""
	}
	own := "gbroker"
	if u, err := user.Current(); err == nil {
		own = u.Username
	}
	return fmt.Sprintf("%s ALL=(%s) NOPASSWD:SETENV: %s", own, name, strings.Join(slices.Compact(list), ", "))
}

// folders: can those of a job be opened to its account alone?
func (d *doctor) folders() {
	const what = "job folders"
	if !d.cfg.Batch.External.Users.Mapped {
		return
	}
	jobs := d.folderOfJobs()
	err := tryLists(jobs)
	switch {
	case err == nil:
		d.fine(what, "%s has access control lists: a job's folders are open to its account alone", jobs)
	case !errors.Is(err, acl.ErrUnsupported):
		d.mend(what, "%v", err)
	case os.Geteuid() == 0:
		d.fine(what, "%s has no access control lists: a job's folders belong to its account alone, whose program could undo there what the broker decides of this one job", jobs)
	default:
		d.mend(what, "%s has no access control lists, without which a job's folders cannot be opened to its account alone: choose a file system that has them as sandboxes, or run the daemon as root", jobs)
	}
}

// tryLists sets a list in a folder, and takes it away.
func tryLists(dir string) error {
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return fmt.Errorf("making the folder of the jobs: %w", err)
	}
	name, err := os.MkdirTemp(dir, ".doctor")
	if err != nil {
		return fmt.Errorf("trying the folder of the jobs: %w", err)
	}
	defer os.Remove(name)
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("trying the folder of the jobs: %w", err)
	}
	defer f.Close()
	return acl.Set(f, acl.Access, acl.List{Owner: acl.All, Users: map[uint32]acl.Rights{65534: acl.All}})
}

// testAccount is under which account the test job runs; why says that there is none.
func (d *doctor) testAccount() (name, why string) {
	u := d.cfg.Batch.External.Users
	names := u.accounts()
	switch {
	case d.as != "":
		return d.as, ""
	case u.Otherwise != "":
		return u.Otherwise, ""
	case len(names) > 0:
		return names[0], ""
	case os.Geteuid() != 0 || d.cfg.Batch.System == Slurm || d.cfg.Batch.System == Embedded:
		return "", ""
	case u.Mapped:
		return "", "root submits nothing to this batch system: say --as ACCOUNT, one of those under which jobs run"
	}
	return "", "root submits nothing to this batch system: write users, so that jobs run under other accounts, or run the daemon as a user of its own"
}
