package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"gbroker/grid"
)

// Bounds where none are given.
const (
	defaultLimit  = 30 * time.Second
	defaultOutput = 64 << 20
	maxComplaint  = 1 << 20
	// lingering is how long the pipes of a command are read that has ended or was killed:
	// children of it may keep them open for ever.
	lingering = 2 * time.Second
)

// Runner runs commands. It holds no state: one may be used by many at a time.
type Runner struct {
	// Environment of all commands, NAME=VALUE, and nothing else; nil is Environment().
	Environment []string
	// Folders are searched for commands before those of the environment's PATH.
	Folders []string
	// Limit is how long a call may take that names no limit of its own; 0 is defaultLimit.
	Limit time.Duration
	// Output is how many bytes of standard output are read at most; 0 is defaultOutput.
	Output int
}

// Call is one command to be run.
type Call struct {
	Name  string // looked for in the runner's folders; one with a slash is taken as it is
	Args  []string
	Stdin []byte
	From  io.Reader // standard input as it comes, in place of Stdin
	// To gets standard output as it comes, all of it, in place of Result.Stdout. It is not
	// written to any more when Run has returned.
	To    io.Writer
	As    string        // the account; "" is the daemon's own
	Limit time.Duration // 0 is the runner's
	// Folder is the working directory; "" is "/".
	Folder string
}

// String is the begin of the call as it would be typed, for errors and logs: short, so that
// what it has said is not cut off behind it.
func (c Call) String() string {
	s := strings.Join(append([]string{c.Name}, c.Args...), " ")
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

// Result is what a command that ended by itself left.
type Result struct {
	Stdout, Stderr []byte
	Exit           int
}

// Said is what the command told people, on one line and short: its standard error, or,
// where that is empty, its standard output.
func (r Result) Said() string {
	text := bytes.TrimSpace(r.Stderr)
	if len(text) == 0 {
		text = bytes.TrimSpace(r.Stdout)
	}
	text = text[:min(len(text), 400)]
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "?")), " ")
}

// Run runs a command to its end. What it left is given beside an error too.
func (r Runner) Run(ctx context.Context, c Call) (Result, error) {
	limit := c.Limit
	if limit <= 0 {
		limit = r.Limit
	}
	if limit <= 0 {
		limit = defaultLimit
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd, err := r.prepare(timed, c)
	if err != nil {
		return Result{}, fmt.Errorf("%w: running %s: %w", grid.ErrUnavailable, c, err)
	}
	stdout := &bounded{most: r.Output, stop: cancel}
	if stdout.most <= 0 {
		stdout.most = defaultOutput
	}
	stderr := &bounded{most: maxComplaint, stop: func() {}}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ended, err := runTo(timed, cmd, c.To)
	left := Result{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	if ended && cmd.ProcessState != nil {
		left.Exit = cmd.ProcessState.ExitCode()
	}
	if err := r.judge(ctx, timed, err, limit); err != nil {
		return left, fmt.Errorf("%w: running %s: %w", grid.ErrUnavailable, c, err)
	}
	if stdout.full() {
		return left, fmt.Errorf("%w: running %s: it prints more than %d bytes", grid.ErrUnavailable, c, stdout.most)
	}
	return left, nil
}

// errGone tells that a command whose time is over cannot be killed by us: nothing of cmd may be
// touched any more.
var errGone = errors.New("it cannot be killed")

// run runs a command, until its end or until it does not end when it should. The process of
// one that cannot be killed, as under sudo, is waited for elsewhere as long as it lives.
func run(timed context.Context, cmd *exec.Cmd) (ended bool, err error) {
	if err := cmd.Start(); err != nil {
		return true, err
	}
	group := cmd.Process.Pid
	end := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		syscall.Kill(-group, syscall.SIGKILL) // whatever it left behind in its group
		end <- err
	}()
	select {
	case err := <-end:
		return true, err
	case <-timed.Done():
	}
	late := time.NewTimer(2 * lingering)
	defer late.Stop()
	select {
	case err := <-end:
		return true, err
	case <-late.C:
		return false, errGone
	}
}

// judge tells why a command that was run has no exit code of its own, if so.
func (r Runner) judge(ctx, timed context.Context, err error, limit time.Duration) error {
	var ended *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // it has ended, a child of it has not; what it printed itself is here
		return nil
	case err == nil || errors.As(err, &ended) && ended.Exited():
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errGone):
		return fmt.Errorf("no end after %v, and it cannot be killed from this account, so it was left alone; it may have taken effect", limit)
	case errors.Is(timed.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no end after %v, so it was killed; it may have taken effect", limit)
	case errors.Is(timed.Err(), context.Canceled): // it was full
		return nil
	case errors.As(err, &ended):
		return fmt.Errorf("it was ended by a signal: %w", err)
	}
	return err
}

// prepare makes the command of a call.
func (r Runner) prepare(ctx context.Context, c Call) (*exec.Cmd, error) {
	env := r.Environment
	if env == nil {
		env = Environment()
	}
	name, err := find(c.Name, r.Folders, env)
	if err != nil {
		return nil, err
	}
	argv := append([]string{name}, c.Args...)
	who, err := account(c.As)
	if err != nil {
		return nil, err
	}
	env = who.environment(env)
	if argv, err = who.command(argv, r.Folders, env); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = env, "/"
	if c.Folder != "" {
		cmd.Dir = c.Folder
	}
	cmd.Stdin = bytes.NewReader(c.Stdin)
	if c.From != nil {
		cmd.Stdin = c.From
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: who.credential}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = lingering
	return cmd, nil
}

// bounded keeps the first bytes of what is written to it, and calls stop once there is more.
type bounded struct {
	most int
	stop func()

	mu   sync.Mutex // a command that cannot be killed goes on to write
	kept bytes.Buffer
	over bool
}

var _ io.Writer = (*bounded)(nil)

func (b *bounded) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.Bytes()[:b.kept.Len():b.kept.Len()]
}

func (b *bounded) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	room := min(len(p), b.most-b.kept.Len())
	b.kept.Write(p[:room])
	if room < len(p) && !b.over {
		b.over = true
		b.stop()
	}
	return len(p), nil
}
