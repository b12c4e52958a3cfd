// Command nbody integrates the orbits of the sun and four planets for the number of
// steps that its argument says, and writes the energy before and after: a real
// computation for the demo, compiled here and run where the broker sends it.
package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
)

type body struct {
	p, v [3]float64
	m    float64
}

func main() {
	steps, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "nbody: the number of steps:", err)
		os.Exit(2)
	}
	system := solar()
	before := energy(system)
	for range steps {
		advance(system, 0.01)
	}
	after := energy(system)
	text := fmt.Sprintf("energy before %.9f\nenergy after  %.9f\n", before, after)
	if err := os.WriteFile("energy.txt", []byte(text), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "nbody:", err)
		os.Exit(1)
	}
	fmt.Printf("%d steps; the energy changed by %.1e of itself\n", steps, math.Abs((after-before)/before))
}

// solar is a sun of mass 4π² (years, astronomical units) and circular planets.
func solar() []body {
	sun := 4 * math.Pi * math.Pi
	list := []body{{m: sun}}
	for _, r := range []float64{5.2, 9.5, 19.2, 30.1} {
		list = append(list, body{p: [3]float64{r}, v: [3]float64{1: math.Sqrt(sun / r)}, m: sun / 2000 / r})
	}
	return list
}

// advance is one leapfrog step of h years.
func advance(s []body, h float64) {
	for i := range s {
		for k := i + 1; k < len(s); k++ {
			d, r := distance(&s[i], &s[k])
			f := h / (r * r * r)
			for x := range d {
				s[i].v[x] -= d[x] * s[k].m * f
				s[k].v[x] += d[x] * s[i].m * f
			}
		}
	}
	for i := range s {
		for x := range s[i].p {
			s[i].p[x] += h * s[i].v[x]
		}
	}
}

func distance(a, b *body) (d [3]float64, r float64) {
	for x := range d {
		d[x] = a.p[x] - b.p[x]
		r += d[x] * d[x]
	}
	return d, math.Sqrt(r)
}

func energy(s []body) (e float64) {
	for i := range s {
		for _, v := range s[i].v {
			e += s[i].m * v * v / 2
		}
		for k := i + 1; k < len(s); k++ {
			_, r := distance(&s[i], &s[k])
			e -= s[i].m * s[k].m / r
		}
	}
	return e
}
