package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"gbroker/grid"
	"gbroker/internal/localfs"
)

// maxNames bounds the sites whose names are kept.
const maxNames = 4096

// names are what the neighbours' file calls sites, and called those that are gone from it:
// their jobs and their history are still shown. They lie in names.json of the data folder:
//
//	{"12D3KooW…": "xeon32"}
type names struct {
	file string

	mu      sync.Mutex
	last    map[grid.PeerID]grid.SiteName
	unsaved bool // last is not in the file
}

// loadNames reads them. The error is a warning: peer IDs are shown instead.
func loadNames(file string) (*names, error) {
	n := &names{file: file, last: map[grid.PeerID]grid.SiteName{}}
	data, err := readBounded(file)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	var read map[grid.PeerID]grid.SiteName
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if err != nil {
		return n, fmt.Errorf("reading the names of former neighbours: %w", err)
	}
	for p, name := range read {
		if grid.CheckName(string(name)) == nil && len(n.last) < maxNames {
			n.last[p] = name
		}
	}
	return n, nil
}

// keep takes note of how the members are called now.
func (n *names) keep(members []grid.Member) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	next := maps.Clone(n.last)
	now := map[grid.PeerID]bool{}
	for _, m := range members {
		next[m.Peer], now[m.Peer] = m.Name, true
	}
	for p := range next {
		if len(next) > maxNames && !now[p] {
			delete(next, p)
		}
	}
	if maps.Equal(n.last, next) && !n.unsaved {
		return nil
	}
	n.last, n.unsaved = next, true
	data, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the names of the neighbours: %w", err)
	}
	err = localfs.Replace(n.file, append(data, '\n'), 0o600)
	n.unsaved = err != nil
	return err
}

// of is how p was called last; "" is not known.
func (n *names) of(p grid.PeerID) grid.SiteName {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last[p]
}

// peers are those that were last called so, in order.
func (n *names) peers(name grid.SiteName) (list []grid.PeerID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for p, called := range n.last {
		if called == name {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}
