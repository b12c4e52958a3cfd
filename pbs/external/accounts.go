package external

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"

	"gbroker/grid"
	"gbroker/pbs/command"
)

// admit makes the folders of a job usable by the account it runs as: the sandbox wholly,
// the control directory so that files can be made in it and those of others not removed.
//
//	daemon is root    the sandbox is given to the account; the control directory gets its
//	                  group and the mode 1770
//	otherwise         access control lists by setfacl, for the account and, as a default for
//	                  what it will make, for the daemon's own
//
// What the account then finds is tried in its name: folders above that it may not enter
// are not changed.
func (s *System) admit(ctx context.Context, sub grid.Submission, as string) error {
	if as == "" {
		return nil
	}
	var err error
	if os.Geteuid() == 0 {
		err = give(sub, as)
	} else {
		err = s.share(ctx, sub, as)
	}
	if err == nil {
		err = s.tryFolders(ctx, sub, as)
	}
	if err != nil {
		return fmt.Errorf("making the job's folders usable by account %s: %w", as, err)
	}
	return nil
}

// give makes the account the owner of the sandbox, and lets its group into the control directory.
func give(sub grid.Submission, as string) error {
	u, err := user.Lookup(as)
	if err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	err = giveTree(sub.Work, uid, gid)
	err = errors.Join(err, os.Chown(sub.Control, -1, gid), os.Chmod(sub.Control, 0o770|os.ModeSticky))
	if err != nil {
		return fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
	}
	return nil
}

// giveTree gives a folder and all in it away. The account may change it meanwhile, as it had it
// for an earlier attempt: whatever leads out of it is not followed.
func giveTree(top string, uid, gid int) error {
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(name, uid, gid)
	})
}

// share lets the account in by access control lists.
func (s *System) share(ctx context.Context, sub grid.Submission, as string) error {
	list := "u:" + as + ":rwX,d:u:" + as + ":rwX,d:u:" + s.config.Own + ":rwX"
	got, err := s.config.Runner.Run(ctx, command.Call{Name: "setfacl", Args: []string{"-R", "-m", list, "--", sub.Work, sub.Control}})
	if err != nil {
		return fmt.Errorf("%w (the daemon is not root: install the package acl, on a file system that has access control lists, or run the daemon as root)", err)
	}
	if got.Exit != 0 {
		return fmt.Errorf("%w: setfacl says: %s", grid.ErrUnavailable, got.Said())
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
			return fmt.Errorf("%w: it cannot write %s: a folder above must let it pass (chmod o+x, or setfacl -m u:%s:x)", grid.ErrUnavailable, dir, as)
		}
	}
	return nil
}
