package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gbroker/pbs/pbstest"
	"gbroker/pbs/slurm/slurmtest"
	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
)

func TestMain(m *testing.M) { os.Exit(slurmtest.Main(m)) }

// programs makes a folder of small programs: what each says by its first argument.
func programs(t *testing.T, list map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range list {
		if err := pbstest.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\ncase \"$1\" in\n"+body+"\nesac\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Which batch system is there? Only one that answers counts.
func TestDetect(t *testing.T) {
	t.Parallel()
	const (
		sinfo    = "--version) echo slurm-wlm 22.05.8; exit 0;;"
		up       = "ping) echo 'Slurmctld(primary) at login01 is UP'; exit 0;;"
		down     = "ping) echo 'Slurmctld(primary) at login01 is DOWN'; exit 1;;"
		wrapper  = "--version) echo 'Unknown option: version' >&2; exit 2;;"
		openpbs  = "--version) echo 'pbs_version = 23.06.06'; exit 0;; -B) exit 0;;"
		refusing = "--version) echo 'Version: 6.1.3'; echo 'Commit: '; exit 0;; -B) echo 'Connection refused' >&2; exit 111;;"
		torque   = "--version) echo 'Version: 6.1.3'; echo 'Commit: '; exit 0;; -B) exit 0;;"
		showq    = "'') exit 0;;"
	)
	for _, c := range []struct {
		name     string
		programs map[string]string
		system   string
		maui     bool
		says     string
	}{
		{"nothing", nil, "", false, ""},
		{"slurm", map[string]string{"sinfo": sinfo, "scontrol": up}, Slurm, false, "found slurm-wlm 22.05.8 in"},
		{"slurm without its controller", map[string]string{"sinfo": sinfo, "scontrol": down}, "", false, "does not answer (Slurmctld(primary) at login01 is DOWN): left out"},
		{"something else called sinfo", map[string]string{"sinfo": wrapper}, "", false, "does not name Slurm, but says \"Unknown option: version\": left out"},
		{"slurm with wrappers of PBS", map[string]string{"sinfo": sinfo, "scontrol": up, "qstat": wrapper}, Slurm, false, "found slurm-wlm"},
		{"openpbs", map[string]string{"qstat": openpbs}, OpenPBS, false, "found OpenPBS 23.06.06"},
		{"openpbs beside slurm", map[string]string{"sinfo": sinfo, "scontrol": up, "qstat": openpbs}, Slurm, false, "openpbs answers too, and is left out"},
		{"torque", map[string]string{"qstat": torque}, Torque, false, "showq is not on PATH"},
		{"torque with maui", map[string]string{"qstat": torque, "showq": showq}, Torque, true, "found Maui in"},
		{"torque with a dead maui", map[string]string{"qstat": torque, "showq": wrapper}, Torque, false, "Maui is installed, but does not answer"},
		{"torque without its server", map[string]string{"qstat": refusing}, "", false, "TORQUE 6.1.3 is installed, but its server does not answer (Connection refused): left out"},
		{"some other qstat", map[string]string{"qstat": wrapper}, "", false, "is of no batch system that is known here (Unknown option: version): left out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := programs(t, c.programs)
			f := Detect(t.Context(), []string{"PATH=" + dir, "SLURM_CONF=/etc/x.conf", "OTHER=1"})
			if f.System != c.system || (f.Maui == dir) != c.maui || !strings.Contains(strings.Join(f.Notes, "\n"), c.says) {
				t.Errorf("found %+v", f)
			}
			if slurm := c.system == Slurm; slurm != reflect.DeepEqual(f.Environment, []string{"SLURM_CONF=/etc/x.conf"}) {
				t.Errorf("the environment is %q", f.Environment)
			}
		})
	}
}

// What init finds in real commands is a configuration that is right.
func TestInitFinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		system string
		start  func(t *testing.T) []string // its environment
	}{
		{Slurm, func(t *testing.T) []string {
			slurmtest.Need(t)
			return append(slurmtest.Start(t, slurmtest.Config{}).Environment(), "PATH="+os.Getenv("PATH"))
		}},
		{Torque, func(t *testing.T) []string {
			return []string{"PATH=" + fakebatch.Start(t, batch.Config{Face: "torque"}).Bin}
		}},
		{OpenPBS, func(t *testing.T) []string {
			return []string{"PATH=" + fakebatch.Start(t, batch.Config{Face: "openpbs"}).Bin}
		}},
	} {
		t.Run(c.system, func(t *testing.T) {
			t.Parallel()
			o := DefaultInit()
			o.Dir, o.Site, o.Socket = filepath.Join(t.TempDir(), "s"), "a", "/tmp/a.sock"
			o.Found = Detect(t.Context(), c.start(t))
			site, err := Init(o)
			if err != nil {
				t.Fatalf("%+v: %v", o.Found, err)
			}
			read, err := Load(site.File)
			x := read.Batch.External
			if err != nil || read.Batch.System != c.system || x.Commands != o.Found.Commands || x.Maui != (c.system == Torque) {
				t.Errorf("%+v: %v", read.Batch, err)
			}
			text, err := os.ReadFile(site.File)
			if err != nil || c.system == Torque && strings.Contains(string(text), Slurm) || c.system == Torque != strings.Contains(string(text), "# operator: maui") {
				t.Errorf("%v in\n%s", err, text)
			}
			if v, err := ViewBatch(t.Context(), read); err != nil || len(v.Nodes) == 0 {
				t.Errorf("by this configuration is seen %+v, %v", v, err)
			}
		})
	}
}

// The scheduler's file is where pbs.conf says that OpenPBS keeps its own.
func TestSchedConfigOfPBSConf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "home", "sched_priv", "sched_config")
	conf := filepath.Join(dir, "pbs.conf")
	text := "PBS_SERVER=head\nPBS_HOME=" + filepath.Join(dir, "home") + "\nPBS_EXEC=/opt/pbs\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(conf, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{false, true} {
		if there {
			if err := os.WriteFile(file, []byte("strict_ordering: false ALL\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var f Found
		detector{environment: []string{"PBS_CONF_FILE=" + conf}}.schedConfig(&f)
		if said := strings.Join(f.Notes, ""); (f.SchedConfig == file) != there || !there && !strings.Contains(said, file) {
			t.Errorf("%+v", f)
		}
	}
}
