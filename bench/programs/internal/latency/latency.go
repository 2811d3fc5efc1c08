// Package latency says how long answers took, and how evenly connections were served.
package latency

import (
	"slices"
	"time"
)

// Report is what percentiles.ts reads; latencies are in ms.
type Report struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
	// Answers on the connection that had the fewest, and on the one that had the most.
	Fewest int `json:"fewest"`
	Most   int `json:"most"`
	// Answers in all.
	Count int `json:"count"`
}

// Of reports on all latencies, which come by connection.
func Of(connections [][]time.Duration) Report {
	all := slices.Concat(connections...)
	slices.Sort(all)
	at := func(share float64) float64 {
		if len(all) == 0 {
			return 0
		}
		index := min(int(float64(len(all))*share), len(all)-1)
		return float64(all[index]) / float64(time.Millisecond)
	}
	report := Report{P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999), Max: at(1), Count: len(all)}
	for index, one := range connections {
		if index == 0 || len(one) < report.Fewest {
			report.Fewest = len(one)
		}
		report.Most = max(report.Most, len(one))
	}
	return report
}
