package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"gbroker/grid"
	"gbroker/internal/form"
	"gbroker/overlay"
	"gbroker/overlay/topology"
)

// Limits of neighbours.yaml.
const (
	maxMembers   = 1000
	maxAddresses = 16 // of one member
)

// Neighbourhood is what the file of the neighbours says.
type Neighbourhood struct {
	Members []grid.Member
	GridKey overlay.GridKey // what the brokers of the grid share; the zero key is none
	Rule    topology.Rule   // which of the members are neighbours
	Accept  bool            // sites that a neighbour proposes are known as if they were in the file
	Relay   *overlay.Relay  // what is done for members that meet through here; nil is nothing
}

func (n Neighbourhood) same(m Neighbourhood) bool {
	return n.GridKey == m.GridKey && n.Accept == m.Accept && reflect.DeepEqual(n.Rule, m.Rule) && reflect.DeepEqual(n.Relay, m.Relay) && sameMembers(n.Members, m.Members)
}

// LoadNeighbours reads the neighbours again, for a site whose configuration is loaded.
// Where the file is wrong the error is Mistakes.
func LoadNeighbours(c Config) (Neighbourhood, error) {
	key, err := overlay.LoadKey(c.IdentityFile())
	if err != nil {
		return Neighbourhood{}, err
	}
	n, wrong, err := loadNeighbours(c, c.Neighbours, overlay.PeerIDOf(key))
	if err != nil {
		return n, err
	}
	return n, wrong.OrNil()
}

// loadNeighbours reads the file of the members; own is this site's peer, "" if not known.
func loadNeighbours(c Config, name string, own grid.PeerID) (Neighbourhood, Mistakes, error) {
	var none Neighbourhood
	data, err := readBounded(c.Neighbours)
	var big Mistakes
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return none, nil, absent(fmt.Sprintf("there is no file of neighbours %s: write one that says members: []", name))
	case errors.As(err, &big):
		return none, big, nil
	case err != nil:
		return none, nil, err
	}
	r := parseNeighbours(name, data, c.Site, own)
	n := Neighbourhood{Members: r.members, Rule: r.rule, Accept: r.accept, Relay: r.relay}
	if r.gridKey != "" {
		if n.GridKey, err = readGridKey(filepath.Join(filepath.Dir(c.Neighbours), r.gridKey)); err != nil {
			r.note(r.gridKeyAt, "grid_key: %v", err)
		}
	}
	if r.key == nil && len(r.mistakes) == 0 { // a file cut short, as by an editor or a full disk, must not cut off all neighbours
		r.note(nil, "the file has no field members: write members: [] to have no neighbours")
	}
	return n, r.sorted(), nil
}

// readGridKey reads the file of the grid's key, which its owner alone may read.
func readGridKey(file string) (k overlay.GridKey, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return k, fmt.Errorf("%w: `gbroker grid` makes a key, or put the grid's there", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return k, fmt.Errorf("%s has mode %04o and can be read by others: chmod 600 it", file, info.Mode().Perm())
	}
	text, err := readBounded(file)
	if err != nil {
		return k, err
	}
	return overlay.ParseGridKey(string(text))
}

// neighbours reads the members of one file.
type neighbours struct {
	document
	site    grid.SiteName
	own     grid.PeerID
	members []grid.Member
	names   map[grid.SiteName]int // to the line
	peers   map[grid.PeerID]int
	at      []*ast.SequenceEntryNode // of each member, for editing
	list    *ast.SequenceNode        // nil if there is none, or no list
	key     ast.MapKeyNode           // "members"; nil if there is none

	gridKey   string // a file, as it is written; "" is none
	gridKeyAt ast.Node
	rule      topology.Rule
	accept    bool
	relay     *overlay.Relay
}

func parseNeighbours(name string, data []byte, site grid.SiteName, own grid.PeerID) *neighbours {
	r := &neighbours{
		document: document{name: name}, site: site, own: own,
		names: make(map[grid.SiteName]int), peers: make(map[grid.PeerID]int),
	}
	root := r.root(data)
	if root == nil {
		return r
	}
	r.fields(root, "the file", []field{
		{name: "members", aka: "neighbours neighbors", list: true, read: r.readMembers},
		{name: "grid_key", aka: "grid gridkey key", read: func(n ast.Node) {
			if text, ok := r.text(n, "grid_key"); ok {
				if filepath.IsAbs(text) || text != filepath.Base(text) {
					r.note(n, "grid_key: %q is no name of a file beside this one: write grid.key", form.Clip(text))
					return
				}
				r.gridKey, r.gridKeyAt = text, n
			}
		}},
		{name: "topology", aka: "rule", read: r.readRule},
		{name: "relay", aka: "relays", read: r.readRelay},
	})
	if m, ok := root.(ast.MapNode); ok {
		for iter := m.MapRange(); iter.Next(); {
			if iter.Key().GetToken().Value == "members" {
				r.key = iter.Key()
			}
		}
	}
	return r
}

func (r *neighbours) readMembers(n ast.Node) {
	if s, ok := n.(*ast.SequenceNode); ok {
		r.list = s
	}
	r.document.list(n, "members", maxMembers, false, r.readMember)
	if err := overlay.CheckVias(r.members); err != nil {
		r.note(n, "members: %v", err)
	}
	if r.list != nil && len(r.list.Entries) == len(r.members) {
		r.at = r.list.Entries
	}
}

// readMember reads one entry and holds it against those before it.
func (r *neighbours) readMember(n ast.Node) {
	m := grid.Member{Send: true, DefaultBandwidth: grid.DefaultBandwidth}
	var name, id ast.Node
	carried := make(map[ast.Node]string) // peers inside addresses
	r.fields(n, "the member", []field{
		{name: "name", aka: "site alias", required: "name: NAME", read: func(n ast.Node) {
			name = n
			parsed(&r.document, n, "name", &m.Name, readName[grid.SiteName])
		}},
		{name: "peer", aka: "id peerid peer_id", required: "peer: PEERID, as `gbroker id` prints it at that site", read: func(n ast.Node) {
			id = n
			parsed(&r.document, n, "peer", &m.Peer, readPeer)
		}},
		{name: "addresses", aka: "address adress addr", list: true, read: func(n ast.Node) {
			r.document.list(n, "addresses", maxAddresses, true, func(n ast.Node) {
				text, ok := r.text(n, "addresses")
				if !ok {
					return
				}
				address, peer, err := dialAddress(text)
				if err != nil {
					r.note(n, "addresses: %v", err)
					return
				}
				m.Addresses = append(m.Addresses, address)
				carried[n] = peer
			})
		}},
		{name: "send", read: func(n ast.Node) {
			if v, ok := r.yes(n, "send"); ok {
				m.Send = v
			}
		}},
		{name: "same_users", aka: "users trust", read: func(n ast.Node) {
			if v, ok := r.yes(n, "same_users"); ok {
				m.SameUsers = v
			}
		}},
		{name: "via", aka: "relay through", read: func(n ast.Node) {
			parsed(&r.document, n, "via", &m.Via, readName[grid.SiteName])
		}},
		{name: "tags", aka: "tag", list: true, read: func(n ast.Node) { m.Tags = r.words(n, "tags") }},
		{name: "organisation", aka: "organization", read: func(n ast.Node) {
			if v := r.words(n, "organisation"); len(v) == 1 {
				m.Organisation = v[0]
			}
		}},
		{name: "rate_limit", aka: "limit rate", read: func(n ast.Node) {
			parsed(&r.document, n, "rate_limit", &m.RateLimit, ParseRate)
		}},
		{name: "default_bandwidth", aka: "bandwidth", read: func(n ast.Node) {
			parsed(&r.document, n, "default_bandwidth", &m.DefaultBandwidth, within(1, grid.MaxMemory, grid.FormatSize, ParseRate))
		}},
	})
	r.checkPeers(m.Peer, carried)
	r.checkFirst(m, name, id)
	r.members = append(r.members, m)
}

// checkPeers holds the /p2p parts of the addresses against the member's peer.
func (r *neighbours) checkPeers(peer grid.PeerID, carried map[ast.Node]string) {
	for n, p := range carried {
		if p != "" && peer != "" && grid.PeerID(p) != peer {
			r.note(n, "addresses: the address is of peer %s, but the member is %s: one of them belongs to another site", p, peer)
		}
	}
}

// checkFirst refuses a name or peer that an earlier member, or this site, has.
func (r *neighbours) checkFirst(m grid.Member, name, id ast.Node) {
	switch line := r.names[m.Name]; {
	case m.Name == "":
	case m.Name == r.site:
		r.note(name, "name: %q is this site itself: give the other one another name", m.Name)
	case line > 0:
		r.note(name, "name: %q is the name of the member in line %d already: names differ", m.Name, line)
	default:
		r.names[m.Name] = name.GetToken().Position.Line
	}
	switch line := r.peers[m.Peer]; {
	case m.Peer == "":
	case m.Peer == r.own:
		r.note(id, "peer: %s is this site itself: copy the line that `gbroker id` prints at the other site", m.Peer)
	case line > 0:
		r.note(id, "peer: %s is the member in line %d already: a site stands here once", m.Peer, line)
	default:
		r.peers[m.Peer] = id.GetToken().Position.Line
	}
}

func readPeer(s string) (grid.PeerID, error) {
	return grid.PeerID(s), overlay.CheckPeerID(grid.PeerID(s))
}

// ParseLine reads what `gbroker id` prints: NAME PEERID [ADDRESS[,ADDRESS…]].
func ParseLine(line string) (grid.Member, error) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return grid.Member{}, fmt.Errorf("%q is no line of a site: it is NAME PEERID ADDRESS, as `gbroker id` prints it there: %w", form.Clip(line), grid.ErrInvalid)
	}
	m := grid.Member{Name: grid.SiteName(words[0]), Peer: grid.PeerID(words[1]), Send: true, DefaultBandwidth: grid.DefaultBandwidth}
	err := errors.Join(grid.CheckName(words[0]), overlay.CheckPeerID(m.Peer))
	for _, s := range strings.Split(strings.Join(words[2:], ","), ",") {
		if s == "" {
			continue
		}
		address, peer, wrong := dialAddress(s)
		if wrong == nil && peer != "" && grid.PeerID(peer) != m.Peer {
			wrong = fmt.Errorf("the address %s is not of the peer %s", form.Clip(s), m.Peer)
		}
		err = errors.Join(err, wrong)
		m.Addresses = append(m.Addresses, address)
	}
	if len(m.Addresses) > maxAddresses {
		err = errors.Join(err, fmt.Errorf("the line has %d addresses: at most %d", len(m.Addresses), maxAddresses))
	}
	if err != nil {
		return grid.Member{}, fmt.Errorf("the line is %w: %w", grid.ErrInvalid, err)
	}
	return m, nil
}
