package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lukechampine.com/blake3"

	"gbroker/test/cluster"
)

const sandboxSize = 1 << 30

// sandbox measures a job's 1 GiB input on its way to a neighbour, from the offer to
// the moment its owner has handed it over, against the same bytes copied over a TCP
// connection on loopback: with BLAKE3 and fsync at both ends, and bare.
func (b *bench) sandbox(ctx context.Context) error {
	sites, end, err := b.sites(ctx, 1, 2)
	defer end()
	if err != nil {
		return err
	}
	data := filepath.Join(b.dir, "data.bin")
	if err := makeData(data); err != nil {
		return err
	}
	doc := filepath.Join(b.dir, "sandbox.jsdl")
	if err := os.WriteFile(doc, document("/bin/true", nil, 2, "data.bin"), 0o644); err != nil {
		return err
	}
	runs := 3
	if b.n > 0 {
		runs = b.n
	}
	var ours, hashed, bare []float64
	peak := map[string]int64{}
	for range runs {
		rate, err := b.sendSandbox(ctx, sites, doc, peak)
		if err != nil {
			return err
		}
		ours = append(ours, rate)
		if rate, err = copyTCP(data, filepath.Join(b.dir, "copy"), true); err != nil {
			return err
		}
		hashed = append(hashed, rate)
		if rate, err = copyTCP(data, filepath.Join(b.dir, "copy"), false); err != nil {
			return err
		}
		bare = append(bare, rate)
	}
	o, _, _ := spread(ours)
	h, _, _ := spread(hashed)
	r, _, _ := spread(bare)
	fmt.Printf("sandbox: 1 GiB site to site %.0f MB/s; TCP with BLAKE3 and fsync at both ends %.0f MB/s: %.0f %%; bare TCP copy %.0f MB/s: %.0f %% (medians of %d runs)\n",
		o, h, 100*o/h, r, 100*o/r, runs)
	fmt.Printf("         peak memory grew by %d MiB at the sender, %d MiB at the receiver\n", peak[sites[0].Name]>>10, peak[sites[1].Name]>>10)
	return nil
}

func makeData(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{1}), sandboxSize)
	return err
}

// sendSandbox submits the job and reads the time of the handoff from its history.
func (b *bench) sendSandbox(ctx context.Context, sites []*cluster.Site, doc string, grew map[string]int64) (float64, error) {
	before := map[string]int64{}
	for _, s := range sites {
		before[s.Name], _ = statusField(s, "VmHWM:")
	}
	r := sites[0].Client(ctx, "submit", doc, "--wait")
	if r.Code != 0 {
		return 0, fmt.Errorf("submitting: exit code %d: %s", r.Code, r.Stderr)
	}
	id := strings.Fields(r.Stdout)[0]
	for _, s := range sites {
		now, _ := statusField(s, "VmHWM:")
		grew[s.Name] = max(grew[s.Name], now-before[s.Name])
	}
	h := sites[0].Client(ctx, "history", id, "--json")
	var history struct {
		Events []struct {
			At  time.Time `json:"at"`
			Why string    `json:"why"`
		} `json:"events"`
	}
	if err := json.Unmarshal([]byte(h.Stdout), &history); err != nil {
		return 0, fmt.Errorf("history: %w: %s", err, h.Stderr)
	}
	var offered, handed time.Time
	for _, e := range history.Events {
		if strings.HasPrefix(e.Why, "offered to") {
			offered = e.At
		}
		if strings.HasPrefix(e.Why, "handed to") {
			handed = e.At
		}
	}
	if offered.IsZero() || handed.IsZero() {
		return 0, fmt.Errorf("the job did not move: %s", h.Stdout)
	}
	sites[0].Client(ctx, "remove", id)
	return sandboxSize / handed.Sub(offered).Seconds() / 1e6, nil
}

// copyTCP copies a file over one loopback connection and says how fast, in MB/s.
func copyTCP(from, to string, hashed bool) (float64, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	defer os.Remove(to)
	sent := make(chan error, 1)
	begin := time.Now()
	go func() { sent <- sendFile(l.Addr().String(), from, hashed) }()
	c, err := l.Accept()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	out, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	if err := copyHashed(out, c, hashed); err != nil {
		return 0, err
	}
	if err := <-sent; err != nil {
		return 0, err
	}
	if hashed {
		if err := out.Sync(); err != nil {
			return 0, err
		}
	}
	return sandboxSize / time.Since(begin).Seconds() / 1e6, nil
}

func sendFile(addr, from string, hashed bool) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if hashed {
		if err := in.Sync(); err != nil {
			return err
		}
	}
	return copyHashed(c, in, hashed)
}

// copyHashed copies, with the digest of all bytes on the way where that is wanted.
func copyHashed(to io.Writer, from io.Reader, hashed bool) error {
	if !hashed {
		_, err := io.Copy(to, from)
		return err
	}
	h := blake3.New(32, nil)
	_, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(to, h)}, struct{ io.Reader }{from}, make([]byte, 256<<10))
	return err
}
