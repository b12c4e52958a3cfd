package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"gbroker/grid"
	"gbroker/internal/form"
	"gbroker/internal/localfs"
	"gbroker/overlay"
)

// The file of the neighbours belongs to its administrator: it is edited line by
// line, so that comments, order and layout stay. What came out is read again and
// compared with what was meant before it replaces the old file.

// AddNeighbour writes m as the last member. again tells that the very same member
// stands there already; one that shares only the name or the peer is refused.
func AddNeighbour(ctx context.Context, c Config, m grid.Member) (again bool, err error) {
	err = editNeighbours(ctx, c, func(r *neighbours, lines []string) ([]string, []grid.Member, error) {
		for _, old := range r.members {
			switch {
			case sameMember(old, m):
				again = true
				return nil, nil, nil
			case old.Name == m.Name:
				return nil, nil, fmt.Errorf("the neighbour %s is there already, with another line: edit that in %s (line %d), which is taken up at once, or `gbroker neighbour remove %s` first: %w", m.Name, c.Neighbours, r.names[m.Name], m.Name, grid.ErrInvalid)
			case old.Peer == m.Peer:
				return nil, nil, fmt.Errorf("the peer %s is there already, as %s: edit that in %s (line %d), which is taken up at once, or `gbroker neighbour remove %s` first: %w", m.Peer, old.Name, c.Neighbours, r.peers[m.Peer], old.Name, grid.ErrInvalid)
			}
		}
		return r.insert(lines, m), append(r.members, m), nil
	})
	return again, err
}

// RemoveNeighbour takes the member of this name out, with the comment above it.
func RemoveNeighbour(ctx context.Context, c Config, name grid.SiteName) error {
	return editNeighbours(ctx, c, func(r *neighbours, lines []string) ([]string, []grid.Member, error) {
		for i, m := range r.members {
			if m.Name == name {
				rest := append(append([]grid.Member(nil), r.members[:i]...), r.members[i+1:]...)
				return r.remove(lines, i), rest, nil
			}
		}
		return nil, nil, fmt.Errorf("no neighbour is called %q: `gbroker neighbour list` shows them: %w", form.Clip(string(name)), grid.ErrNotFound)
	})
}

// SetGridKey writes the grid's key to its file, and the file's name into that of the neighbours, which tells a daemon that runs. It
// takes the place of another key only with replace.
func SetGridKey(ctx context.Context, c Config, k overlay.GridKey, replace bool) error {
	if c.GridKey != (overlay.GridKey{}) && c.GridKey != k && !replace {
		return fmt.Errorf("this broker has another grid key: `gbroker grid --replace` puts this one in its place: %w", grid.ErrInvalid)
	}
	return editNeighbours(ctx, c, func(r *neighbours, lines []string) ([]string, []grid.Member, error) {
		name := r.gridKey
		if name == "" {
			name = "grid.key"
			lines = append([]string{"grid_key: " + name}, lines...)
		}
		return lines, r.members, localfs.Replace(filepath.Join(filepath.Dir(c.Neighbours), name), []byte(k.Text()+"\n"), 0o600)
	})
}

// editNeighbours runs one edit under the folder's lock. edit gives the new lines
// and the members they must hold; no lines is no change.
func editNeighbours(ctx context.Context, c Config, edit func(*neighbours, []string) ([]string, []grid.Member, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	unlock, err := localfs.Lock(ctx, filepath.Dir(c.Neighbours))
	if err != nil {
		return err
	}
	defer unlock()
	key, err := overlay.LoadKey(c.IdentityFile())
	if err != nil {
		return err
	}
	data, err := readBounded(c.Neighbours)
	if err != nil {
		return err
	}
	old := parseNeighbours(c.Neighbours, data, c.Site, overlay.PeerIDOf(key))
	if err := old.sorted().OrNil(); err != nil {
		return fmt.Errorf("the file of neighbours is not changed, as it has mistakes:\n%w", err)
	}
	lines, want, err := edit(old, strings.Split(string(data), "\n"))
	if err != nil || lines == nil {
		return err
	}
	text := strings.Join(lines, "\n")
	after := parseNeighbours(c.Neighbours, []byte(text), c.Site, old.own)
	if len(after.mistakes) > 0 && len(after.members) == len(want) {
		return fmt.Errorf("the member is refused: %s: %w", after.sorted()[0].Text, grid.ErrInvalid)
	}
	if len(after.mistakes) > 0 || !sameMembers(after.members, want) {
		return fmt.Errorf("%s is written in a way that this command cannot edit: change it by hand, then run `gbroker check`: %w", c.Neighbours, grid.ErrInvalid)
	}
	return localfs.Replace(c.Neighbours, []byte(text), 0o644)
}

// insert puts m behind the last member.
func (r *neighbours) insert(lines []string, m grid.Member) []string {
	if r.key == nil { // an empty file, or one of comments
		for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
			lines = lines[:len(lines)-1]
		}
		return append(append(lines, "members:"), append(memberLines(m, "  "), "")...)
	}
	at := r.key.GetToken().Position.Line // lines[:at] ends with it
	switch {
	case r.list == nil: // "members:" and nothing behind it
		return splice(lines, at, at, memberLines(m, "  "))
	case !r.list.IsFlowStyle:
		indent := strings.Repeat(" ", max(r.list.Start.Position.Column-1, 0))
		end := lastLine(r.list.Values[len(r.list.Values)-1])
		return splice(lines, end, end, memberLines(m, indent))
	case len(r.list.Values) == 0 && r.list.Start.Position.Line == r.list.End.Position.Line: // members: []
		return splice(cut(lines, r.list.Start.Position, r.list.End.Position), at, at, memberLines(m, "  "))
	default: // members: [{…}, {…}]
		comma := ", "
		if len(r.list.Values) == 0 {
			comma = ""
		}
		return put(lines, r.list.End.Position, comma+memberFlow(m))
	}
}

// remove takes out the member with index i.
func (r *neighbours) remove(lines []string, i int) []string {
	if r.list.IsFlowStyle {
		return r.removeFlow(lines, i)
	}
	last := lastLine(r.list.Values[i])
	first := r.at[i].Start.Position.Line - 1
	for above := first - 1; above >= r.key.GetToken().Position.Line && strings.HasPrefix(strings.TrimSpace(lines[above]), "#"); above-- {
		first = above
	}
	lines = splice(lines, first, last, nil)
	if len(r.members) == 1 {
		k := r.key.GetToken().Position.Line - 1
		head, tail, _ := strings.Cut(lines[k], ":")
		lines = splice(lines, k, k+1, []string{head + ": []" + tail})
	}
	return lines
}

// removeFlow takes an entry out of [{…}, {…}], with the comma behind it or, of the last, before it.
func (r *neighbours) removeFlow(lines []string, i int) []string {
	m, ok := r.list.Values[i].(*ast.MappingNode)
	if !ok || m.End == nil {
		return lines
	}
	from, to := m.Start, m.End
	switch {
	case to.Next != nil && to.Next.Type == token.CollectEntryType:
		to = to.Next
	case from.Prev != nil && from.Prev.Type == token.CollectEntryType:
		from = from.Prev
	}
	return cut(lines, from.Position, to.Position)
}

// memberLines is m as an entry of a list in block style.
func memberLines(m grid.Member, indent string) []string {
	lines := []string{indent + "- name: " + string(m.Name), indent + "  peer: " + string(m.Peer)}
	if len(m.Addresses) == 0 {
		lines = append(lines, indent+"  addresses: []")
	} else {
		lines = append(lines, indent+"  addresses:")
		for _, a := range m.Addresses {
			lines = append(lines, indent+"    - "+a)
		}
	}
	for _, f := range optional(m) {
		lines = append(lines, indent+"  "+f)
	}
	return lines
}

// memberFlow is m in flow style, where a colon in an address asks for quotes.
func memberFlow(m grid.Member) string {
	addresses := make([]string, len(m.Addresses))
	for i, a := range m.Addresses {
		addresses[i] = "'" + a + "'"
	}
	fields := []string{"name: " + string(m.Name), "peer: " + string(m.Peer), "addresses: [" + strings.Join(addresses, ", ") + "]"}
	return "{" + strings.Join(append(fields, optional(m)...), ", ") + "}"
}

func optional(m grid.Member) []string {
	fields := []string{fmt.Sprintf("send: %t", m.Send)}
	if m.RateLimit > 0 {
		fields = append(fields, "rate_limit: "+grid.FormatSize(m.RateLimit))
	}
	if m.DefaultBandwidth != grid.DefaultBandwidth {
		fields = append(fields, "default_bandwidth: "+grid.FormatSize(m.DefaultBandwidth))
	}
	if m.SameUsers {
		fields = append(fields, "same_users: true")
	}
	if m.Via != "" {
		fields = append(fields, "via: "+string(m.Via))
	}
	if len(m.Tags) > 0 {
		fields = append(fields, "tags: ["+strings.Join(m.Tags, ", ")+"]")
	}
	if m.Organisation != "" {
		fields = append(fields, "organisation: "+m.Organisation)
	}
	return fields
}

// lastLine is the number of the last line on which something of n stands.
func lastLine(n ast.Node) int {
	v := &last{}
	ast.Walk(v, n)
	return v.line
}

type last struct{ line int }

func (v *last) Visit(n ast.Node) ast.Visitor {
	if n.Type() == ast.CommentType {
		return nil
	}
	v.see(n.GetToken())
	switch n := n.(type) {
	case *ast.MappingNode:
		v.see(n.End)
	case *ast.SequenceNode:
		v.see(n.End)
	}
	return v
}

func (v *last) see(t *token.Token) {
	if t != nil && t.Position != nil {
		v.line = max(v.line, t.Position.Line)
	}
}

// splice replaces lines[from:to].
func splice(lines []string, from, to int, by []string) []string {
	out := append([]string(nil), lines[:from]...)
	return append(append(out, by...), lines[to:]...)
}

// cut removes the text from one character to another, both included.
func cut(lines []string, from, to *token.Position) []string {
	a, b := []rune(lines[from.Line-1]), []rune(lines[to.Line-1])
	head, tail := string(a[:from.Column-1]), strings.TrimLeft(string(b[to.Column:]), " ")
	if tail == "" || strings.HasPrefix(tail, "]") {
		head = strings.TrimRight(head, " ")
	}
	return splice(lines, from.Line-1, to.Line, []string{head + tail})
}

// put inserts text before a character.
func put(lines []string, at *token.Position, text string) []string {
	line := []rune(lines[at.Line-1])
	return splice(lines, at.Line-1, at.Line, []string{string(line[:at.Column-1]) + text + string(line[at.Column-1:])})
}

func sameMember(a, b grid.Member) bool {
	return sameMembers([]grid.Member{a}, []grid.Member{b})
}

func sameMembers(a, b []grid.Member) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if strings.Join(x.Addresses, ",") != strings.Join(y.Addresses, ",") {
			return false
		}
		x.Addresses, y.Addresses = nil, nil
		if !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}
