package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// Machines are called by the words of JSDL, and what has none there is other.
func TestWordsOfMachines(t *testing.T) {
	t.Parallel()
	for goarch, want := range map[string]string{
		"amd64": "x86_64", "386": "x86_32", "arm": "arm", "arm64": "arm", "ppc64le": "powerpc", "ppc64": "powerpc", "mips": "mips", "mips64le": "mips", "riscv64": "other", "": "other",
	} {
		if got := architecture(goarch); got != want || !slices.Contains(architectures, got) {
			t.Errorf("%s is %s", goarch, got)
		}
	}
	for goos, want := range map[string]string{
		"linux": "LINUX", "darwin": "MACOS", "freebsd": "FreeBSD", "netbsd": "NetBSD", "openbsd": "OpenBSD", "solaris": "Solaris", "illumos": "Solaris", "plan9": "other",
	} {
		got := operatingSystem(goos)
		if word, err := systemWord(got); got != want || err != nil || word != got {
			t.Errorf("%s is %s, %v", goos, got, err)
		}
	}
	for _, bad := range []string{"", "Linux", "linux", "a b", "x-y", strings.Repeat("x", 41)} {
		if _, err := systemWord(bad); err == nil {
			t.Errorf("%q is a word for an operating system", bad)
		}
	}
	if _, err := systemWord(strings.Repeat("x", 40)); err != nil {
		t.Error(err)
	}
}

// Why a place was searched for is told of each decision.
func TestWhyAPlaceWasSearchedFor(t *testing.T) {
	t.Parallel()
	for want, k := range map[string]struct {
		chosen grid.SiteName
		before grid.Record
	}{
		"nobody": {"", grid.Record{Run: grid.Run{Queued: 5}}}, "reevaluation": {"b", grid.Record{Run: grid.Run{Queued: 5}}},
		"first": {"b", grid.Record{}}, "again": {"b", grid.Record{EstimateNow: 7}},
	} {
		if got := cause(grid.Decision{Chosen: k.chosen}, &k.before); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// The accounts of a configuration are each told once; one of them is tried, the one that is said first.
func TestWhichAccountIsTried(t *testing.T) {
	t.Parallel()
	all := UsersConfig{Mapped: true, Map: map[string]string{"ann": "grid2", "bob": "grid1", "cyd": "grid2"}, Otherwise: "guest"}
	if got := all.accounts(); !slices.Equal(got, []string{"grid1", "grid2", "guest"}) {
		t.Errorf("they are %v", got)
	}
	root := os.Geteuid() == 0
	for name, k := range map[string]struct {
		as, system string
		users      UsersConfig
		want       string
		none       bool
	}{
		"what is said":          {"x", Torque, all, "x", false},
		"that of all others":    {"", Torque, all, "guest", false},
		"the first":             {"", Torque, UsersConfig{Mapped: true, Map: all.Map}, "grid1", false},
		"Slurm's root":          {"", Slurm, UsersConfig{}, "", false},
		"the embedded one's":    {"", Embedded, UsersConfig{}, "", false},
		"TORQUE's root":         {"", Torque, UsersConfig{}, "", root},
		"TORQUE's root, mapped": {"", Torque, UsersConfig{Mapped: true, Same: true}, "", root},
	} {
		d := &doctor{as: k.as}
		d.cfg.Batch.System, d.cfg.Batch.External.Users = k.system, k.users
		got, why := d.testAccount()
		if got != k.want || (why != "") != k.none || k.none && k.users.Mapped != strings.Contains(why, "--as") {
			t.Errorf("%s: %q, %q", name, got, why)
		}
	}
}

// The folders of jobs are tried where jobs run under other accounts, and nothing of that stays.
func TestDoctorTriesTheFolderOfJobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	users := func(mapped bool) func(*Config) {
		return func(c *Config) { c.Sandboxes, c.Batch.External.Users.Mapped = filepath.Join(dir, "jobs"), mapped }
	}
	if got := said(t, Slurm, nil, (*doctor).folders, users(false)); len(got) != 0 {
		t.Errorf("all run under one account: %+v", got)
	}
	got := said(t, Slurm, nil, (*doctor).folders, users(true))
	if len(got) != 1 || !strings.Contains(got[0].Text, "jobs") {
		t.Errorf("told is %+v", got)
	}
	left := 0
	filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
		if strings.Contains(path, ".doctor") {
			left++
		}
		return nil
	})
	if left > 0 {
		t.Errorf("%d trials are left", left)
	}
}

// An error is told with what mends it, unless it was an interruption or the time was over.
func TestAdviceOfTheDoctor(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		errors.New("no"): "no: do this", context.Canceled: "it was interrupted", context.DeadlineExceeded: "context deadline exceeded: the time was over",
	} {
		if got := advice(err, "do this"); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// Credentials of the site are read where nobody else may read them.
func TestCredentialsOfTheSite(t *testing.T) {
	t.Parallel()
	if s, err := readCredentials(""); s != nil || err != nil {
		t.Errorf("none: %v, %v", s, err)
	}
	file := filepath.Join(t.TempDir(), "c")
	for name, k := range map[string]struct {
		text string
		mode os.FileMode
		ok   bool
	}{"fine": {"", 0o600, true}, "read by others": {"", 0o640, false}, "no credentials": {"{{{ nonsense", 0o600, false}} {
		if err := errors.Join(os.RemoveAll(file), os.WriteFile(file, []byte(k.text), 0o600), os.Chmod(file, k.mode)); err != nil {
			t.Fatal(err)
		}
		if _, err := readCredentials(file); (err == nil) != k.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readCredentials(file + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// All addresses to listen on are checked, in their order.
func TestAddressesToListenOn(t *testing.T) {
	t.Parallel()
	good := []string{"/ip4/127.0.0.1/tcp/4001", "/ip6/::1/tcp/0"}
	if got, err := ListenAddresses(good); err != nil || !slices.Equal(got, good) {
		t.Errorf("%v, %v", got, err)
	}
	for bad, want := range map[string]string{"localhost:4001": "/ip4/127.0.0.1/tcp/4001", "x.cz:4001": "/ip4/0.0.0.0/tcp/4001", "127.0.0.1:4001": "", "/ip4/127.0.0.1/udp/1": ""} {
		if got, err := ListenAddresses(append(good, bad)); err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", bad, got, err)
		}
	}
}

// A job that is run by hand runs under the account that is said, before what the configuration says.
func TestTheAccountOfAJobByHand(t *testing.T) {
	t.Parallel()
	others := func(grid.User) (string, error) { return "mapped", nil }
	for as, want := range map[string]string{"": "mapped", "me": "me"} {
		h := &Hand{}
		h.RunAs(as)
		if got, err := h.accounts(others)(grid.User{}); got != want || err != nil {
			t.Errorf("%q runs under %q, %v", as, got, err)
		}
		if got, err := h.accounts(nil)(grid.User{}); got != as || err != nil {
			t.Errorf("without a mapping %q runs under %q, %v", as, got, err)
		}
	}
	h := &Hand{}
	h.cfg.Data = t.TempDir()
	jobs := h.cfg.JobsFolder()
	if err := h.passable(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(jobs); err == nil {
		t.Error("the folder of the jobs is made for nobody")
	}
	h.cfg.Batch.External.Users.Mapped = true
	if err := h.passable(); err != nil {
		t.Fatal(err)
	}
	if is, err := os.Stat(jobs); err != nil || is.Mode().Perm() != 0o711 {
		t.Errorf("others pass it: %v, %v", is, err)
	}
}

// A guaranteed job has a reservation that was made for it, at the site that ends it first; it is not both guaranteed and bound by its user.
func TestAGuaranteedJob(t *testing.T) {
	t.Parallel()
	a := serveSite(t, "alpha", 1)
	in := func(change func(*api.Submission)) (api.Accepted, error) {
		n := api.Submission{Key: "k", Name: "j.jsdl", Document: documentOf("g", "true", 1), Guaranteed: true}
		change(&n)
		return a.Submit(t.Context(), n)
	}
	if _, err := in(func(n *api.Submission) { n.Reservation = "r1" }); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("bound by its user, too: %v", err)
	}
	if _, err := in(func(n *api.Submission) { n.Key, n.Document = "wide", documentOf("w", "true", 5) }); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("wider than all sites: %v", err)
	}
	if list, err := a.Reservations(t.Context()); err != nil || slices.ContainsFunc(list, func(h api.HeldReservation) bool { return h.State == "CONFIRMED" }) {
		t.Errorf("for what was not handed in there are %+v, %v", list, err)
	}
	before := time.Now()
	got, err := in(func(*api.Submission) {})
	if err != nil {
		t.Fatal(err)
	}
	var h api.HeldReservation
	a.soon("there is one for it", func() bool {
		list, err := a.Reservations(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		h = list[0]
		return h.Job != nil && *h.Job == got.ID
	})
	start, length := time.UnixMilli(int64(h.Start)).Sub(before), grid.Tick(h.End-h.Start)
	if start < 0 || start > 2*time.Minute || length < 7*grid.Minute || length > 9*grid.Minute || h.Start%1000 != 0 {
		t.Errorf("of 5 minutes, it has from in %v on %v s", start, length.Seconds())
	}
}

// A job that is handed in is of this home and of who hands it in, whatever it says; its files are in order, and inside its folder.
func TestWhoseAJobIs(t *testing.T) {
	t.Parallel()
	s := service{&site{self: "here"}}
	n := api.NewJob{Job: grid.Job{
		ID: "alpha.old", Home: "there", User: grid.User{Home: "there", Name: "mallory"}, Inputs: grid.Manifest{{Path: "b"}, {Path: "a/c"}, {Path: "a"}},
	}}
	j, err := s.jobOf(api.Identity{Name: "ann"}, "alpha.new", n)
	if err != nil || j.ID != "alpha.new" || j.Home != "here" || j.User != (grid.User{Home: "here", Name: "ann"}) {
		t.Errorf("it is %+v, %v", j, err)
	}
	if len(j.Inputs) != 3 || j.Inputs[0].Path != "a" || j.Inputs[1].Path != "a/c" || j.Inputs[2].Path != "b" || n.Job.Inputs[0].Path != "b" {
		t.Errorf("its files are %+v, of %+v", j.Inputs, n.Job.Inputs)
	}
	n.Job.Inputs = grid.Manifest{{Path: "fine"}, {Path: "../out"}}
	if _, err := s.jobOf(api.Identity{Name: "ann"}, "alpha.new", n); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a file outside: %v", err)
	}
}
