package daemon

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	ma "github.com/multiformats/go-multiaddr"

	"gbroker/grid"
	"gbroker/internal/form"
)

// ParseRate reads bytes per second: a size, with or without /s behind it.
func ParseRate(s string) (int64, error) {
	bare := strings.TrimSuffix(s, "/s")
	number, unit := grid.SplitUnit(bare)
	if strings.HasSuffix(strings.ToLower(unit), "bit") || strings.HasSuffix(unit, "bps") {
		return 0, fmt.Errorf("%q counts bits: write bytes per second, an eighth of it, such as 125MB for 1Gbit/s", form.Clip(s))
	}
	if _, err := strconv.ParseFloat(number, 64); err != nil {
		return 0, fmt.Errorf("%q is no rate: write bytes per second, like 10MB or 10MB/s", form.Clip(s))
	}
	if _, err := grid.ParseSize("1" + unit); err != nil {
		return 0, fmt.Errorf("%q is no rate: write bytes per second, like 10MB or 10MB/s%s", form.Clip(s), likelyRate(number, unit))
	}
	return grid.ParseSize(bare)
}

// likelyRate is what is meant by units as others write them.
func likelyRate(number, unit string) string {
	prefix := strings.TrimSuffix(strings.TrimSuffix(unit, "ps"), "B")
	if _, err := grid.ParseSize(number + prefix + "B"); err != nil || prefix == "" {
		return ""
	}
	return fmt.Sprintf(" (here %s%sB/s)", number, prefix)
}

// quantities are units of what a node has, by what is counted: 1 is hertz, or bits per second.
var quantities = map[string]float64{
	"Hz": 1, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9,
	"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12,
}

// quantity reads a number with a unit that ends in one of these, such as 2.4GHz.
func quantity(ending, example string) func(string) (float64, error) {
	return func(s string) (float64, error) {
		for unit, factor := range quantities {
			number, is := strings.CutSuffix(s, unit)
			if v, err := strconv.ParseFloat(strings.TrimSpace(number), 64); is && err == nil && strings.HasSuffix(unit, ending) && v > 0 && v*factor <= grid.MaxQuantity {
				return v * factor, nil
			}
		}
		return 0, fmt.Errorf("%q is none: write it like %s", form.Clip(s), example)
	}
}

// within bounds what a reader gives.
func within[T int | int64 | float64 | time.Duration](least, most T, show func(T) string, read func(string) (T, error)) func(string) (T, error) {
	return func(s string) (T, error) {
		v, err := read(s)
		if err == nil && !(v >= least && v <= most) {
			err = fmt.Errorf("%s is out of range: write %s to %s", form.Clip(s), show(least), show(most))
		}
		return v, err
	}
}

func wholeNumber(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number: write it like 4", form.Clip(s))
	}
	return n, nil
}

func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is no number: write it like 1.5", form.Clip(s))
	}
	return v, nil
}

// oneOf reads a word of a list.
func oneOf(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		for _, w := range words {
			if s == w {
				return w, nil
			}
		}
		if len(words) == 1 {
			return "", fmt.Errorf("%q is not known: write %s", form.Clip(s), words[0])
		}
		return "", fmt.Errorf("%q is not known: write one of %s", form.Clip(s), strings.Join(words, ", "))
	}
}

// ListenAddresses checks multiaddresses to listen on.
func ListenAddresses(list []string) ([]string, error) {
	out := make([]string, len(list))
	for i, s := range list {
		a, err := listenAddress(s)
		if err != nil {
			return nil, err
		}
		out[i] = a
	}
	return out, nil
}

// listenAddress checks a multiaddress to listen on.
func listenAddress(s string) (string, error) {
	a, err := tcpAddress(s)
	if host, port, split := net.SplitHostPort(s); err != nil && split == nil && net.ParseIP(host) == nil && host != "" {
		to := "0.0.0.0"
		if host == "localhost" {
			to = "127.0.0.1"
		}
		if n, e := strconv.ParseUint(port, 10, 16); e == nil {
			return "", fmt.Errorf("%q is no multiaddress: to listen, write an address of this machine, /ip4/%s/tcp/%d", form.Clip(s), to, n)
		}
	}
	if err != nil {
		return "", err
	}
	if first := a[0].Protocol().Code; first != ma.P_IP4 && first != ma.P_IP6 {
		return "", fmt.Errorf("%q names a host: to listen, write an address of this machine, such as /ip4/0.0.0.0/tcp/4010", form.Clip(s))
	}
	if len(a) != 2 {
		return "", fmt.Errorf("%q goes on after the port: write %s", form.Clip(s), a[:2])
	}
	return a.String(), nil
}

// dialAddress checks a multiaddress at which another broker is reached, and splits off its /p2p part.
func dialAddress(s string) (address, peer string, err error) {
	a, err := tcpAddress(s)
	if err != nil {
		return "", "", err
	}
	if port := a[1].Value(); port == "0" {
		return "", "", fmt.Errorf("%q has port 0, which nobody listens on: write the port of the other broker, as its `gbroker id` prints it", form.Clip(s))
	}
	if ip := net.ParseIP(a[0].Value()); ip != nil && ip.IsUnspecified() {
		return "", "", fmt.Errorf("%q is no address to dial: write the address under which this machine reaches the other one", form.Clip(s))
	}
	switch {
	case len(a) == 2:
	case len(a) == 3 && a[2].Protocol().Code == ma.P_P2P:
		peer = a[2].Value()
	default:
		return "", "", fmt.Errorf("%q goes on after the port: write %s", form.Clip(s), a[:2])
	}
	return a[:2].String(), peer, nil
}

// tcpAddress parses /ip4|ip6|dns|dns4|dns6/HOST/tcp/PORT, with what follows it.
func tcpAddress(s string) (ma.Multiaddr, error) {
	if len(s) > 512 {
		return nil, fmt.Errorf("%q is too long for an address", form.Clip(s))
	}
	a, err := ma.NewMultiaddr(s)
	if err != nil {
		return nil, fmt.Errorf("%q is no multiaddress: write %s", form.Clip(s), guessAddress(s))
	}
	if len(a) < 2 || a[1].Protocol().Code != ma.P_TCP {
		return nil, fmt.Errorf("%q is not reached by TCP: write it like /ip4/192.0.2.1/tcp/4010", form.Clip(s))
	}
	switch a[0].Protocol().Code {
	case ma.P_IP4, ma.P_IP6, ma.P_DNS, ma.P_DNS4, ma.P_DNS6:
		return a, nil
	}
	return nil, fmt.Errorf("%q does not begin with a host: write it like /ip4/192.0.2.1/tcp/4010 or /dns4/broker.example.org/tcp/4010", form.Clip(s))
}

// guessAddress turns HOST:PORT into the multiaddress that was meant.
func guessAddress(s string) string {
	host, port, err := net.SplitHostPort(s)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || strings.ContainsAny(host, "/ ") {
		return "it like /ip4/192.0.2.1/tcp/4010 or /dns4/broker.example.org/tcp/4010"
	} else if host == "" {
		return fmt.Sprintf("/ip4/0.0.0.0/tcp/%d", n)
	}
	switch ip := net.ParseIP(host); {
	case ip == nil:
		return fmt.Sprintf("/dns4/%s/tcp/%s", form.Clip(host), port)
	case ip.To4() != nil:
		return fmt.Sprintf("/ip4/%s/tcp/%s", ip, port)
	default:
		return fmt.Sprintf("/ip6/%s/tcp/%s", ip, port)
	}
}

func formatNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
