package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const waitLimit = 30 * time.Second

// start measures from exec of gclient to the first line that the job writes: at a
// neighbour, because the home has one core and the job wants two.
func (b *bench) start(ctx context.Context) error {
	sites, end, err := b.sites(ctx, 1, 4)
	defer end()
	if err != nil {
		return err
	}
	pipe := filepath.Join(b.dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		return err
	}
	doc := filepath.Join(b.dir, "start.jsdl")
	if err := os.WriteFile(doc, document("/bin/sh", []string{"-c", "echo here &gt; " + pipe}, 2, ""), 0o644); err != nil {
		return err
	}
	n := 40
	if b.n > 0 {
		n = b.n
	}
	var times []float64
	for i := range n + 3 {
		begin := time.Now()
		ran := make(chan time.Time, 1)
		go func() {
			os.ReadFile(pipe) // returns when the job has written and closed
			ran <- time.Now()
		}()
		if r := sites[0].Client(ctx, "submit", doc); r.Code != 0 {
			return fmt.Errorf("submitting: %s", r.Stderr)
		}
		select {
		case t := <-ran:
			if i >= 3 { // the first warm up
				times = append(times, t.Sub(begin).Seconds()*1000)
			}
		case <-time.After(waitLimit):
			return fmt.Errorf("job %d did not start within %s", i, waitLimit)
		}
	}
	median, p90, worst := spread(times)
	fmt.Printf("start:   exec of gclient submit to the job's first line on an idle neighbour: median %.0f ms, p90 %.0f ms, worst %.0f ms (n=%d)\n", median, p90, worst, n)
	return nil
}

// document is a JSDL document of one program; input, if not "", is a file beside it that travels.
func document(program string, args []string, cpus int, input string) []byte {
	text := `<?xml version="1.0"?>
<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:p="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix">
 <JobDescription><Application><p:POSIXApplication><p:Executable>` + program + `</p:Executable>`
	for _, a := range args {
		text += "<p:Argument>" + a + "</p:Argument>"
	}
	text += `<p:WallTimeLimit>60</p:WallTimeLimit></p:POSIXApplication></Application>`
	text += fmt.Sprintf("<Resources><TotalCPUCount><Exact>%d</Exact></TotalCPUCount></Resources>", cpus)
	if input != "" {
		text += "<DataStaging><FileName>" + input + "</FileName><CreationFlag>overwrite</CreationFlag><Source><URI>" + input + "</URI></Source></DataStaging>"
	}
	return []byte(text + "</JobDescription></JobDefinition>")
}
