package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"strings"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"gbroker/grid"
	"gbroker/internal/handover"
)

// secure is sftp.
type secure struct{ cfg Config }

func newSFTP(cfg Config) secure { return secure{cfg} }

func (secure) check(t target) error {
	if t.Hostname() == "" || t.Path == "" || t.Path == "/" {
		return errors.New("write it as sftp://HOST/PATH; the path is absolute")
	}
	return nil
}

// session is a connection, closed as one.
type session struct {
	*sftp.Client
	stop func() bool
	ssh  *ssh.Client
}

func (s *session) Close() error {
	s.stop()
	err := s.ssh.Close() // first: to close what is above in good order means to wait for the server
	s.Client.Close()
	return err
}

func (s secure) dial(ctx context.Context, t target) (*session, error) {
	config, err := s.config(t)
	if err != nil {
		return nil, err
	}
	port := t.Port()
	if port == "" {
		port = "22"
	}
	address := net.JoinHostPort(t.Hostname(), port)
	conn, err := s.cfg.Policy.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	late := time.AfterFunc(s.cfg.Idle, func() { conn.Close() })
	defer late.Stop()
	c, chans, reqs, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		stop()
		conn.Close()
		return nil, sshKind(err)
	}
	client := ssh.NewClient(c, chans, reqs)
	files, err := sftp.NewClient(client, sftp.UseConcurrentReads(true), sftp.UseConcurrentWrites(true))
	if err != nil {
		stop()
		client.Close()
		return nil, err
	}
	return &session{files, stop, client}, nil
}

// sshKind tells a refusal, which stays one, from a broken connection.
func sshKind(err error) error {
	var key *knownhosts.KeyError
	if errors.As(err, &key) || errors.Is(err, errHostKey) || strings.Contains(err.Error(), "unable to authenticate") {
		return fmt.Errorf("%w: %w", grid.ErrForbidden, err)
	}
	return err
}

var errHostKey = errors.New("the server's key is not the one in the credentials")

// config says who we are to the server, and who it must be.
func (s secure) config(t target) (*ssh.ClientConfig, error) {
	c := &ssh.ClientConfig{User: t.User.Username(), ClientVersion: "SSH-2.0-gbroker", Timeout: s.cfg.Idle}
	if c.User == "" {
		c.User = t.secret.User
	}
	if c.User == "" {
		return nil, fmt.Errorf("%w: it names no user, and no credentials do", grid.ErrForbidden)
	}
	if t.secret.PrivateKey != "" {
		key, err := ssh.ParsePrivateKey([]byte(t.secret.PrivateKey))
		if err != nil {
			return nil, fmt.Errorf("%w: the private key of the credentials cannot be read (it must have no passphrase)", grid.ErrInvalid)
		}
		c.Auth = append(c.Auth, ssh.PublicKeys(key))
	}
	if t.secret.Password != "" {
		c.Auth = append(c.Auth, ssh.Password(t.secret.Password))
	}
	if t.secret.HostKey != "" {
		want, _, _, _, err := ssh.ParseAuthorizedKey([]byte(t.secret.HostKey))
		if err != nil {
			return nil, fmt.Errorf("%w: host_key of the credentials is no key, such as ssh-ed25519 AAAA…", grid.ErrInvalid)
		}
		c.HostKeyAlgorithms = algorithmsOf(want.Type())
		c.HostKeyCallback = func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if !bytes.Equal(key.Marshal(), want.Marshal()) {
				return errHostKey
			}
			return nil
		}
		return c, nil
	}
	if s.cfg.KnownHosts == "" {
		return nil, fmt.Errorf("%w: nobody knows the key of the server: give host_key in the credentials", grid.ErrForbidden)
	}
	known, err := knownhosts.New(s.cfg.KnownHosts)
	if err != nil {
		return nil, fmt.Errorf("the known hosts of this site: %w", err)
	}
	c.HostKeyCallback = known
	return c, nil
}

// algorithmsOf are those by which a server shows a key of a type.
func algorithmsOf(key string) []string {
	if key == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{key}
}

// fileKind is what a failed access means; a server's other words are of the time.
func fileKind(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: there is no such file", grid.ErrNotFound)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: the server lets us not do that", grid.ErrForbidden)
	}
	return err
}

func (s secure) lookAt(c *session, t target) (Facts, error) {
	info, err := c.Stat(t.Path)
	if err != nil {
		return Facts{}, fileKind(err)
	}
	if !info.Mode().IsRegular() {
		return Facts{}, fmt.Errorf("%w: it is no regular file", grid.ErrInvalid)
	}
	return Facts{Size: info.Size(), Version: fmt.Sprintf("%d %d", info.Size(), info.ModTime().Unix())}, nil
}

func (s secure) stat(ctx context.Context, t target) (Facts, error) {
	c, err := s.dial(ctx, t)
	if err != nil {
		return Facts{}, err
	}
	defer c.Close()
	return s.lookAt(c, t)
}

// remote is an open file with its connection.
type remote struct {
	io.Reader
	on *session
}

func (r *remote) Close() error {
	r.on.Close()
	return nil
}

func (s secure) open(ctx context.Context, t target, offset int64, known Facts) (io.ReadCloser, Facts, int64, error) {
	c, err := s.dial(ctx, t)
	if err != nil {
		return nil, Facts{}, 0, err
	}
	f, err := s.lookAt(c, t)
	var file *sftp.File
	if err == nil {
		file, err = c.Open(t.Path)
	}
	if err == nil && offset > 0 && f.Version == known.Version {
		_, err = file.Seek(offset, io.SeekStart)
	} else {
		offset = 0
	}
	if err != nil {
		c.Close()
		return nil, Facts{}, 0, fileKind(err)
	}
	return &remote{file, c}, f, offset, nil
}

func (s secure) store(ctx context.Context, t target, from *os.File, size int64, flag grid.CreationFlag) error {
	c, err := s.dial(ctx, t)
	if err != nil {
		return err
	}
	defer c.Close()
	if flag == grid.DontOverwrite {
		if _, err := c.Lstat(t.Path); err == nil {
			return exists()
		}
	}
	part := path.Join(path.Dir(t.Path), handover.PartName(t.Path))
	whole := false
	defer func() {
		if !whole {
			s.discard(ctx, c, t, part)
		}
	}()
	to, err := c.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fileKind(err)
	}
	if flag == grid.Append {
		err = handover.AppendOld(to, func() (io.ReadCloser, error) { return c.Open(t.Path) })
	}
	if err == nil {
		_, err = to.ReadFrom(io.NewSectionReader(from, 0, size))
	}
	if _, has := c.HasExtension("fsync@openssh.com"); has && err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return fileKind(err)
	}
	if flag == grid.DontOverwrite {
		if err = c.Rename(part, t.Path); err != nil { // which replaces nothing
			if _, there := c.Lstat(t.Path); there == nil {
				return exists()
			}
		}
	} else {
		err = s.replace(ctx, c, t, part)
	}
	whole = err == nil
	return fileKind(err)
}

// replace renames a file over the one at t. A server that cannot has the old one moved aside, which comes back where the new one does not
// take its place: for a moment there is neither.
func (s secure) replace(ctx context.Context, c *session, t target, from string) error {
	if _, has := c.HasExtension("posix-rename@openssh.com"); has {
		return c.PosixRename(from, t.Path)
	}
	err := c.Rename(from, t.Path)
	if err == nil {
		return nil
	}
	if info, there := c.Lstat(t.Path); there != nil || info.IsDir() {
		return err
	}
	aside := path.Join(path.Dir(t.Path), handover.PartName(t.Path))
	if err = c.Rename(t.Path, aside); err == nil {
		err = c.Rename(from, t.Path)
	}
	s.surely(ctx, c, t, func(c *session) error {
		if err != nil { // one of the two may have been done all the same
			back := c.Rename(aside, t.Path)
			if _, there := c.Lstat(t.Path); back == nil || there != nil {
				return back
			}
		}
		return c.Remove(aside)
	})
	return err
}

// cleanLimit bounds how long the server is asked once more to clean up.
const cleanLimit = 15 * time.Second

// discard removes what is not whole.
func (s secure) discard(ctx context.Context, c *session, t target, part string) {
	s.surely(ctx, c, t, func(c *session) error { return c.Remove(part) })
}

// surely cleans up, over another connection where that on which it was written has broken.
func (s secure) surely(ctx context.Context, c *session, t target, clean func(c *session) error) {
	var answer *sftp.StatusError
	err := clean(c)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.As(err, &answer) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	if again, err := s.dial(ctx, t); err == nil {
		defer again.Close()
		clean(again)
	}
}
