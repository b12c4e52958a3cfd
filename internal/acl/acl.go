// Package acl reads and writes the access control lists of files, those of POSIX.1e as Linux
// keeps them in extended attributes: what setfacl and getfacl do, on an open file, so that no
// name can be swapped meanwhile.
//
// # Form of the attribute
//
//	version u32 = 2, then for each entry: tag u16 | rights u16 | id u32     little endian
//
//	tag     1 owner   2 a user   4 owning group   8 a group   16 mask   32 others
//	rights  4 read   2 write   1 execute
//	id      of a user or group, else 0xffffffff
//
// Entries stand in the order of their tags, then of their ids. A list with a user or a group
// has a mask, which bounds all but the owner and others, and is what the mode shows as the
// rights of the group.
package acl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Rights are those of a mode: 4 read, 2 write, 1 execute.
type Rights uint16

// All is every right.
const All Rights = 7

// List is an access control list. Its mask is the union of what it gives to all but the
// owner and others.
type List struct {
	Owner, Group, Others Rights
	Users                map[uint32]Rights
}

// Which list of a folder.
const (
	Access  = "system.posix_acl_access"
	Default = "system.posix_acl_default" // of what is made in it
)

// ErrUnsupported tells that a file system has no such lists.
var ErrUnsupported = errors.New("the file system has no access control lists")

const (
	version  = 2
	tagOwner = 1
	tagUser  = 2
	tagGroup = 4
	tagNamed = 8
	tagMask  = 16
	tagOther = 32
	noID     = 0xffffffff
	maxBytes = 64 << 10
)

// FromMode is the list that a mode says.
func FromMode(mode os.FileMode) List {
	p := Rights(mode.Perm())
	return List{Owner: p >> 6 & All, Group: p >> 3 & All, Others: p & All}
}

// Set gives an open file the access list, or a folder the default list.
func Set(f *os.File, which string, l List) error {
	err := unix.Fsetxattr(int(f.Fd()), which, l.encode(), 0)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		err = ErrUnsupported
	}
	if err != nil {
		return fmt.Errorf("setting the access control list of %s: %w", f.Name(), err)
	}
	return nil
}

// Get reads a list of an open file; there is false if it has none beyond its mode.
func Get(f *os.File, which string) (l List, there bool, err error) {
	buf := make([]byte, maxBytes)
	n, err := unix.Fgetxattr(int(f.Fd()), which, buf)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return l, false, nil
	}
	if err == nil {
		l, err = decode(buf[:n])
	}
	if err != nil {
		return l, false, fmt.Errorf("reading the access control list of %s: %w", f.Name(), err)
	}
	return l, true, nil
}

func (l List) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, version)
	add := func(tag uint16, r Rights, id uint32) {
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, uint16(r))
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	add(tagOwner, l.Owner, noID)
	mask := l.Group
	var ids []uint32
	for id, r := range l.Users {
		ids, mask = append(ids, id), mask|r
	}
	slices.Sort(ids)
	for _, id := range ids {
		add(tagUser, l.Users[id], id)
	}
	add(tagGroup, l.Group, noID)
	if len(ids) > 0 {
		add(tagMask, mask, noID)
	}
	add(tagOther, l.Others, noID)
	return b
}

// decode reads a list; the rights of named groups count as those of the group, and what the
// mask takes away is not in it.
func decode(b []byte) (l List, err error) {
	if len(b) < 4 || len(b)%8 != 4 || binary.LittleEndian.Uint32(b) != version {
		return l, fmt.Errorf("%d bytes that are no list of version %d", len(b), version)
	}
	mask := All
	l.Users = map[uint32]Rights{}
	for e := range slices.Chunk(b[4:], 8) {
		r, id := Rights(binary.LittleEndian.Uint16(e[2:]))&All, binary.LittleEndian.Uint32(e[4:])
		switch binary.LittleEndian.Uint16(e) {
		case tagOwner:
			l.Owner = r
		case tagUser:
			l.Users[id] = r
		case tagGroup, tagNamed:
			l.Group |= r
		case tagMask:
			mask = r
		case tagOther:
			l.Others = r
		default:
			return l, fmt.Errorf("an entry of the unknown tag %d", binary.LittleEndian.Uint16(e))
		}
	}
	l.Group &= mask
	for id := range l.Users {
		l.Users[id] &= mask
	}
	return l, nil
}
