package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"gbroker/grid"
	"gbroker/pbs/command"
)

// sandboxLimit is when the program below is given up at the latest: the stager ends it much sooner.
const sandboxLimit = 24 * time.Hour

// sandboxCommand is this very program with the words by which it acts as an account in the
// folders of its job: see gbroker/internal/handover.
func sandboxCommand(words ...string) (command.Call, error) {
	self, err := os.Executable()
	if err != nil {
		return command.Call{}, fmt.Errorf("finding this program: %w", err)
	}
	return command.Call{Name: self, Args: append([]string{"sandbox"}, words...)}, nil
}

// mayBecome says why this process could never take on another account.
func (c Config) mayBecome() error {
	if !c.Batch.External.Users.Mapped || os.Geteuid() == 0 {
		return nil
	}
	if on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err == nil && on == 1 {
		return fmt.Errorf("%w: batch.users needs sudo, and this process may gain no privileges: write NoNewPrivileges=no into its unit", grid.ErrInvalid)
	}
	return nil
}

// as runs that program in the name of accounts; nil where there are none.
func (c Config) as() func(ctx context.Context, account string, stdin io.Reader, stdout io.Writer, words ...string) error {
	if !c.Batch.External.Users.Mapped {
		return nil
	}
	runner := c.runner()
	return func(ctx context.Context, account string, stdin io.Reader, stdout io.Writer, words ...string) error {
		call, err := sandboxCommand(words...)
		if err != nil {
			return err
		}
		call.As, call.From, call.To, call.Limit = account, stdin, stdout, sandboxLimit
		r, err := runner.Run(ctx, call)
		if err == nil && r.Exit != 0 {
			err = fmt.Errorf("%s ends with %d and says %s: `gbroker doctor` tells what sudoers must allow", call, r.Exit, r.Said())
		}
		return err
	}
}
