package slurmtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
)

// port is one TCP port of the loopback that is ours until close, whether or not somebody
// listens there: a controller that is down finds its port free when it comes back.
type port struct {
	number int
	claim  net.Listener
}

// claimPorts takes n ports in a row. They lie outside of the range from which the kernel
// gives ports to clients. A claim is an abstract Unix socket named after the port: test
// binaries see each other's, and it is gone with the process. Programs that do not claim
// are seen by trying to listen.
func claimPorts(n int) ([]port, error) {
	low, high := 20000, 32000
	if from, to, err := ephemeral(); err == nil && from < high && to >= low {
		if low, high = 61000, 65000; to >= low {
			low = to + 1
		}
		if from > 4096+n && high-low < n {
			low, high = 2048, from
		}
	}
	if high-low < n {
		return nil, fmt.Errorf("no %d ports are left outside of the ephemeral range", n)
	}
	for range 200 {
		first := low + rand.IntN(high-low-n+1)
		if got, ok := claimRow(first, n); ok {
			return got, nil
		}
	}
	return nil, fmt.Errorf("no %d free ports in a row between %d and %d", n, low, high)
}

func claimRow(first, n int) ([]port, bool) {
	var got []port
	for number := first; number < first+n; number++ {
		claim, err := net.Listen("unix", fmt.Sprintf("@gbroker/slurmtest/%d", number))
		if err != nil {
			closePorts(got)
			return nil, false
		}
		got = append(got, port{number, claim})
		trial, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", number))
		if err != nil {
			closePorts(got)
			return nil, false
		}
		trial.Close()
	}
	return got, true
}

func closePorts(ports []port) {
	for _, p := range ports {
		p.claim.Close()
	}
}

// ephemeral is the range of ports that the kernel gives to clients.
func ephemeral() (from, to int, err error) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		_, err = fmt.Sscan(string(text), &from, &to)
	}
	return from, to, err
}
