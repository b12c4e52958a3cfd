package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gbroker/api"
	"gbroker/internal/cli"
)

// demandLines tells what a job asks for, one line each.
func demandLines(d api.Demand, line func(name, value string)) {
	for _, c := range d.Chunks {
		line("needs", pieces(c))
	}
	line("architecture", d.Architecture)
	line("operating system", d.System)
	line("properties", strings.Join(d.Properties, ", "))
	if d.Exclusive {
		line("nodes", "whole ones, on which nobody else runs meanwhile")
	}
	if d.DistinctNodes {
		line("nodes", "one for each piece")
	}
	line("hosts", strings.Join(d.Hosts, ", "))
	if d.DiskBytes > 0 {
		line("disk", cli.Size(d.DiskBytes)+" on each node")
	}
	for _, m := range d.Measures {
		line(string(m.Of), m.String())
	}
}

// pieces is a chunk as in "2 pieces, each with 16 cores, 8.0 GiB, 4 gpu:a100", or "16
// cores on any nodes" where the pieces are single cores.
func pieces(c api.Chunk) string {
	if c.Count > 1 && c.Cores == 1 && c.MemoryBytes == 0 && len(c.Resources) == 0 {
		return fmt.Sprintf("%d cores on any nodes", c.Count)
	}
	text := fmt.Sprintf("%d pieces, each with ", c.Count)
	if c.Count == 1 {
		text = "1 piece with "
	}
	text += fmt.Sprintf("%d cores", c.Cores)
	if c.Cores == 1 {
		text = strings.TrimSuffix(text, "s")
	}
	if c.MemoryBytes > 0 {
		text += ", " + cli.Size(c.MemoryBytes)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Resources)) {
		text += fmt.Sprintf(", %d %s", c.Resources[name], name)
	}
	return text
}
