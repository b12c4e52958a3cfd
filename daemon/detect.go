package daemon

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gbroker/internal/form"
	"gbroker/pbs/command"
)

// Found is a batch system that is on this machine.
type Found struct {
	System   string // "" is none
	Version  string
	Commands string // the folder of its commands
	Maui     string // the folder of Maui's; "" is no Maui
	// Environment are the variables of this process by which its commands find their server.
	Environment []string
	SchedConfig string
	Notes       []string // for people: what was found, and what was left out and why
}

// pointers are the variables that lead commands to their server.
var pointers = map[string][]string{
	Slurm:   {"SLURM_CONF"},
	Torque:  {"PBS_DEFAULT", "PBS_SERVER"},
	OpenPBS: {"PBS_CONF_FILE", "PBS_SERVER"},
}

// detectLimit bounds each command: a server that is down takes its clients long.
const detectLimit = 15 * time.Second

// Detect looks which batch system's commands are on the PATH of environment, and asks
// whether it answers. One that does not is left out, with a word.
func Detect(ctx context.Context, environment []string) Found {
	d := detector{ctx: ctx, environment: environment, runner: command.Runner{
		Environment: append(slices.Clone(environment), "LC_ALL=C", "TZ=UTC"), Limit: detectLimit, Output: 1 << 20,
	}}
	var found, none Found
	for _, look := range []func() (Found, string){d.slurm, d.pbs} {
		f, out := look()
		switch {
		case out != "":
			none.Notes = append(none.Notes, out)
		case f.System == "":
		case found.System == "":
			found = f
		default:
			none.Notes = append(none.Notes, fmt.Sprintf("%s answers too, and is left out: a broker serves one batch system", f.System))
		}
	}
	found.Notes = append(found.Notes, none.Notes...)
	return found
}

type detector struct {
	ctx         context.Context
	environment []string
	runner      command.Runner
}

// slurm is Slurm; out says why it is there and left out.
func (d detector) slurm() (f Found, out string) {
	folder := d.folder("sinfo")
	if folder == "" {
		return f, ""
	}
	said, err := d.ask("sinfo", "--version")
	if err != nil || !strings.HasPrefix(said, "slurm") {
		return f, fmt.Sprintf("%s --version does not name Slurm, but says %q: left out; if it is Slurm's, set SLURM_CONF to its file",
			filepath.Join(folder, "sinfo"), plainly(said, err))
	}
	if answer, err := d.ask("scontrol", "ping"); err != nil || !strings.Contains(answer, " is UP") {
		return f, fmt.Sprintf("%s is installed, but its controller does not answer (%s): left out; set SLURM_CONF if it is not in the usual place", said, plainly(answer, err))
	}
	return d.found(Slurm, said, folder), ""
}

// pbs is TORQUE or OpenPBS, whose commands have the same names.
func (d detector) pbs() (f Found, out string) {
	folder := d.folder("qstat")
	if folder == "" {
		return f, ""
	}
	said, err := d.ask("qstat", "--version")
	system := ""
	switch {
	case err == nil && strings.HasPrefix(said, "pbs_version = "):
		system, said = OpenPBS, "OpenPBS "+strings.TrimPrefix(said, "pbs_version = ")
	case err == nil && strings.HasPrefix(said, "Version: "):
		said, _, _ = strings.Cut(strings.TrimPrefix(said, "Version: "), " ")
		system, said = Torque, "TORQUE "+said
	case d.folder("sinfo") != "":
		return f, "" // Slurm's wrappers of the same names
	default:
		return f, fmt.Sprintf("%s is of no batch system that is known here (%s): left out", filepath.Join(folder, "qstat"), plainly(said, err))
	}
	if answer, err := d.ask("qstat", "-B"); err != nil {
		return f, fmt.Sprintf("%s is installed, but its server does not answer (%s): left out", said, plainly(answer, err))
	}
	f = d.found(system, said, folder)
	if system == Torque {
		d.maui(&f)
	} else {
		d.schedConfig(&f)
	}
	return f, ""
}

// maui adds Maui where it schedules.
func (d detector) maui(f *Found) {
	folder := d.folder("showq")
	if folder == "" {
		f.Notes = append(f.Notes, "Maui's showq is not on PATH: without Maui there are no reservations")
		return
	}
	if answer, err := d.ask("showq"); err != nil {
		f.Notes = append(f.Notes, fmt.Sprintf("Maui is installed, but does not answer (%s): left out", plainly(answer, err)))
		return
	}
	f.Maui = folder
	f.Notes = append(f.Notes, "found Maui in "+folder)
}

// schedConfig adds the file of OpenPBS's scheduler where it can be read.
func (d detector) schedConfig(f *Found) {
	file := filepath.Join(d.pbsHome(), "sched_priv", "sched_config")
	if unix.Access(file, unix.R_OK) != nil {
		f.Notes = append(f.Notes, file+" cannot be read: the scheduler is taken to be firstfit, as it is delivered, unless you write policy or sched_config")
		return
	}
	f.SchedConfig = file
}

// pbsHome is OpenPBS's PBS_HOME: of the environment, else of its pbs.conf, else the usual one.
func (d detector) pbsHome() string {
	if home := d.value("PBS_HOME"); home != "" {
		return home
	}
	file := cmp.Or(d.value("PBS_CONF_FILE"), "/etc/pbs.conf")
	if f, err := os.Open(file); err == nil {
		defer f.Close()
		text, _ := io.ReadAll(io.LimitReader(f, 1<<20)) // what can be read of it
		for line := range strings.Lines(string(text)) {
			if home, is := strings.CutPrefix(strings.TrimSpace(line), "PBS_HOME="); is && home != "" {
				return strings.Trim(home, `"'`)
			}
		}
	}
	return "/var/spool/pbs"
}

func (d detector) found(system, version, folder string) Found {
	f := Found{System: system, Version: version, Commands: folder, Notes: []string{fmt.Sprintf("found %s in %s, and it answers", version, folder)}}
	for _, name := range pointers[system] {
		if value := d.value(name); value != "" {
			f.Environment = append(f.Environment, name+"="+value)
		}
	}
	return f
}

// ask runs a command; what it says is told on one line.
func (d detector) ask(name string, args ...string) (string, error) {
	r, err := d.runner.Run(d.ctx, command.Call{Name: name, Args: args})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("exit code %d", r.Exit)
	}
	said := strings.Join(strings.Fields(strings.ToValidUTF8(string(r.Stdout[:min(len(r.Stdout), 400)]), "?")), " ")
	if said == "" {
		said = r.Said()
	}
	return said, err
}

func plainly(said string, err error) string {
	if said == "" && err != nil {
		return err.Error()
	}
	return form.Clip(said)
}

// folder is where on PATH a command is; "" is nowhere.
func (d detector) folder(name string) string {
	for _, folder := range filepath.SplitList(d.value("PATH")) {
		full := filepath.Join(folder, name)
		info, err := os.Stat(full)
		if filepath.IsAbs(full) && err == nil && info.Mode().IsRegular() && unix.Access(full, unix.X_OK) == nil {
			return folder
		}
	}
	return ""
}

func (d detector) value(name string) string {
	for _, e := range slices.Backward(d.environment) {
		if value, is := strings.CutPrefix(e, name+"="); is {
			return value
		}
	}
	return ""
}
