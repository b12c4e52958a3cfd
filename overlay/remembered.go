package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"gbroker/grid"
)

// maxRemembered bounds the file, in bytes: maxMembers with all their addresses fit.
const maxRemembered = 8 << 20

// memory is what is remembered over a restart, in StateDir/overlay.json:
//
//	{"version": 1,
//	 "ports": {"/ip4/127.0.0.1/tcp/0": "/ip4/127.0.0.1/tcp/40123"},
//	 "peers": {"12D3KooW…": ["/ip4/192.0.2.7/tcp/7700"]}}
//
// It is a convenience: a file that is missing or cannot be read costs nothing but
// the ports and addresses in it. The member file always wins.
type memory struct {
	path string // "" keeps nothing on disk

	mu    sync.Mutex
	dirty bool
	state remembered
}

type remembered struct {
	Version int                      `json:"version"`
	Ports   map[string]string        `json:"ports"`
	Peers   map[grid.PeerID][]string `json:"peers"`
}

// recall reads what was remembered in dir. The error is a warning: the memory
// works all the same.
func recall(dir string) (*memory, error) {
	m := &memory{state: remembered{Version: 1, Ports: map[string]string{}, Peers: map[grid.PeerID][]string{}}}
	if dir == "" {
		return m, nil
	}
	m.path = filepath.Join(dir, "overlay.json")
	info, err := os.Stat(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil && info.Size() > maxRemembered {
		err = fmt.Errorf("it has %d bytes", info.Size())
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(m.path)
	}
	var s remembered
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil && s.Version != 1 {
		err = fmt.Errorf("it has version %d", s.Version)
	}
	if err != nil {
		return m, fmt.Errorf("what was remembered in %s is left aside: %w", m.path, err)
	}
	if s.Ports != nil {
		m.state.Ports = s.Ports
	}
	for p, addresses := range s.Peers {
		m.state.Peers[p] = usable(addresses)
	}
	return m, nil
}

// usable drops what no address of a broker is.
func usable(addresses []string) []string {
	addresses = slices.DeleteFunc(slices.Clone(addresses), func(a string) bool { return checkAddress(a) != nil })
	return addresses[:min(len(addresses), maxAddresses)]
}

func (m *memory) port(listen string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Ports[listen]
}

func (m *memory) setPorts(ports map[string]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !maps.Equal(m.state.Ports, ports) {
		m.state.Ports, m.dirty = ports, true
	}
}

func (m *memory) addresses(p grid.PeerID) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Peers[p]
}

// learn keeps that p was met and where; one that says no address keeps those it had.
func (m *memory) learn(p grid.PeerID, addresses []string) {
	addresses = usable(addresses)
	m.mu.Lock()
	defer m.mu.Unlock()
	known, met := m.state.Peers[p]
	if !met || len(addresses) > 0 && !slices.Equal(known, addresses) {
		m.state.Peers[p], m.dirty = addresses, true
	}
}

// knows tells that p was met.
func (m *memory) knows(p grid.PeerID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, met := m.state.Peers[p]
	return met
}

// forget drops all peers but those that keep says yes to.
func (m *memory) forget(keep func(grid.PeerID) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.state.Peers {
		if !keep(p) {
			delete(m.state.Peers, p)
			m.dirty = true
		}
	}
}

// save writes the file if something changed, through a new file beside it.
func (m *memory) save() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.dirty || m.path == "" {
		return nil
	}
	text, err := json.MarshalIndent(m.state, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding what is remembered: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(m.path), 0o700); err != nil {
		return fmt.Errorf("remembering ports and addresses: %w", err)
	}
	if err := os.WriteFile(m.path+".new", append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("remembering ports and addresses: %w", err)
	}
	if err := os.Rename(m.path+".new", m.path); err != nil {
		return fmt.Errorf("remembering ports and addresses: %w", err)
	}
	m.dirty = false
	return nil
}
