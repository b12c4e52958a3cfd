package transfer

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"gbroker/grid"
)

// memory is a server of sftp that keeps files in memory, lets everybody in, and may break connections.
type memory struct {
	sftp.Handlers
	address string
	config  *ssh.ServerConfig
	plain   bool         // it has no extensions
	cut     atomic.Bool  // the next file that is written breaks its connection
	ends    atomic.Int32 // with this command on names a connection breaks; 0 is none
	late    atomic.Bool  // it does that command first
}

func startMemory(t *testing.T, plain bool) (*memory, *Client, string) {
	t.Helper()
	_, key, _ := ed25519.GenerateKey(nil)
	signer, err := ssh.NewSignerFromKey(key)
	l, err2 := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	m := &memory{Handlers: sftp.InMemHandler(), address: l.Addr().String(), config: &ssh.ServerConfig{NoClientAuth: true}, plain: plain}
	m.config.AddHostKey(signer)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go m.serve(conn)
		}
	}()
	secret := Secret{For: "sftp://" + m.address, User: "a", Password: "b", HostKey: string(ssh.MarshalAuthorizedKey(signer.PublicKey()))}
	c := hasty(Config{Idle: 5 * time.Second, Patience: time.Nanosecond, Secrets: Secrets{secret}})
	return m, c, "sftp://" + m.address
}

func (m *memory) serve(conn net.Conn) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, m.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for wanted := range channels {
		channel, asked, err := wanted.Accept()
		if err != nil {
			return
		}
		go func() {
			for q := range asked {
				q.Reply(q.Type == "subsystem", nil)
			}
		}()
		handlers := m.Handlers
		handlers.FilePut = breaking{m, conn}
		var files io.ReadWriteCloser = channel
		if m.plain {
			files = &unextended{ReadWriteCloser: channel}
			handlers.FileCmd = ending{m, conn} // which renames over nothing
		}
		sftp.NewRequestServer(files, handlers).Serve()
	}
}

// breaking makes the connection break at the first bytes, if it is to.
type breaking struct {
	*memory
	conn net.Conn
}

func (b breaking) Filewrite(q *sftp.Request) (io.WriterAt, error) {
	to, err := b.FilePut.Filewrite(q)
	if b.cut.Swap(false) {
		b.conn.Close()
	}
	return to, err
}

// ending makes the connection break at a command on names, if it is to.
type ending struct {
	*memory
	conn net.Conn
}

func (e ending) Filecmd(q *sftp.Request) error {
	ends := e.ends.Load() > 0 && e.ends.Add(-1) == 0
	if !ends || e.late.Load() {
		err := e.FileCmd.Filecmd(q)
		if !ends {
			return err
		}
	}
	e.conn.Close()
	return io.ErrClosedPipe
}

// unextended cuts the extensions off the first packet of a server: length, kind and version are left.
type unextended struct {
	io.ReadWriteCloser
	head []byte
	past bool
}

func (u *unextended) Write(p []byte) (int, error) {
	if u.past {
		return u.ReadWriteCloser.Write(p)
	}
	u.head = append(u.head, p...)
	if len(u.head) < 4 || len(u.head) < 4+int(binary.BigEndian.Uint32(u.head)) {
		return len(p), nil
	}
	u.past = true
	_, err := u.ReadWriteCloser.Write([]byte{0, 0, 0, 5, 2, 0, 0, 0, 3})
	return len(p), err
}

// files are the names that the server has.
func (m *memory) files(t *testing.T) (names []string) {
	t.Helper()
	list, err := m.FileList.Filelist(&sftp.Request{Method: "List", Filepath: "/"})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]os.FileInfo, 100)
	n, _ := list.ListAt(all, 0)
	for _, f := range all[:n] {
		names = append(names, f.Name())
	}
	return names
}

// A server that cannot rename a file over another one still gets what is written, whole and alone.
func TestSFTPWithoutExtensions(t *testing.T) {
	t.Parallel()
	m, c, base := startMemory(t, true)
	p := Place{URI: base + "/f"}
	for _, text := range []string{"one", "two"} {
		if err := c.Put(t.Context(), p, content(t, []byte(text)), 3, grid.Overwrite); err != nil {
			t.Fatal(err)
		}
		if got, err := get(t, c, p); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := c.Put(t.Context(), p, content(t, []byte("six")), 3, grid.DontOverwrite); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("what must not be overwritten is: %v", err)
	}
	if names := m.files(t); !slices.Equal(names, []string{"f"}) {
		t.Errorf("it has %v", names)
	}
}

// Of a file whose connection breaks nothing is left under any name, and what was there before is as it was.
func TestSFTPThatBreaksLeavesNothing(t *testing.T) {
	t.Parallel()
	m, c, base := startMemory(t, false)
	p := Place{URI: base + "/f"}
	if err := c.Put(t.Context(), p, content(t, []byte("one")), 3, grid.Overwrite); err != nil {
		t.Fatal(err)
	}
	m.cut.Store(true)
	if err := c.Put(t.Context(), p, content(t, random(1<<20)), 1<<20, grid.Overwrite); err == nil {
		t.Error("it is written over a connection that breaks")
	}
	if got, err := get(t, c, p); err != nil || string(got) != "one" {
		t.Errorf("%q, %v", got, err)
	}
	if names := m.files(t); !slices.Equal(names, []string{"f"}) {
		t.Errorf("left are %v", names)
	}
}

// Whenever the connection breaks to a server that cannot rename a file over another one, there is either the old file or the new one, whole
// and alone.
func TestSFTPWithoutExtensionsThatBreaks(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		for ends := range int32(5) {
			m, c, base := startMemory(t, true)
			p := Place{URI: base + "/f"}
			if err := c.Put(t.Context(), p, content(t, []byte("one")), 3, grid.Overwrite); err != nil {
				t.Fatal(err)
			}
			m.late.Store(late)
			m.ends.Store(1 + ends)
			err := c.Put(t.Context(), p, content(t, []byte("two")), 3, grid.Append)
			m.ends.Store(0)
			got, err2 := get(t, c, p)
			names := m.files(t)
			if text := string(got); err2 != nil || text != "onetwo" && (err == nil || text != "one") || !slices.Equal(names, []string{"f"}) {
				t.Errorf("it breaks with command %d, after it %v (%v): it has %q (%v) in %v", 1+ends, late, err, text, err2, names)
			}
		}
	}
}
