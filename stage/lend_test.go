package stage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"gbroker/grid"
	"gbroker/internal/acl"
)

// another is an account that is not this test's.
func another(t *testing.T) (name string, uid int) {
	t.Helper()
	for _, name := range []string{"nobody", "daemon"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		if uid, err = strconv.Atoi(u.Uid); err == nil && uid != os.Geteuid() {
			return name, uid
		}
	}
	t.Skip("this machine has neither an account nobody nor daemon")
	return "", 0
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files to others: run the test as root")
	}
}

func ownerOf(t *testing.T, name string) int {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return int(owner(info))
}

// A daemon that is root lends the working tree and a place in ctl/, and nothing else: not what has another name, which may be anybody's,
// and not what no program was to have. Lent again it is the same; another account gets nothing of it.
func TestLend(t *testing.T) {
	t.Parallel()
	needRoot(t)
	name, uid := another(t)
	s := newNetwork(t).site("a", nil)
	if err := s.Lend(t.Context(), job, name); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("a job without a folder: %v", err)
	}
	outside := t.TempDir() + "/outside"
	write(t, outside, []byte("outside"), 0o600)
	m := give(t, s, map[string][]byte{"d/in": random(3)})
	if err := s.Prepare(t.Context(), grid.Job{ID: job, Inputs: m}, true); err != nil {
		t.Fatal(err)
	}
	write(t, s.path("work", "other", "own"), nil, 0o600)
	write(t, s.path("ctl", "credentials"), []byte("secret"), 0o600)
	if err := errors.Join(os.Chown(s.path("work", "other"), 12345, 12345), os.Link(outside, s.path("work", "linked")), os.Symlink(outside, s.path("work", "symlink")),
		unix.Mkfifo(s.path("work", "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Lend(t.Context(), job, name); err != nil {
			t.Fatal(err)
		}
		for file, want := range map[string]int{
			"work": uid, "work/d": uid, "work/d/in": uid, "work/other/own": uid, "work/other": 12345, "work/linked": 0, "work/symlink": 0, "work/pipe": 0,
			"in": 0, "in/d/in": 0, "ctl/credentials": 0, ".": 0,
		} {
			if got := ownerOf(t, s.path(file)); got != want {
				t.Errorf("%s belongs to %d, not %d", file, got, want)
			}
		}
		if got := ownerOf(t, outside); got != 0 {
			t.Errorf("a file outside belongs to %d", got)
		}
		if got := mode(t, s.path("ctl")); got != os.ModeDir|os.ModeSticky|0o770 && got != os.ModeDir|0o700 {
			t.Errorf("ctl/ has the mode %v", got)
		}
	}
	for _, who := range []string{"root", "no-such-account"} {
		if err := s.Lend(t.Context(), job, who); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("lent to %s too: %v", who, err)
		}
	}
	if who, err := os.ReadFile(s.path(tenancy)); err != nil || string(who) != name+"\n" {
		t.Errorf("it is lent to %q, %v", who, err)
	}
}

// listOf is an access control list, or why there is none.
func listOf(t *testing.T, name, which string) string {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, there, err := acl.Get(f, which)
	if err != nil || !there {
		return fmt.Sprint("none ", err)
	}
	return fmt.Sprintf("owner %d group %d others %d users %v", l.Owner, l.Group, l.Others, l.Users)
}

// A daemon that is not root lets the account in by lists: to all of the working tree that is the daemon's own, with its owner's rights, and
// the daemon to all that the account will make there.
func TestLendByLists(t *testing.T) {
	t.Parallel()
	name, uid := another(t)
	me := os.Geteuid()
	s := newNetwork(t).site("a", nil)
	s.cfg.As = (&account{}).as
	if err := s.MakeFolder(job); err != nil {
		t.Fatal(err)
	}
	g := grant{uid: uint32(uid), own: uint32(me)}
	if me == 0 { // the daemon is played by an account that is not root
		g.own = 12345
		s.uid = 12345
	}
	write(t, s.path("work", "d", "run.sh"), nil, 0o750)
	write(t, s.path("work", "shared"), nil, 0o604)
	if err := os.Link(s.path("work", "shared"), s.path("work", "link")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"work", "work/d", "work/d/run.sh", "work/shared", "ctl"} {
		if err := os.Chown(s.path(file), int(g.own), -1); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Lend(t.Context(), job, name); err != nil {
			if errors.Is(err, acl.ErrUnsupported) {
				t.Skip("the file system of temporary files has no access control lists")
			}
			t.Fatal(err)
		}
		both := fmt.Sprint(map[uint32]acl.Rights{g.uid: 7, g.own: 7})
		for _, c := range [][3]string{
			{"work", acl.Access, fmt.Sprintf("owner 7 group 0 others 0 users map[%d:7]", uid)},
			{"work", acl.Default, "owner 7 group 0 others 0 users " + both},
			{"work/d", acl.Default, "owner 7 group 0 others 0 users " + both},
			{"work/d/run.sh", acl.Access, fmt.Sprintf("owner 7 group 5 others 0 users map[%d:7]", uid)},
			{"work/shared", acl.Access, "none <nil>"},
			{"ctl", acl.Access, fmt.Sprintf("owner 7 group 0 others 0 users map[%d:7]", uid)},
			{"ctl", acl.Default, fmt.Sprintf("owner 7 group 0 others 0 users map[%d:7]", g.own)},
			{"in", acl.Access, "none <nil>"}, {"out", acl.Access, "none <nil>"},
		} {
			if got := listOf(t, s.path(c[0]), c[1]); got != c[2] {
				t.Errorf("%s of %s: %s, not %s", c[1], c[0], got, c[2])
			}
		}
		if got := mode(t, s.path("ctl")); got != os.ModeDir|os.ModeSticky|0o770 {
			t.Errorf("ctl/ has the mode %v", got)
		}
	}
}

// Where the daemon is not root and may act for nobody, nothing is lent.
func TestNothingIsLentWhereAccountsAreNotUsed(t *testing.T) {
	t.Parallel()
	name, _ := another(t)
	s := newNetwork(t).site("a", nil)
	s.uid = uint32(os.Geteuid()) + 1
	if err := s.MakeFolder(job); err != nil {
		t.Fatal(err)
	}
	if err := s.Lend(t.Context(), job, name); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("lent: %v", err)
	}
	if _, err := os.Stat(s.path(tenancy)); err == nil {
		t.Error("it stands as lent")
	}
}

// What a program under another account only linked into its sandbox is not handed out: neither collected, nor found, nor shown while it
// runs. What is its own is, and becomes the daemon's.
func TestWhatAnAccountHasOnlyLinkedIsNotHandedOut(t *testing.T) {
	t.Parallel()
	name, uid := another(t)
	s := newNetwork(t).site("a", nil)
	s.uid = 0 // a daemon that is root takes outputs itself
	if err := s.MakeFolder(job); err != nil {
		t.Fatal(err)
	}
	write(t, s.path(tenancy), []byte(name+"\n"), 0o600)
	secret := t.TempDir() + "/secret"
	write(t, secret, []byte("secret"), 0o600)
	write(t, s.path("work", "ours"), []byte("ours"), 0o600)
	if err := os.Link(secret, s.path("work", "linked")); err != nil {
		if errors.Is(err, unix.EXDEV) {
			t.Skip("temporary folders lie on several file systems")
		}
		t.Fatal(err)
	}
	j := grid.Job{ID: job, Outputs: []grid.Output{{Path: "linked", Target: "linked"}, {Path: "ours", Target: "ours"}}}
	if got, err := s.ReadLive(j, "linked", 0, 10); err == nil {
		t.Errorf("while it runs it is shown: %q", got)
	}
	if got, err := s.ReadLive(j, "ours", 0, 10); err != nil || string(got) != "ours" {
		t.Errorf("what is the daemon's alone is not shown: %q, %v", got, err)
	}
	if _, _, err := s.Collect(t.Context(), j); err == nil || !strings.Contains(err.Error(), "is not handed out") {
		t.Errorf("collected: %v", err)
	}
	if _, err := os.Stat(s.path("out", "linked")); err == nil {
		t.Error("it is among the outputs")
	}
	write(t, s.path("work", "more"), []byte("more"), 0o600)
	by := grid.Job{ID: job, Bring: []grid.Bring{grid.Everything}}
	if os.Geteuid() == 0 {
		write(t, s.path("work", "own"), []byte("own"), 0o200)
		if err := os.Chown(s.path("work", "own"), uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	m, _, err := s.Collect(t.Context(), by)
	if err != nil || len(m) == 0 {
		t.Fatal(m, err)
	}
	for _, f := range m {
		if f.Path == "linked" {
			t.Error("it is found by a pattern")
		}
		if got := ownerOf(t, s.path("out", f.Path)); got != os.Geteuid() {
			t.Errorf("%s belongs to %d", f.Path, got)
		}
		if f.Path == "own" && f.Mode != 0o600 {
			t.Errorf("own has the mode %o", f.Mode)
		}
		r, _, _, err := s.Open(job, Outputs, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r); string(text) != f.Path || err != nil {
			t.Errorf("%s is %q, %v", f.Path, text, err)
		}
		r.Close()
	}
	if text, err := os.ReadFile(secret); string(text) != "secret" || err != nil || ownerOf(t, secret) != os.Geteuid() {
		t.Errorf("what was linked is now %q, %v", text, err)
	}
}
