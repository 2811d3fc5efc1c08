# Only tests of UDPRoute send requests to the suite's CoreDNS; for all others its pod must be ready.
FROM docker.io/pingress/pause:1
