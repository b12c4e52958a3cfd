package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"gbroker/grid"
	"gbroker/stage/transfer"
)

// The credentials of a job are a file of mode 0600 in ctl/, from its submission to its end, at the
// sites that have to do with it and nowhere else: no record, no digest and no log has them. A
// candidate reads them from the owner, as set 4, by the same right as the inputs.
const secretsFile = ctlDir + "/credentials"

// KeepSecrets keeps the credentials of a job's user for the job, durably. Errors wrap ErrInvalid
// (what they say) or ErrUnavailable.
func (s *Stager) KeepSecrets(job grid.JobID, text []byte) error {
	if _, err := transfer.ParseSecrets(text); err != nil {
		return err
	}
	root, err := s.makeFolder(job)
	if err != nil {
		return err
	}
	defer root.Close()
	return keepSecrets(root, text)
}

func keepSecrets(root *os.Root, text []byte) error {
	if err := writeAs(root, "credentials", secretsFile, text); err != nil {
		return diskError(fmt.Errorf("keep credentials: %w", err))
	}
	return nil
}

// End drops what only a job that has not ended needs: its credentials, and what was fetched by URI.
func (s *Stager) End(job grid.JobID) error {
	root, err := s.folder(job)
	if errors.Is(err, grid.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return errors.Join(dropSecrets(root), kindOf(root.RemoveAll(srcDir)))
}

func dropSecrets(root *os.Root) error {
	if err := root.Remove(secretsFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diskError(err)
	}
	return nil
}

// readSecrets is the text of a job's credentials, nil if there are none. In ctl/ an account is let in:
// what it puts there is not ours.
func readSecrets(root *os.Root) ([]byte, error) {
	info, err := root.Lstat(secretsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diskError(err)
	}
	if !info.Mode().IsRegular() || owner(info) != uint32(os.Geteuid()) || links(info) != 1 {
		return nil, fmt.Errorf("%w: the file %s of the job is not this broker's", grid.ErrForbidden, secretsFile)
	}
	f, _, err := openRegular(root, secretsFile)
	if err != nil {
		return nil, diskError(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, transfer.MaxSecrets+1))
	if err != nil {
		return nil, diskError(err)
	}
	return text, nil
}

func (s *Stager) secretsOf(job grid.JobID) (transfer.Secrets, error) {
	text, err := s.secretsText(job)
	if err != nil || text == nil {
		return nil, err
	}
	return transfer.ParseSecrets(text)
}

// pullSecrets brings the credentials of a job from the peer that offers it.
func (s *Stager) pullSecrets(ctx context.Context, root *os.Root, from grid.PeerID, job grid.JobID) error {
	if from == "" {
		return nil
	}
	c, done, err := s.dial(ctx, from)
	if err != nil {
		return err
	}
	defer done()
	if err := c.ask(request{kind: kindRead, set: credentials, job: job, path: path.Base(secretsFile), length: transfer.MaxSecrets}); err != nil {
		return err
	}
	n, err := readAnswer(c, transfer.MaxSecrets)
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	text := make([]byte, n)
	if _, err := readFull(c, text); err != nil && n > 0 {
		return err
	}
	if n == 0 {
		return dropSecrets(root)
	}
	return keepSecrets(root, text)
}

// answerSecrets gives them to a peer that may have them; none are no bytes.
func (v *server) answerSecrets(q request, pace *pacer) error {
	text, err := v.s.secretsText(q.job)
	if err == nil && int64(len(text)) > q.length {
		err = fmt.Errorf("%w: they have more than %d bytes", grid.ErrInvalid, q.length)
	}
	if err != nil {
		return pace.write(refusal(err))
	}
	head := make([]byte, answerHead)
	putAnswer(head, statusDone, len(text))
	return pace.write(append(head, text...))
}

// secretsText is what a job has of them, or, at its home, the template that it was made from.
func (s *Stager) secretsText(job grid.JobID) ([]byte, error) {
	text, err := s.ownSecrets(job)
	if group, n := job.Group(); err == nil && text == nil && n > 0 {
		return s.ownSecrets(group.Template())
	}
	return text, err
}

func (s *Stager) ownSecrets(job grid.JobID) ([]byte, error) {
	root, err := s.folder(job)
	if errors.Is(err, grid.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readSecrets(root)
}
