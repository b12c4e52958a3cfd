package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func (p *program) output() *cobra.Command {
	var force, require bool
	cmd := &cobra.Command{
		Use:   "output ID DIR",
		Short: "Fetch what a job left",
		Long: `Fetch the output of a job into DIR, which is made if needed: its standard output and
error and the files that its document brings back. Files that are there already are
not overwritten, and then nothing is fetched, unless --force is given.

Of a group, and of jobs of one as GROUP[3-10,12], it makes a folder for each job in DIR.

Of a job over several sites it makes a folder for each part, called as the site where it ran.

Of a job that has not ended yet it fetches what there is and ends with exit code 3.`,
		Example:           "  gclient output xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF results",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: p.completeJobs,
		RunE: p.onSome(p.onEither(func(cmd *cobra.Command, c *api.Client, id grid.JobID, args []string) error {
			s, err := c.Job(cmd.Context(), id)
			if err != nil {
				return err
			}
			if err := fetchJob(cmd, c, &s, args[0], force); err != nil {
				return err
			}
			if s.Terminal() && s.Reason != "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "job %s: %s\n", id, printable(s.Reason))
			}
			return required(&s, require, nil)
		}, func(cmd *cobra.Command, c *api.Client, id grid.GroupID, args []string) error {
			s, err := c.Group(cmd.Context(), id)
			if err != nil {
				return err
			}
			if err := fetchGroup(cmd, c, &s, args[0], force); err != nil || !require {
				return err
			}
			return eachMember(cmd.Context(), c, id, func(m *api.Status) error { return required(m, require, nil) })
		}), func(cmd *cobra.Command, c *api.Client, ids []grid.JobID, args []string) error {
			return fetchSome(cmd, c, ids, args[0], force)
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite files")
	requireFlag(cmd, &require)
	return cmd
}

// fetchAll brings the outputs of a job into dir. Paths come from outside: nothing
// is written but below dir.
func fetchAll(cmd *cobra.Command, c *api.Client, id grid.JobID, dir string, force bool) error {
	list, err := c.Outputs(cmd.Context(), id)
	if err != nil {
		return err
	}
	root, err := openFolder(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := checkFree(root, list.Files, force); err != nil {
		return err
	}
	var total int64
	for _, f := range list.Files {
		total += f.Size
	}
	bar := newProgress(cmd.ErrOrStderr(), "fetching", total)
	defer bar.end()
	in := &fetch{cmd: cmd, client: c, id: id, root: root, complete: list.Complete, force: force, bar: bar}
	for _, f := range list.Files {
		if err := in.file(f); err != nil {
			return fmt.Errorf("fetching %q into %s: %w", f.Path, dir, err)
		}
	}
	switch n := len(list.Files); {
	case list.Complete && n == 0:
		cmd.PrintErrf("gclient: job %s has left nothing to fetch\n", id)
	case n == 1:
		cmd.PrintErrf("gclient: 1 file of job %s, %s, is in %s\n", id, cli.Size(total), dir)
	case n > 1:
		cmd.PrintErrf("gclient: %d files of job %s, %s, are in %s\n", n, id, cli.Size(total), dir)
	}
	if !list.Complete {
		return cli.Exit(cli.Failed, fmt.Errorf("job %s has not ended: what there is so far was fetched; fetch again with --force when it has ended", id))
	}
	return nil
}

// checkFolder refuses, before a job is submitted, a folder that its output could not be
// put into at the end. The folder is made.
func checkFolder(dir string, outputs []grid.Output, force bool) error {
	if dir == "" {
		return nil
	}
	root, err := openFolder(dir)
	if err != nil {
		return fmt.Errorf("nothing was submitted: %w", err)
	}
	defer root.Close()
	part := ".gclient-" + rand.Text()
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return cli.Exit(cli.No, fmt.Errorf("nothing was submitted: the output cannot be written to %s: %w", dir, cause(err)))
	}
	_, _ = f.Close(), root.Remove(part)
	files := make([]api.File, len(outputs))
	for i, o := range outputs {
		files[i].Path = o.Target
	}
	if err := checkFree(root, files, force); err != nil {
		return cli.Exit(cli.Code(err), fmt.Errorf("nothing was submitted: %w", err))
	}
	return nil
}

func openFolder(dir string) (*os.Root, error) {
	if dir == "" { // a variable of a script that is not set
		return nil, cli.BadUsage("the folder for the output has no name: give one")
	}
	var wrong *fs.PathError
	err := os.MkdirAll(dir, 0o777)
	switch {
	case err == nil:
	case errors.Is(err, syscall.ENOTDIR) && errors.As(err, &wrong):
		return nil, cli.Exit(cli.No, fmt.Errorf("%s is a file, and the output needs a folder: give another", wrong.Path))
	default:
		return nil, cli.Exit(cli.No, fmt.Errorf("making the folder for the output: %w", err))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, cli.Exit(cli.No, fmt.Errorf("opening the folder for the output: %w", err))
	}
	return root, nil
}

// checkFree refuses, before anything is fetched, names that are taken or that no
// honest broker sends.
func checkFree(root *os.Root, files []api.File, force bool) error {
	for _, f := range files {
		if !fs.ValidPath(f.Path) || f.Path == "." {
			return fmt.Errorf("the broker names an output %q, which is no path below a folder: nothing was fetched", f.Path)
		}
		info, err := root.Lstat(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("looking for %s: %w", path.Join(root.Name(), f.Path), err)
		case info.IsDir():
			return cli.Exit(cli.No, fmt.Errorf("%s is a folder where a file is to be put: nothing was fetched", path.Join(root.Name(), f.Path)))
		case !force:
			return cli.Exit(cli.No, taken(root, f.Path))
		}
	}
	return nil
}

func taken(root *os.Root, name string) error {
	return fmt.Errorf("%s is there already: give another folder, or --force to overwrite", path.Join(root.Name(), name))
}

// fetch is one run of fetchAll.
type fetch struct {
	cmd      *cobra.Command
	client   *api.Client
	id       grid.JobID
	root     *os.Root
	complete bool
	force    bool
	bar      *progress
}

// file brings one file: under another name first, so that its own name never shows
// a part of it.
func (in *fetch) file(f api.File) (err error) {
	folder := path.Dir(f.Path)
	if err := in.root.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("making its folder: %w", err)
	}
	part := path.Join(folder, ".gclient-"+rand.Text())
	out, err := in.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	defer func() { _ = in.root.Remove(part) }() // gone already if it was renamed
	n, err := in.client.Output(in.cmd.Context(), in.id, f.Path, io.MultiWriter(out, in.bar))
	if err == nil && in.complete && n != f.Size {
		err = fmt.Errorf("%d bytes came of %d: fetch it again", n, f.Size)
	}
	if err == nil {
		err = out.Chmod(fs.FileMode(f.Mode & 0o777))
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if in.force {
		return in.root.Rename(part, f.Path)
	}
	return in.place(part, f.Path)
}

// place gives part its name, unless somebody took it meanwhile.
func (in *fetch) place(part, name string) error {
	err := in.root.Link(part, name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return cli.Exit(cli.No, taken(in.root, name))
	}
	// A file system without links: the check before was all that is possible.
	return in.root.Rename(part, name)
}
