package serve

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os/user"
	"strconv"
	"strings"

	"gbroker/test/fakebatch/batch"
)

// Commands in C speak no JSON. Such a one sends a NUL byte and a block: a length as four bytes of this machine, and as many
// bytes. These are texts that end with NUL: the command's name, its folder, its user's number, how many arguments follow,
// these, and its environment. Where the command reads standard input, the server sends an i, and gets that as a block. Its
// answer is an a, the exit code and the lengths of both streams as four bytes each, and the streams.
const plainMark, plainInput, plainAnswer = 0, 'i', 'a'

// mostPlain bounds a block.
const mostPlain = 64 << 20

func readBlock(from io.Reader) ([]byte, error) {
	var n uint32
	if err := binary.Read(from, binary.NativeEndian, &n); err != nil {
		return nil, fmt.Errorf("reading the length of a block: %w", err)
	}
	if n > mostPlain {
		return nil, fmt.Errorf("a block of %d bytes", n)
	}
	block := make([]byte, n)
	if _, err := io.ReadFull(from, block); err != nil {
		return nil, fmt.Errorf("reading a block: %w", err)
	}
	return block, nil
}

// readPlain is the call of a command in C.
func readPlain(conn net.Conn, from *bufio.Reader, f Face) (*batch.Call, error) {
	if _, err := from.Discard(1); err != nil {
		return nil, err
	}
	block, err := readBlock(from)
	if err != nil {
		return nil, err
	}
	texts := strings.Split(strings.TrimSuffix(string(block), "\x00"), "\x00")
	if len(texts) < 4 {
		return nil, errors.New("a call that is cut")
	}
	n, err := strconv.Atoi(texts[3])
	if err != nil || n < 0 || n > len(texts)-4 {
		return nil, fmt.Errorf("a call of %q arguments", texts[3])
	}
	c := &batch.Call{Command: texts[0], Dir: texts[1], Args: texts[4 : 4+n], Environ: texts[4+n:]}
	if c.User = c.Env("FAKEBATCH_USER"); c.User == "" {
		c.User = "nobody"
		if u, err := user.LookupId(texts[2]); err == nil {
			c.User = u.Username
		}
	}
	if c.Command == "qsub" && f.ReadsStdin != nil && f.ReadsStdin(c.Args) {
		if _, err := conn.Write([]byte{plainInput}); err != nil {
			return nil, err
		}
		if c.Stdin, err = readBlock(from); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func writePlain(to io.Writer, a batch.Answer) {
	text := []byte{plainAnswer}
	for _, n := range []int{a.Exit, len(a.Stdout), len(a.Stderr)} {
		text = binary.NativeEndian.AppendUint32(text, uint32(n))
	}
	to.Write(append(append(text, a.Stdout...), a.Stderr...)) // a client that is gone reads nothing
}
