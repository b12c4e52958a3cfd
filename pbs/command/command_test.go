package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
)

func shell(script string) Call { return Call{Name: "sh", Args: []string{"-c", script}} }

func TestExitCodesAreValues(t *testing.T) {
	t.Parallel()
	for _, exit := range []int{0, 1, 153, 255} {
		c := shell(`cat; echo oops >&2; exit "$0"`)
		c.Args = append(c.Args, strconv.Itoa(exit))
		c.Stdin = []byte("in\x00\xff")
		got, err := Runner{}.Run(t.Context(), c)
		if err != nil || got.Exit != exit || string(got.Stdout) != "in\x00\xff" || got.Said() != "oops" {
			t.Errorf("%d: %+v, %v", exit, got, err)
		}
	}
}

func TestEnvironmentIsExact(t *testing.T) {
	t.Parallel()
	got, err := Runner{Environment: []string{"PATH=/usr/bin:/bin", "A=b c"}}.Run(t.Context(), Call{Name: "env"})
	if err != nil || string(got.Stdout) != "PATH=/usr/bin:/bin\nA=b c\n" {
		t.Errorf("%q, %v", got.Stdout, err)
	}
	if all := strings.Join(Environment(), " "); !strings.HasPrefix(all, "LC_ALL=C TZ=UTC PATH=/") {
		t.Errorf("the usual environment is %q", all)
	}
}

func TestWhatHasNoExitCode(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		r    Runner
		call Call
		says string
	}{
		"not there":    {call: Call{Name: "nosuchcommand"}, says: "nosuchcommand is in none of the folders"},
		"path":         {call: Call{Name: "/no/such"}, says: "no such file"},
		"no program":   {call: Call{Name: "/etc/passwd"}, says: "permission denied"},
		"signal":       {call: shell("kill -9 $$"), says: "ended by a signal"},
		"time":         {call: Call{Name: "sleep", Args: []string{"1000"}, Limit: time.Millisecond}, says: "no end after 1ms"},
		"called off":   {ctx: ended, call: shell("sleep 1000"), says: "canceled"},
		"too much":     {r: Runner{Output: 1000}, call: shell("while :; do echo xxxxxxxxxxxxxxxxxxx; done"), says: "more than 1000 bytes"},
		"no account":   {call: Call{Name: "true", As: "nosuchaccount"}, says: "nosuchaccount"},
		"no folder":    {call: Call{Name: "true", Folder: "/no/such"}, says: "no such file"},
		"zero byte":    {call: shell("a\x00b"), says: "invalid argument"},
		"its runner's": {r: Runner{Limit: time.Millisecond}, call: shell("sleep 1000"), says: "no end after 1ms"},
	} {
		if c.ctx == nil {
			c.ctx = t.Context()
		}
		_, err := c.r.Run(c.ctx, c.call)
		if !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; it should say %q", name, err, c.says)
		}
	}
}

// All of the group dies with the command, and one that has left it does not hold us up.
func TestTheGroupIsKilled(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	c := shell(`sleep 1000 & echo $! > "$0"; wait`)
	c.Args = append(c.Args, pids)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := Runner{}.Run(ctx, c)
		done <- err
	}()
	pid := await(t, pids)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	awaitEnd(t, pid)
}

func TestAChildThatKeepsThePipe(t *testing.T) {
	t.Parallel()
	for _, exit := range []int{0, 3} {
		got, err := Runner{}.Run(t.Context(), shell("sleep 1000 & echo $!; exit "+strconv.Itoa(exit)))
		if err != nil || len(got.Stdout) == 0 || got.Exit != exit {
			t.Errorf("%+v, %v", got, err)
		}
		awaitEnd(t, strings.TrimSpace(string(got.Stdout)))
	}
}

// What TestMain does in place of tests: unkillable sheds its user, as sudo does, and waits until
// somebody opens the named pipe; unprivileged runs that, as an account that may not kill it.
const unkillable, unprivileged = "COMMAND_TEST_UNKILLABLE", "COMMAND_TEST_UNPRIVILEGED"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(unkillable) != "":
		if err := syscall.Setreuid(0, 0); err != nil {
			os.Exit(1)
		}
		os.ReadFile(os.Getenv(unkillable))
	case os.Getenv(unprivileged) != "":
		if err := syscall.Setresuid(nobody, nobody, nobody); err != nil {
			os.Exit(1)
		}
		call := Call{Name: os.Args[0], Limit: 1000 * time.Millisecond}
		_, err := Runner{Environment: []string{unkillable + "=" + os.Getenv(unprivileged)}}.Run(context.Background(), call)
		fmt.Print(err)
	default:
		os.Exit(m.Run())
	}
}

const nobody = 65534

// A command that we may not kill is left alone when its time is over.
func TestWhatCannotBeKilled(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root makes a command that others cannot kill")
	}
	dir := t.TempDir()
	pipe, self := filepath.Join(dir, "pipe"), filepath.Join(dir, "self")
	// By cp: a process that another test starts meanwhile would inherit a file that is open for writing here.
	err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), exec.Command("cp", os.Args[0], self).Run(),
		os.Chmod(self, 0o755|os.ModeSetuid), syscall.Mkfifo(pipe, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close()
		} else {
			t.Errorf("it has ended, so it could be killed: %v", err)
		}
	}()
	got, err := Runner{Environment: []string{unprivileged + "=" + pipe}}.Run(t.Context(), Call{Name: self, As: "nobody"})
	if err != nil || !strings.Contains(string(got.Stdout), "it cannot be killed from this account") {
		t.Errorf("%q, %v", got.Stdout, err)
	}
}

func await(t *testing.T, name string) string {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if data, err := os.ReadFile(name); err == nil && strings.HasSuffix(string(data), "\n") {
			return strings.TrimSpace(string(data))
		}
	}
	t.Fatalf("%s is not written", name)
	return ""
}

func awaitEnd(t *testing.T, pid string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); alive(pid); {
		if time.Now().After(deadline) {
			t.Fatal("a child of the command still lives")
		}
	}
}

// alive tells whether a process runs; one that only waits to be reaped does not.
func alive(pid string) bool {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(data), ") Z ")
}

func TestAsAnotherAccount(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root becomes another account without sudo")
	}
	got, err := Runner{}.Run(t.Context(), Call{Name: "sh", Args: []string{"-c", "id -un; id -G; echo $USER"}, As: "nobody"})
	want := "nobody\n65534\nnobody\n"
	if err != nil || string(got.Stdout) != want {
		t.Errorf("%q, %v", got.Stdout, err)
	}
}

func TestBySudo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	sudo := filepath.Join(folder, "sudo")
	if err := os.WriteFile(sudo, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := identity{name: "alice"}.command([]string{"/usr/bin/qsub", "-x"}, nil, []string{"PATH=" + folder, "TZ=UTC"})
	if want := sudo + " -n -u alice TZ=UTC -- /usr/bin/qsub -x"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if _, err := (identity{name: "alice"}).command([]string{"/usr/bin/qsub"}, nil, nil); err == nil || !strings.Contains(err.Error(), "not root") {
		t.Errorf("without sudo: %v", err)
	}
}

func TestOutputError(t *testing.T) {
	t.Parallel()
	why := errors.New("is no number")
	err := error(Unreadable("squeue --json", "jobs[3].id", []byte(strings.Repeat("x", keptText+9)), why))
	var kept *OutputError
	if !errors.As(err, &kept) || len(kept.Text) != keptText || !errors.Is(err, grid.ErrUnavailable) || !errors.Is(err, why) {
		t.Errorf("%T of %d bytes", err, len(kept.Text))
	}
	for _, want := range []string{"squeue --json", "jobs[3].id", "is no number"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// slow takes a first piece only when the command has been over for long.
type slow struct {
	got  strings.Builder
	over func()
}

func (s *slow) Write(b []byte) (int, error) {
	if s.got.Len() == 0 {
		s.over()
	}
	return s.got.Write(b)
}

// Who is slow to take what a command prints gets all of it, also when the command has long ended.
func TestTheSlowGetAll(t *testing.T) {
	t.Parallel()
	const size = 60_000 // which a pipe holds
	over := filepath.Join(t.TempDir(), "over")
	to := &slow{over: func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			if info, err := os.Stat(over); err == nil && time.Since(info.ModTime()) > lingering+time.Second {
				return
			}
			<-tick.C
		}
	}}
	c := shell(fmt.Sprintf("head -c %d /dev/zero; : > %s", size, over))
	c.To = to
	if _, err := (Runner{}).Run(t.Context(), c); err != nil || to.got.Len() != size {
		t.Errorf("%d of %d bytes came, %v", to.got.Len(), size, err)
	}
}

// What is printed by a child that goes on is not waited for, and why nothing more is taken is told.
func TestWhoTakesNoMore(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	c := shell("echo mine; setsid sleep 1000 & echo $!")
	c.To = &got
	if _, err := (Runner{}).Run(t.Context(), c); err != nil || !strings.HasPrefix(got.String(), "mine\n") {
		t.Errorf("%q, %v", got.String(), err)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(got.String(), "mine\n"))); err == nil {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	r, w := io.Pipe()
	r.CloseWithError(errors.New("the disk is full"))
	c = shell("echo mine")
	c.To = w
	if _, err := (Runner{}).Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("where nobody takes it: %v", err)
	}
}
