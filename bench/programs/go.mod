// Loads and backends of the benchmark whose own tail must not be seen: many connections at a time,
// on all cores. Go's standard library only.
module pingress.io/bench

go 1.26.0
