// Package accounts tests what needs several accounts, and sudo: jobs that run under another
// account than the daemon's. A test runs in a mount namespace with users, groups and rules of
// sudo of its own; nothing of the machine is touched.
//
//	gbroker       the daemon's, group gbroker
//	alice, bob    of jobs, both of the group grid
package accounts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gbroker/internal/handover"
)

// Top is a file system of the namespace's own.
const Top = "/mnt"

// Program is this test binary, where every account may run it: it is also gbroker sandbox.
const Program = Top + "/bin/gbroker"

// Secret is a file that only root can read, and that alice can move away.
const Secret = Top + "/alice/secret"

const (
	uidDaemon = 70001
	uidAlice  = 70002
	uidBob    = 70003
	gidDaemon = 70001
	gidGrid   = 70010
)

var uids = map[string][2]uint32{"root": {0, 0}, "gbroker": {uidDaemon, gidDaemon}, "alice": {uidAlice, gidGrid}, "bob": {uidBob, gidGrid}}

var files = map[string]string{
	"passwd": fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\ngbroker:x:%d:%d::/mnt/gbroker:/bin/sh\nalice:x:%d:%d::/mnt/alice:/bin/sh\nbob:x:%d:%d::/mnt/bob:/bin/sh\n",
		uidDaemon, gidDaemon, uidAlice, gidGrid, uidBob, gidGrid),
	"group":  fmt.Sprintf("root:x:0:\nnogroup:x:65534:\ngbroker:x:%d:\ngrid:x:%d:\n", gidDaemon, gidGrid),
	"shadow": "root:*:19000:0:99999:7:::\nnobody:*:19000:0:99999:7:::\ngbroker:*:19000:0:99999:7:::\nalice:*:19000:0:99999:7:::\nbob:*:19000:0:99999:7:::\n",
	// As docs/batch.md has it, but for /bin/sh, by which tests play the job.
	"sudoers": `Defaults env_reset
Defaults use_pty
Defaults secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
Runas_Alias GRID = alice, bob
gbroker ALL=(GRID) NOPASSWD:SETENV: /mnt/batch/*/*/qsub, /mnt/batch/*/*/qdel, /mnt/batch/*/*/qhold, /mnt/batch/*/*/qrls, /usr/bin/test, /mnt/bin/gbroker sandbox *
gbroker ALL=(GRID) NOPASSWD:SETENV: /bin/sh
`,
}

const inside = "GBROKER_TEST_ACCOUNTS"

// Main is for TestMain.
func Main(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "sandbox" {
		if err := handover.Serve(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// built are the programs, made once outside of all namespaces.
var built struct {
	once sync.Once
	dir  string
	err  error
}

const programs = "GBROKER_TEST_PROGRAMS"

// build makes the programs for what runs inside.
func build(t *testing.T) {
	t.Helper()
	if os.Getenv(programs) != "" {
		return
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "accounts"); built.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-o", built.dir+"/", "gbroker/cmd/gbroker", "gbroker/cmd/gclient").CombinedOutput()
		if built.err = err; err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
		os.Setenv(programs, built.dir)
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
}

// Inside tells whether this is the test in its namespace and as the account; if not, it is run there,
// and this one ends with it.
func Inside(t *testing.T, as string) bool {
	t.Helper()
	switch os.Getenv(inside) {
	case "":
		t.Parallel()
		need(t)
		again(t, "root", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS})
		return false
	case "root":
		prepare(t)
		if as == "root" {
			return true
		}
		again(t, as, &syscall.SysProcAttr{Credential: Credential(as)})
		return false
	}
	return true
}

// Credential is what a process of an account has.
func Credential(name string) *syscall.Credential {
	id := uids[name]
	return &syscall.Credential{Uid: id[0], Gid: id[1]}
}

func need(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root makes namespaces in which accounts are its own: run the test as root")
	}
	if _, err := exec.LookPath("sudo"); err != nil {
		t.Skip("no sudo (Debian package sudo): jobs under other accounts are not tested")
	}
}

func again(t *testing.T, as string, attr *syscall.SysProcAttr) {
	t.Helper()
	self := Program
	if as == "root" {
		var err error
		if self, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", "5m")
	cmd.Env = append(os.Environ(), inside+"="+as)
	attr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("no namespace can be made here: %v", err)
	}
	switch text := string(out); {
	case err != nil:
		t.Fatalf("as %s: %v\n%s", as, err, text)
	case strings.Contains(text, "--- SKIP"):
		t.Skip(text)
	case !strings.Contains(text, "--- PASS"):
		t.Fatalf("as %s nothing was run:\n%s", as, text)
	}
}

// prepare makes the namespace's own file system and accounts.
func prepare(t *testing.T) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	must(syscall.Mount("gbroker", Top, "tmpfs", 0, "mode=755,size=512m"))
	for _, dir := range []string{"bin", "etc", "etc/sudoers.d", "ramfs", "batch", "root"} {
		must(os.MkdirAll(filepath.Join(Top, dir), 0o755))
	}
	must(syscall.Mount("gbroker", Top+"/ramfs", "ramfs", 0, "mode=755"))
	for name, id := range uids {
		if name != "root" {
			for _, dir := range []string{filepath.Join(Top, name), filepath.Join(Top, "ramfs", name)} {
				must(os.Mkdir(dir, 0o700))
				must(os.Chown(dir, int(id[0]), int(id[1])))
			}
		}
	}
	for name, text := range files {
		from := filepath.Join(Top, "etc", name)
		must(os.WriteFile(from, []byte(text), 0o644))
		must(os.Chmod(from, map[string]os.FileMode{"sudoers": 0o440, "shadow": 0o600}[name]|map[bool]os.FileMode{true: 0o644}[name == "passwd" || name == "group"]))
		must(syscall.Mount(from, filepath.Join("/etc", name), "", syscall.MS_BIND, ""))
	}
	must(syscall.Mount(Top+"/etc/sudoers.d", "/etc/sudoers.d", "", syscall.MS_BIND, ""))
	must(os.WriteFile(Secret, []byte("secret\n"), 0o600))
	self, err := os.Executable()
	must(err)
	must(copyProgram(self, Program))
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(0o755), out.Close())
}

// Run runs a script of the shell as an account, from the account that this is; it gives what it
// said and its exit code.
func Run(t *testing.T, as, script string) (said string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: Credential(as)}
	} else {
		cmd = exec.CommandContext(t.Context(), "sudo", "-n", "-u", as, "--", "/bin/sh", "-c", script)
	}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
}

// Do is Run of what must not fail.
func Do(t *testing.T, as, script string) string {
	t.Helper()
	said, code := Run(t, as, script)
	if code != 0 {
		t.Fatalf("as %s: %s: exit code %s: %s", as, script, strconv.Itoa(code), said)
	}
	return said
}
