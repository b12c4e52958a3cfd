package overlay

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"gbroker/grid"
)

func TestKeyFile(t *testing.T) {
	if _, err := LoadKey(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "restore it from a backup, or make a new site with `gbroker init`") {
		t.Errorf("of a key that is not there: %v", err)
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	k, err := CreateKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info.Mode(), err)
	}
	again, err := LoadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if PeerIDOf(again) != PeerIDOf(k) || CheckPeerID(PeerIDOf(k)) != nil {
		t.Error("the key is another after loading")
	}
	if _, err := CreateKey(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("creating over an existing key: %v", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others may read: %v", err)
	}
	for name, text := range map[string]string{"empty": "", "text": "hello", "base64": "aGVsbG8="} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKey(path); err == nil {
			t.Errorf("%s was taken for a key", name)
		}
	}
}

// Each mistake is refused by its own words.
func TestConfigMistakes(t *testing.T) {
	t.Parallel()
	b, other := newBroker(t, "here"), newBroker(t, "there")
	good := grid.Member{Name: "there", Peer: other.peer(), Addresses: []string{"/dns4/broker.example.org/tcp/7700"}}
	member := func(change func(*grid.Member)) func(*Config) {
		return func(c *Config) {
			m := good
			change(&m)
			c.Members = []grid.Member{m}
		}
	}
	for want, change := range map[string]func(*Config){
		"":                     func(*Config) {},
		"identity key":         func(c *Config) { c.Key = Key{} },
		"Hello and Receive":    func(c *Config) { c.Receive = nil },
		"the name is empty":    func(c *Config) { c.Site.Name = "" },
		"unknown profile":      func(c *Config) { c.Profile = "moon" },
		"listen: ":             func(c *Config) { c.Listen = []string{"127.0.0.1:80"} },
		"only TCP":             func(c *Config) { c.Listen = []string{"/ip4/0.0.0.0/udp/7700/quic-v1"} },
		"over ip4/tcp/p2p":     member(func(m *grid.Member) { m.Addresses = []string{"/ip4/192.0.2.1/tcp/1/p2p/" + string(m.Peer)} }),
		"is no peer ID":        member(func(m *grid.Member) { m.Peer = "12D3KooWnonsense" }),
		"this broker itself":   member(func(m *grid.Member) { m.Peer = b.peer() }),
		"negative rate":        member(func(m *grid.Member) { m.RateLimit = -1 }),
		"is there twice":       func(c *Config) { c.Members = []grid.Member{good, {Name: "there", Peer: newBroker(t, "x").peer()}} },
		"the peer ID of":       func(c *Config) { c.Members = []grid.Member{good, {Name: "again", Peer: good.Peer}} },
		"17 addresses":         member(func(m *grid.Member) { m.Addresses = make([]string, 17) }),
		"does not hold an Ed2": member(func(m *grid.Member) { m.Peer = "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N" }),
	} {
		c := b.config(good)
		change(&c)
		_, err := New(c)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// A damaged memory costs nothing but what was in it.
func TestRemembered(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	m, err := recall(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.learn("p", []string{"/ip4/192.0.2.1/tcp/1", "/ip4/192.0.2.1/udp/1/quic-v1", "nonsense"})
	m.setPorts(map[string]string{"/ip4/127.0.0.1/tcp/0": "/ip4/127.0.0.1/tcp/7"})
	if err := m.save(); err != nil {
		t.Fatal(err)
	}
	if m, err = recall(dir); err != nil || len(m.addresses("p")) != 1 || m.port("/ip4/127.0.0.1/tcp/0") == "" {
		t.Errorf("it is remembered as %+v, %v", m.state, err)
	}
	for _, text := range []string{"", "{", `{"version": 2}`, "null", strings.Repeat(" ", maxRemembered+1)} {
		if err := os.WriteFile(filepath.Join(dir, "overlay.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := recall(dir)
		if err == nil || m == nil {
			t.Errorf("%.10q was read without a word", text)
			continue
		}
		m.learn("p", []string{"/ip4/192.0.2.1/tcp/1"})
		if err := m.save(); err != nil {
			t.Error(err)
		}
	}
}

// memberlist would reserve what a header declares; it does not get to see such a one.
func TestInspect(t *testing.T) {
	t.Parallel()
	push := func(nodes, user int) []byte {
		var b bytes.Buffer
		b.WriteByte(syncPushPull)
		header := struct {
			Nodes, UserStateLen int
			Join                bool
		}{nodes, user, true}
		if err := codec.NewEncoder(&b, &codec.MsgpackHandle{}).Encode(&header); err != nil {
			t.Fatal(err)
		}
		b.WriteString("the rest")
		return b.Bytes()
	}
	for name, c := range map[string]struct {
		in []byte
		ok bool
	}{
		"ping":          {[]byte{syncPing, 1, 2}, true},
		"push/pull":     {push(3, 0), true},
		"many nodes":    {push(1<<20, 0), false},
		"user state":    {push(1, 1<<20), false},
		"compressed":    {[]byte{9, 1, 2}, false},
		"empty":         {nil, false},
		"cut off":       {push(3, 0)[:4], false},
		"a long string": {append([]byte{syncPushPull, 0x81, 0xdb, 0xff, 0xff, 0xff, 0xff}, make([]byte, 1000)...), false},
	} {
		r, err := inspect(bytes.NewReader(c.in))
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !c.ok {
			continue
		}
		if out, err := io.ReadAll(r); err != nil || !bytes.Equal(out, c.in) {
			t.Errorf("%s: %q came out of %q, %v", name, out, c.in, err)
		}
	}
}

func FuzzInspect(f *testing.F) {
	f.Add([]byte{syncPushPull, 0x81, 0xa5, 'N', 'o', 'd', 'e', 's', 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		if r, err := inspect(bytes.NewReader(in)); err == nil {
			if out, err := io.ReadAll(r); err != nil || !bytes.Equal(out, in) {
				t.Errorf("%q came out of %q, %v", out, in, err)
			}
		}
	})
}
