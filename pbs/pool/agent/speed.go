package agent

import "time"

// reference is what the reference processor does of Measure's work in a second of processor time: 1e9
// floating-point operations.
const reference = 1e9

// Measure is the speed of one core relative to the reference: an LU decomposition with partial pivoting, as
// Linpack does it, of a matrix that fits into a cache, repeated for a fifth of a second of processor time.
func Measure(cpu func() time.Duration) float64 {
	const n = 160
	const operations = 2.0 / 3 * n * n * n
	a := make([]float64, n*n)
	begun, rounds := cpu(), 0
	for cpu()-begun < 200*time.Millisecond && rounds < 100_000 {
		fill(a, n)
		decompose(a, n)
		rounds++
	}
	spent := (cpu() - begun).Seconds()
	if spent <= 0 {
		return 1
	}
	return min(max(float64(rounds)*operations/spent/reference, 0.001), 1000)
}

// fill makes a matrix that is not singular, the same each time.
func fill(a []float64, n int) {
	seed := uint32(1)
	for i := range a {
		seed = seed*1664525 + 1013904223
		a[i] = float64(seed)/(1<<32) - 0.5
	}
	for i := range n {
		a[i*n+i] += float64(n)
	}
}

// decompose replaces a matrix by its factors.
func decompose(a []float64, n int) {
	for k := range n {
		pivot := k
		for i := k + 1; i < n; i++ {
			if abs(a[i*n+k]) > abs(a[pivot*n+k]) {
				pivot = i
			}
		}
		if pivot != k {
			for j := range n {
				a[k*n+j], a[pivot*n+j] = a[pivot*n+j], a[k*n+j]
			}
		}
		row := a[k*n : k*n+n]
		for i := k + 1; i < n; i++ {
			under := a[i*n : i*n+n]
			f := under[k] / row[k]
			under[k] = f
			for j := k + 1; j < n; j++ {
				under[j] -= f * row[j]
			}
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }
