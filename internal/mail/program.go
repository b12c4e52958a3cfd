package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Program sends by a program with the arguments of sendmail, which reads the message.
type Program struct {
	From, Name string
	Path       string
}

// maxWords is how many bytes are kept of what a program says.
const maxWords = 1 << 10

// badly are statuses (sysexits.h) of a program that refuses for good: the data, the user, the host.
var badly = map[int]bool{65: true, 67: true, 68: true}

// Send ends with an error that wraps [ErrRefused] if the program says that the recipient or the message is bad.
func (p Program) Send(ctx context.Context, m Message) error {
	message, err := compose(p.From, p.Name, m)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if _, err := message.WriteTo(&text); err != nil {
		return fmt.Errorf("composing a mail: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	said := &first{}
	cmd := exec.CommandContext(ctx, p.Path, "-i", "-f", p.From, "--", m.To)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &text, io.Discard, said
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("sending by %s: %w", p.Path, context.Cause(ctx))
	case errors.As(err, &exit) && badly[exit.ExitCode()]:
		return fmt.Errorf("%w by %s: %w: %s", ErrRefused, p.Path, err, said)
	}
	return fmt.Errorf("sending by %s: %w: %s", p.Path, err, said)
}

// Try looks whether the program is there.
func (p Program) Try(context.Context) error {
	if _, err := exec.LookPath(p.Path); err != nil {
		return fmt.Errorf("the mail program: %w", err)
	}
	return nil
}

// first keeps the first of what is written.
type first struct{ text []byte }

func (f *first) Write(b []byte) (int, error) {
	f.text = append(f.text, b[:min(len(b), maxWords-len(f.text))]...)
	return len(b), nil
}

func (f *first) String() string { return line(strings.TrimSpace(string(f.text))) }
