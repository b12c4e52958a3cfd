package external

import (
	"context"
	"errors"
	"fmt"

	"gbroker/grid"
	"gbroker/pbs/command"
)

// admit opens the folders of a job to the account it runs as, and tries in its name what it
// finds then: folders above that it may not enter are not changed.
func (s *System) admit(ctx context.Context, sub grid.Submission, as string) error {
	if as == "" {
		return nil
	}
	if s.config.Lend == nil {
		return fmt.Errorf("%w: no job can run as account %s here: nobody opens its folders to it", grid.ErrInvalid, as)
	}
	if err := s.config.Lend(ctx, sub.ID.Job, as); err != nil {
		if !errors.Is(err, grid.ErrInvalid) && !errors.Is(err, grid.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
		}
		return err
	}
	if err := s.tryFolders(ctx, sub, as); err != nil {
		return fmt.Errorf("trying the job's folders as account %s: %w", as, err)
	}
	return nil
}

// tryFolders looks, as the account, whether the folders can be written.
func (s *System) tryFolders(ctx context.Context, sub grid.Submission, as string) error {
	for _, dir := range []string{sub.Work, sub.Control} {
		got, err := s.config.Runner.Run(ctx, command.Call{Name: "test", Args: []string{"-w", dir}, As: as})
		if err != nil {
			return err
		}
		if got.Exit != 0 {
			return fmt.Errorf("%w: it cannot write %s: a folder above must let it pass (chmod o+x, or setfacl -m u:%s:x) %s", grid.ErrUnavailable, dir, as, got.Said())
		}
	}
	return nil
}
